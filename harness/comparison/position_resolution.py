"""What a resolver can do about the disputed tokens of one position.

It can *prove* (does this engine allow this continuation to the end?), *roll out* and *screen* (is
the completed text valid?), and reads what came of it in the store. In which order to do that, and
when to stop, is the resolvers' business. Here engines and validators are asked, and the store is
told, and where an error lies is found in the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from harness.comparison.attempts import AttemptLists, Attempts, Columns, ViolationWitness, by_row
from harness.comparison.engine_queries import EngineQueries
from harness.comparison.findings import (
    FAILED,
    Findings,
    Status,
    judge,
    rejections,
    witnessed,
)
from harness.comparison.findings_store import FindingsStore
from harness.comparison.validator_queries import ValidatorQueries
from harness.comparison.walk import Position
from harness.engines.panel import Panel
from harness.engines.refused_byte import forced_token
from harness.explain.error_location import Locating, Shapes
from harness.inputs.vocabulary import Vocabulary
from harness.schemas.schema import Fault
from harness.validators.judge import Judge
from harness.workers import wire
from harness.workers.outcomes import Failure

NO_FAILURES: Mapping[int, Failure] = MappingProxyType({})


class PositionResolution:
    """One position while it is resolved.

    Args:
        tokens: The tokens to resolve, ascending, shape ``(n,)`` int32.
        failures: What has ended engines before, by engine number: they are not asked.
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
        completions = store.findings.completions
        self.engines = EngineQueries(panel, position, tokens, completions, failures)
        self._validators = ValidatorQueries(judge, position.text, store.token_bytes, completions)
        self._in_turn = np.ones(store.tries.shape, dtype=np.bool_)

    @property
    def findings(self) -> Findings:
        """Those of the store."""
        return self.store.findings

    def take_turn(self, rows: npt.NDArray[np.bool_], entries: int | None = None) -> None:
        """From here on, the engines of some rows alone are asked.

        Args:
            rows: Shape ``(e,)``.
            entries: About how many tokens each is asked, spread over those that are undecided;
                None: all.
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
        alive = self.engines.alive[:, None]
        return cast("npt.NDArray[np.bool_]", self.store.unsettled() & alive & self._in_turn)

    def bare(self) -> npt.NDArray[np.bool_]:
        """Undecided entries for which no completion of any kind is known yet."""
        return cast("npt.NDArray[np.bool_]", self.undecided() & (self.store.tries == 0))

    def prove(
        self,
        columns: Mapping[int, Columns],
        list_of: npt.NDArray[np.int32],
        lists: Sequence[Sequence[int]],
        rank: npt.NDArray[np.int32],
    ) -> Iterator[list[Attempts]]:
        """Find, per row and column, the next completion of the column's list that is allowed.

        The engines are at work on the next chunk while the caller has one.

        Args:
            list_of: Which list belongs to a column, shape ``(n,)``.
            rank: Where in the list to go on, shape ``(e, n)``; moved behind what was found, or
                to the list's end.

        Yields:
            What was found, by row, a chunk at a time.
        """
        known = AttemptLists(list_of, wire.Ragged.of_ints(lists), lists, rank)
        for answers in self.engines.prove(columns, known):
            yield [
                self.store.note_proved(row, asked, answer.values, known)
                for row, (asked, answer) in answers.items()
            ]

    def roll_out(
        self, columns: Mapping[int, Columns], limit: int
    ) -> tuple[list[Attempts], dict[tuple[int, int], Status]]:
        """Roll out from tokens; the completed ones, and how the others ended."""
        found: list[Attempts] = []
        ended: dict[tuple[int, int], Status] = {}
        for answers in self.engines.roll_out(columns, limit):
            for row, (asked, answer) in answers.items():
                outcomes, taken = answer.outcomes, answer.taken.ints()
                attempts, others = self.store.note_rolled_out(row, asked, outcomes, taken)
                found.append(attempts)
                ended |= others
        return by_row(found), ended

    def screen(self, attempts: Sequence[Attempts]) -> None:
        """Validate completed tokens and note what follows for their engines."""
        for one, ruled in zip(attempts, self._validators.screen(attempts), strict=True):
            self.store.note_rulings(one, ruled)

    def errors(self, column: int, number: int) -> list[Fault]:
        """The errors that the validators name in a completed token."""
        return self._validators.errors(column, number)

    def conclude(self, ended: Mapping[tuple[int, int], Status]) -> None:
        """Settle what is still undecided: false acceptances need both validators' word."""
        invalid = self.store.first_invalid
        for row, left in enumerate(self.store.unsettled()):
            columns = np.flatnonzero(left & (invalid[row] >= 0))
            attempts = Attempts(row, columns, invalid[row, columns])
            self.store.settle(attempts, self._validators.confirm(attempts))
            for column in np.flatnonzero(left & (invalid[row] < 0)).tolist():
                self.store.leave(row, column, self._reason(row, column, ended))

    def find_refused_bytes(self, rejections: Mapping[int, Columns]) -> None:
        """Note which byte of tokens the engines refuse that reject them."""
        masks = self.position.masks
        forced = {row: forced_token(masks[row], self.vocabulary) for row in rejections}
        for answers in self.engines.find_refused(rejections, forced):
            for row, (columns, answer) in answers.items():
                self.findings.refused_at[row, columns] = answer.values

    def locate(self, schema: Any) -> None:
        """Note which completions that were found invalid fail elsewhere than at their token."""
        locating, shapes = Locating(schema), Shapes(self.store.token_bytes)
        findings, start = self.findings, self.position.offset
        for one, ruled in self.store.invalid:
            rulings, which = ruled.rulings, ruled.which
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
        """Find the refused byte of each proven rejection, and the violations behind the others.

        Engines have faster ways to consume a text than one mask after the other, so each distinct
        completion that a verdict of the case rests on is looked at again, mask by mask.

        Args:
            known: Engines and completions that were looked at before; those that prove to be
                allowed are added.
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
        answers = self.engines.confirm(exemplars)
        for row in exemplars.keys() - answers.keys():
            self.store.disown(row, FAILED[self.engines.failure(row).status])
        violations = []
        for row, answer in answers.items():
            columns, reached = exemplars[row], answer.reached.tolist()
            whole = [count > len(tokens) for tokens, count in zip(columns, reached, strict=True)]
            engine = findings.engines[row]
            known.update(
                (engine, tokens) for tokens, one in zip(columns, whole, strict=True) if one
            )
            if not all(whole):
                at = whole.index(False)
                tokens, column = list(columns.items())[at]
                token, consumes = int(findings.tokens[column]), bool(answer.consumes[at])
                violations.append(ViolationWitness(row, token, tokens[: reached[at]], consumes))
        return violations

    def _reason(self, row: int, column: int, ended: Mapping[tuple[int, int], Status]) -> Status:
        if (row, column) in ended:
            return ended[row, column]
        if not self.engines.alive[row]:
            return FAILED[self.engines.failure(row).status]
        return Status.GIVEN_UP
