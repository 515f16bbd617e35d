"""Which verdicts a run without the challenger would not have: those to which it alone led."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from harness.runs.columns import Ints, matching, numbers, words
from harness.runs.directory import RunDirectory
from harness.runs.tables import VERDICT_TABLES
from harness.verdict_kinds import CHALLENGER, WALK

_PLACE = ("case", "walk", "position")


def only_challenger(run: RunDirectory, evidence: str) -> npt.NDArray[np.bool_]:
    """Which verdicts rest on the challenger, in the order of their table.

    Those of a token that only the challenger allowed, of one that all engines allowed, and all at
    positions where one engine was left to be judged.
    """
    if evidence != WALK:
        return np.zeros(run.table(VERDICT_TABLES[evidence], ["case"]).num_rows, dtype=np.bool_)
    verdicts = run.table(VERDICT_TABLES[WALK], [*_PLACE, "dispute", "accepter"])
    disputes = run.table("disputes", [*_PLACE, "dispute", "rejecters"])
    disputes = disputes.filter(pc.equal(disputes["rejecters"], 0))
    positions = run.table("positions", [*_PLACE, "judged"])
    judged = numbers(positions["judged"])
    positions = positions.filter(pa.array(judged & (judged - np.uint32(1)) == 0))
    found: npt.NDArray[np.bool_] = words(verdicts["accepter"]).equal(CHALLENGER)
    cases = _Cases()
    place = _keys(verdicts, cases)
    found |= matching(place, _keys(positions, cases)) >= 0
    dispute = [*place, numbers(verdicts["dispute"])]
    return found | (matching(dispute, [*_keys(disputes, cases), numbers(disputes["dispute"])]) >= 0)


class _Cases(dict[Any, int]):
    """A number for each case, as they come."""

    def __missing__(self, case: Any) -> int:
        self[case] = len(self)
        return self[case]


def _keys(table: pa.Table, cases: _Cases) -> list[Ints]:
    """The place of every row, as numbers."""
    column = words(table["case"])
    case = np.array([cases[one] for one in column.values], dtype=np.int64)[column.codes]
    return [case, *(numbers(table[name]).astype(np.int64) for name in _PLACE[1:])]
