"""What is found out about the disputed tokens of one position, by asking engines and validators.

It can *prove* (does this engine allow this continuation to the end?), *roll out* and *screen* (is
the completed text valid?); in which order is the resolvers' business. An entry is an engine (row)
at a token (column). A text is the position's text, a disputed token and a completion; it is named
by the token's column and the completion's number, and rulings by numbers as well, so that thousands
of tokens are handled as arrays. An engine that fails is asked no more at this position.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from harness.comparison.findings import (
    FAILED,
    Completion,
    Findings,
    Flaw,
    Status,
    judge,
    rejections,
    witnessed,
)
from harness.comparison.walk import Position
from harness.completion.rollout import ROLLOUT_OUTCOMES
from harness.engines.panel import Panel
from harness.engines.requests import (
    NO_CONTINUATION,
    TOKEN_REFUSED,
    Confirm,
    FindRefused,
    Lengthen,
    PositionRequest,
    Prove,
    RollOut,
)
from harness.engines.text_probe import forced_token
from harness.explain.error_location import Locating
from harness.inputs.vocabulary import Vocabulary
from harness.schemas.schema import Fault
from harness.validators.judge import CONTESTED, INVALID, SUSPECT, UNDECIDED, VALID, Judge, Ruling
from harness.workers import wire
from harness.workers.outcomes import Failure
from harness.workers.wire import A

Columns = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]

PROVE_CHUNK = 1024
ROLL_CHUNK = 16

_WITNESSED = (Status.VALID, Status.INVALID, Status.CONTESTED)
_LEFT_WITH = {INVALID: Status.INVALID, UNDECIDED: Status.UNDECIDED}
"""What an entry is left with where no completion was valid, by verdict."""


class Attempts(NamedTuple):
    """One engine's completions (by number) of some disputed tokens, none twice; shapes ``(k,)``."""

    row: int
    columns: Columns
    numbers: Numbers


@dataclass(frozen=True)
class ViolationWitness:
    """An engine was found to consume what its mask forbids: the last of `tokens` after `token`.

    `consumes` says whether it consumes that one by itself, as it did in a longer text.
    """

    row: int
    token: int
    tokens: tuple[int, ...]
    consumes: bool


