"""What engines are asked about one position: they are named by their rows, tokens by their columns.

An engine that fails is asked no more at this position.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.comparison import challenger
from harness.comparison.attempts import AttemptLists, Columns
from harness.comparison.findings import Completion
from harness.comparison.walk import Position
from harness.engines.panel import Panel
from harness.engines.requests import (
    Confirm,
    Confirmed,
    Each,
    Exhaust,
    FindRefused,
    Lengthen,
    PositionRequest,
    Prove,
    RolledOut,
    RollOut,
)
from harness.workers import wire
from harness.workers.commands import A
from harness.workers.outcomes import Failure

PROVE_CHUNK = 1024
ROLL_CHUNK = 16


class EngineQueries:
    """The engines at one position.

    Args:
        tokens: The disputed tokens, shape ``(n,)`` int32: the columns.
        failures: What has ended engines before, by engine number: they are not asked.

    Attributes:
        alive: Engines that still answer, shape ``(e,)`` bool.
        failures: What ended an engine here, by engine number.
        slow: Engines whose masks take long, shape ``(e,)`` bool.
    """

    def __init__(
        self,
        panel: Panel,
        position: Position,
        tokens: npt.NDArray[np.int32],
        completions: Sequence[Completion],
        failures: Mapping[int, Failure],
    ) -> None:
        self.alive = np.array([engine not in failures for engine in position.engines])
        self.failures: dict[int, Failure] = dict(failures)
        self.slow = np.array(
            [one != challenger.NUMBER and panel.specs[one].slow_masks for one in position.engines]
        )
        self._panel = panel
        self._engines = position.engines
        self._key = position.key
        self._at = position.number
        self._tokens = tokens
        self._completions = completions

    def failure(self, row: int) -> Failure:
        """What ended an engine."""
        return self.failures[self._engines[row]]

    def prove(
        self, columns: Mapping[int, Columns], lists: AttemptLists
    ) -> Iterator[dict[int, tuple[Columns, Each]]]:
        """Which completions of the columns' lists are allowed, a chunk at a time, by row.

        The challenger allows them all: JSON is what validators take.
        """
        asked = dict(columns)
        for row in [row for row in columns if self._engines[row] == challenger.NUMBER]:
            own = asked.pop(row)
            yield {row: (own, Each(lists.rank[row, own]))}
        yield from self._in_chunks(
            asked, PROVE_CHUNK, lambda row, some: self._prove(row, some, lists)
        )

    def roll_out(
        self, columns: Mapping[int, Columns], limit: int
    ) -> Iterator[dict[int, tuple[Columns, RolledOut]]]:
        """How roll-outs from tokens end, a chunk at a time, by row."""
        return self._in_chunks(
            columns,
            ROLL_CHUNK,
            lambda _, some: RollOut(self._tokens[some], self._key, limit, at=self._at),
        )

    def confirm(
        self, completed: Mapping[int, Mapping[tuple[int, ...], int]]
    ) -> dict[int, Confirmed]:
        """How far completions, each behind the token of one column, are allowed by every mask."""
        return self._ask(
            {
                row: Confirm(
                    self._tokens[list(columns.values())],
                    wire.Ragged.of_ints(list(columns)),
                    at=self._at,
                )
                for row, columns in completed.items()
            }
        )

    def find_refused(
        self, columns: Mapping[int, Columns], forced: Mapping[int, int]
    ) -> Iterator[dict[int, tuple[Columns, Each]]]:
        """Which byte of the columns' tokens is refused, by row; slow masks are asked for no more.

        Args:
            forced: By row the one token that the mask holds; see `harness.engines.refused_byte`.
        """
        return self._in_chunks(
            columns,
            PROVE_CHUNK,
            lambda row, some: FindRefused(
                self._tokens[some], forced[row], looks_on=not self.slow[row], at=self._at
            ),
        )

    def exhaust(
        self, columns: Mapping[int, Sequence[int]], limit: int, budget: int
    ) -> dict[int, list[int]]:
        """The columns behind whose tokens no completion exists."""
        asks = {
            row: Exhaust(self._tokens[some], limit, budget, at=self._at)
            for row, some in columns.items()
            if self.alive[row]
        }
        answers = self._ask(asks)
        return {row: np.array(columns[row])[one.values].tolist() for row, one in answers.items()}

    def lengthen(
        self, rows: Iterable[int], tokens: Sequence[int], limit: int
    ) -> dict[int, list[int]]:
        """How often each of `tokens` (ids) may follow itself behind the text."""
        request = Lengthen(np.array(tokens, dtype=np.int32), limit, at=self._at)
        answers = self._ask({row: request for row in rows if self.alive[row]})
        return {row: one.values.tolist() for row, one in answers.items()}

    def _prove(self, row: int, columns: Columns, lists: AttemptLists) -> Prove:
        used = np.unique(lists.list_of[columns])
        numbers = sorted({number for one in used.tolist() for number in lists.lists[one]})
        place = {number: index for index, number in enumerate(numbers)}
        members = [[place[number] for number in lists.lists[one]] for one in used.tolist()]
        return Prove(
            self._tokens[columns],
            np.searchsorted(used, lists.list_of[columns]).astype(np.int32),
            lists.rank[row, columns],
            wire.Ragged.of_ints([self._completions[number].tokens for number in numbers]),
            wire.Ragged.of_ints(members),
            at=self._at,
        )

    def _in_chunks(
        self,
        columns: Mapping[int, Columns],
        size: int,
        request: Callable[[int, Columns], PositionRequest[A]],
    ) -> Iterator[dict[int, tuple[Columns, A]]]:
        """Ask chunk by chunk; engines are at work on the next one while the caller has one."""
        count = max((-(-len(one) // size) for one in columns.values()), default=0)
        chunks = [
            {row: one[at * size : (at + 1) * size] for row, one in columns.items()}
            for at in range(count)
        ]
        begun = self._begin(chunks[0], request) if chunks else {}
        for here, following in itertools.zip_longest(chunks, chunks[1:]):
            answers = self._collect(begun)
            begun = self._begin(following, request) if following else {}
            yield {row: (here[row], answers[row]) for row in sorted(answers)}

    def _begin(
        self,
        columns: Mapping[int, Columns],
        request: Callable[[int, Columns], PositionRequest[Any]],
    ) -> dict[int, PositionRequest[Any]]:
        asks = {
            row: request(row, some)
            for row, some in columns.items()
            if len(some) and self.alive[row]
        }
        self._submit(asks)
        return asks

    def _ask(self, asks: Mapping[int, PositionRequest[A]]) -> dict[int, A]:
        self._submit(asks)
        return self._collect(asks)

    def _submit(self, asks: Mapping[int, PositionRequest[Any]]) -> None:
        self._panel.begin({self._engines[row]: one for row, one in asks.items()})

    def _collect(self, rows: Iterable[int]) -> dict[int, Any]:
        """The answers of rows of which something was asked; a failure ends a row's part."""
        rows, found = list(rows), {}
        answers = self._panel.collect(self._engines[row] for row in rows)
        for row in rows:
            answer = answers[self._engines[row]]
            if isinstance(answer, Failure):
                self.failures[self._engines[row]] = answer
                self.alive[row] = False
            else:
                found[row] = answer
        return found
