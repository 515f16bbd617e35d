"""The look-ahead walk: masks of the positions ahead, asked for in batches along the likely tokens.

Where every engine allows all tokens on the reference's path, which is taken depends on nothing but
the position's key. So the tokens are predicted as if that were so, and the engines asked for many
positions at once, while the batch before is gone through; where a prediction fails, what was asked
beyond it is thrown away. A caller learns what it would by asking for each position alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from harness.comparison.walk import path_tokens, predicted_token
from harness.engines.panel import Panel, Walked
from harness.inputs.vocabulary import Vocabulary
from harness.workers.outcomes import Failure
from harness.workers.wire import SLOTS

_FIRST = 8
"""Positions in the first batch, and in one after a prediction that failed."""

NOTHING = -1
"""The token that leads to the first position."""

Masks = npt.NDArray[np.uint32]
_Ints = npt.NDArray[np.int64]
_NO_MASKS: Masks = np.zeros((0, 0), dtype=np.uint32)
_NO_TIMES: _Ints = np.zeros((0, 2), dtype=np.int64)


@dataclass(frozen=True)
class Arrived:
    """What the engines say at one position.

    The masks of those that came, shape ``(e, words)``; how many tokens each allows, ``(e,)``; the
    nanoseconds to compute the mask, and to consume the token before, ``(e, 2)``; whether any two
    masks differ, and whether any is empty.
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
    """The positions that were asked for together, from `first` on; `lost` could not be asked."""

    first: int
    tokens: Sequence[int]
    walked: Mapping[int, Walked]
    lost: Mapping[int, Failure]

    @property
    def failed(self) -> bool:
        """Whether an engine did not reach all positions."""
        return bool(self.lost) or any(one.failure is not None for one in self.walked.values())

    def reached(self, engine: int) -> int:
        return len(self.walked[engine]) if engine in self.walked else 0

    def holds(self, number: int, token: int, engines: Sequence[int]) -> bool:
        """Whether it tells of a position after `token`, of all these engines."""
        slot = number - self.first
        if not 0 <= slot < len(self.tokens) or self.tokens[slot] != token:
            return False
        known = self.walked.keys() | self.lost.keys()
        return all(one in known and slot <= self.reached(one) for one in engines)

    def consumed(self, engine: int) -> list[int]:
        return [token for token in self.tokens[: self.reached(engine)] if token != NOTHING]

    def at(self, number: int, engines: Sequence[int]) -> Arrived:
        slot = number - self.first
        came = [self.walked[one] for one in engines if slot < self.reached(one)]
        failures = {
            one: self.lost.get(one) or self.walked[one].failure
            for one in engines
            if slot >= self.reached(one)
        }
        masks = np.stack([one.masks[slot] for one in came]) if came else _NO_MASKS
        times = np.stack([one.times[slot] for one in came]) if came else _NO_TIMES
        differ = bool((masks[1:] != masks[:1]).any())
        names = tuple(one for one in engines if one not in failures)
        allowed = np.bitwise_count(masks).sum(axis=1, dtype=np.int64)
        failed = {one: failure for one, failure in failures.items() if failure is not None}
        return Arrived(names, failed, masks, allowed, times, differ, not allowed.all())


@dataclass
class LookaheadWalk:
    """The way of the engines, which stand at the start of the text, along one reference.

    `timed` is entered while positions are asked for and waited for.
    """

    panel: Panel
    vocabulary: Vocabulary
    key: str
    reference: bytes
    timed: Callable[[], AbstractContextManager[None]] = nullcontext
    _batch: _Batch | None = None
    _ahead: Callable[[], _Batch] | None = None
    """Waits for the batch that the engines are at."""
    _length: int = _FIRST

    def arrive(
        self, engines: Sequence[int], consumed: Sequence[int], offset: int, token: int
    ) -> Arrived:
        """Have the engines go on by one token, which ends at `offset` bytes of the reference."""
        number = len(consumed) + (token != NOTHING)
        batch = self._batch
        if batch is None or not batch.holds(number, token, engines):
            with self.timed():
                batch = self._batch = self._next(engines, consumed, offset, token)
        return batch.at(number, engines)

    def stand_by(self, engines: Sequence[int], consumed: Sequence[int]) -> None:
        """Bring engines back that failed beyond the present position: it may be asked about.

        They are told the tokens as far as these are known, and not asked for their masks.
        """
        batches = [batch for batch in (self._batch, self._collected()) if batch is not None]
        for engine in engines:
            if not self.panel.up(engine):
                tokens = list(consumed)
                for batch in batches:
                    tokens[max(batch.first - 1, 0) :] = batch.consumed(engine)
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
        if steady and not batch.failed:
            self._ask_ahead(batch, offset)
        return batch

    def _asked(
        self, engines: Sequence[int], consumed: Sequence[int], offset: int, token: int
    ) -> _Batch:
        """The positions after the present one, engines that failed beyond it brought back."""
        number = len(consumed) + (token != NOTHING)
        lost: dict[int, Failure] = {}
        for engine in engines:
            if not self.panel.up(engine):
                failure = self.panel.recover(engine, consumed)
                lost |= {} if failure is None else {engine: failure}
        up = tuple(engine for engine in engines if engine not in lost)
        tokens = [token, *self._predict(number, offset, self._length - 1)]
        walked = self.panel.walk(up, tokens, len(consumed), self.key)
        return _Batch(number, tokens, walked, lost)

    def _ask_ahead(self, batch: _Batch, offset: int) -> None:
        """Have the engines walk on after a batch; `offset` is that of its first position."""
        offset += sum(len(self.vocabulary.tokens[token]) for token in batch.tokens[1:])
        number = batch.first + len(batch.tokens)
        length = min(2 * self._length, SLOTS)
        tokens = self._predict(number - 1, offset, length)
        if tokens:
            engines = sorted(batch.walked)
            self.panel.begin_walk(engines, tokens, number - 1, self.key)
            self._ahead = cache(lambda: _Batch(number, tokens, self.panel.end_walk(engines), {}))

    def _collected(self) -> _Batch | None:
        """The batch that was asked for ahead, waited for."""
        return None if self._ahead is None else self._ahead()

    def _predict(self, number: int, offset: int, length: int) -> list[int]:
        """The tokens that are taken at position `number` and after it, if all are allowed."""
        tokens: list[int] = []
        while len(tokens) < length and offset < len(self.reference):
            if not (path := path_tokens(self.vocabulary, self.reference, offset)):
                break
            token = predicted_token(f"{self.key}/{number}", path)
            tokens.append(token)
            offset += len(self.vocabulary.tokens[token])
            number += 1
        return tokens
