"""Resolvers: prove, for each disputed token of a position, who is wrong about it.

`RolloutResolver` is the original procedure: one roll-out per accepting engine and token.
`SharedResolver` tries continuations that many tokens share, and proves each token with them on its
own. Where the first completion is invalid others follow, because that proves only that the engine
errs at this token or later, while a valid one clears it and convicts those who forbade it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.comparison.findings import Status
from harness.comparison.position_resolution import Attempts, Columns, PositionResolution
from harness.completion.continuations import Context
from harness.completion.rollout import LIMIT


@dataclass(frozen=True)
class Effort:
    """How hard to try.

    After how many invalid completions of a token no further known continuation is tried; for how
    many situations of a position continuations are `aimed` past the error; after how many vain
    roll-outs a situation is given up; how many an engine makes in doubt, where all is invalid.
    """

    attempts: int = 6
    aimed: int = 24
    rollouts: int = 8
    doubts: int = 32
    limit: int = LIMIT


SLOW = Effort(attempts=3, aimed=4, rollouts=1, doubts=2, limit=60)
"""How hard to try with an engine that needs milliseconds and more for a mask."""

SLOW_TOKENS = 4
"""At most so many of a position's disputed tokens are tried with such an engine."""

SLOW_ROLLOUTS = 2
"""Roll-outs of such an engine per position."""


