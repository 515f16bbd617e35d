"""Which verdicts a run without the challenger would not have: those to which it alone led."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from harness.counting.judged_engines import PLACE, CaseNumbers, judged_engines, place_keys
from harness.runs.columns import matching, numbers, words
from harness.runs.directory import RunDirectory
from harness.runs.tables import VERDICT_TABLES
from harness.verdict_kinds import CHALLENGER, WALK


def only_challenger(run: RunDirectory, evidence: str) -> npt.NDArray[np.bool_]:
    """Which verdicts rest on the challenger, in the order of their table.

    Those of a token that only the challenger allowed, of one that all engines allowed, and all at
    positions where one engine was left to be judged.
    """
    if evidence != WALK:
        return np.zeros(run.table(VERDICT_TABLES[evidence], ["case"]).num_rows, dtype=np.bool_)
    verdicts = run.table(VERDICT_TABLES[WALK], [*PLACE, "dispute", "accepter"])
    disputes = run.table("disputes", [*PLACE, "dispute", "rejecters"])
    disputes = disputes.filter(pc.equal(disputes["rejecters"], 0))
    judged = judged_engines(run, evidence)
    found: npt.NDArray[np.bool_] = words(verdicts["accepter"]).equal(CHALLENGER)
    found |= judged & (judged - np.uint32(1)) == 0
    cases = CaseNumbers()
    dispute = [*place_keys(verdicts, cases), numbers(verdicts["dispute"])]
    among = [*place_keys(disputes, cases), numbers(disputes["dispute"])]
    return found | (matching(dispute, among) >= 0)
