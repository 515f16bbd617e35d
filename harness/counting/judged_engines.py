"""Which engines were judged where a verdict was found."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from harness.runs.columns import Ints, matching, numbers, words
from harness.runs.directory import RunDirectory
from harness.runs.tables import VERDICT_TABLES
from harness.verdict_kinds import WALK

PLACE = ("case", "walk", "position")
"""The columns that name a position."""

ALL = np.uint32(0xFFFFFFFF)


def judged_engines(run: RunDirectory, evidence: str) -> npt.NDArray[np.uint32]:
    """The engines judged at the position of each verdict, as bits by their number in the run.

    Whole texts are fed to every engine, so theirs are all, and so are those of what stands at no
    position.

    Returns:
        Shape ``(verdicts,)`` uint32, in the order of their table.
    """
    if evidence != WALK:
        return np.full(run.table(VERDICT_TABLES[evidence], ["case"]).num_rows, ALL)
    positions = run.table("positions", [*PLACE, "judged"])
    cases = CaseNumbers()
    places = place_keys(run.table(VERDICT_TABLES[WALK], list(PLACE)), cases)
    found = matching(places, place_keys(positions, cases))
    judged = np.append(numbers(positions["judged"]).astype(np.uint32), ALL)  # -1: no position
    out: npt.NDArray[np.uint32] = judged[found]
    return out


class CaseNumbers(dict[Any, int]):
    """A number for each case, as they come."""

    def __missing__(self, case: Any) -> int:
        self[case] = len(self)
        return self[case]


def place_keys(table: pa.Table, cases: CaseNumbers) -> list[Ints]:
    """The place of every row, as numbers."""
    column = words(table["case"])
    case = np.array([cases[one] for one in column.values], dtype=np.int64)[column.codes]
    return [case, *(numbers(table[name]).astype(np.int64) for name in PLACE[1:])]
