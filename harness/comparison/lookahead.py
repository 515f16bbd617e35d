"""The look-ahead walk: masks of the positions ahead, asked for in batches along the likely tokens.

Which token is taken depends on all masks of a position, but where every engine allows all tokens on
the reference's path it depends on nothing but the position's key. So the tokens are predicted as if
that were so, and the engines asked for many positions at once; where a prediction fails, what was
asked beyond it is thrown away. What a caller learns of a position is what it would have learned by
asking for that position alone.

While a batch is gone through, the engines are already at the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from harness.comparison.walk import WalkKey, path_tokens, predicted_token
from harness.engines.panel import Panel, Walked
from harness.inputs.vocabulary import Vocabulary
from harness.workers.mask_buffer import SLOTS
from harness.workers.outcomes import Failure

_FIRST = 8
"""Positions in the first batch, and in one behind a prediction that failed."""

NOTHING = -1
"""The token that leads to the first position."""

Masks = npt.NDArray[np.uint32]
_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Arrived:
    """What the engines say at one position.

    Attributes:
        masks: The masks of those that came, shape ``(e, words)``.
        allowed: How many tokens each allows, shape ``(e,)``.
        times: Nanoseconds inside the hosts: to compute the mask, and to consume the token before;
            shape ``(e, 2)``.
        empty: Whether any mask is empty.
    """

    engines: tuple[int, ...]
    failures: Mapping[int, Failure]
    masks: Masks
    allowed: _Ints
    times: _Ints
    differ: bool
    empty: bool


@dataclass(frozen=True)
class _Batch:
    """The positions that were asked for together, the first of which is number `first`.

    Attributes:
        reached: How many of the positions each engine reached.
        failures: What kept an engine from the next one.
        masks: Of each engine, shape ``(reached, words)``; shared memory.
        times: Shape ``(len(tokens), len(engines), 2)``.
    """

    first: int
    tokens: Sequence[int]
    engines: tuple[int, ...]
    reached: Sequence[int]
    failures: Mapping[int, Failure]
    masks: tuple[Masks, ...]
    times: _Ints

    @classmethod
    def of(
        cls,
        first: int,
        tokens: Sequence[int],
        walked: Mapping[int, Walked],
        lost: Mapping[int, Failure],
    ) -> _Batch:
        """What engines answered; `lost` are those that could not be asked."""
        engines = tuple(sorted([*walked, *lost]))
        reached = [len(walked[engine]) if engine in walked else 0 for engine in engines]
        failed = {index: one.failure for index, one in walked.items() if one.failure is not None}
        times = np.zeros((len(tokens), len(engines), 2), dtype=np.int64)
        for row, engine in enumerate(engines):
            if engine in walked:
                times[: reached[row], row] = walked[engine].times
        masks = tuple(walked[engine].masks if engine in walked else _NO_MASKS for engine in engines)
        return cls(first, tokens, engines, reached, {**failed, **lost}, masks, times)

    def holds(self, number: int, token: int, engines: Sequence[int]) -> bool:
        """Whether it tells of a position behind `token`, of all these engines."""
        slot = number - self.first
        if not 0 <= slot < len(self.tokens) or self.tokens[slot] != token:
            return False
        rows = [self.engines.index(one) for one in engines if one in self.engines]
        return len(rows) == len(engines) and all(slot <= self.reached[row] for row in rows)

    def walked(self, engine: int) -> list[int]:
        """The tokens of the positions that an engine reached."""
        tokens = self.tokens[: self.reached[self.engines.index(engine)]]
        return [token for token in tokens if token != NOTHING]

    def at(self, number: int, engines: Sequence[int]) -> Arrived:
        """What it tells of a position."""
        slot = number - self.first
        rows = [self.engines.index(one) for one in engines]
        came = [row for row in rows if slot < self.reached[row]]
        failures = {
            self.engines[row]: self.failures[self.engines[row]] for row in rows if row not in came
        }
        some = [self.masks[row][slot] for row in came]
        masks = np.stack(some) if some else _NO_MASKS
        differ = bool((masks[1:] != masks[:1]).any())
        names = tuple(self.engines[row] for row in came)
        allowed = np.bitwise_count(masks).sum(axis=1, dtype=np.int64)
        empty = not allowed.all()
        return Arrived(names, failures, masks, allowed, self.times[slot, came], differ, empty)


@dataclass
class _Asked:
    """A batch that the engines may still be at; `batch` once it was waited for."""

    first: int
    tokens: Sequence[int]
    engines: tuple[int, ...]
    batch: _Batch | None = None


_NO_MASKS: Masks = np.zeros((0, 0), dtype=np.uint32)


@dataclass
class LookaheadWalk:
    """The way of the engines along one reference.

    Args:
        panel: The engines; those that take part stand at the start of the text.
        timed: Times what it is entered for: asking for positions and waiting for them.
    """

    panel: Panel
    vocabulary: Vocabulary
    key: WalkKey
    reference: bytes
    timed: Callable[[], AbstractContextManager[None]] = nullcontext
    _batch: _Batch | None = None
    _ahead: _Asked | None = None
    _length: int = _FIRST
    _predicted: dict[tuple[int, int], int] = field(default_factory=dict)
    _paths: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def path(self, offset: int) -> tuple[int, ...]:
        """The tokens that go on along the reference from `offset`."""
        found = self._paths.get(offset)
        if found is None:
            found = self._paths[offset] = path_tokens(self.vocabulary, self.reference, offset)
        return found

    def arrive(
        self, engines: Sequence[int], consumed: Sequence[int], offset: int, token: int
    ) -> Arrived:
        """Have the engines go on by one token.

        Args:
            engines: Those that go on, in the order of the run.
            offset: Bytes of the reference that are consumed with `token`.
            token: The token to take; `NOTHING` for the first position.
        """
        number = len(consumed) + (token != NOTHING)
        batch = self._batch
        if batch is None or not batch.holds(number, token, engines):
            with self.timed():
                batch = self._batch = self._next(engines, consumed, offset, token)
        return batch.at(number, engines)

    def predicted(self, number: int, offset: int) -> int | None:
        """The `predicted_token` of a position at `offset`, if it was predicted."""
        return self._predicted.get((number, offset))

    def stand_by(self, engines: Sequence[int], consumed: Sequence[int]) -> None:
        """Bring engines back that failed beyond the present position: it may be asked about.

        They are told the tokens as far as these are known, and not asked for their masks.
        """
        batches = [batch for batch in (self._batch, self._collected()) if batch is not None]
        for engine in engines:
            if not self.panel.up(engine):
                tokens = list(consumed)
                for batch in batches:
                    tokens[max(batch.first - 1, 0) :] = batch.walked(engine)
                self.panel.recover(engine, tokens)

    def forget(self) -> None:
        """An engine was brought back to the present position: ask anew from there."""
        self._collected()
        self._batch = self._ahead = None

    def _next(
        self, engines: Sequence[int], consumed: Sequence[int], offset: int, token: int
    ) -> _Batch:
        """The batch that begins with a position: the one that was asked for, or another."""
        number = len(consumed) + (token != NOTHING)
        last, batch = self._batch, self._collected()
        self._ahead = None
        steady = last is None or number == last.first + len(last.tokens)
        self._length = min(2 * self._length, SLOTS) if steady and last is not None else _FIRST
        if batch is None or not batch.holds(number, token, engines):
            batch = self._asked(engines, consumed, offset, token)
        if steady and not batch.failures:
            self._ask_ahead(batch, offset)
        return batch

    def _asked(
        self, engines: Sequence[int], consumed: Sequence[int], offset: int, token: int
    ) -> _Batch:
        """The positions behind the present one, engines that failed beyond it brought back."""
        number = len(consumed) + (token != NOTHING)
        lost: dict[int, Failure] = {}
        for engine in engines:
            if not self.panel.up(engine):
                failure = self.panel.recover(engine, consumed)
                lost |= {} if failure is None else {engine: failure}
        up = tuple(engine for engine in engines if engine not in lost)
        tokens = [token, *self._predict(number, offset, self._length - 1)]
        walked = self.panel.walk(up, tokens, len(consumed), str(self.key))
        return _Batch.of(number, tokens, walked, lost)

    def _ask_ahead(self, batch: _Batch, offset: int) -> None:
        """Have the engines walk on behind a batch; `offset` is that of its first position."""
        offset += sum(len(self.vocabulary.tokens[token]) for token in batch.tokens[1:])
        number = batch.first + len(batch.tokens)
        length = min(2 * self._length, SLOTS)
        tokens = self._predict(number - 1, offset, length)
        if tokens:
            self.panel.begin_walk(batch.engines, tokens, number - 1, str(self.key))
            self._ahead = _Asked(number, tokens, batch.engines)

    def _collected(self) -> _Batch | None:
        """The batch that was asked for ahead, waited for."""
        ahead = self._ahead
        if ahead is None:
            return None
        if ahead.batch is None:
            walked = self.panel.end_walk(ahead.engines)
            ahead.batch = _Batch.of(ahead.first, ahead.tokens, walked, {})
        return ahead.batch

    def _predict(self, number: int, offset: int, length: int) -> list[int]:
        """The tokens that are taken at position `number` and behind it, if all are allowed."""
        tokens: list[int] = []
        while len(tokens) < length and offset < len(self.reference):
            if not (path := self.path(offset)):
                break
            token = predicted_token(self.key.at(number), path)
            self._predicted[number, offset] = token
            tokens.append(token)
            offset += len(self.vocabulary.tokens[token])
            number += 1
        return tokens
