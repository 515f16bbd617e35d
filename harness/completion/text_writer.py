"""Samples: let an engine write texts of its own, through nothing but its masks, to the end.

What comes next is chosen among the *bytes* that may come next: most tokens are words, and a text
would hardly ever leave its first string. After so many choices a text goes to its end as a roll-out
does. Every choice depends on a key and the engine alone. This runs in the host, as roll-outs do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from harness.completion.rollout import LIMIT, Preferences, Rollout, keyed_index
from harness.inputs.vocabulary import Vocabulary, alike
from harness.jsontext.lexer import Mode
from harness.jsontext.partial import Cursor, encoded, feed
from harness.protocol import Mask, Matcher, allows, mask_by, set_bits, token_ids

_STEPS = 1 << 32
_STRAY = 0.2
"""The chance of a byte that is drawn on the way to the end."""
_LONGER = 0.1
"""The chance of a token of more than the byte that was drawn."""
_ENDS = 0.5
"""The chance that a text ends where it may."""
_OWN_HINTS = 0.8
"""The chance that a hint is one about the member."""


Hints = Mapping[bytes, Sequence[bytes]]
"""Values by the name of the member that they are about (as a JSON text; that of none is empty)."""
NO_NAME = b'""'


def spelled_name(name: str) -> bytes:
    return encoded(json.dumps(name, ensure_ascii=False))


def member_of(cursor: Cursor) -> bytes:
    """The name of the innermost open member; of all in an array that of the member that it is."""
    keys = (frame.key for frame in reversed(cursor.frames) if frame.is_object)
    return spelled_name(next(keys, None) or "")


@dataclass(frozen=True)
class Temperament:
    """How a text is written."""

    choices: int
    """How often something is chosen freely before the text goes to its end."""
    hints: float = 0.6
    """The chance that a value or a name is one of the hints, where one can begin."""
    by_byte: bool = False
    """Whether all bytes are alike; else first a sort of byte is drawn, then the byte."""


TEMPERAMENTS = (
    Temperament(0),
    Temperament(12),
    Temperament(48, hints=0.1, by_byte=True),
    Temperament(4, hints=0.9),
)
"""Text ``i`` is written in the manner of ``i`` modulo their number."""

_SORTS = (
    *(b'"', b"\\", b"{[", b"}]", b",", b":", b" ", b"\t\n\r", b"0123456789", b"-+", b".eE", b"tfn"),
)
"""Bytes of one sort; all others are letters, signs, or parts of characters beyond ASCII."""

_SORT: npt.NDArray[np.int8] = np.full(256, len(_SORTS), dtype=np.int8)
_SORT[128:] = len(_SORTS) + 1
_SORT[[byte for byte in range(33, 127) if not chr(byte).isalnum()]] = len(_SORTS) + 2
_SORT[ord("A") : ord("Z") + 1] = len(_SORTS) + 3
for _number, _members in enumerate(_SORTS):
    _SORT[list(_members)] = _number
_KINDS = len(_SORTS) + 4
_OPEN, _CLOSE, _SPACE, _LINE = 2, 3, 6, 7


class TextWriter:
    """Writes samples; `preferences` say how a text goes to its end."""

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
        return np.where(self.vocabulary.special, np.int16(-1), text[self.vocabulary.offsets[:-1]])

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
            found = np.unique(self._first[token_ids(mask, self.vocabulary.size)])
            found = found[found >= 0]
        return np.asarray(found, dtype=np.int64)

    def write(
        self,
        start: Matcher,
        hints: Sequence[tuple[str, str]],
        key: str,
        numbers: range,
        limit: int = LIMIT,
    ) -> Iterator[Rollout]:
        """Write texts, each from a clone of `start`, the engine at the start of a text.

        All choices depend on `key`, the manner of a text on its number; `limit` counts its tokens
        with the end of sequence. `hints` are JSON values of which some may be written, each after
        the name of the member that it is about, or after none.
        """
        known: dict[bytes, list[bytes]] = {}
        for name, value in hints:
            known.setdefault(spelled_name(name), []).append(value.encode())
        for number in numbers:
            pen = _Pen(self, start.clone(), known, f"{key}/{number}", limit)
            yield pen.written(TEMPERAMENTS[number % len(TEMPERAMENTS)])


class _Pen:
    """One text as it is written."""

    def __init__(
        self, writer: TextWriter, matcher: Matcher, hints: Hints, key: str, limit: int
    ) -> None:
        self._writer, self._vocabulary = writer, writer.vocabulary
        self._matcher, self._hints, self._key, self._limit = matcher, hints, key, limit
        self._draws = 0
        self._cursor: Cursor | None = Cursor()
        self._taken: list[int] = []
        self._ended: Rollout | None = None

    def written(self, how: Temperament) -> Rollout:
        for _ in range(how.choices):
            if not self._choose(how):
                break
        return self._ended or self._rolled_out()

    def _rolled_out(self) -> Rollout:
        """The text, ended as soon as the engine lets it.

        What a roll-out takes first may lead to no end: now and then another byte is drawn.
        """
        preferences, how = self._writer.preferences, Temperament(0, hints=0.0)
        while len(self._taken) <= self._limit:
            if self._draw() < _STRAY and self._choose(how):
                continue
            if self._ended:
                break
            token = preferences.choose(self._masked(), f"{self._key}/{len(self._taken)}")
            if token is None:
                return Rollout("dead_end", tuple(self._taken))
            if not self._take(token):
                break
        return self._ended or Rollout("too_long", tuple(self._taken[: self._limit]))

    def _masked(self) -> Mask:
        """The mask here."""
        self._mask = mask_by(self._matcher.mask, self._vocabulary.words)
        return self._mask

    def _draw(self) -> float:
        self._draws += 1
        return keyed_index(f"{self._key}/{self._draws}", _STEPS) / _STEPS

    def _index(self, count: int) -> int:
        return int(self._draw() * count)

    def _take(self, token: int) -> bool:
        """Consume a token that the mask allows; whether the text goes on after it."""
        self._taken.append(token)
        if not self._matcher.consume(token):
            self._ended = Rollout("mask_consume_mismatch", tuple(self._taken))
        elif token in self._vocabulary.eos_ids:
            self._ended = Rollout("complete", tuple(self._taken))
        elif self._cursor is not None:
            self._cursor = feed(self._cursor, self._vocabulary.tokens[token])
        return self._ended is None

    def _choose(self, how: Temperament) -> bool:
        """Write what is chosen next, and what the engine forces after it; whether more may come."""
        chosen = False
        while len(self._taken) < self._limit:
            mask = self._masked()
            bytes_ = self._writer.next_bytes(mask)
            ends = [token for token in self._vocabulary.eos_ids if allows(mask, token)]
            if not len(bytes_):
                return bool(ends) and self._take(ends[0])
            if len(bytes_) == 1 and not ends:
                if not self._take(self._forced(int(bytes_[0]))):
                    return False
                continue
            if chosen:
                return True
            chosen = True
            if ends and self._draw() < _ENDS:
                return self._take(ends[0])
            if self._hinted(how):
                continue
            byte = self._byte(bytes_, how)
            if not self._take(self._token(byte)):
                return False
        return False

    def _hinted(self, how: Temperament) -> bool:
        if self._cursor is None or self._draw() >= how.hints:
            return False
        mode, some = self._cursor.mode, list[bytes]()
        if mode in (Mode.VALUE, Mode.ITEM_OR_CLOSE):
            about = list(self._hints.get(member_of(self._cursor), ()))
            own = about and self._draw() < _OWN_HINTS
            some = about if own else [one for every in self._hints.values() for one in every]
        elif mode in (Mode.KEY, Mode.KEY_OR_CLOSE):
            some = [one for one in self._hints.get(NO_NAME, ()) if one.startswith(b'"')]
        if not some:
            return False
        before = len(self._taken)
        for byte in some[self._index(len(some))]:
            mask, token = self._masked(), self._vocabulary.byte_ids[byte]
            if token < 0 or len(self._taken) >= self._limit or not allows(mask, token):
                break
            if not self._take(token):
                break
        return len(self._taken) > before

    def _byte(self, bytes_: npt.NDArray[np.int64], how: Temperament) -> int:
        if how.by_byte:
            return int(bytes_[self._index(len(bytes_))])
        sorts = _SORT[bytes_]
        weights = np.ones(_KINDS)
        state = None if self._cursor is None else self._cursor.state
        weights[_LINE] = 0.1
        weights[_SPACE] = 1.0 if state is not None and state.mode.in_string else 0.2
        weights[_CLOSE] = 2.0
        weights[_OPEN] = 1.0 / (1 + (0 if state is None else len(state.stack)))
        weights[np.bincount(sorts, minlength=_KINDS) == 0] = 0.0
        sort = int(np.searchsorted(np.cumsum(weights), self._draw() * weights.sum(), side="right"))
        some = bytes_[sorts == sort]
        return int(some[self._index(len(some))])

    def _token(self, byte: int) -> int:
        """A token that begins with a byte: itself, or sometimes a longer one."""
        single = self._vocabulary.byte_ids[byte]
        if single >= 0 and allows(self._mask, single) and self._draw() >= _LONGER:
            return single
        ids = self._beginning(byte)
        return ids[self._index(len(ids))]

    def _beginning(self, byte: int) -> list[int]:
        ids = token_ids(self._mask & self._writer.members(byte), self._vocabulary.size)
        return list(map(int, ids))

    def _forced(self, byte: int) -> int:
        """The longest token that begins with a byte and holds nothing that could be otherwise."""
        ids, tokens = self._beginning(byte), self._vocabulary.tokens
        common = max((tokens[one] for one in ids), key=len)
        for one in ids:
            same = alike(common, tokens[one])
            if same < min(len(common), len(tokens[one])):
                common = common[:same]
        whole = [one for one in ids if common.startswith(tokens[one])]
        return max(whole or ids[:1], key=lambda one: len(tokens[one]))
