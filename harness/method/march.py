"""The march: masks of the positions ahead, asked for in batches along the likely tokens.

Which token is taken depends on all masks of a position, but where every engine allows all tokens on
the reference's path it depends on nothing but the position's key. So the tokens are predicted as if
that were so, and the engines asked for many positions at once; where a prediction fails, what was
asked beyond it is thrown away. What a caller learns of a position is what it would have learned by
asking for that position alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from harness.data.vocabulary import Vocabulary
from harness.method.walk import WalkKey, likely_token, path_tokens
from harness.processes.board import SLOTS
from harness.processes.outcomes import Failure, MaskLies
from harness.processes.panel import Panel

_FIRST = 8
"""Positions in the first batch, and in one behind a prediction that failed."""

NOTHING = -1
"""The token that leads to the first position."""

Masks = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Stepped:
    """What one engine did to come to one position; nanoseconds, inside the host."""

    mask_ns: int
    consume_ns: int


@dataclass(frozen=True)
class Arrived:
    """What the engines say at one position.

    Attributes:
        steps: The engines that came here, with what it took them, ascending.
        failures: What kept the others from it.
        masks: The masks of those that came, shape ``(len(steps), words)``.
        allowed: How many tokens each allows, shape ``(len(steps),)``.
        differ: Whether any two masks differ.
    """

    steps: Mapping[int, Stepped]
    failures: Mapping[int, Failure]
    masks: Masks
    allowed: npt.NDArray[np.int64]
    differ: bool

    @property
    def engines(self) -> tuple[int, ...]:
        """The engines that came here."""
        return tuple(self.steps)


@dataclass(frozen=True)
class _Batch:
    """The positions that were asked for together, the first of which is number `first`.

    Attributes:
        tokens: The token that leads to each.
        reached: How many of them each engine reached, and what kept it from the next.
        masks: Of each engine, shape ``(reached, words)``; likewise `times`, ``(reached, 2)``.
        allowed: Of each engine, shape ``(reached,)``.
        differ: Whether masks differ, for the positions that all reached, shape ``(m,)``.
    """

    first: int
    tokens: Sequence[int]
    failures: Mapping[int, Failure | None]
    masks: Mapping[int, Masks]
    times: Mapping[int, Sequence[Sequence[int]]]
    allowed: Mapping[int, npt.NDArray[np.int64]]
    differ: npt.NDArray[np.bool_]

    def holds(self, number: int, token: int, engines: Sequence[int]) -> bool:
        """Whether it tells of a position behind `token`, of all these engines."""
        slot = number - self.first
        return (
            0 <= slot < len(self.tokens)
            and self.tokens[slot] == token
            and all(one in self.masks and slot <= len(self.masks[one]) for one in engines)
        )

    def at(self, number: int, engines: Sequence[int]) -> Arrived:
        """What it tells of a position."""
        slot = number - self.first
        came = [one for one in engines if slot < len(self.masks[one])]
        failures = {one: self.failures[one] for one in engines if one not in came}
        masks = np.stack([self.masks[one][slot] for one in came]) if came else _NO_MASKS
        if len(came) == len(self.masks) and slot < len(self.differ):
            differ = bool(self.differ[slot])
        else:
            differ = bool((masks != masks[:1]).any())
        return Arrived(
            {one: Stepped(*self.times[one][slot]) for one in came},
            {one: failure for one, failure in failures.items() if failure is not None},
            masks,
            np.array([self.allowed[one][slot] for one in came], dtype=np.int64),
            differ,
        )


_NO_MASKS: Masks = np.zeros((0, 0), dtype=np.uint32)
_NO_WIDE: npt.NDArray[np.uint64] = np.zeros((0, 0), dtype=np.uint64)
_NO_COUNTS: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)


@dataclass
class March:
    """The way of the engines along one reference.

    Args:
        panel: The engines; those that take part stand at the start of the text.
        vocabulary: The shared one.
        key: The walk's.
        reference: The text.
    """

    panel: Panel
    vocabulary: Vocabulary
    key: WalkKey
    reference: bytes
    _batch: _Batch | None = None
    _length: int = _FIRST
    _down: set[int] = field(default_factory=set)
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
            consumed: The tokens consumed before.
            offset: Bytes of the reference that are consumed with `token`.
            token: The token to take; `NOTHING` for the first position.
        """
        number = len(consumed) + (token != NOTHING)
        batch = self._batch
        if batch is None or not batch.holds(number, token, engines):
            batch = self._batch = self._ask(engines, consumed, offset, token)
        elif number - batch.first + 1 == len(batch.tokens):
            self._length = min(2 * len(batch.tokens), SLOTS)
        return batch.at(number, engines)

    def forget(self) -> None:
        """An engine was brought back to the present position: ask anew from there."""
        self._batch, self._down = None, set()

    def _ask(
        self, engines: Sequence[int], consumed: Sequence[int], offset: int, token: int
    ) -> _Batch:
        """Ask for the next positions, engines that failed beyond the last one brought back."""
        number = len(consumed) + (token != NOTHING)
        if self._batch is not None and number < self._batch.first + len(self._batch.tokens):
            self._length = _FIRST
        failures: dict[int, Failure | None] = {}
        for engine in self._down.intersection(engines):
            failures[engine] = self.panel.recover(engine, consumed)
        up = [engine for engine in engines if failures.get(engine) is None]
        tokens = [token, *self._likely(number, offset)]
        walked = self.panel.walk(up, tokens, len(consumed))
        self._down = {
            one
            for one, way in walked.items()
            if way.failure is not None and not isinstance(way.failure, MaskLies)
        }
        failures |= {one: way.failure for one, way in walked.items()}
        masks = {one: walked[one].masks if one in walked else _NO_MASKS for one in engines}
        return _Batch(
            number,
            tokens,
            failures,
            masks,
            {one: walked[one].times.tolist() if one in walked else () for one in engines},
            {one: _counts(walked[one].wide) if one in walked else _NO_COUNTS for one in engines},
            _differ([walked[one].wide if one in walked else _NO_WIDE for one in engines]),
        )

    def _likely(self, number: int, offset: int) -> list[int]:
        """The tokens that are taken at position `number` and behind it, if all are allowed."""
        tokens: list[int] = []
        while len(tokens) < self._length - 1 and offset < len(self.reference):
            if not (path := self.path(offset)):
                break
            token = likely_token(self.key.at(number), path)
            tokens.append(token)
            offset += len(self.vocabulary.tokens[token])
            number += 1
        return tokens


def _counts(masks: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """How many bits are set in each row."""
    counts: npt.NDArray[np.int64] = np.bitwise_count(masks).sum(axis=1, dtype=np.int64)
    return counts


def _differ(masks: Sequence[npt.NDArray[np.uint64]]) -> npt.NDArray[np.bool_]:
    """In which of the rows that all have any two differ."""
    rows = min(map(len, masks))
    first = masks[0][:rows]
    differ = np.zeros(rows, dtype=np.bool_)
    for other in masks[1:]:
        differ |= (first != other[:rows]).any(axis=1)
    return differ
