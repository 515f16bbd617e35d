"""Findings of a resolver at one position, and the verdicts that follow from them.

A resolver finds out, per engine and disputed token, whether a completion that the engine allows is
valid. Which engine that proves wrong is decided here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from harness.validators.judge import UNDECIDED, Ruling
from harness.verdict_kinds import ERRORS, KINDS, MAIN_KINDS
from harness.workers.outcomes import ADAPTER_FAULTS


class Status(IntEnum):
    """What is known of one engine at one disputed token."""

    NOT_ASKED = 0
    """The engine rejects the token, or another engine's valid completion settled it."""
    VALID = 1
    """A completion that the engine allows is valid."""
    INVALID = 2
    """A completion that the engine allows is invalid, and no attempt was valid."""
    CONTESTED = 3
    """The validators do not agree on the completion, or the specification leaves it open."""
    TOO_LONG = 4
    DEAD_END = 5
    MASK_CONSUME_MISMATCH = 6
    CRASHED = 7
    TIMED_OUT = 8
    OUT_OF_MEMORY = 9
    UNDECIDED = 10
    """A validator could not say."""
    GIVEN_UP = 11
    """Roll-outs of several tokens in the same situation did not end, so no more were tried."""


FAILED = {
    "crashed": Status.CRASHED,
    "timed_out": Status.TIMED_OUT,
    "out_of_memory": Status.OUT_OF_MEMORY,
    "mask_consume_mismatch": Status.MASK_CONSUME_MISMATCH,
    "refused": Status.CRASHED,
    **dict.fromkeys(ADAPTER_FAULTS, Status.MASK_CONSUME_MISMATCH),
}


@dataclass(frozen=True)
class Completion:
    """What an engine allowed after a disputed token: text and tokens, end-of-sequence last.

    There are no tokens where the disputed one is itself the end. `origin` is ``reference``,
    ``aimed``, ``rollout`` or ``probe``.
    """

    text: bytes
    tokens: tuple[int, ...]
    origin: str


@dataclass(frozen=True)
class Flaw:
    """An engine's error of another kind than a false acceptance or rejection.

    `completion` is what the engine was led through after the token, -1 for nothing; or that of
    the `accepter`, where it takes another engine's valid one to prove the error.
    """

    row: int
    token: int
    kind: str
    completion: int = -1
    reason: str = ""
    accepter: int = -1


@dataclass
class Findings:
    """One position's findings; rows are engines in the order of the position, columns tokens.

    Attributes:
        tokens: Those that were resolved, ascending, shape ``(n,)``.
        ends: Which of them end generation, shape ``(n,)``.
        can_end: Which engines allow any end of generation here, shape ``(e,)``.
        status: `Status` values, shape ``(e, n)``, as all that follow.
        completion: Index into `completions`, -1 for none.
        elsewhere: Whether an invalid completion fails at another place than the token.
        evidence: What the validators said: distinct pieces, of which the first says nothing.
        evidence_number: Index into `evidence`.
        refused_at: How many bytes of a token go before the one that an engine refuses which rejects
            it (see `harness.engines.text_probe`), the whole length where it refuses only the
            token; -1 where that is not known.
    """

    engines: tuple[int, ...]
    tokens: npt.NDArray[np.int32]
    accepts: npt.NDArray[np.bool_]
    ends: npt.NDArray[np.bool_]
    can_end: npt.NDArray[np.bool_]
    status: npt.NDArray[np.int8] = field(init=False)
    completion: npt.NDArray[np.int32] = field(init=False)
    elsewhere: npt.NDArray[np.bool_] = field(init=False)
    evidence_number: npt.NDArray[np.int32] = field(init=False)
    refused_at: npt.NDArray[np.int32] = field(init=False)
    completions: list[Completion] = field(default_factory=list)
    evidence: list[Ruling] = field(default_factory=lambda: [Ruling(UNDECIDED, "")])
    flaws: list[Flaw] = field(default_factory=list)
    valid_completion_exonerates: bool = True
    """See `judge`; the rule of the resolver."""

    def __post_init__(self) -> None:
        shape = self.accepts.shape
        self.status = np.zeros(shape, dtype=np.int8)
        self.completion = np.full(shape, -1, dtype=np.int32)
        self.elsewhere = np.zeros(shape, dtype=np.bool_)
        self.evidence_number = np.zeros(shape, dtype=np.int32)
        self.refused_at = np.full(shape, -1, dtype=np.int32)

    def explain(self, row: int, columns: npt.NDArray[Any], evidence: Ruling) -> None:
        if evidence not in self.evidence:
            self.evidence.append(evidence)
        self.evidence_number[row, columns] = self.evidence.index(evidence)

    def evidence_of(self, row: int, column: int) -> Ruling:
        return self.evidence[int(self.evidence_number[row, column])]


