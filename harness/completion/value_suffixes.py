"""How the key or value that is being written may be finished.

A value suffix is the text up to the end of that value, and the open containers after it; the
container suffixes then say what follows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from harness.completion.container_suffixes import ClosingPlan, ContainerSuffixes, Reuse, memoised
from harness.jsontext.lexer import Mode, is_high_surrogate, utf8_length, utf8_range
from harness.jsontext.partial import (
    Cursor,
    Frames,
    decoded,
    parse_number,
    path_of,
    slot_path,
    with_value,
)
from harness.jsontext.pointers import MISSING
from harness.jsontext.remaining import LastWritten, ValueSuffix, space_before, spelled_rest
from harness.schemas.formats import FORMAT_PATTERNS
from harness.schemas.patterns import Pattern, pattern
from harness.schemas.schema import count, listed, mapping, strings, types
from harness.schemas.variants import Variant, automata, distinct, in_turn, property_names

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


def first_characters(pending: bytes) -> list[str]:
    """Characters whose spelling may begin with `pending`; one empty text when nothing is."""
    if not pending:
        return [""]
    if pending[0] != ord("\\"):
        return [_utf8_character(pending)]
    lead, escape = _halves(pending)
    if not lead and len(escape) == 1:
        return ["\\", '"', "/", "\n"]
    digits = escape[2:].lower()
    if lead:
        rest = b"\\udc00"[len(escape) :]
    elif digits[:2] in (b"d8", b"d9", b"da", b"db"):
        rest = b"0" * (4 - len(digits)) + b"\\udc00"
    elif digits == b"d":
        rest = b"700"
    else:
        rest = (b"0000" if digits.strip(b"0") else b"0041")[len(digits) :]
    return [decoded(pending + rest)]


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


MAX_VALUE_SUFFIXES: Final = 14
_ANY_VALUES: Final[tuple[Any, ...]] = (None, 1, "", {}, [])
_EXAMPLES = 4
_MAX_RULES = 4
_MAX_LEAST = 5000
_LITERALS: Final = {ord("t"): True, ord("f"): False, ord("n"): None}


class ValueSuffixes(ContainerSuffixes):
    """The value suffixes for one schema and one reference, and its container suffixes."""

    def candidates(
        self, cursor: Cursor, progress: StringProgress | None = None
    ) -> list[ValueSuffix]:
        """The suffixes after `cursor`, likeliest first; of its string, `progress` may be known."""
        match cursor.mode:
            case Mode.AFTER | Mode.DONE:
                found = [ValueSuffix(b"", cursor.frames)]
            case Mode.KEY_STRING:
                found = list(self._keys(cursor, progress))
            case Mode.STRING:
                found = list(self._strings(cursor, progress))
            case Mode.LITERAL:
                value = _LITERALS[cursor.atom[0]]
                rest = json.dumps(value).encode()[len(cursor.atom) :]
                found = [ValueSuffix(rest, with_value(cursor.frames, value))]
            case mode if mode.in_number:
                found = list(self._numbers(cursor))
            case _:
                found = list(self._between(cursor))
        return list(
            dict.fromkeys(
                suffix._replace(frames=self.canonical(suffix.frames))
                for suffix in found[:MAX_VALUE_SUFFIXES]
            )
        )

    def _between(self, cursor: Cursor) -> Iterator[ValueSuffix]:
        frames, mode = cursor.frames, cursor.mode
        space = space_before(self.layout, cursor)
        if mode is Mode.KEY:
            yield ValueSuffix(space, frames, LastWritten.NEED)
            return
        if mode in (Mode.KEY_OR_CLOSE, Mode.ITEM_OR_CLOSE):
            yield ValueSuffix(b"", frames, LastWritten.FRESH)
            if mode is Mode.KEY_OR_CLOSE:
                return
        for value in self.probable(frames):
            yield self._whole(space, frames, value)

    def _whole(self, before: bytes, frames: Frames, value: Any) -> ValueSuffix:
        text = before + self.layout.dump(value, len(frames))
        return ValueSuffix(text, with_value(frames, value))

    @memoised
    def probable(self, frames: Frames) -> list[Any]:
        """Values for what is written next in the innermost container."""
        schemas = self.slot_schemas(frames)
        out = list(in_turn(self.values.examples(schema)[:_EXAMPLES] for schema in schemas))
        path = slot_path(frames)
        own = self.reference_at(path, exact=True)
        if own is not MISSING:
            fitting = any(self.fits(schema, own) for schema in schemas)
            out.insert(0 if fitting else 1, own)
        elif (near := self.reference_at(path)) is not MISSING:
            out.insert(1, near)
        return distinct(out or _ANY_VALUES)

    def _numbers(self, cursor: Cursor) -> Iterator[ValueSuffix]:
        schemas = self.slot_schemas(cursor.frames)

        def fits(value: Any) -> bool:
            return any(self.values.fits(schema, value) for schema in schemas)

        written = cursor.atom.decode()
        texts = [self.layout.dump(value, 0).decode() for value in self.probable(cursor.frames)]
        known = [text[len(written) :] for text in texts if text.startswith(written)]
        for rest in [*known, *number_rests(cursor.atom, cursor.mode, fits)]:
            if rest and rest[0] not in "0123456789.eE+-":
                continue
            value = parse_number(written + rest)
            yield ValueSuffix(rest.encode(), with_value(cursor.frames, value))

    def _strings(self, cursor: Cursor, progress: StringProgress | None) -> Iterator[ValueSuffix]:
        slot = self.string_slot(cursor.frames, Mode.STRING)
        pending, written = cursor.state.part, cursor.written
        for rest in slot.rests(progress or slot.begin(written), pending):
            text = spelled_rest(pending, rest, self.layout)
            if text is not None:
                yield ValueSuffix(text + b'"', with_value(cursor.frames, written + rest))
        yield ValueSuffix(least_rest(pending) + b'"', with_value(cursor.frames, written))

    def _keys(self, cursor: Cursor, progress: StringProgress | None) -> Iterator[ValueSuffix]:
        frames = cursor.frames
        slot = self.string_slot(frames, Mode.KEY_STRING)
        pending, written = cursor.state.part, cursor.written
        taken = frames[-1].names
        rests = list(slot.rests(progress or slot.begin(written), pending))
        rests += [char + "_" for char in first_characters(pending)]
        names = [rest for rest in dict.fromkeys(rests) if written + rest not in taken]
        if not names:
            longest = max(map(len, taken), default=0)
            names = [char + "_" * longest for char in first_characters(pending)]
        spelt = ((rest, spelled_rest(pending, rest, self.layout)) for rest in names)
        found = [(rest, text) for rest, text in spelt if text is not None][:MAX_VALUE_SUFFIXES]
        later: list[ValueSuffix] = []
        for at, (rest, text) in enumerate(found):
            inner = (*frames[:-1], frames[-1]._replace(key=written + rest))
            before = text + b'":' + self.layout.colon
            suffixes = [self._whole(before, inner, value) for value in self.probable(inner)]
            yield suffixes[0]
            later += suffixes[1 : 4 if at < 2 else 2]
        yield from later
        if not found:
            # No spelling is left that stands for a character: a lone surrogate, never valid.
            before = least_rest(pending) + b'__": '
            yield self._whole(before, (*frames[:-1], frames[-1]._replace(key="\x00")), None)

    @memoised
    def string_slot(self, frames: Frames, mode: Mode) -> StringSlot:
        """What a key (`Mode.KEY_STRING`) or a string value should be at this place."""
        return self._key_slot(frames) if mode is Mode.KEY_STRING else self._value_slot(frames)

    def _value_slot(self, frames: Frames) -> StringSlot:
        schemas = self.slot_schemas(frames)
        variants = [variant for schema in schemas for variant in self.values.variants(schema)]
        variants = [variant for variant in variants if "string" in (types(variant) or ("string",))]
        values = strings(self.probable(frames))
        chosen = [value for variant in variants for value in _choices(variant)]
        targets = tuple(dict.fromkeys([*values[:1], *chosen, *values]))
        free = [variant for variant in variants if not _choices(variant)]
        rules = [rule for variant in free for rule in _rules(variant)]
        sample = next((value for value in values if any(map(_unreadable, free))), None)
        least = min(map(_least, free), default=0)
        return StringSlot(targets, tuple(dict.fromkeys(rules))[:_MAX_RULES], least, sample)

    def _key_slot(self, frames: Frames) -> StringSlot:
        variants = self.variants(frames)
        taken = frames[-1].names
        source = self.reference_at(path_of(frames))
        names = [name for name, _ in self.remaining(frames, ClosingPlan(Reuse.AFTER))]
        names += list(source) if isinstance(source, dict) else []
        names += property_names(variants)
        rules: dict[StringRule, None] = {}
        for variant in variants:
            naming = variant.get("propertyNames")
            if isinstance(naming, dict):
                names += strings(self.values.examples(naming))
                for inner in self.values.variants(naming):
                    rules.update(dict.fromkeys(_rules(inner)))
            for expression in mapping(variant, "patternProperties"):
                automaton = pattern(expression)
                if automaton is not None:
                    rules[StringRule(automaton, 0)] = None
        targets = [name for name in dict.fromkeys(names) if name not in taken]
        return StringSlot((*targets, *taken), tuple(rules)[:_MAX_RULES])


def _choices(variant: Variant) -> list[str]:
    return strings([variant["const"]] if "const" in variant else listed(variant.get("enum")))


def _least(variant: Variant) -> int:
    return min(count(variant.get("minLength")) or 0, _MAX_LEAST)


def _rules(variant: Variant) -> list[StringRule]:
    return [StringRule(automaton, _least(variant)) for automaton in automata(variant)]


def _unreadable(variant: Variant) -> bool:
    expression, wanted = variant.get("pattern"), variant.get("format")
    if isinstance(expression, str) and pattern(expression) is None:
        return True
    return isinstance(wanted, str) and wanted not in FORMAT_PATTERNS
