"""Alterations of a JSON text: one part of it left out, written twice, replaced, added or edited.

What is joined stands alike on both sides: the same containers are open, and the text is in the
middle of the same. So an alteration is JSON where the text is, but for odd bytes in strings, and
differs in one place, so that what is wrong with it is not hidden behind what else is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, pairwise
from typing import Final, NamedTuple

from harness.completion.rollout import keyed_index
from harness.jsontext.lexer import NUMBER_ENDS, Mode, State
from harness.jsontext.partial import Cursor, feed
from harness.schemas.variants import in_turn

_FIRST = {Mode.ITEM_OR_CLOSE: Mode.VALUE, Mode.KEY_OR_CLOSE: Mode.KEY}
_CLOSERS = (b"]", b"}")
_IN_NUMBERS = frozenset(bytes([byte]) for byte in b"0123456789.eE+-")
_SPACE = b" \t\n\r"
_NO_NAME = b'""'
_STRING_EDITS: Final = (
    *(b"a", b"Z", b"0", b" ", b"-", b"_", b".", b"/", b"@", b":", b"%", b"+", b"\\n", b"\\u0000"),
    *(b'\\"', b"\\\\", *(char.encode() for char in "é😀\u2028"), b"\\u00e9", b"\\ud83d\\ude00"),
    *(b"\\ud800", b"\x01", b"\x7f", b"a" * 20, b"a" * 120),
)
_NUMBER_EDITS: Final = (b"-", b"0", b"9", b"1", b".5", b".0", b"e1", b"e-1", b"E+2", b"0" * 20)
_ABOUT = 4
"""So much sooner comes what is about the member than what is about any."""
_OTHERS = 16
"""So many of the first hints that are about no member, and of the last, are tried at any."""
_MOST = 20_000
_DROPPED = (Mode.AFTER, Mode.KEY, Mode.VALUE, Mode.STRING, Mode.KEY_STRING)

Hints = Mapping[bytes, Sequence[bytes]]
"""Values by the name of the member that they are about (as a JSON text; that of none is empty)."""


def by_name(hints: Sequence[tuple[str, str]]) -> Hints:
    """Hints as `harness.schemas.violations` gives them, by name."""
    found: dict[bytes, list[bytes]] = {}
    for name, value in hints:
        found.setdefault(_spelled(name), []).append(value.encode())
    return found


class NamedPlace(NamedTuple):
    """Where a text stands, and the name of the innermost open member, as a JSON text."""

    state: State
    name: bytes

    @classmethod
    def of(cls, cursor: Cursor) -> NamedPlace:
        """Of an array in a member, and of all in it, the name is that member's."""
        keys = (frame.key for frame in reversed(cursor.frames) if frame.is_object)
        return cls(cursor.state, _spelled(next(keys, None) or ""))

    def before(self, following: bytes) -> State:
        """The state as it is before a byte; empty stands for the end.

        A number that is at its end stands after a value; the start of a first item is that of any
        item, and of a first key likewise.
        """
        mode = self.state.mode
        if mode in NUMBER_ENDS and following not in _IN_NUMBERS:
            mode = Mode.AFTER if self.state.stack else Mode.DONE
        elif following not in _CLOSERS:
            mode = _FIRST.get(mode, mode)
        return self.state._replace(mode=mode)


def _spelled(name: str) -> bytes:
    return json.dumps(name, ensure_ascii=False).encode("utf-8", "surrogatepass")


Alteration = tuple[tuple[int, bytes, int], int]
"""A text up to a byte, something else, the text from a byte on; and how soon it comes."""


