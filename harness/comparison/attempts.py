"""What engines were found to allow at a position, and the lists of what is attempted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.workers import wire

Columns = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Attempts:
    """One engine's completions of some disputed tokens.

    Attributes:
        columns: The tokens, none twice, shape ``(k,)``.
        numbers: The completion of each, shape ``(k,)``.
    """

    row: int
    columns: Columns
    numbers: Numbers


@dataclass(frozen=True)
class ViolationWitness:
    """An engine was found to consume what its mask forbids.

    Attributes:
        tokens: The tokens behind it, the last of which the mask forbids.
        consumes: Whether the engine consumes that one by itself, as it did in a longer text.
    """

    row: int
    token: int
    tokens: tuple[int, ...]
    consumes: bool


@dataclass(frozen=True)
class AttemptLists:
    """The completions that are attempted, and how far each entry has come.

    Attributes:
        list_of: Which list belongs to a column, shape ``(n,)``.
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
