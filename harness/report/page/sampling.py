"""Which verdicts a report shows: a sample by groups, so that rare ones are among them.

A run may hold ten million verdicts, nearly all of them alike. They are put into groups by what a
reader filters by, every group is counted, and from each as many are shown as there is room for:
one from every group, then a second from those that have one, and so on. A seed decides which.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from harness.analysis.stored import StoredRun, statement
from harness.replay.witness import verdict_row
from harness.replay.witness_reader import Choice
from harness.runs.tables import VERDICT_TABLES
from harness.verdict_kinds import BUG, DEPARTURE, WARNED

_GROUPED_BY: Final = "engine, kind, class, keyword, family, located, effect, shown_by"
"""What a group has in common, beside the kind of evidence."""
_FIRST: Final = (BUG, WARNED, "", DEPARTURE)
"""Classes in the order in which their groups are served; the empty one is that of no proof."""


@dataclass(frozen=True)
class ShownSample:
    """Verdicts that stand for all of a run.

    `groups` are all, with their numbers of ``verdicts``, ``cases`` and ``shown`` (those in
    `choice`). `rows` has by evidence and row what is stored of a verdict that is shown, the number
    of its ``group``, and the ``accepters`` and ``rejecters`` of its dispute, if any.
    """

    choice: Choice
    groups: Sequence[Mapping[str, Any]]
    rows: Mapping[tuple[str, int], Mapping[str, Any]]


def draw(stored: StoredRun, size: int, seed: int, also: Collection[str] = ()) -> ShownSample:
    """Draw about `size` verdicts that have a witness, always the same by `seed`; of fewer, all.

    Where a round cannot serve all groups, those of bugs come first, and large ones before small.
    Those in `also` (names for ``replay``) are shown in any case.
    """
    order = ", ".join(f"evidence = '{evidence}' DESC" for evidence in VERDICT_TABLES)
    stored.add_able()
    stored.rows(
        statement("drawn", order=order, by=_GROUPED_BY, first=str([*_FIRST]), seed=str(seed))
    )
    shown = stored.rows(
        """SELECT v.*, "group", accepters, rejecters FROM queue q JOIN verdicts v
            USING (evidence, row) LEFT JOIN disputes USING (dispute_row)
        WHERE turn <= $1 OR list_contains($2, concat(q.evidence, row)) ORDER BY row""",
        *(size, ["", *("".join(map(str, verdict_row(name))) for name in also)]),
    )
    groups = stored.rows(
        'SELECT g.* EXCLUDE ("group", engine), e.name AS engine FROM groups g'
        ' JOIN raw_engines e USING (engine) ORDER BY "group"'
    )
    counted = np.bincount([row["group"] for row in shown], minlength=len(groups)).tolist()
    groups = [{**group, "shown": many} for group, many in zip(groups, counted, strict=True)]
    of = {(row["evidence"], row["row"]): row for row in shown}
    rows = {
        evidence: np.array([row for side, row in of if side == evidence], dtype=np.int64)
        for evidence in VERDICT_TABLES
    }
    return ShownSample(Choice(rows), groups, of)