class Base:
    """A text of which there are alterations, and where it stands at each byte and at its end."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.places: list[NamedPlace] = []
        here: Cursor | None = Cursor()
        for at in range(len(text) + 1):
            if here is None:
                break
            self.places.append(NamedPlace.of(here))
            here = feed(here, text[at : at + 1])

    @cached_property
    def states(self) -> list[State]:
        """The states of `places`, see `NamedPlace.before`."""
        return [one.before(self.text[at : at + 1]) for at, one in enumerate(self.places)]

    @cached_property
    def alike(self) -> Mapping[State, Sequence[int]]:
        """Where it stands alike, ascending."""
        found: dict[State, list[int]] = {}
        for at, state in enumerate(self.states):
            if not state.part:
                found.setdefault(state, []).append(at)
        return found

    def dropped(self, _hints: Hints) -> Iterator[Alteration]:
        """Without a member, an item, a character, or without several."""
        for state, places in self.alike.items():
            if state.mode not in _DROPPED:
                continue
            weight = 1 if state.mode in (Mode.STRING, Mode.KEY_STRING) else _ABOUT
            for at, after in pairwise(places):
                if self.text[at:after].strip(_SPACE):
                    yield (at, b"", after), weight
            if len(places) > 2:
                yield (places[0], b"", places[-1]), weight
                yield (places[1], b"", places[-1]), weight

    def repeated(self, _hints: Hints) -> Iterator[Alteration]:
        """With an item twice, or a part of a string."""
        for state, places in self.alike.items():
            if state.mode is Mode.VALUE and state.stack[-1:] == b"[":
                for end in self.alike.get(state._replace(mode=Mode.AFTER), ()):
                    for start in places:
                        if start < end and self.text[start : start + 1] not in (b" ", b"\n"):
                            yield (end, b",", start), 2 * _ABOUT
            elif state.mode is Mode.STRING and len(places) > 1:
                yield (places[-1], b"", places[0]), 1

    def replaced(self, hints: Hints) -> Iterator[Alteration]:
        """With another value."""
        for at, start in self._values():
            for hint, weight in _about(hints, self.places[at].name if at else _NO_NAME):
                if hint != self.text[at:start]:
                    yield (at, hint, start), weight

    def added(self, hints: Hints) -> Iterator[Alteration]:
        """With a further member or item."""
        names = [one for one in hints.get(_NO_NAME, ()) if one.startswith(b'"')]
        for at, state in enumerate(self.states):
            empty = self.places[at].state.mode in (Mode.KEY_OR_CLOSE, Mode.ITEM_OR_CLOSE)
            if not (state.mode is Mode.AFTER or (empty and self.text[at : at + 1] in _CLOSERS)):
                continue
            comma = b"" if empty else b","
            if state.stack[-1:] == b"[":
                for hint, weight in _about(hints, self.places[at].name):
                    yield (at, comma + hint, at), weight
                continue
            for number, name in enumerate(names):
                values = [*hints.get(name, ()), *hints.get(_NO_NAME, ())[-_OTHERS:]]
                value = values[keyed_index(f"{self.text!r}/{at}/{number}", len(values))]
                yield (at, comma + name + b":" + value, at), _ABOUT

    def edited(self, _hints: Hints) -> Iterator[Alteration]:
        """With something else in a string, a name or a number."""
        for at in self._in_strings():
            for other in _STRING_EDITS:
                yield (at, other, at), 2
                if self.states[at + 1] == self.states[at] and self.text[at : at + 1] != b'"':
                    yield (at, other, at + 1), 1
        for at, state in enumerate(self.states):
            if state.mode in (Mode.AFTER, Mode.DONE) and self.places[at].state.mode in NUMBER_ENDS:
                for other in _NUMBER_EDITS:
                    yield (at, other, at), _ABOUT
            elif state.mode is Mode.VALUE and self.text[at : at + 1] in _IN_NUMBERS:
                for other in _NUMBER_EDITS[:4]:
                    yield (at, other, at), _ABOUT

    def _in_strings(self) -> Iterator[int]:
        """At the begin of each string, after its first character, in its middle and at its end."""
        run: list[int] = []
        for at, state in enumerate(self.states):
            if state.mode.in_string:
                run += [] if state.part else [at]
            elif run:
                first, second, middle, last = run[0], run[:2][-1], run[len(run) // 2], run[-1]
                yield from dict.fromkeys((first, second, middle, last))
                run = []

    def _values(self) -> Iterator[tuple[int, int]]:
        for at, state in enumerate(self.states):
            if state.mode is Mode.VALUE and self.text[at : at + 1].strip(_SPACE):
                ended = state._replace(mode=Mode.AFTER if state.stack else Mode.DONE)
                start = next((one for one in self.alike.get(ended, ()) if one > at), -1)
                if start > 0:
                    yield at, start


def _about(hints: Hints, name: bytes) -> Iterator[tuple[bytes, int]]:
    """Values for a member, with how soon each comes: its own, then some that are about none."""
    some = hints.get(_NO_NAME, ())
    if name != _NO_NAME:
        for one in hints.get(name, ()):
            yield one, 2 * _ABOUT
    for at, one in enumerate((*some[:_OTHERS], *some[max(_OTHERS, len(some) - _OTHERS) :])):
        yield one, _ABOUT if at < _OTHERS and name == _NO_NAME else 1


_MANNERS = (Base.replaced, Base.dropped, Base.added, Base.edited, Base.repeated)


def alterations(texts: Sequence[bytes], hints: Hints, key: str) -> Iterator[bytes]:
    """Alterations of some texts, each once, all manners in turns, in an order by `key`."""
    bases = [Base(text) for text in texts]
    orders = [_in_order(manner, bases, hints, key) for manner in _MANNERS]
    seen = set(texts)
    for text in in_turn(orders):
        if text not in seen:
            seen.add(text)
            yield text


def _in_order(
    manner: Callable[[Base, Hints], Iterator[Alteration]],
    bases: Sequence[Base],
    hints: Hints,
    key: str,
) -> Iterator[bytes]:
    """The alterations of one manner in an order that `key` decides; the first of very many."""

    def rank(found: tuple[int, Alteration]) -> float:
        number, ((end, other, start), weight) = found
        drawn = keyed_index(f"{key}/{number}/{end}/{start}/{other!r}", 1 << 32)
        return float((drawn + 1) / weight)

    every = ((at, one) for at, base in enumerate(bases) for one in manner(base, hints))
    for number, ((end, other, start), _) in sorted(islice(every, _MOST), key=rank):
        text = bases[number].text
        yield text[:end] + other + text[start:]
