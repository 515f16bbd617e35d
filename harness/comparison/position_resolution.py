"""What a resolver can do about the disputed tokens of one position.

It can *prove* (does this engine allow this continuation to the end?), *roll out* and *screen* (is
the completed text valid?), and reads what came of it in the store. In which order to do that, and
when to stop, is the resolvers' business. Here engines (by their rows) and validators are asked
about tokens (by their columns), the store is told, and where an error lies is found in the end.
An engine that fails is asked no more at this position.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from harness.comparison.findings import FAILED, Status, judge, rejections, witnessed
from harness.comparison.findings_store import (
    AttemptLists,
    Attempts,
    Columns,
    FindingsStore,
    RulingCache,
    ViolationWitness,
    by_row,
)
from harness.comparison.walk import CHALLENGER_NUMBER, Position
from harness.engines.panel import Panel
from harness.engines.requests import (
    Confirm,
    Exhaust,
    FindRefused,
    Lengthen,
    PositionRequest,
    Prove,
    RollOut,
)
from harness.engines.text_probe import forced_token
from harness.explain.error_location import Locating, Shapes
from harness.inputs.vocabulary import Vocabulary
from harness.schemas.schema import Fault
from harness.validators.judge import Judge
from harness.workers import wire
from harness.workers.outcomes import Failure
from harness.workers.wire import A

PROVE_CHUNK = 1024
ROLL_CHUNK = 16
NO_FAILURES: Mapping[int, Failure] = MappingProxyType({})


class PositionResolution:
    """One position while it is resolved; `tokens` are those to resolve, ascending, ``(n,)``.

    Engines that failed before are not asked; `failures` has them and those that fail here. Which
    still answer, and whose masks take long, `alive` and `slow` say, ``(e,)``.
    """

    def __init__(
        self,
        position: Position,
        tokens: npt.NDArray[np.int32],
        panel: Panel,
        judge: Judge,
        vocabulary: Vocabulary,
        failures: Mapping[int, Failure] = NO_FAILURES,
        *,
        valid_completion_exonerates: bool = True,
    ) -> None:
        self.position = position
        self.vocabulary = vocabulary
        self.store = store = FindingsStore(
            position,
            tokens,
            vocabulary,
            valid_completion_exonerates=valid_completion_exonerates,
        )
        self.findings = store.findings
        self.alive = np.array([engine not in failures for engine in position.engines])
        self.failures: dict[int, Failure] = dict(failures)
        self.slow = np.array(
            [one != CHALLENGER_NUMBER and panel.specs[one].slow_masks for one in position.engines]
        )
        self._panel = panel
        self._judge = judge
        texts = (position.text, store.token_bytes, store.findings.completions)
        self._screened = RulingCache(judge.screen_many, *texts)
        self._confirmed = RulingCache(judge.judge_many, *texts)
        self._in_turn = np.ones(store.tries.shape, dtype=np.bool_)

    def take_turn(self, rows: npt.NDArray[np.bool_], entries: int | None = None) -> None:
        """From here on, the engines of some rows, shape ``(e,)``, alone are asked.

        Each is asked about so many `entries`, spread over those that are undecided; None: all.
        """
        self._in_turn = np.repeat(rows[:, None], len(self.findings.tokens), axis=1)
        if entries is None:
            return
        for row in np.flatnonzero(rows).tolist():
            columns = np.flatnonzero(self.undecided()[row])
            if len(columns) > entries:
                self._in_turn[row] = False
                spread = np.linspace(0, len(columns) - 1, entries).round().astype(np.int64)
                self._in_turn[row, columns[spread]] = True

    def undecided(self) -> npt.NDArray[np.bool_]:
        """Entries that nothing is settled about, of engines asked in this turn; ``(e, n)``."""
        alive = self.alive[:, None]
        return cast("npt.NDArray[np.bool_]", self.store.unsettled() & alive & self._in_turn)

    def prove(
        self,
        columns: Mapping[int, Columns],
        list_of: npt.NDArray[np.int32],
        lists: Sequence[Sequence[int]],
        rank: npt.NDArray[np.int32],
    ) -> Iterator[list[Attempts]]:
        """Find, per row and column, the next completion of the column's list that is allowed.

        The engines are at work on the next chunk while the caller has one. The challenger allows
        every completion: JSON is what validators take.

        `rank`, see `AttemptLists`, is moved past what was found, or to the list's end.
        """
        known = AttemptLists(list_of, wire.Ragged.of_ints(lists), lists, rank)
        asked = dict(columns)
        for row in [row for row in columns if self.position.engines[row] == CHALLENGER_NUMBER]:
            own = asked.pop(row)
            yield [self.store.note_proved(row, own, rank[row, own], known)]
        for answers in self._in_chunks(
            asked, PROVE_CHUNK, lambda row, some: self._prove(row, some, known)
        ):
            yield [
                self.store.note_proved(row, some, answer.values, known)
                for row, (some, answer) in answers.items()
            ]

    def _prove(self, row: int, columns: Columns, known: AttemptLists) -> Prove:
        used = np.unique(known.list_of[columns])
        numbers = sorted({number for one in used.tolist() for number in known.lists[one]})
        place = {number: index for index, number in enumerate(numbers)}
        members = [[place[number] for number in known.lists[one]] for one in used.tolist()]
        return Prove(
            self.findings.tokens[columns],
            np.searchsorted(used, known.list_of[columns]).astype(np.int32),
            known.rank[row, columns],
            wire.Ragged.of_ints([self.findings.completions[one].tokens for one in numbers]),
            wire.Ragged.of_ints(members),
            at=self.position.number,
        )

    def roll_out(
        self, columns: Mapping[int, Columns], limit: int
    ) -> tuple[list[Attempts], dict[tuple[int, int], Status]]:
        """Roll out from tokens; the completed ones, and how the others ended."""
        found: list[Attempts] = []
        ended: dict[tuple[int, int], Status] = {}
        tokens, key, number = self.findings.tokens, self.position.key, self.position.number
        for answers in self._in_chunks(
            columns, ROLL_CHUNK, lambda _, some: RollOut(tokens[some], key, limit, at=number)
        ):
            for row, (asked, answer) in answers.items():
                outcomes, taken = answer.outcomes, answer.taken.ints()
                attempts, others = self.store.note_rolled_out(row, asked, outcomes, taken)
                found.append(attempts)
                ended |= others
        return by_row(found), ended

    def exhaust(
        self, columns: Mapping[int, Sequence[int]], limit: int, budget: int
    ) -> dict[int, list[int]]:
        """The columns after whose tokens no completion exists."""
        asks = {
            row: Exhaust(self.findings.tokens[some], limit, budget, at=self.position.number)
            for row, some in columns.items()
            if self.alive[row]
        }
        answers = self._ask(asks)
        return {row: np.array(columns[row])[one.values].tolist() for row, one in answers.items()}

    def lengthen(
        self, rows: Iterable[int], tokens: Sequence[int], limit: int
    ) -> dict[int, list[int]]:
        """How often each of `tokens` (ids) may follow itself after the text."""
        request = Lengthen(np.array(tokens, dtype=np.int32), limit, at=self.position.number)
        answers = self._ask({row: request for row in rows if self.alive[row]})
        return {row: one.values.tolist() for row, one in answers.items()}

    def screen(self, attempts: Sequence[Attempts]) -> None:
        """Validate completed tokens and note what follows for their engines."""
        for one, ruled in zip(attempts, self._screened.look(attempts), strict=True):
            self.store.note_rulings(one, ruled)

    def errors(self, column: int, number: int) -> list[Fault]:
        """The errors that the validators name in a completed token."""
        return self._judge.errors(self.store.text(column, number))

    def conclude(self, ended: Mapping[tuple[int, int], Status]) -> None:
        """Settle what is still undecided: false acceptances need both validators' word."""
        invalid = self.store.first_invalid
        for row, left in enumerate(self.store.unsettled()):
            columns = np.flatnonzero(left & (invalid[row] >= 0))
            attempts = Attempts(row, columns, invalid[row, columns])
            self.store.settle(attempts, self._confirmed.look([attempts])[0])
            default = Status.GIVEN_UP if self.alive[row] else self._failed(row)
            for column in np.flatnonzero(left & (invalid[row] < 0)).tolist():
                self.store.leave(row, column, ended.get((row, column), default))

    def find_refused_bytes(self, rejections: Mapping[int, Columns]) -> None:
        """Note which byte of tokens the engines refuse that reject them.

        Slow masks are not asked beyond the one known (see `harness.engines.text_probe`).
        """
        masks, number = self.position.masks, self.position.number
        forced = {row: forced_token(masks[row], self.vocabulary) for row in rejections}

        def request(row: int, some: Columns) -> FindRefused:
            tokens = self.findings.tokens[some]
            return FindRefused(tokens, forced[row], looks_on=not self.slow[row], at=number)

        for answers in self._in_chunks(rejections, PROVE_CHUNK, request):
            for row, (columns, answer) in answers.items():
                self.findings.refused_at[row, columns] = answer.values

    def locate(self, schema: Any) -> None:
        """Note which completions that were found invalid fail elsewhere than at their token."""
        locating, shapes = Locating(schema), Shapes(self.store.token_bytes)
        findings, start = self.findings, self.position.offset
        for one, rulings, which in self.store.invalid:
            shape = shapes.of(one.columns, [rulings[i] for i in which.tolist()])
            alike = np.stack([one.numbers, which, shape], axis=1)
            _, first, inverse = np.unique(alike, axis=0, return_index=True, return_inverse=True)
            at_token = np.zeros(len(first), dtype=np.bool_)
            for index, at in enumerate(first.tolist()):
                column, number = int(one.columns[at]), int(one.numbers[at])
                at_token[index] = locating.at_token(
                    lambda column=column, number=number: self.store.text(column, number),  # type: ignore[misc]
                    number,
                    start,
                    self.store.token_bytes[column],
                    rulings[which[at]],
                    bool(findings.ends[column]),
                )
            findings.elsewhere[one.row, one.columns] |= ~at_token[inverse.ravel()]

    def look_again(self, known: set[tuple[int, tuple[int, ...]]]) -> list[ViolationWitness]:
        """Find the refused byte of each proven rejection, and the violations in the others.

        Engines have faster ways to consume a text than one mask after the other, so each distinct
        completion that a verdict of the case rests on is looked at again, mask by mask: all but
        those `known`, to which those are added that prove to be allowed.
        """
        verdicts = judge(self.findings)
        self.find_refused_bytes(rejections(verdicts))
        return self.violations(witnessed(verdicts), known)

    def violations(
        self, needed: Iterable[tuple[int, int]], known: set[tuple[int, tuple[int, ...]]]
    ) -> list[ViolationWitness]:
        """Where masks forbid a completion that the engine was found to allow; one per engine."""
        findings = self.findings
        exemplars: dict[int, dict[tuple[int, ...], int]] = {}
        for row, column in needed:
            tokens = findings.completions[findings.completion[row, column]].tokens
            if (findings.engines[row], tokens) not in known:
                exemplars.setdefault(row, {}).setdefault(tokens, column)
        asks = {
            row: Confirm(
                findings.tokens[list(columns.values())],
                wire.Ragged.of_ints(list(columns)),
                at=self.position.number,
            )
            for row, columns in exemplars.items()
        }
        answers = self._ask(asks)
        for row in exemplars.keys() - answers.keys():
            self.store.disown(row, self._failed(row))
        violations = []
        for row, answer in answers.items():
            columns, reached = exemplars[row], answer.reached.tolist()
            whole = [count > len(tokens) for tokens, count in zip(columns, reached, strict=True)]
            engine = findings.engines[row]
            known.update((engine, tokens) for tokens in itertools.compress(columns, whole))
            if not all(whole):
                at = whole.index(False)
                tokens, column = list(columns.items())[at]
                token, consumes = int(findings.tokens[column]), bool(answer.consumes[at])
                violations.append(ViolationWitness(row, token, tokens[: reached[at]], consumes))
        return violations

    def _failed(self, row: int) -> Status:
        return FAILED[self.failures[self.position.engines[row]].status]

    def _in_chunks(
        self,
        columns: Mapping[int, Columns],
        size: int,
        request: Callable[[int, Columns], PositionRequest[A]],
    ) -> Iterator[dict[int, tuple[Columns, A]]]:
        """Ask chunk by chunk; engines are at work on the next one while the caller has one."""
        count = max((-(-len(one) // size) for one in columns.values()), default=0)

        def begin(chunk: int) -> dict[int, Columns]:
            parts = {row: one[chunk * size :][:size] for row, one in columns.items()}
            parts = {row: one for row, one in parts.items() if len(one) and self.alive[row]}
            self._begin({row: request(row, one) for row, one in parts.items()})
            return parts

        asked = begin(0) if count else {}
        for chunk in range(count):
            answers, here = self._collect(asked), asked
            asked = begin(chunk + 1) if chunk + 1 < count else {}
            yield {row: (here[row], answers[row]) for row in sorted(answers)}

    def _ask(self, asks: Mapping[int, PositionRequest[A]]) -> dict[int, A]:
        self._begin(asks)
        return self._collect(asks)

    def _begin(self, asks: Mapping[int, PositionRequest[Any]]) -> None:
        self._panel.begin({self.position.engines[row]: one for row, one in asks.items()})

    def _collect(self, rows: Iterable[int]) -> dict[int, Any]:
        """The answers of rows of which something was asked; a failure ends a row's part."""
        rows, engines = list(rows), self.position.engines
        answers = self._panel.collect(engines[row] for row in rows)
        found = {row: answers[engines[row]] for row in rows}
        for row in rows:
            if isinstance(found[row], Failure):
                self.failures[engines[row]] = found.pop(row)
                self.alive[row] = False
        return found
