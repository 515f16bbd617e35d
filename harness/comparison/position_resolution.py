"""The scene of one position: ask engines for completions, texts to the validators, note findings.

A scene knows how to *prove* (does this engine allow this continuation to the end?), *roll out*
and *screen* (is the completed text valid, and where does it fail?). In which order to do that, and
when to stop, is the resolvers' business.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from harness.comparison.attempts import (
    WITNESSED,
    AttemptLists,
    Attempts,
    ViolationWitness,
    by_row,
    question_left,
)
from harness.comparison.findings import ENDED, FAILED, Completion, Evidence, Findings, Flaw, Status
from harness.comparison.ruling_cache import Columns, RulingCache, Rulings
from harness.comparison.walk import Position
from harness.completion.rollout import ENDINGS
from harness.engines import requests
from harness.engines.panel import Panel
from harness.engines.requests import NO_CONTINUATION, TOKEN_REFUSED, A, PositionRequest
from harness.inputs.vocabulary import Vocabulary
from harness.jsonschemas.paths import Fault
from harness.localization.at_token import Locating, Shapes
from harness.validators import judge as rulings
from harness.validators.judge import Judge
from harness.workers import wire
from harness.workers.outcomes import Failure

PROVE_CHUNK = 1024
ROLL_CHUNK = 16


class Scene:
    """The state of resolving one position.

    Attributes:
        findings: What is known so far; rows are the position's engines.
        alive: Engines that still answer, shape ``(e,)`` bool.
        first_invalid: Number of the first invalid completion per entry, -1 for none.
        tries: Completions per entry that were not valid.
        cleared: Tokens with a valid completion by any engine, shape ``(n,)`` bool.
        failures: What ended an engine here, by engine number.
    """

    def __init__(
        self,
        position: Position,
        tokens: npt.NDArray[np.int32],
        panel: Panel,
        judge: Judge,
        vocabulary: Vocabulary,
        schema: Any,
    ) -> None:
        self.position = position
        self.vocabulary = vocabulary
        self._panel = panel
        self._judge = judge
        accepts = (position.masks[:, tokens >> 5] >> (tokens & 31).astype(np.uint32)) & 1
        can_end = np.any(position.masks & vocabulary.eos_mask, axis=1, keepdims=True)[:, 0]
        self.findings = Findings.empty(
            position.engines, tokens, accepts.astype(np.bool_), vocabulary.eos_ids, can_end
        )
        shape = accepts.shape
        self.alive = np.ones(shape[0], dtype=np.bool_)
        self.first_invalid = np.full(shape, -1, dtype=np.int32)
        self.tries = np.zeros(shape, dtype=np.int32)
        self.cleared = np.zeros(shape[1], dtype=np.bool_)
        self.failures: dict[int, Failure] = {}
        self.bytes = list(map(vocabulary.tokens.__getitem__, tokens.tolist()))
        for column in np.flatnonzero(self.findings.ends).tolist():
            self.bytes[column] = b""
        self._contest_reserved()
        self._numbers: dict[tuple[bytes, tuple[int, ...]], int] = {}
        self._open_question: dict[tuple[int, int], tuple[rulings.Ruling, int]] = {}
        self._screened = RulingCache(shape[1], self._screen)
        self._confirmed = RulingCache(shape[1], self._confirm)
        self._locating = Locating(schema)
        self._shapes = Shapes(self.bytes)

    def undecided(self) -> npt.NDArray[np.bool_]:
        """Entries that nothing is settled about, of engines that still answer; ``(e, n)``."""
        untouched = self.findings.status == Status.NOT_ASKED
        judged = self.findings.accepts & self.alive[:, None] & ~self.cleared[None, :]
        return cast("npt.NDArray[np.bool_]", judged & untouched)

    def bare(self) -> npt.NDArray[np.bool_]:
        """Undecided entries for which no completion of any kind is known yet."""
        return cast("npt.NDArray[np.bool_]", self.undecided() & (self.tries == 0))

    def number(self, text: bytes, origin: str, tokens: tuple[int, ...] | None = None) -> int:
        """The number of a completion; without `tokens`, cut greedily, end-of-sequence behind."""
        if tokens is None:
            tokens = (*self.vocabulary.encode_greedy(text), self.vocabulary.eos)
        key = (text, tokens)
        if key not in self._numbers:
            self._numbers[key] = len(self.findings.completions)
            self.findings.completions.append(Completion(text, tokens, origin))
        return self._numbers[key]

    def text(self, column: int, number: int) -> bytes:
        """The whole text of a completed token."""
        completion = self.findings.completions[number]
        return self.position.text + self.bytes[column] + completion.text

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
            columns: The columns to ask about, by row.
            list_of: Which list belongs to a column, shape ``(n,)``.
            lists: Lists of completion numbers.
            rank: Where in the list to go on, shape ``(e, n)``; moved behind what was found, or
                to the list's end.

        Yields:
            What was found, by row, a chunk at a time.
        """
        tried = AttemptLists(list_of, wire.Ragged.of_ints(lists), lists, rank)
        count = max((-(-len(one) // PROVE_CHUNK) for one in columns.values()), default=0)
        chunks = [slice(at * PROVE_CHUNK, (at + 1) * PROVE_CHUNK) for at in range(count)]
        begun = self._begin(columns, chunks[0], tried) if chunks else {}
        for here, following in itertools.zip_longest(chunks, chunks[1:]):
            answers = self._collect(begun)
            begun = self._begin(columns, following, tried) if following else {}
            yield [
                self._found(row, columns[row][here], answer.choice, tried)
                for row, answer in sorted(answers.items())
            ]

    def _begin(
        self, columns: Mapping[int, Columns], chunk: slice, lists: AttemptLists
    ) -> dict[int, PositionRequest[Any]]:
        asks: dict[int, PositionRequest[Any]] = {
            row: self._question(row, one[chunk], lists)
            for row, one in columns.items()
            if len(one[chunk]) and self.alive[row]
        }
        self._ask_engines(asks)
        return asks

    def _found(
        self, row: int, asked: Columns, choice: npt.NDArray[np.int32], lists: AttemptLists
    ) -> Attempts:
        """Note what an engine answered about a chunk; the completions that it allows."""
        lying = asked[choice == TOKEN_REFUSED]
        self.findings.status[row, lying] = Status.MASK_LIES
        self.findings.flaws += [
            Flaw(row, token, "mask_lies") for token in self.findings.tokens[lying].tolist()
        ]
        first, last = (
            lists.members.offsets[lists.list_of[asked]],
            lists.members.offsets[1:],
        )
        length = last[lists.list_of[asked]] - first
        lists.rank[row, asked] = np.where(choice == NO_CONTINUATION, length, choice + 1)
        hits = choice >= 0
        return Attempts(row, asked[hits], lists.members.values[first[hits] + choice[hits]])

    def roll_out(
        self, columns: Mapping[int, Columns], limit: int
    ) -> tuple[list[Attempts], dict[tuple[int, int], Status]]:
        """Roll out from tokens; the completed ones, and how the others ended."""
        found: list[Attempts] = []
        ended: dict[tuple[int, int], Status] = {}
        tokens = self.findings.tokens
        chunks = max((-(-len(one) // ROLL_CHUNK) for one in columns.values()), default=0)
        for chunk in range(chunks):
            part = {
                row: one[chunk * ROLL_CHUNK : (chunk + 1) * ROLL_CHUNK]
                for row, one in columns.items()
            }
            key, at = self.position.key, self.position.number
            asks = {
                row: requests.RollOut(tokens[one], key, limit, at=at)
                for row, one in part.items()
                if len(one) and self.alive[row]
            }
            for row, answer in self._ask(asks).items():
                taken, endings = answer.taken.ints(), answer.endings.tolist()
                numbers = {}
                for column, ending, one in zip(part[row].tolist(), endings, taken, strict=True):
                    if (status := ENDED.get(ENDINGS[ending])) is not None:
                        ended[row, column] = status
                        self._flawed(row, column, status, one)
                    else:
                        numbers[column] = self._rolled(one)
                columns_ended = np.array(list(numbers), dtype=np.int64)
                found.append(
                    Attempts(row, columns_ended, np.array(list(numbers.values()), dtype=np.int32))
                )
        return by_row(found), ended

    def screen(self, attempts: Sequence[Attempts]) -> None:
        """Validate completed tokens and note what follows for their engines."""
        said = self._screened.look([(one.columns, one.numbers) for one in attempts])
        for one, which in zip(attempts, said, strict=True):
            self._note(one, which)

    def _note(self, one: Attempts, which: npt.NDArray[np.int32]) -> None:
        """Note what rulings say of one engine's completions."""
        verdict = self._screened.verdicts[which]
        valid = verdict == rulings.VALID
        right = one.columns[valid]
        self.findings.status[one.row, right] = Status.VALID
        self.findings.completion[one.row, right] = one.numbers[valid]
        self.cleared[right] = True
        self.tries[one.row, one.columns[~valid]] += 1
        wrong = (verdict == rulings.INVALID) | (verdict == rulings.SUSPECT)
        columns, numbers = one.columns[wrong], one.numbers[wrong]
        first = self.first_invalid[one.row, columns] < 0
        self.first_invalid[one.row, columns[first]] = numbers[first]
        self._locate(Attempts(one.row, columns, numbers), which[wrong])
        for at in np.flatnonzero(~valid & ~wrong).tolist():
            question = (self._screened.rulings[which[at]], int(one.numbers[at]))
            self._open_question.setdefault((one.row, int(one.columns[at])), question)

    def errors(self, column: int, number: int) -> list[Fault]:
        """The errors that the validators name in a completed token."""
        return self._judge.errors(self.text(column, number))

    def unconfirmed(
        self, needed: Iterable[tuple[int, int]], known: set[tuple[int, tuple[int, ...]]]
    ) -> list[ViolationWitness]:
        """Where masks forbid a completion that the engine was found to allow; one per engine.

        Args:
            needed: Rows and columns whose completions verdicts rest on. Of each engine and
                completion one column is looked at again, every mask on the way included.
            known: Engines and completions that were looked at before; those that prove to be
                allowed are added.
        """
        exemplars: dict[int, dict[tuple[int, ...], int]] = {}
        for row, column in needed:
            tokens = self.findings.completions[self.findings.completion[row, column]].tokens
            if (self.findings.engines[row], tokens) not in known:
                exemplars.setdefault(row, {}).setdefault(tokens, column)
        asks: dict[int, requests.Confirm] = {}
        for row, columns in exemplars.items():
            disputed = self.findings.tokens[list(columns.values())]
            continuations = wire.Ragged.of_ints(list(columns))
            asks[row] = requests.Confirm(disputed, continuations, at=self.position.number)
        answers = self._ask(asks)
        for row in asks.keys() - answers.keys():
            self.disown(row, FAILED[self.failures[self.findings.engines[row]].word])
        lies = []
        for row, answer in answers.items():
            columns = exemplars[row]
            reached = answer.reached.tolist()
            lengths = [len(tokens) for tokens in columns]
            whole = [count > length for count, length in zip(reached, lengths, strict=True)]
            engine = self.findings.engines[row]
            known.update(
                (engine, tokens) for tokens, one in zip(columns, whole, strict=True) if one
            )
            if not all(whole):
                at = whole.index(False)
                tokens, column = list(columns.items())[at]
                token = int(self.findings.tokens[column])
                consumes = bool(answer.consumes[at])
                lies.append(ViolationWitness(row, token, tokens[: reached[at]], consumes))
        return lies

    def lengthen(
        self, rows: Sequence[int], tokens: Sequence[int], limit: int
    ) -> dict[int, list[int]]:
        """How often each of `tokens` may follow itself behind the text, per row that answers."""
        request = requests.Lengthen(
            np.array(tokens, dtype=np.int32), limit, at=self.position.number
        )
        asks = {row: request for row in rows if self.alive[row]}
        return {row: one.times.tolist() for row, one in self._ask(asks).items()}

    def repeated(self, token: int, times: int) -> int:
        """The number of a completion that is one token again and again, without an end."""
        return self.number(self.vocabulary.tokens[token] * times, "probe", (token,) * times)

    def hunt(self, columns: Mapping[int, Columns], limit: int, budget: int) -> None:
        """Look for dead ends behind tokens that another engine completes validly.

        Roll-outs find empty masks; where one merely takes too long, all ways are gone if they
        are few.
        """
        _, ended = self.roll_out(columns, limit)
        open_: dict[int, list[int]] = {}
        for (row, column), status in ended.items():
            if status == Status.TOO_LONG:
                open_.setdefault(row, []).append(column)
        tokens, at = self.findings.tokens, self.position.number
        asks = {
            row: requests.Exhaust(tokens[one], limit, budget, at=at)
            for row, one in open_.items()
            if self.alive[row]
        }
        for row, answer in self._ask(asks).items():
            for column in np.array(open_[row])[answer.closed].tolist():
                valid = self.findings.status[:, column] == Status.VALID
                accepter = int(np.flatnonzero(valid)[0])
                number = int(self.findings.completion[accepter, column])
                self.findings.flaws.append(
                    Flaw(
                        row,
                        int(tokens[column]),
                        "dead_end",
                        number,
                        "no_end_within_limit",
                        accepter,
                    )
                )

    def note_violation(self, violation: ViolationWitness) -> None:
        """Note that an engine consumes what its mask forbids."""
        self._flawed_by(violation.row, violation.token, "mask_lies", violation.tokens)

    def disown(self, row: int, status: Status) -> None:
        """Withdraw everything that rests on completions of one engine."""
        proven = np.isin(self.findings.status[row], WITNESSED)
        self.findings.status[row, proven] = status
        self.findings.completion[row, proven] = -1

    def conclude(self, ended: Mapping[tuple[int, int], Status]) -> None:
        """Settle what is still undecided: false acceptances need both validators' word."""
        left = self.findings.accepts & (self.findings.status == Status.NOT_ASKED)
        left &= ~self.cleared[None, :]
        for row in range(len(left)):
            columns = np.flatnonzero(left[row] & (self.first_invalid[row] >= 0))
            numbers = self.first_invalid[row, columns]
            (which,) = self._confirmed.look([(columns, numbers)])
            for one in np.unique(which).tolist():
                some = which == one
                self._settle(row, columns[some], numbers[some], self._confirmed.rulings[one])
            for column in np.flatnonzero(left[row] & (self.first_invalid[row] < 0)).tolist():
                entry = (row, column)
                if entry in self._open_question:
                    ruling, number = self._open_question[entry]
                    self._settle(row, np.array([column]), np.array([number]), ruling)
                else:
                    self.findings.status[entry] = self._reason(entry, ended)

    def _settle(
        self,
        row: int,
        columns: Columns,
        numbers: npt.NDArray[Any],
        ruling: rulings.Ruling,
    ) -> None:
        """Leave entries with completions of which the validators say the same."""
        status, evidence = question_left(ruling)
        self.findings.status[row, columns] = status
        self.findings.completion[row, columns] = numbers
        self.findings.explain(row, columns, evidence)

    def _contest_reserved(self) -> None:
        """Reserved tokens other than the end have no bytes in the output that all agree on.

        Whether one may come as the text it is spelled as is for the specification of no engine
        and no schema to say: nobody is convicted over it.
        """
        reserved = self.vocabulary.special[self.findings.tokens]
        reserved &= ~np.isin(self.findings.tokens, self.vocabulary.eos_ids)
        for row, one in enumerate(self.findings.accepts & reserved[None, :]):
            columns = np.flatnonzero(one)
            self.findings.status[row, columns] = Status.CONTESTED
            self.findings.explain(row, columns, Evidence("reserved_token"))

    def _locate(self, one: Attempts, which: npt.NDArray[np.int32]) -> None:
        """Note where invalid completions fail elsewhere than at the disputed token."""
        if not len(which):
            return
        shapes = self._shapes.of(one.columns, [self._screened.rulings[i] for i in which.tolist()])
        alike = np.stack([one.numbers, which, shapes], axis=1)
        _, first, inverse = np.unique(alike, axis=0, return_index=True, return_inverse=True)
        at_token = np.array(
            [self._is_at_token(int(one.columns[i]), int(one.numbers[i]), which[i]) for i in first]
        )
        self.findings.elsewhere[one.row, one.columns] |= ~at_token[inverse.ravel()]

    def _is_at_token(self, column: int, number: int, which: np.int32) -> bool:
        return self._locating.at_token(
            lambda: self.text(column, number),
            number,
            self.position.offset,
            self.bytes[column],
            self._screened.rulings[which],
            bool(self.findings.ends[column]),
        )

    def _flawed(self, row: int, column: int, status: Status, taken: Sequence[int]) -> None:
        """Note a roll-out that proves an error of its own kind."""
        if status not in (Status.DEAD_END, Status.MASK_LIES):
            return
        self._flawed_by(row, int(self.findings.tokens[column]), status.name.lower(), taken)

    def _flawed_by(self, row: int, token: int, kind: str, taken: Sequence[int]) -> None:
        number = self._rolled(taken) if taken else -1
        self.findings.flaws.append(Flaw(row, token, kind, number))

    def _reason(self, entry: tuple[int, int], ended: Mapping[tuple[int, int], Status]) -> Status:
        if entry in ended:
            return ended[entry]
        if not self.alive[entry[0]]:
            return FAILED[self.failures[self.findings.engines[entry[0]]].word]
        return Status.GIVEN_UP

    def _question(self, row: int, columns: Columns, lists: AttemptLists) -> requests.Prove:
        used = np.unique(lists.list_of[columns])
        numbers = sorted({number for one in used.tolist() for number in lists.lists[one]})
        place = {number: index for index, number in enumerate(numbers)}
        members = [[place[number] for number in lists.lists[one]] for one in used.tolist()]
        completions = [self.findings.completions[number].tokens for number in numbers]
        return requests.Prove(
            self.findings.tokens[columns],
            np.searchsorted(used, lists.list_of[columns]).astype(np.int32),
            lists.rank[row, columns],
            wire.Ragged.of_ints(completions),
            wire.Ragged.of_ints(members),
            at=self.position.number,
        )

    def _ask(self, asks: Mapping[int, PositionRequest[A]]) -> dict[int, A]:
        """Answers by row; a failure ends the engine's part in this position."""
        self._ask_engines(asks)
        return self._collect(asks)

    def _ask_engines(self, asks: Mapping[int, PositionRequest[Any]]) -> None:
        self._panel.begin({self.findings.engines[row]: one for row, one in asks.items()})

    def _collect(self, asks: Iterable[int]) -> dict[int, Any]:
        """The answers of rows of which something was asked."""
        asks, engines = list(asks), self.findings.engines
        answers = self._panel.collect(engines[row] for row in asks)
        good: dict[int, Any] = {}
        for row in asks:
            answer = answers[engines[row]]
            if isinstance(answer, Failure):
                self.failures[engines[row]] = answer
                self.alive[row] = False
            else:
                good[row] = answer
        return good

    def _rolled(self, taken: Sequence[int]) -> int:
        text = b"".join(
            self.vocabulary.tokens[token] for token in taken if token not in self.vocabulary.eos_ids
        )
        return self.number(text, "rollout", tuple(taken))

    def _screen(self, columns: Columns, numbers: npt.NDArray[np.int32]) -> Rulings:
        """The fast validator, and both where it does not say invalid."""
        return self._judge.screen_many(*self._parts(columns, numbers))

    def _confirm(self, columns: Columns, numbers: npt.NDArray[np.int32]) -> Rulings:
        """Both validators."""
        return self._judge.judge_many(*self._parts(columns, numbers))

    def _parts(
        self, columns: Columns, numbers: npt.NDArray[np.int32]
    ) -> tuple[bytes, list[bytes], list[bytes], npt.NDArray[np.int32]]:
        """The texts of completed tokens as `Judge.screen_many` takes them."""
        used = np.unique(numbers)
        which: npt.NDArray[np.int32] = np.searchsorted(used, numbers).astype(np.int32)
        suffixes = [self.findings.completions[number].text for number in used.tolist()]
        middles = [self.bytes[column] for column in columns.tolist()]
        return self.position.text, middles, suffixes, which
