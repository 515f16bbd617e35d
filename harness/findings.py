"""Findings of a resolver at one position, and the verdicts that follow from them.

What a resolver finds out is, per engine and disputed token, whether a completion that the
engine allows is valid. Which engine that proves wrong is decided here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import numpy.typing as npt


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
    MASK_LIES = 6
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
    "mask_lies": Status.MASK_LIES,
    "refused": Status.CRASHED,
}
ENDED = {
    "too_long": Status.TOO_LONG,
    "dead_end": Status.DEAD_END,
    "mask_lies": Status.MASK_LIES,
}


@dataclass(frozen=True)
class Completion:
    """What an engine allowed from a disputed token to the end.

    Attributes:
        text: The bytes behind the disputed token.
        tokens: The tokens behind it, end-of-sequence last; empty when the disputed token is
            itself the end.
        origin: Where it came from: ``reference``, ``aimed``, ``pool`` or ``rollout``.
    """

    text: bytes
    tokens: tuple[int, ...]
    origin: str


@dataclass(frozen=True)
class Evidence:
    """Why a completion is what it is: a contested reason, or the error that names a keyword."""

    reason: str = ""
    keyword: str = ""
    schema_pointer: str = ""
    instance_pointer: str = ""


@dataclass
class Findings:
    """One position's findings; rows are engines in the order of the position, columns tokens.

    Attributes:
        engines: The engines judged at the position, shape ``(e,)``.
        tokens: The tokens that were resolved, ascending, shape ``(n,)`` int32.
        accepts: Which engine accepts which token, shape ``(e, n)`` bool.
        status: `Status` values, shape ``(e, n)`` int8.
        completion: Index into `completions`, -1 for none, shape ``(e, n)`` int32.
        completions: What the entries refer to.
        evidence: What the validators said, by (row, column); absent means nothing to say.
    """

    engines: tuple[int, ...]
    tokens: npt.NDArray[np.int32]
    accepts: npt.NDArray[np.bool_]
    status: npt.NDArray[np.int8]
    completion: npt.NDArray[np.int32]
    completions: list[Completion] = field(default_factory=list)
    evidence: dict[tuple[int, int], Evidence] = field(default_factory=dict)

    @classmethod
    def empty(
        cls,
        engines: Sequence[int],
        tokens: npt.NDArray[np.int32],
        accepts: npt.NDArray[np.bool_],
    ) -> Findings:
        """Nothing known yet."""
        shape = accepts.shape
        return cls(
            tuple(engines),
            tokens,
            accepts,
            np.zeros(shape, dtype=np.int8),
            np.full(shape, -1, dtype=np.int32),
        )


@dataclass(frozen=True)
class Verdict:
    """What a completion proves about one engine and one disputed token.

    Attributes:
        token: The disputed token.
        engine: The engine that the verdict is about.
        kind: ``false_acceptance``, ``false_rejection``, ``contested`` or ``unresolved``.
        reason: Why it is contested or unresolved, empty otherwise.
        accepter: The engine that allowed the completion, -1 without one.
        completion: Index into the findings' completions, -1 without one.
        evidence: The keyword and pointers of a false acceptance.
    """

    token: int
    engine: int
    kind: str
    reason: str
    accepter: int
    completion: int
    evidence: Evidence


def verdicts(findings: Findings, *, one_clears_all: bool) -> Iterator[Verdict]:
    """The verdicts that `findings` prove, by token, then by engine.

    A valid completion through a token proves every engine wrong that rejects the token. With
    `one_clears_all` it also clears the token for every other engine that accepts it: an invalid
    completion of theirs then proves an error behind the token, which is not charged to it.
    Without (the original procedure), each accepting engine answers for its own completion.
    """
    for column in range(len(findings.tokens)):
        status = findings.status[:, column]
        valid = np.flatnonzero(status == Status.VALID)
        if len(valid):
            yield from _rejections(findings, column, int(valid[0]))
            if one_clears_all:
                continue
        for row in np.flatnonzero(findings.accepts[:, column]).tolist():
            if (verdict := _of_accepter(findings, row, column)) is not None:
                yield verdict


def witnessed(findings: Findings, *, one_clears_all: bool) -> list[tuple[int, int]]:
    """The entries (row and column) whose completions the verdicts rest on."""
    rows = {engine: row for row, engine in enumerate(findings.engines)}
    columns = {token: column for column, token in enumerate(findings.tokens.tolist())}
    return [
        (rows[verdict.accepter], columns[verdict.token])
        for verdict in verdicts(findings, one_clears_all=one_clears_all)
        if verdict.completion >= 0
    ]


def _rejections(findings: Findings, column: int, witness: int) -> Iterator[Verdict]:
    for row in np.flatnonzero(~findings.accepts[:, column]).tolist():
        yield Verdict(
            int(findings.tokens[column]),
            findings.engines[row],
            "false_rejection",
            "",
            findings.engines[witness],
            int(findings.completion[witness, column]),
            Evidence(),
        )


def _of_accepter(findings: Findings, row: int, column: int) -> Verdict | None:
    match Status(int(findings.status[row, column])):
        case Status.VALID | Status.NOT_ASKED:
            return None
        case Status.INVALID:
            kind, reason = "false_acceptance", ""
        case Status.CONTESTED:
            kind = "contested"
            reason = findings.evidence.get((row, column), Evidence()).reason
        case other:
            kind, reason = "unresolved", other.name.lower()
    engine = findings.engines[row]
    completion = int(findings.completion[row, column])
    return Verdict(
        int(findings.tokens[column]),
        engine,
        kind,
        reason,
        engine if completion >= 0 else -1,
        completion,
        findings.evidence.get((row, column), Evidence()),
    )
