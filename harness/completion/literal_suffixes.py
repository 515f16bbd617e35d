"""What may finish a string or a number that is being written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from harness.jsontext.layout import Layout
from harness.jsontext.lexer import Mode, is_high_surrogate, utf8_length, utf8_range
from harness.jsontext.partial import parse_number
from harness.schemas.patterns import Pattern

_PADDING = "a"
_WANTED_BYTE = 0xA6  # completes to printable characters in every UTF-8 length
_DIGITS = [str(digit) for digit in range(10)]
_WHOLE_RESTS = (
    "", "0", "00", "5", "000", "0000", "00000", ".5", ".0",
    *_DIGITS, *(f"{number:02}" for number in range(100)),
)  # fmt: skip
_NUMBER_RESTS: dict[Mode, tuple[str, ...]] = {
    Mode.MINUS: ("1", "0", "10", "0.5", "100", "1000", *_DIGITS),
    Mode.ZERO: ("", ".5", ".0", ".1", ".01", "e0"),
    Mode.INT: _WHOLE_RESTS,
    Mode.DOT: ("0", "5", "1", "25", "01", *_DIGITS),
    Mode.FRAC: ("", "0", "5", "e0", "e1", "e2", *_DIGITS),
    Mode.E: ("0", "1", "2", "3", "-1", "+0", "-2"),
    Mode.ESIGN: ("0", "1", "2", "3"),
    Mode.EXP: ("", "0"),
}
_MAX_NUMBER_RESTS = 3


class StringRule(NamedTuple):
    """A pattern that a string should match, and its least length."""

    pattern: Pattern
    at_least: int


class StringProgress(NamedTuple):
    """All that matters about the characters which a string has so far."""

    rests: tuple[tuple[int, str], ...]
    """The targets that begin with them: index and what is missing."""
    states: tuple[int, ...]
    """The state of each rule's automaton."""
    length: int
    """The number of characters, as far as it matters."""


class StringSlot(NamedTuple):
    """What a string at one place should be."""

    targets: tuple[str, ...] = ()
    """Whole strings that fit, likeliest first."""
    rules: tuple[StringRule, ...] = ()
    least: int = 0
    """The least number of characters of any kind."""
    sample: str | None = None
    """A string whose tail may help where a rule of the schema cannot be read."""

    @property
    def blind(self) -> bool:
        """Whether nothing but the targets tells strings apart."""
        return not self.rules and not self.least and self.sample is None

    def begin(self, written: str) -> StringProgress:
        """The progress of the characters `written`."""
        starts = tuple(rule.pattern.start for rule in self.rules)
        fresh = StringProgress(tuple(enumerate(self.targets)), starts, 0)
        return self.go_on(fresh, "", written)

    def go_on(self, progress: StringProgress, written: str, text: str) -> StringProgress:
        """The progress after `text`, where `progress` is that of `written`."""
        pairs = zip(self.rules, progress.states, strict=True)
        return StringProgress(
            tuple((at, rest[len(text) :]) for at, rest in progress.rests if rest.startswith(text)),
            tuple(rule.pattern.walk(state, text) for rule, state in pairs),
            self._length(len(written) + len(text)),
        )

    def _length(self, size: int) -> int:
        if self.sample is not None:
            return min(size, max(self.least, len(self.sample)))
        return min(size, max([self.least, *(rule.at_least for rule in self.rules)]))

    def rests(self, progress: StringProgress, pending: bytes) -> Iterator[str]:
        """What may follow, likeliest first: text that begins with a character for `pending`."""
        yield from (rest for _, rest in progress.rests)
        for char in first_characters(pending):
            for rule, state in zip(self.rules, progress.states, strict=True):
                after = rule.pattern.walk(state, char)
                size = progress.length + len(char)
                rest = rule.pattern.finish(after, max(0, rule.at_least - size))
                if rest is not None:
                    yield char + rest
        if self.sample is not None and len(self.sample) > progress.length:
            yield self.sample[progress.length :]
        for char in first_characters(pending):
            yield char + _PADDING * (self.least - progress.length - len(char))


def spelled_rest(pending: bytes, rest: str, layout: Layout) -> bytes | None:
    """The bytes that write `rest` after `pending`, the started spelling of its first character.

    None when no spelling of that character begins so.
    """
    if not pending:
        return layout.inside(rest)
    if not rest:
        return None
    raw = rest[0].encode("utf-8", "surrogatepass")
    for spelling in _escapes(rest[0]) if pending[0] == ord("\\") else (raw,):
        if spelling[: len(pending)].lower() == pending.lower():
            return spelling[len(pending) :] + layout.inside(rest[1:])
    return None


def _escapes(char: str) -> Iterator[bytes]:
    yield json.dumps(char)[1:-1].encode()
    units = char.encode("utf-16-be", "surrogatepass").hex()
    yield "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)).encode()
    if char == "/":
        yield b"\\/"


def first_characters(pending: bytes) -> list[str]:
    """Characters whose spelling may begin with `pending`; one empty text when nothing is."""
    if not pending:
        return [""]
    if pending[0] != ord("\\"):
        return [_utf8_character(pending)]
    lead, escape = _halves(pending)
    digits = escape[2:].decode().lower()
    if lead:
        high = int.from_bytes(bytes.fromhex(lead[2:].decode()))
        return [_from_pair(high, int(digits + "dc00"[len(digits) :], base=16))]
    if len(escape) == 1:
        return ["\\", '"', "/", "\n"]
    if digits[:2] in ("d8", "d9", "da", "db"):
        return [_from_pair(int(digits.ljust(4, "0"), base=16), 0)]
    padding = "0000" if digits.strip("0") else "0041"
    return ["\ud700" if digits == "d" else chr(int(digits + padding[len(digits) :], base=16))]


def least_rest(pending: bytes) -> bytes:
    """The bytes that end a started character by the grammar alone, whatever it then is."""
    if not pending or is_high_surrogate(pending):
        return b""
    if pending[0] != ord("\\"):
        return _utf8_character(pending).encode()[len(pending) :]
    _, escape = _halves(pending)
    return b"n" if len(escape) == 1 else b"0" * (6 - len(escape))


def _halves(pending: bytes) -> tuple[bytes, bytes]:
    """The whole high surrogate at the start of a pending escape, and what follows it."""
    at = 6 if is_high_surrogate(pending[:6]) else 0
    return pending[:at], pending[at:]


def _from_pair(high: int, low: int) -> str:
    return chr(0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF))


def _utf8_character(pending: bytes) -> str:
    while len(pending) < utf8_length(pending[0]):
        low, high = utf8_range(pending)
        pending += bytes((_WANTED_BYTE if low <= _WANTED_BYTE <= high else low,))
    return pending.decode()


def number_rests(atom: bytes, mode: Mode, fits: Callable[[Any], bool]) -> list[str]:
    """What may follow a started number: those by which it `fits` first, then the shortest."""
    written = atom.decode()
    fitting = (rest for rest in _NUMBER_RESTS[mode] if fits(parse_number(written + rest)))
    found = list(islice(fitting, _MAX_NUMBER_RESTS))
    return list(dict.fromkeys([*found, *_NUMBER_RESTS[mode][:2]]))