_FEW: Final = 4
"""So many errors of one sort at a position say what there is to say."""

CODES: Final = ("", *KINDS)
"""What `Verdicts.kind` refers to."""
_NONE, _ACCEPTED, _REJECTED, _CONTESTED, _UNRESOLVED, _NEVER_STOPS, _TOO_EARLY = map(
    CODES.index,
    ("", *MAIN_KINDS.values(), "contested", "unresolved", "never_stops", "stops_too_early"),
)


@dataclass(frozen=True)
class Verdicts:
    """What is proven about engines (rows) and tokens, shapes ``(v,)``.

    First what completions prove of disputed tokens, by token, then by engine; then each `Flaw`,
    whose `column` is -1. `kind` is an index into `CODES`; `accepter` is the row of the engine that
    allowed the completion, an index into the findings'; both are -1 without one. `reason` says why
    a verdict is open, or sets it apart from others of its kind.
    """

    row: npt.NDArray[np.int64]
    column: npt.NDArray[np.int64]
    token: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int8]
    accepter: npt.NDArray[np.int64]
    completion: npt.NDArray[np.int32]
    reason: Sequence[str]

    def __getitem__(self, rows: npt.NDArray[Any]) -> Verdicts:
        row, column, token = self.row[rows], self.column[rows], self.token[rows]
        kind, accepter, completion = self.kind[rows], self.accepter[rows], self.completion[rows]
        reason = [self.reason[at] for at in rows.tolist()]
        return Verdicts(row, column, token, kind, accepter, completion, reason)

    def few(self, alike: npt.NDArray[Any], first: Sequence[int]) -> npt.NDArray[np.int64]:
        """The rows without false acceptances and rejections beyond the first `_FEW` of a sort.

        Of those whose columns of `alike`, ``(k, v)``, are the same, tokens among `first` go before
        others, and low ids before high ones.
        """
        main = np.flatnonzero(np.isin(self.kind, (_ACCEPTED, _REJECTED)))
        numbers: dict[tuple[int, ...], int] = {}
        rows = zip(*alike[:, main].tolist(), strict=True)
        sort = np.array([numbers.setdefault(row, len(numbers)) for row in rows], dtype=np.int64)
        token = self.token[main]
        order = np.lexsort((token, ~np.isin(token, first), sort))
        begins = np.searchsorted(sort[order], sort[order])
        surplus = main[order[np.arange(len(order)) - begins >= _FEW]]
        return np.delete(np.arange(len(self.row)), surplus)

    def of_entry(self, values: npt.NDArray[Any], otherwise: int) -> npt.NDArray[Any]:
        """What an array of the findings, shape ``(e, n)``, has of each; of flaws `otherwise`."""
        found = np.full(len(self.row), otherwise, dtype=values.dtype)
        known = self.column >= 0
        found[known] = values[self.row[known], self.column[known]]
        return found


