"""What is found out about the disputed tokens of one position, while it is being resolved.

A text is the position's text, a disputed token and a completion; it is named by the token's column
and the completion's number. Rulings are kept as numbers into a list of distinct ones, so that
thousands of tokens that share a completion are handled as arrays. The store asks nobody: it is told
which completions engines allow and how validators rule on them, and draws the conclusions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from harness.comparison.findings import ENDED, Completion, Findings, Flaw, Status
from harness.comparison.walk import Position
from harness.completion.rollout import ROLLOUT_OUTCOMES
from harness.engines.requests import NO_CONTINUATION, TOKEN_REFUSED
from harness.inputs.vocabulary import Vocabulary
from harness.validators.judge import CONTESTED, INVALID, SUSPECT, UNDECIDED, VALID, Ruling
from harness.workers import wire

Columns = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Attempts:
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


@dataclass(frozen=True)
class AttemptLists:
    """The completions that are attempted, and how far each entry has come.

    `list_of`, shape ``(n,)``, is each column's list; `rank`, ``(e, n)``, where in it to go on.
    """

    list_of: npt.NDArray[np.int32]
    members: wire.Ragged
    lists: Sequence[Sequence[int]]
    rank: npt.NDArray[np.int32]


def by_row(found: Sequence[Attempts]) -> list[Attempts]:
    """One entry per row, its columns ascending."""
    rows: dict[int, list[Attempts]] = {}
    for attempts in found:
        rows.setdefault(attempts.row, []).append(attempts)
    out = []
    for row, parts in sorted(rows.items()):
        columns = np.concatenate([part.columns for part in parts])
        order = np.argsort(columns, kind="stable")
        numbers = np.concatenate([part.numbers for part in parts])
        out.append(Attempts(row, columns[order], numbers[order]))
    return out


@dataclass(frozen=True)
class AttemptRulings:
    """The rulings on some texts: `which` each has, shape ``(k,)``, and their verdicts, int8."""

    rulings: Sequence[Ruling]
    verdicts: npt.NDArray[np.int8]
    which: Numbers


@dataclass
class RulingCache:
    """The rulings of a position's completed tokens; validators are asked once about each text.

    `ask` is `Judge.screen_many` or `Judge.judge_many`, `tokens` the bytes of disputed tokens.
    """

    ask: Callable[
        [bytes, Sequence[bytes], Sequence[bytes], Numbers], tuple[Sequence[Ruling], Numbers]
    ]
    text: bytes
    tokens: Sequence[bytes]
    completions: Sequence[Completion]
    _place: dict[Ruling, int] = field(default_factory=dict)
    _keys: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _which: Numbers = field(default_factory=lambda: np.zeros(0, dtype=np.int32))

    def look(self, attempts: Sequence[Attempts]) -> list[AttemptRulings]:
        """The rulings on the texts of each of the attempts."""
        count = max(len(self.tokens), 1)
        keys = [one.numbers.astype(np.int64) * count + one.columns for one in attempts]
        if not keys:
            return []
        wanted = np.unique(np.concatenate(keys))
        new = wanted[~np.isin(wanted, self._keys, assume_unique=True)]
        if len(new):
            numbers, columns = np.divmod(new, count)
            self._learn(new, columns, numbers)
        rulings = list(self._place)
        verdicts = np.array([ruling.verdict for ruling in rulings], dtype=np.int8)
        which = [self._which[np.searchsorted(self._keys, one)] for one in keys]
        return [AttemptRulings(rulings, verdicts, one) for one in which]

    def _learn(self, keys: npt.NDArray[np.int64], columns: Columns, numbers: Columns) -> None:
        used, suffix = np.unique(numbers, return_inverse=True)
        suffixes = [self.completions[number].text for number in used.tolist()]
        middles = [self.tokens[column] for column in columns.tolist()]
        found, which = self.ask(self.text, middles, suffixes, suffix.astype(np.int32))
        places = [self._place.setdefault(ruling, len(self._place)) for ruling in found]
        every = np.concatenate([self._keys, keys])
        order = np.argsort(every, kind="stable")
        self._keys = every[order]
        self._which = np.concatenate([self._which, np.array(places, dtype=np.int32)[which]])[order]


_WITNESSED = (Status.VALID, Status.INVALID, Status.CONTESTED)
_LEFT_WITH = {INVALID: Status.INVALID, UNDECIDED: Status.UNDECIDED}
"""What an entry is left with where no completion was valid, by verdict."""


class FindingsStore:
    """The findings of one position; an entry is an engine (row) at a token (column).

    `token_bytes` has none at the end of generation. `first_invalid`, shape ``(e, n)``, numbers
    completions, -1 for none; `tries`, ``(e, n)``, counts those that were not valid; `cleared`,
    ``(n,)``, are tokens that some engine completed validly; `invalid` has all that were not.
    """

    def __init__(
        self,
        position: Position,
        tokens: npt.NDArray[np.int32],
        vocabulary: Vocabulary,
        *,
        valid_completion_exonerates: bool = True,
    ) -> None:
        self.position = position
        self._vocabulary = vocabulary
        accepts = (position.masks[:, tokens >> 5] >> (tokens & 31).astype(np.uint32)) & 1
        can_end = np.any(position.masks & vocabulary.eos_mask, axis=1, keepdims=True)[:, 0]
        self.findings = Findings.empty(
            position.engines, tokens, accepts.astype(np.bool_), vocabulary.eos_ids, can_end
        )
        self.findings.valid_completion_exonerates = valid_completion_exonerates
        shape = accepts.shape
        self.first_invalid = np.full(shape, -1, dtype=np.int32)
        self.tries = np.zeros(shape, dtype=np.int32)
        self.cleared = np.zeros(shape[1], dtype=np.bool_)
        self.invalid: list[tuple[Attempts, Sequence[Ruling], Numbers]] = []
        self.token_bytes = list(map(vocabulary.tokens.__getitem__, tokens.tolist()))
        for column in np.flatnonzero(self.findings.ends).tolist():
            self.token_bytes[column] = b""
        self._numbers: dict[tuple[bytes, tuple[int, ...]], int] = {}
        self._open_question: dict[tuple[int, int], tuple[Ruling, int]] = {}
        self._contest_reserved()

    def unsettled(self) -> npt.NDArray[np.bool_]:
        """Entries of accepted tokens about which nothing is settled, shape ``(e, n)``."""
        untouched = self.findings.status == Status.NOT_ASKED
        judged = self.findings.accepts & ~self.cleared[None, :]
        return cast("npt.NDArray[np.bool_]", judged & untouched)

    def number(self, text: bytes, origin: str, tokens: tuple[int, ...] | None = None) -> int:
        """The number of a completion; without `tokens`, cut greedily, end-of-sequence after."""
        if tokens is None:
            tokens = (*self._vocabulary.encode_greedy(text), self._vocabulary.eos)
        key = (text, tokens)
        if key not in self._numbers:
            self._numbers[key] = len(self.findings.completions)
            self.findings.completions.append(Completion(text, tokens, origin))
        return self._numbers[key]

    def rolled_out(self, taken: Sequence[int]) -> int:
        """The number of what an engine wrote in a roll-out."""
        ends = self._vocabulary.eos_ids
        text = b"".join(self._vocabulary.tokens[token] for token in taken if token not in ends)
        return self.number(text, "rollout", tuple(taken))

    def text(self, column: int, number: int) -> bytes:
        """The whole text of a completed token."""
        completion = self.findings.completions[number]
        return self.position.text + self.token_bytes[column] + completion.text

    def note_proved(
        self, row: int, asked: Columns, choice: npt.NDArray[np.int32], lists: AttemptLists
    ) -> Attempts:
        """Note what an engine answered to `Prove`; the completions that it allows."""
        refused = asked[choice == TOKEN_REFUSED]
        self.findings.status[row, refused] = Status.MASK_CONSUME_MISMATCH
        tokens = self.findings.tokens[refused].tolist()
        self.findings.flaws += [Flaw(row, token, "mask_consume_mismatch") for token in tokens]
        first = lists.members.offsets[lists.list_of[asked]]
        length = lists.members.offsets[1:][lists.list_of[asked]] - first
        lists.rank[row, asked] = np.where(choice == NO_CONTINUATION, length, choice + 1)
        hits = choice >= 0
        return Attempts(row, asked[hits], lists.members.values[first[hits] + choice[hits]])

    def note_rolled_out(
        self,
        row: int,
        asked: Columns,
        outcomes: npt.NDArray[np.int8],
        taken: Sequence[Sequence[int]],
    ) -> tuple[Attempts, dict[tuple[int, int], Status]]:
        """Note what roll-outs came to; the completions, and how the others ended."""
        ended: dict[tuple[int, int], Status] = {}
        numbers: dict[int, int] = {}
        for column, outcome, one in zip(asked.tolist(), outcomes.tolist(), taken, strict=True):
            status = ENDED.get(ROLLOUT_OUTCOMES[outcome])
            if status is None:
                numbers[column] = self.rolled_out(one)
                continue
            ended[row, column] = status
            if status in (Status.DEAD_END, Status.MASK_CONSUME_MISMATCH):
                self.note_flaw(row, int(self.findings.tokens[column]), status.name.lower(), one)
        columns = np.array(list(numbers), dtype=np.int64)
        return Attempts(row, columns, np.array(list(numbers.values()), dtype=np.int32)), ended

    def note_flaw(self, row: int, token: int, kind: str, taken: Sequence[int]) -> None:
        """Note an error of another kind, shown by the tokens taken after a token."""
        number = self.rolled_out(taken) if taken else -1
        self.findings.flaws.append(Flaw(row, token, kind, number))

    def note_rulings(self, one: Attempts, ruled: AttemptRulings) -> None:
        """Note what screening says of one engine's completions."""
        verdict = ruled.verdicts[ruled.which]
        valid = verdict == VALID
        right = one.columns[valid]
        self.findings.status[one.row, right] = Status.VALID
        self.findings.completion[one.row, right] = one.numbers[valid]
        self.cleared[right] = True
        self.tries[one.row, one.columns[~valid]] += 1
        wrong = (verdict == INVALID) | (verdict == SUSPECT)
        columns, numbers = one.columns[wrong], one.numbers[wrong]
        first = self.first_invalid[one.row, columns] < 0
        self.first_invalid[one.row, columns[first]] = numbers[first]
        if len(columns):
            attempts = Attempts(one.row, columns, numbers)
            self.invalid.append((attempts, ruled.rulings, ruled.which[wrong]))
        for at in np.flatnonzero(~valid & ~wrong).tolist():
            question = (ruled.rulings[ruled.which[at]], int(one.numbers[at]))
            self._open_question.setdefault((one.row, int(one.columns[at])), question)

    def settle(self, one: Attempts, ruled: AttemptRulings) -> None:
        """Leave entries with invalid completions, as both validators rule on them."""
        for which in np.unique(ruled.which).tolist():
            some = ruled.which == which
            self._settle(one.row, one.columns[some], one.numbers[some], ruled.rulings[which])

    def leave(self, row: int, column: int, status: Status) -> None:
        """Leave an entry without an invalid completion: as it was ruled, else with `status`."""
        question = self._open_question.get((row, column))
        if question is None:
            self.findings.status[row, column] = status
        else:
            self._settle(row, np.array([column]), np.array([question[1]]), question[0])

    def disown(self, row: int, status: Status) -> None:
        """Withdraw everything that rests on completions of one engine."""
        proven = np.isin(self.findings.status[row], _WITNESSED)
        self.findings.status[row, proven] = status
        self.findings.completion[row, proven] = -1

    def _settle(self, row: int, columns: Columns, numbers: npt.NDArray[Any], of: Ruling) -> None:
        status = _LEFT_WITH.get(of.verdict, Status.CONTESTED)
        if status == Status.CONTESTED:
            # valid in the end where the fast validator said invalid: the two differ
            of = of._replace(reason=of.reason or "validators_differ")
        self.findings.status[row, columns] = status
        self.findings.completion[row, columns] = numbers
        self.findings.explain(row, columns, of)

    def _contest_reserved(self) -> None:
        """Reserved tokens other than the end have no bytes in the output that all agree on.

        Whether one may come as the text it is spelled as is for the specification of no engine
        and no schema to say: nobody is convicted over it.
        """
        reserved = self._vocabulary.special[self.findings.tokens]
        reserved &= ~np.isin(self.findings.tokens, self._vocabulary.eos_ids)
        for row, one in enumerate(self.findings.accepts & reserved[None, :]):
            columns = np.flatnonzero(one)
            self.findings.status[row, columns] = Status.CONTESTED
            self.findings.explain(row, columns, Ruling(CONTESTED, "reserved_token"))
