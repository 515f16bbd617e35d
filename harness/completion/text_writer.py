"""Samples: let an engine write texts of its own, through nothing but its masks, to the end.

A text is begun in one of several ways and ends as a roll-out does, so that it is no longer than it
must be. What comes next is chosen among the *bytes* that may come next, not among the tokens: of
these most are words, and a text would hardly ever leave its first string. Where several tokens
begin with the byte it is mostly the byte itself, and where only one byte may come the longest.

Most texts depart from one that is known: a base, or one that the engine wrote before. They follow
it to a place, write something else there, and go on with it where it stands as they do (the same
containers are open, and the text is in the middle of the same), before or behind: so that members
and items are left out, repeated, added or written otherwise, one at a time, and what is wrong is
not hidden behind what else is wrong.

Every choice depends on a key and the engine alone. This runs inside the host, next to the engine,
and needs nothing but numpy.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from harness.completion.rollout import LIMIT, Preferences, Rollout, keyed_index, roll_out
from harness.inputs.vocabulary import Vocabulary
from harness.jsontext.lexer import START, Mode, State, advance
from harness.protocol import (
    FollowingMatcher,
    Mask,
    Matcher,
    allows,
    follow_by_mask,
    set_bits,
    token_ids,
)

_STEPS = 1 << 32
_TRIES = 4
"""Places at which it is tried to go on with a base."""
_OWN_HINTS = 0.8
"""The chance that a hint is one about the member."""
_LAST = 48
"""Choices before a text must be on its way to the end."""


@dataclass(frozen=True)
class Temperament:
    """How a text is written.

    Attributes:
        choices: How often something is chosen freely before the text goes to its end.
        departs: Where it departs from another text, where there is one: what that is in the middle
            of. Empty where it departs from none.
        back: The chance that it goes on with that text at any place, and not at the next.
        by_byte: Whether all bytes are alike; else first a sort of byte is drawn, then the byte.
        closing: How welcome the end of a string is beside any other sort of byte.
        hints: The chance that a value or a name is one of the hints, where one can begin.
        longer: The chance of a token of more than the byte that was drawn.
        ends: The chance that the text ends where it may.
    """

    choices: int
    departs: tuple[Mode, ...] = ()
    back: float = 0.2
    by_byte: bool = False
    closing: float = 1.0
    hints: float = 0.3
    longer: float = 0.1
    ends: float = 0.5


_NUMBERS = (Mode.MINUS, Mode.ZERO, Mode.INT, Mode.DOT, Mode.FRAC, Mode.EXP)

TEMPERAMENTS = (
    Temperament(0),
    Temperament(2, departs=(Mode.VALUE,), hints=0.9),
    Temperament(0, departs=(Mode.AFTER, Mode.KEY), back=0.3),
    Temperament(8, departs=(Mode.AFTER,), back=0.5, hints=0.8),
    Temperament(2, departs=(Mode.STRING, *_NUMBERS), closing=2.0),
    Temperament(12, hints=0.8),
    Temperament(2, departs=(Mode.VALUE,), hints=0.9),
    Temperament(_LAST, by_byte=True, hints=0.1, longer=0.3),
)
"""Text ``i`` is written in the manner of ``i`` modulo their number: as short as can be; a value
replaced; members or items left out; others added, or written twice; a string or a number edited;
much chosen freely, mostly hints; a value replaced; long, all bytes alike."""

_SORTS = (
    b'"',
    b"\\",
    b"{[",
    b"}]",
    b",",
    b":",
    b" ",
    b"\t\n\r",
    b"0123456789",
    b"-+",
    b".eE",
    b"tfn",
)
"""Bytes of one sort; all others are letters, signs, or parts of characters beyond ASCII."""

_SORT: npt.NDArray[np.int8] = np.full(256, len(_SORTS), dtype=np.int8)
_SORT[128:] = len(_SORTS) + 1
_SORT[[byte for byte in range(33, 127) if not chr(byte).isalnum()]] = len(_SORTS) + 2
_SORT[ord("A") : ord("Z") + 1] = len(_SORTS) + 3
for _number, _members in enumerate(_SORTS):
    _SORT[list(_members)] = _number
_KINDS = len(_SORTS) + 4
_QUOTE, _ESCAPE, _OPEN, _CLOSE, _SPACE, _LINE = 0, 1, 2, 3, 6, 7

_FIRST = {Mode.ITEM_OR_CLOSE: Mode.VALUE, Mode.KEY_OR_CLOSE: Mode.KEY}
_CLOSERS = (b"]", b"}")
_NUMBER_ENDS = (Mode.ZERO, Mode.INT, Mode.FRAC, Mode.EXP)
_IN_NUMBERS = frozenset(bytes([byte]) for byte in b"0123456789.eE+-")


class TextWriter:
    """Writes samples; what it needs to know of the vocabulary is looked up once.

    Args:
        vocabulary: The shared one.
        preferences: How a text goes to its end.
    """

    def __init__(self, vocabulary: Vocabulary, preferences: Preferences) -> None:
        self.vocabulary = vocabulary
        self.preferences = preferences
        ids = np.array(vocabulary.byte_ids)
        self.single_bytes = np.flatnonzero(ids >= 0)
        self.single_ids = ids[self.single_bytes]
        self._members: dict[int, Mask] = {}

    @cached_property
    def _first(self) -> npt.NDArray[np.int16]:
        """The first byte of every ordinary token, else -1; shape ``(size,)``."""
        text = np.frombuffer(self.vocabulary.blob + b"\0", dtype=np.uint8)
        return np.where(self.vocabulary.special, -1, text[self.vocabulary.offsets[:-1]])

    def members(self, byte: int) -> Mask:
        """The mask of the ordinary tokens that begin with a byte."""
        if byte not in self._members:
            ids = np.flatnonzero(self._first == byte).tolist()
            self._members[byte] = set_bits(ids, self.vocabulary.words)
        return self._members[byte]

    def next_bytes(self, mask: Mask) -> npt.NDArray[np.int64]:
        """The bytes that may come next, ascending, as single tokens if any of these is allowed."""
        words = mask[self.single_ids >> 5] >> (self.single_ids & 31).astype(np.uint32) & 1
        found = self.single_bytes[words == 1]
        if not len(found):
            ids = token_ids(mask, self.vocabulary.size)
            found = np.unique(self._first[ids])
            found = found[found >= 0]
        next_: npt.NDArray[np.int64] = found.astype(np.int64)
        return next_

    def write(
        self,
        start: Matcher,
        bases: Sequence[Sequence[int]],
        hints: Sequence[tuple[str, str]],
        key: str,
        numbers: range,
        limit: int = LIMIT,
    ) -> Iterator[Rollout]:
        """Write texts, each from a clone of `start`.

        Args:
            start: The engine at the start of a text.
            bases: Texts from which to depart, as token ids without the end of sequence.
            hints: JSON values of which some may be written, each behind the name of the member that
                it is about, or behind none.
            key: On which all choices depend.
            numbers: Those of the texts, on which their manner depends.
            limit: The tokens of a text, end of sequence included.
        """
        known = [Base.of(self.vocabulary, tokens) for tokens in bases if len(tokens) < limit]
        spelled: dict[bytes, list[bytes]] = {}
        for name, value in hints:
            spelled.setdefault(json.dumps(name).encode(), []).append(value.encode())
        for number in numbers:
            pen = _Pen(self, start.clone(), spelled, f"{key}/{number}", limit)
            found = pen.written(TEMPERAMENTS[number % len(TEMPERAMENTS)], known)
            if found.outcome == "complete" and len(found.tokens) > 1:
                known.append(Base.of(self.vocabulary, found.tokens[:-1]))
            yield found


class Place(NamedTuple):
    """Where a text stands: its state, and the names of the members that are open, outermost first.

    Of an array in a member, and of all in it, that member's is the last.
    """

    state: State
    names: tuple[bytes, ...] = ()

    def behind(self, text: bytes) -> Place | None:
        """The place behind further bytes; None where no JSON goes on so."""
        state, names = self
        for byte in text:
            found = advance(state, bytes([byte]))
            if found is None:
                return None
            if found.mode is Mode.KEY_STRING:
                written = b"" if state.mode is not Mode.KEY_STRING else names[-1]
                names = (*names[: len(state.stack) - 1], written + bytes([byte]))
            elif found.mode is Mode.COLON and state.mode is Mode.KEY_STRING:
                names = (*names[:-1], names[-1] + bytes([byte]))
            elif len(found.stack) > len(state.stack):
                last = names[-1] if names else b'""'
                names = (*names[: len(state.stack)], *(last,) * (len(found.stack) - len(names)))
            state = found
        return Place(state, names)

    @property
    def name(self) -> bytes:
        """The name of the member that is written, as a JSON text."""
        return self.names[min(len(self.names), len(self.state.stack)) - 1] if self.names else b'""'


START_PLACE: Final = Place(START)


@dataclass(frozen=True)
class Base:
    """A text from which others depart.

    Attributes:
        tokens: Its token ids, without the end of sequence.
        starts: Where each begins, and the end of the text.
        text: Its bytes.
        states: Where the text stands before each of its bytes, and at its end; None where it is
            no JSON. Where a number is at its end it stands behind a value; the start of a first
            item is that of any item, and of a first key likewise.
    """

    tokens: tuple[int, ...]
    starts: tuple[int, ...]
    text: bytes
    states: tuple[State | None, ...]

    @classmethod
    def of(cls, vocabulary: Vocabulary, tokens: Sequence[int]) -> Base:
        """The text of some tokens."""
        parts = [vocabulary.tokens[token] for token in tokens]
        text = b"".join(parts)
        states: list[State | None] = []
        here: State | None = START
        for at in range(len(text) + 1):
            states.append(None if here is None else _alike(here, text[at : at + 1]))
            here = None if here is None else advance(here, text[at : at + 1])
        starts = np.cumsum([0, *map(len, parts)]).tolist()
        return cls(tuple(tokens), tuple(starts), text, tuple(states))

    def places(self, modes: Container[Mode]) -> list[int]:
        """Where the text is in the middle of some things."""
        return [
            at for at, state in enumerate(self.states) if state is not None and state.mode in modes
        ]

    def begun(self, vocabulary: Vocabulary, end: int) -> list[int]:
        """The tokens up to a byte, the last of them spelled out where the byte is within it."""
        whole = int(np.searchsorted(self.starts, end, side="right")) - 1
        rest = self.text[self.starts[whole] : end]
        return [*self.tokens[:whole], *(vocabulary.byte_ids[byte] for byte in rest)]

    def rest(self, vocabulary: Vocabulary, start: int) -> list[int]:
        """The tokens from a byte on, the first of them spelled out where the byte is within it."""
        whole = int(np.searchsorted(self.starts, start, side="left"))
        begin = self.text[start : self.starts[whole]]
        return [*(vocabulary.byte_ids[byte] for byte in begin), *self.tokens[whole:]]


def _alike(state: State, following: bytes) -> State:
    """A state as it is before a byte; empty stands for the end."""
    mode = state.mode
    if mode in _NUMBER_ENDS and following not in _IN_NUMBERS:
        mode = Mode.AFTER if state.stack else Mode.DONE
    elif following not in _CLOSERS:
        mode = _FIRST.get(mode, mode)
    return state._replace(mode=mode)


class _Pen:
    """One text as it is written."""

    def __init__(
        self,
        writer: TextWriter,
        matcher: Matcher,
        hints: Mapping[bytes, Sequence[bytes]],
        key: str,
        limit: int,
    ) -> None:
        self._writer = writer
        self._vocabulary = writer.vocabulary
        self._matcher = matcher
        self._hints = hints
        self._key = key
        self._limit = limit
        self._draws = 0
        self._mask: Mask = np.zeros(self._vocabulary.words, dtype=np.uint32)
        self._place: Place | None = START_PLACE
        self._taken: list[int] = []
        self._ended: Rollout | None = None

    def written(self, how: Temperament, known: Sequence[Base]) -> Rollout:
        """The text, written to its end."""
        base, left = None, -1
        if how.departs and known:
            base = known[self._index(len(known))]
            if places := base.places(how.departs):
                left = places[self._index(len(places))]
                self._follow(base.begun(self._vocabulary, left))
        for written in range(how.choices + 1):
            if self._ended is not None:
                break
            departed = base is not None and (written or not how.choices)
            if base and departed and self._go_on(base, left if written else left + 1, how):
                break
            if written < how.choices and not self._choose(how):
                break
        return self._ended or self._rolled_out()

    def _rolled_out(self) -> Rollout:
        """The text, ended as soon as the engine lets it."""
        eos, key = self._vocabulary.eos_ids, f"{self._key}/end"
        preferences = self._writer.preferences
        end = roll_out(self._matcher, preferences, eos, key, self._limit - len(self._taken))
        return Rollout(end.outcome, (*self._taken, *end.tokens))

    def _draw(self) -> float:
        self._draws += 1
        return keyed_index(f"{self._key}/{self._draws}", _STEPS) / _STEPS

    def _index(self, count: int) -> int:
        return int(self._draw() * count)

    @property
    def _state(self) -> State | None:
        return None if self._place is None else self._place.state

    def _take(self, token: int) -> bool:
        """Consume a token that the mask allows; whether the text goes on behind it."""
        self._taken.append(token)
        if not self._matcher.consume(token):
            self._ended = Rollout("mask_lies", tuple(self._taken))
        elif token in self._vocabulary.eos_ids:
            self._ended = Rollout("complete", tuple(self._taken))
        elif self._place is not None:
            self._place = self._place.behind(self._vocabulary.tokens[token])
        return self._ended is None

    def _follow(self, tokens: Sequence[int]) -> None:
        """Take leading tokens as long as they are allowed."""
        for token in tokens:
            self._matcher.mask(self._mask)
            if token < 0 or len(self._taken) >= self._limit or not allows(self._mask, token):
                return
            if not self._take(token):
                return

    def _go_on(self, base: Base, left: int, how: Temperament) -> bool:
        """Go on with the rest of a base from a place where it stands as the text does here.

        Mostly that is the next place from `left` on. Whether the text came to its end with it.
        """
        if self._state is None:
            return False
        alike = {_alike(self._state, one) for one in (b"0", b",")}
        places = [at for at, state in enumerate(base.states) if state in alike]
        later = [at for at in places if at >= left]
        for _ in range(min(_TRIES, len(places))):
            back = not later or self._draw() < how.back
            at = places[self._index(len(places))] if back else later.pop(0)
            rest = [*base.rest(self._vocabulary, at), self._vocabulary.eos]
            if self._leads(rest):
                self._follow(rest)
                return True
        return False

    def _leads(self, tokens: Sequence[int]) -> bool:
        """Whether all of some tokens may come."""
        if any(token < 0 for token in tokens) or len(self._taken) + len(tokens) > self._limit:
            return False
        if isinstance(self._matcher, FollowingMatcher):
            return self._matcher.follow(tokens) == len(tokens)
        return follow_by_mask(self._matcher, tokens, self._vocabulary.words) == len(tokens)

    def _choose(self, how: Temperament) -> bool:
        """Write what is chosen next, and all behind it that the engine leaves no choice about.

        Whether the text may go on.
        """
        chosen = False
        while len(self._taken) < self._limit:
            self._matcher.mask(self._mask)
            bytes_ = self._writer.next_bytes(self._mask)
            ends = [token for token in self._vocabulary.eos_ids if allows(self._mask, token)]
            if not len(bytes_):
                return bool(ends) and self._take(ends[0])
            if len(bytes_) == 1 and not ends:
                if not self._take(self._forced(int(bytes_[0]))):
                    return False
                continue
            if chosen:
                return True
            chosen = True
            if ends and self._draw() < how.ends:
                return self._take(ends[0])
            if self._hinted(how):
                continue
            byte = self._byte(bytes_, how)
            if not self._take(self._token(byte, how)):
                return False
        return False

    def _hinted(self, how: Temperament) -> bool:
        """Write a hint, if one is to come and a value or a name can begin here."""
        if self._place is None or self._draw() >= how.hints:
            return False
        mode = _FIRST.get(self._place.state.mode, self._place.state.mode)
        if mode is Mode.VALUE:
            about = self._hints.get(self._place.name, ())
            own = about and self._draw() < _OWN_HINTS
            some = about if own else [one for every in self._hints.values() for one in every]
        elif mode is Mode.KEY:
            some = [one for one in self._hints.get(b'""', ()) if one.startswith(b'"')]
        else:
            return False
        if not some:
            return False
        hint = some[self._index(len(some))]
        before = len(self._taken)
        self._follow([self._vocabulary.byte_ids[byte] for byte in hint])
        return len(self._taken) > before

    def _byte(self, bytes_: npt.NDArray[np.int64], how: Temperament) -> int:
        """One of the bytes that may come next."""
        if how.by_byte:
            return int(bytes_[self._index(len(bytes_))])
        sorts = _SORT[bytes_]
        weights = np.ones(_KINDS)
        in_string = self._state is not None and self._state.mode.in_string
        weights[_LINE] = 0.1
        weights[_SPACE] = 1.0 if in_string else 0.2
        weights[_QUOTE] = how.closing if in_string else 1.0
        weights[_CLOSE] = 2.0
        weights[_OPEN] = 1.0 / (1 + (0 if self._state is None else len(self._state.stack)))
        weights[np.bincount(sorts, minlength=_KINDS) == 0] = 0.0
        sort = int(np.searchsorted(np.cumsum(weights), self._draw() * weights.sum(), side="right"))
        some = bytes_[sorts == sort]
        return int(some[self._index(len(some))])

    def _token(self, byte: int, how: Temperament) -> int:
        """A token that begins with a byte: itself, or sometimes a longer one."""
        single = self._vocabulary.byte_ids[byte]
        if single >= 0 and allows(self._mask, single) and self._draw() >= how.longer:
            return single
        ids = token_ids(self._mask & self._writer.members(byte), self._vocabulary.size)
        return int(ids[self._index(len(ids))])

    def _forced(self, byte: int) -> int:
        """The longest token that begins with a byte and holds nothing that could be otherwise."""
        ids = token_ids(self._mask & self._writer.members(byte), self._vocabulary.size).tolist()
        tokens = self._vocabulary.tokens
        common = max((tokens[one] for one in ids), key=len)
        for one in ids:
            same = _same(common, tokens[one])
            if same < min(len(common), len(tokens[one])):
                common = common[:same]
        whole = [one for one in ids if common.startswith(tokens[one])]
        return int(max(whole or ids[:1], key=lambda one: len(tokens[one])))


def _same(one: bytes, other: bytes) -> int:
    """How many bytes two texts have in common at their begin."""
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