def judge(findings: Findings) -> Verdicts:
    """The verdicts that `findings` prove.

    A valid completion through a token proves every engine wrong that rejects the token. With
    `Findings.valid_completion_exonerates` it also clears the token for every other engine that
    accepts it, whose invalid completion then proves an error after the token. Without (the original
    procedure), each accepting engine answers for its own completion.

    Tokens about which an engine has an error of another kind are not unresolved for it. At a
    token that ends generation a rejection is called ``never_stops``, and an acceptance
    after what is no complete JSON value ``stops_too_early``.
    """
    status, accepts = findings.status, findings.accepts
    valid = status == Status.VALID
    cleared = valid.any(axis=0)
    first = valid.argmax(axis=0)
    open_ = accepts & ~cleared[None, :] if findings.valid_completion_exonerates else accepts
    kind = np.zeros(status.shape, dtype=np.int8)
    kind[open_ & (status == Status.INVALID)] = _ACCEPTED
    kind[open_ & (status == Status.CONTESTED)] = _CONTESTED
    kind[open_ & (status > Status.CONTESTED) & ~flawed(findings)] = _UNRESOLVED
    kind[~accepts & cleared[None, :]] = _REJECTED
    _name_ends(findings, kind)
    column, row = np.nonzero(kind.T)
    of = kind[row, column]
    rejected = (of == _REJECTED) | (of == _NEVER_STOPS)
    accepter = np.where(rejected, first[column], row)
    completion = findings.completion[accepter, column]
    accepter = np.where(completion >= 0, accepter, -1)
    reason = [""] * len(of)
    for at in np.flatnonzero(of == _CONTESTED).tolist():
        reason[at] = findings.evidence_of(int(row[at]), int(column[at])).reason
    for at in np.flatnonzero(of == _UNRESOLVED).tolist():
        reason[at] = Status(int(status[row[at], column[at]])).name.lower()
    flaws = _distinct(findings.flaws)

    def joined(array: npt.NDArray[Any], more: Sequence[int]) -> npt.NDArray[Any]:
        return np.concatenate([array, np.asarray(more, dtype=array.dtype)])

    return Verdicts(
        joined(row, [one.row for one in flaws]),
        joined(column, [-1 for _ in flaws]),
        joined(findings.tokens[column], [one.token for one in flaws]),
        joined(of, [CODES.index(one.kind) for one in flaws]),
        joined(
            accepter,
            [one.row if one.accepter < 0 <= one.completion else one.accepter for one in flaws],
        ),
        joined(completion, [one.completion for one in flaws]),
        [*reason, *(one.reason for one in flaws)],
    )


def _distinct(flaws: Sequence[Flaw]) -> list[Flaw]:
    """The first of each kind by engine and token: several completions may show the same error."""
    first: dict[tuple[int, int, str], Flaw] = {}
    for flaw in flaws:
        first.setdefault((flaw.row, flaw.token, flaw.kind), flaw)
    return list(first.values())


def witnessed(found: Verdicts) -> list[tuple[int, int]]:
    """The entries (row, column) whose completions the verdicts rest on, of each only the first."""
    proven = np.flatnonzero((found.completion >= 0) & (found.column >= 0))
    keys = found.accepter[proven] << 32 | found.completion[proven]
    first = proven[np.sort(np.unique(keys, return_index=True)[1])]
    return list(zip(found.accepter[first].tolist(), found.column[first].tolist(), strict=True))


def rejections(found: Verdicts) -> dict[int, npt.NDArray[np.int64]]:
    """The columns of ordinary tokens that are proven to be rejected falsely, by row."""
    rejected = found.kind == _REJECTED
    rows = np.unique(found.row[rejected]).tolist()
    return {row: found.column[rejected & (found.row == row)] for row in rows}


def charged(found: Verdicts) -> dict[int, npt.NDArray[np.int32]]:
    """The tokens at which engines (by row) are proven to be wrong."""
    errors = np.isin(found.kind, [CODES.index(one) for one in ERRORS])
    rows = np.unique(found.row[errors]).tolist()
    return {row: np.unique(found.token[errors & (found.row == row)]) for row in rows}


def flawed(findings: Findings) -> npt.NDArray[np.bool_]:
    """Entries that led to a dead end or a mask violation by `Findings.flaws`, shape ``(e, n)``."""
    flawed = np.zeros(findings.status.shape, dtype=np.bool_)
    for flaw in findings.flaws:
        if flaw.kind in ("dead_end", "mask_consume_mismatch"):
            flawed[flaw.row, findings.tokens == flaw.token] = True
    return flawed


def _name_ends(findings: Findings, kind: npt.NDArray[np.int8]) -> None:
    """Give errors at the end of generation names of their own."""
    for column in np.flatnonzero(findings.ends).tolist():
        for row in range(len(kind)):
            if kind[row, column] == _REJECTED:
                # one way to end is enough: which of several ids it is, no specification says
                kind[row, column] = _NONE if findings.can_end[row] else _NEVER_STOPS
            elif (
                kind[row, column] == _ACCEPTED
                and findings.evidence_of(row, column).reason == "not_json"
            ):
                kind[row, column] = _TOO_EARLY