def slow_tokens(number: int, remaining: int) -> int:
    """How many tokens to try with such an engine, `remaining` bytes before the end; often none."""
    stride = min(64, 1 + (remaining // 50) ** 2)
    return 0 if number % stride else max(1, min(SLOW_TOKENS, 200 // max(1, remaining)))


class Resolver(ABC):
    """A way to resolve the disputed tokens of one position."""

    valid_completion_exonerates: bool

    def __init__(self, effort: Effort) -> None:
        self.effort = effort

    @abstractmethod
    def resolve(self, resolution: PositionResolution, context: Context) -> None:
        """Fill `resolution.findings`."""


class RolloutResolver(Resolver):
    """One roll-out per accepting engine and disputed token."""

    valid_completion_exonerates = False

    def resolve(self, resolution: PositionResolution, context: Context) -> None:  # noqa: ARG002 - same interface
        columns = {row: np.flatnonzero(one) for row, one in enumerate(resolution.undecided())}
        found, ended = resolution.roll_out(columns, self.effort.limit)
        resolution.screen(found)
        resolution.cleared[:] = False  # each engine answers for its own completion
        resolution.conclude(ended)


class SharedResolver(Resolver):
    """Shared completions: known ones, aimed ones, and roll-outs that join the pool."""

    valid_completion_exonerates = True

    def resolve(self, resolution: PositionResolution, context: Context) -> None:
        situation, lists = known_completions(resolution, context)
        ended: dict[tuple[int, int], Status] = {}
        slow, position = resolution.slow, resolution.position
        few = slow_tokens(position.number, len(position.reference) - position.offset)
        # What the others clear need not be asked of slow ones: they come last.
        for rows, effort, tokens in ((~slow, self.effort, None), (slow, SLOW, few)):
            if rows.any():
                resolution.take_turn(rows, tokens)
                resolution.attempt(situation, lists, effort.attempts)
                self._try_aimed(resolution, context, situation, effort)
                ended |= self._roll(resolution, situation, effort)
        resolution.conclude(ended)

    def _try_aimed(
        self,
        resolution: PositionResolution,
        context: Context,
        situation: npt.NDArray[np.int32],
        effort: Effort,
    ) -> None:
        """Where all was invalid so far: continuations that avoid the error of the first one."""
        alike: dict[tuple[int, int], list[int]] = {}
        open_ = resolution.undecided() & (resolution.first_invalid >= 0)
        for row, column in np.argwhere(open_).tolist():
            key = (int(situation[column]), int(resolution.first_invalid[row, column]))
            alike.setdefault(key, []).append(column)
        list_of = np.full(len(situation), -1, dtype=np.int32)
        lists: list[list[int]] = []
        for (_, number), columns in list(alike.items())[: effort.aimed]:
            column = columns[0]
            attempts = resolution.findings.completions[number].text
            texts = context.aimed(
                resolution.token_bytes[column], attempts, resolution.errors(column, number)
            )
            if texts:
                list_of[columns] = len(lists)
                lists.append([resolution.number(text, "aimed") for text in texts])
        resolution.attempt(list_of, lists, effort.attempts)

    def _roll(
        self, resolution: PositionResolution, situation: npt.NDArray[np.int32], effort: Effort
    ) -> dict[tuple[int, int], Status]:
        """Roll out what is left, and try each new completion on the tokens around it."""
        ended: dict[tuple[int, int], Status] = {}
        tally = _RollBudgets(resolution, situation, effort)
        while columns := tally.next():
            found, others = resolution.roll_out(columns, effort.limit)
            ended |= others
            resolution.screen(found)
            tally.note(found)
            # The empty completion of an end of generation would end another token without its end.
            completions = resolution.findings.completions
            numbers = [number for one in found for number in one.numbers.tolist()]
            fresh = [number for number in dict.fromkeys(numbers) if completions[number].tokens]
            if fresh:
                list_of = np.zeros(len(situation), dtype=np.int32)
                resolution.attempt(list_of, [fresh], len(fresh))
        return ended


class _RollBudgets:
    """Which tokens to roll out next: a growing number per engine and situation.

    Tokens without any completion are rolled out until their situation has failed `Effort.rollouts`
    times; tokens with only invalid ones, that many per situation.
    """

    def __init__(
        self, resolution: PositionResolution, situation: npt.NDArray[np.int32], effort: Effort
    ) -> None:
        self._resolution, self._situation, self._effort = resolution, situation, effort
        self._rolled = np.zeros(resolution.tries.shape, dtype=np.bool_)
        self._spent: dict[tuple[int, int, bool], int] = {}
        self._doubts = [effort.doubts] * len(resolution.tries)
        self._left = [SLOW_ROLLOUTS if slow else None for slow in resolution.slow.tolist()]
        self._width = 1

    def next(self) -> dict[int, Columns]:
        """Columns by row; empty when there is nothing left to roll out."""
        undecided = self._resolution.undecided()
        bare = undecided & (self._resolution.tries == 0)
        out: dict[int, Columns] = {}
        for row in range(len(undecided)):
            fresh = undecided[row] & ~self._rolled[row]
            chosen = self._within_budget(row, np.flatnonzero(fresh & bare[row]), bare=True)
            doubted = self._within_budget(row, np.flatnonzero(fresh & ~bare[row]), bare=False)
            doubted = doubted[: self._doubts[row]]
            self._doubts[row] -= len(doubted)
            if (left := self._left[row]) is not None:
                chosen, doubted = chosen[:left], doubted[: max(0, left - len(chosen))]
                self._left[row] = left - len(chosen) - len(doubted)
            if chosen or doubted:
                out[row] = np.array(sorted(chosen + doubted), dtype=np.int64)
                self._rolled[row, out[row]] = True
        self._width = min(self._width * 2, self._effort.rollouts)
        return out

    def note(self, found: Sequence[Attempts]) -> None:
        """Renew the budgets of situations in which a roll-out came to an end, or was valid."""
        status = self._resolution.findings.status
        for one in found:
            for column in one.columns.tolist():
                key = int(self._situation[column])
                self._spent[one.row, key, True] = 0
                if status[one.row, column] == Status.VALID:
                    self._spent[one.row, key, False] = 0

    def _within_budget(self, row: int, columns: Columns, *, bare: bool) -> list[int]:
        chosen: list[int] = []
        taken: dict[int, int] = {}
        for column in columns.tolist():
            key = int(self._situation[column])
            spent = self._spent.get((row, key, bare), 0)
            if spent >= self._effort.rollouts or taken.get(key, 0) >= self._width:
                continue
            taken[key] = taken.get(key, 0) + 1
            self._spent[row, key, bare] = spent + 1
            chosen.append(column)
        return chosen


def known_completions(
    resolution: PositionResolution, context: Context
) -> tuple[npt.NDArray[np.int32], list[list[int]]]:
    """The situation of every column, and the completions to try in each."""
    eos = resolution.vocabulary.eos_ids
    tokens = resolution.findings.tokens.tolist()
    ordinary = [column for column, token in enumerate(tokens) if token not in eos]
    groups, texts = context.group([resolution.token_bytes[column] for column in ordinary])
    situation = np.zeros(len(tokens), dtype=np.int32)
    situation[ordinary] = groups
    lists = [[resolution.number(text, "reference") for text in one] for one in texts]
    ends = [column for column, token in enumerate(tokens) if token in eos]
    if ends:
        situation[ends] = len(lists)
        lists.append([resolution.number(b"", "reference", ())])
    return situation, lists


RESOLVERS: dict[str, type[SharedResolver | RolloutResolver]] = {
    "shared": SharedResolver,
    "rollout": RolloutResolver,
}
