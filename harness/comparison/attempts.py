"""What engines were found to allow at a position, and what rulings on it leave open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.comparison.findings import Evidence, Status
from harness.comparison.ruling_cache import Columns
from harness.validators import judge as rulings
from harness.workers import wire


@dataclass(frozen=True)
class Attempts:
    """One engine's completions of some disputed tokens.

    Attributes:
        row: The engine.
        columns: The tokens, none twice, shape ``(k,)``.
        numbers: The completion of each, shape ``(k,)``.
    """

    row: int
    columns: Columns
    numbers: npt.NDArray[np.int32]


@dataclass(frozen=True)
class ViolationWitness:
    """An engine was found to consume what its mask forbids.

    Attributes:
        row: The engine.
        token: The disputed token.
        tokens: The tokens behind it, the last of which the mask forbids.
        consumes: Whether the engine consumes that one by itself, as it did in a longer text.
    """

    row: int
    token: int
    tokens: tuple[int, ...]
    consumes: bool


@dataclass(frozen=True)
class AttemptLists:
    """The completions that are tried, and how far each entry has come.

    Attributes:
        list_of: Which list belongs to a column, shape ``(n,)``.
        members: The lists of completion numbers.
        lists: The same as Python lists.
        rank: Where in its list an entry goes on, shape ``(e, n)``.
    """

    list_of: npt.NDArray[np.int32]
    members: wire.Ragged
    lists: Sequence[Sequence[int]]
    rank: npt.NDArray[np.int32]


def by_row(found: Sequence[Attempts]) -> list[Attempts]:
    """One entry per row, its columns ascending."""
    rows: dict[int, list[Attempts]] = {}
    for one in found:
        rows.setdefault(one.row, []).append(one)
    out = []
    for row, parts in sorted(rows.items()):
        columns = np.concatenate([part.columns for part in parts])
        order = np.argsort(columns, kind="stable")
        numbers = np.concatenate([part.numbers for part in parts])
        out.append(Attempts(row, columns[order], numbers[order]))
    return out


WITNESSED = (Status.VALID, Status.INVALID, Status.CONTESTED)


def question_left(ruling: rulings.Ruling) -> tuple[Status, Evidence]:
    """What an entry is left with where no completion was valid."""
    reason = ruling.reason
    match ruling.verdict:
        case rulings.INVALID:
            status = Status.INVALID
        case rulings.UNDECIDED:
            status = Status.UNDECIDED
        case _:
            # valid in the end where the fast validator said invalid: the two differ
            status, reason = Status.CONTESTED, reason or "validators_differ"
    evidence = Evidence(
        reason,
        ruling.keyword,
        ruling.schema_pointer,
        ruling.instance_pointer,
        ruling.jsonschema,
        ruling.jsonschema_rs,
    )
    return status, evidence