class PositionResolution:
    """One position while it is resolved; `tokens` are those to resolve, ascending, ``(n,)``.

    Which engines still answer, and whose masks take long, `alive` and `slow` say, ``(e,)``.
    `token_bytes` has none at the end of generation. `first_invalid`, shape ``(e, n)``, numbers
    completions, -1 for none; `tries`, ``(e, n)``, counts those that were not valid; `cleared`,
    ``(n,)``, are tokens that some engine completed validly.
    """

    def __init__(
        self,
        position: Position,
        tokens: Numbers,
        panel: Panel,
        judge: Judge,
        vocabulary: Vocabulary,
        *,
        valid_completion_exonerates: bool = True,
    ) -> None:
        self.position = position
        self.vocabulary = vocabulary
        accepts = (position.masks[:, tokens >> 5] >> (tokens & 31).astype(np.uint32)) & 1
        self.findings = Findings(
            position.engines,
            tokens,
            accepts.astype(np.bool_),
            ends=np.isin(tokens, vocabulary.eos_ids),
            can_end=np.any(position.masks & vocabulary.eos_mask, axis=1, keepdims=True)[:, 0],
            valid_completion_exonerates=valid_completion_exonerates,
        )
        self.alive = np.ones(len(position.engines), dtype=np.bool_)
        self.failures: dict[int, Failure] = {}
        self.slow = np.array([panel.specs[one].slow_masks for one in position.engines])
        self.first_invalid = np.full(accepts.shape, -1, dtype=np.int32)
        self.tries = np.zeros(accepts.shape, dtype=np.int32)
        self.cleared = np.zeros(len(tokens), dtype=np.bool_)
        self.token_bytes = list(map(vocabulary.tokens.__getitem__, tokens.tolist()))
        for column in np.flatnonzero(self.findings.ends).tolist():
            self.token_bytes[column] = b""
        self._panel = panel
        self._judge = judge
        self._in_turn = np.ones(accepts.shape, dtype=np.bool_)
        self._numbers: dict[tuple[bytes, tuple[int, ...]], int] = {}
        self._rulings: dict[Ruling, int] = {}
        self._screened: dict[int, int] = {}
        self._confirmed: dict[int, int] = {}
        self._invalid: list[tuple[Attempts, Numbers]] = []
        self._open_question: dict[tuple[int, int], tuple[Ruling, int]] = {}
        self._contest_reserved()

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
        return self._unsettled() & self.alive[:, None] & self._in_turn

    def _unsettled(self) -> npt.NDArray[np.bool_]:
        """Entries of accepted tokens about which nothing is settled, shape ``(e, n)``."""
        findings = self.findings
        judged = findings.accepts & ~self.cleared & (findings.status == Status.NOT_ASKED)
        return cast("npt.NDArray[np.bool_]", judged)

    def number(self, text: bytes, origin: str, tokens: tuple[int, ...] | None = None) -> int:
        """The number of a completion; without `tokens`, cut greedily, end-of-sequence after."""
        if tokens is None:
            tokens = (*self.vocabulary.encode_greedy(text), self.vocabulary.eos)
        key = (text, tokens)
        if key not in self._numbers:
            self._numbers[key] = len(self.findings.completions)
            self.findings.completions.append(Completion(text, tokens, origin))
        return self._numbers[key]

    def rolled_out(self, taken: Sequence[int]) -> int:
        """The number of what an engine wrote in a roll-out."""
        return self.number(self.vocabulary.text(taken), "rollout", tuple(taken))

    def text(self, column: int, number: int) -> bytes:
        completion = self.findings.completions[number]
        return self.position.text + self.token_bytes[column] + completion.text

    def attempt(self, list_of: Numbers, lists: Sequence[Sequence[int]], attempts: int) -> None:
        """Try each column's list in order, until valid, exhausted, or `attempts` were invalid.

        `list_of`, shape ``(n,)``, names the column's list of completions, -1 for none.
        """
        lengths = np.array([*map(len, lists), 0], dtype=np.int32)[list_of]
        members = wire.Ragged.of_ints(lists)
        rank, before = np.zeros(self.tries.shape, dtype=np.int32), self.tries.copy()

        def request(row: int, columns: Columns) -> Prove:
            used = np.unique(list_of[columns])
            numbers = sorted({number for one in used.tolist() for number in lists[one]})
            place = {number: index for index, number in enumerate(numbers)}
            return Prove(
                self.findings.tokens[columns],
                np.searchsorted(used, list_of[columns]).astype(np.int32),
                rank[row, columns],
                wire.Ragged.of_ints([self.findings.completions[one].tokens for one in numbers]),
                wire.Ragged.of_ints([[place[n] for n in lists[one]] for one in used.tolist()]),
                at=self.position.number,
            )

        while True:
            promising = self.undecided() & (rank < lengths) & (self.tries - before < attempts)
            columns = {row: np.flatnonzero(one) for row, one in enumerate(promising) if one.any()}
            if not columns:
                return
            for answers in self._in_chunks(columns, PROVE_CHUNK, request):
                found = []
                for row, (some, answer) in answers.items():
                    choice = answer.values
                    for column in some[choice == TOKEN_REFUSED].tolist():
                        self.findings.status[row, column] = Status.MASK_CONSUME_MISMATCH
                        token = int(self.findings.tokens[column])
                        self.findings.flaws.append(Flaw(row, token, "mask_consume_mismatch"))
                    rank[row, some] = np.where(choice == NO_CONTINUATION, lengths[some], choice + 1)
                    hits = some[choice >= 0]
                    at = members.offsets[list_of[hits]] + choice[choice >= 0]
                    found.append(Attempts(row, hits, members.values[at]))
                self.screen(found)

    def roll_out(
        self, columns: Mapping[int, Columns], limit: int
    ) -> tuple[list[Attempts], dict[tuple[int, int], Status]]:
        """Roll out from tokens; the completed ones, and how the others ended."""
        numbers: dict[int, dict[int, int]] = {}
        ended: dict[tuple[int, int], Status] = {}
        tokens, key, number = self.findings.tokens, self.position.key, self.position.number
        for answers in self._in_chunks(
            columns, ROLL_CHUNK, lambda _, some: RollOut(tokens[some], key, limit, at=number)
        ):
            for row, (asked, answer) in answers.items():
                completed = numbers.setdefault(row, {})
                outcomes = map(ROLLOUT_OUTCOMES.__getitem__, answer.outcomes.tolist())
                for column, outcome, taken in zip(
                    asked.tolist(), outcomes, answer.taken.ints(), strict=True
                ):
                    if outcome == "complete":
                        completed[column] = self.rolled_out(taken)
                        continue
                    ended[row, column] = Status[outcome.upper()]
                    if outcome != "too_long":
                        self.note_flaw(row, int(tokens[column]), outcome, taken)
        return [
            Attempts(row, np.array([*some], np.int64), np.array([*some.values()], np.int32))
            for row, some in sorted(numbers.items())
        ], ended

    def lengthen(
        self, rows: Iterable[int], tokens: Sequence[int], limit: int
    ) -> dict[int, list[int]]:
        """How often each of `tokens` (ids) may follow itself after the text."""
        request = Lengthen(np.array(tokens, dtype=np.int32), limit, at=self.position.number)
        answers = self._ask({row: request for row in rows if self.alive[row]})
        return {row: one.values.tolist() for row, one in answers.items()}

    def screen(self, attempts: Sequence[Attempts]) -> None:
        """Validate completed tokens and note what follows for their engines."""
        ruled = self._ruled(self._judge.screen, self._screened, attempts)
        rulings = list(self._rulings)
        verdicts = np.array([ruling.verdict for ruling in rulings], dtype=np.int8)
        for (row, columns, numbers), which in zip(attempts, ruled, strict=True):
            verdict = verdicts[which]
            valid, wrong = verdict == VALID, (verdict == INVALID) | (verdict == SUSPECT)
            self.findings.status[row, columns[valid]] = Status.VALID
            self.findings.completion[row, columns[valid]] = numbers[valid]
            self.cleared[columns[valid]] = True
            self.tries[row, columns[~valid]] += 1
            first = wrong & (self.first_invalid[row, columns] < 0)
            self.first_invalid[row, columns[first]] = numbers[first]
            if wrong.any():
                attempt = Attempts(row, columns[wrong], numbers[wrong])
                self._invalid.append((attempt, which[wrong]))
            for at in np.flatnonzero(~valid & ~wrong).tolist():
                question = (rulings[which[at]], int(numbers[at]))
                self._open_question.setdefault((row, int(columns[at])), question)

    def _ruled(
        self,
        ask: Callable[[Iterable[bytes]], Sequence[Ruling]],
        known: dict[int, int],
        attempts: Sequence[Attempts],
    ) -> list[Numbers]:
        """The numbers of rulings on completed tokens; validators are asked once about each text."""
        count = max(len(self.token_bytes), 1)
        keys = [(one.numbers.astype(np.int64) * count + one.columns).tolist() for one in attempts]
        if new := sorted({key for one in keys for key in one} - known.keys()):
            texts = (self.text(key % count, key // count) for key in new)
            for key, ruling in zip(new, ask(texts), strict=True):
                known[key] = self._rulings.setdefault(ruling, len(self._rulings))
        return [np.array([known[key] for key in one], dtype=np.int32) for one in keys]

    def errors(self, column: int, number: int) -> list[Fault]:
        return self._judge.errors(self.text(column, number))

    def note_flaw(self, row: int, token: int, kind: str, taken: Sequence[int]) -> None:
        """Note an error of another kind, shown by the tokens taken after a token."""
        number = self.rolled_out(taken) if taken else -1
        self.findings.flaws.append(Flaw(row, token, kind, number))

    def conclude(self, ended: Mapping[tuple[int, int], Status]) -> None:
        """Settle what is still undecided: false acceptances need both validators' word."""
        for row, left in enumerate(self._unsettled()):
            first = self.first_invalid[row]
            columns = np.flatnonzero(left & (first >= 0))
            attempts = Attempts(row, columns, first[columns])
            (ruled,) = self._ruled(self._judge.judge, self._confirmed, [attempts])
            rulings = list(self._rulings)
            for which in np.unique(ruled).tolist():
                alike = columns[ruled == which]
                self._settle(row, alike, first[alike], rulings[which])
            default = Status.GIVEN_UP if self.alive[row] else self._failed(row)
            for column in np.flatnonzero(left & (first < 0)).tolist():
                if (row, column) in self._open_question:
                    ruling, number = self._open_question[row, column]
                    self._settle(row, np.array([column]), np.array([number]), ruling)
                else:
                    self.findings.status[row, column] = ended.get((row, column), default)

    def _settle(self, row: int, columns: Columns, numbers: npt.NDArray[Any], of: Ruling) -> None:
        """Leave entries without a valid completion."""
        status = _LEFT_WITH.get(of.verdict, Status.CONTESTED)
        if status == Status.CONTESTED:
            # valid in the end where the fast validator said invalid: the two differ
            of = of._replace(reason=of.reason or "validators_differ")
        self.findings.status[row, columns] = status
        self.findings.completion[row, columns] = numbers
        self.findings.explain(row, columns, of)

    def _contest_reserved(self) -> None:
        """Convict nobody over reserved tokens, whose bytes in the output no specification tells."""
        reserved = self.vocabulary.special[self.findings.tokens] & ~self.findings.ends
        for row, one in enumerate(self.findings.accepts & reserved):
            columns = np.flatnonzero(one)
            self.findings.status[row, columns] = Status.CONTESTED
            self.findings.explain(row, columns, Ruling(CONTESTED, "reserved_token"))

    def disown(self, row: int, status: Status) -> None:
        """Withdraw everything that rests on completions of one engine."""
        proven = np.isin(self.findings.status[row], _WITNESSED)
        self.findings.status[row, proven] = status
        self.findings.completion[row, proven] = -1

    def find_refused_bytes(self, rejections: Mapping[int, Columns]) -> None:
        """Note which byte of each rejected token the engines refuse, asking for no slow masks."""
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
        locating, findings, rulings = Locating(schema), self.findings, list(self._rulings)
        for (row, columns, numbers), which in self._invalid:
            for column, number, ruling in zip(
                columns.tolist(), numbers.tolist(), which.tolist(), strict=True
            ):
                findings.elsewhere[row, column] |= not locating.at_token(
                    functools.partial(self.text, column, number),
                    number,
                    self.position.offset,
                    self.token_bytes[column],
                    rulings[ruling],
                    bool(findings.ends[column]),
                )

    def look_again(self, known: set[tuple[int, tuple[int, ...]]]) -> list[ViolationWitness]:
        """Find the refused byte of each proven rejection, and the violations in the others.

        Engines have faster ways to consume a text than one mask after the other, so each distinct
        completion that a verdict rests on is looked at again, mask by mask, but those `known`, to
        which those are added that prove to be allowed. One violation per engine is told.
        """
        verdicts = judge(self.findings)
        self.find_refused_bytes(rejections(verdicts))
        findings = self.findings
        exemplars: dict[int, dict[tuple[int, ...], int]] = {}
        for row, column in witnessed(verdicts):
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
            self.disown(row, self._failed(row))
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
