"""Which verdicts a report shows: a sample by groups, so that rare ones are among them.

A run may hold ten million verdicts, nearly all of them alike. They are put into groups by what a
reader filters by, every group is counted, and from each as many are shown as there is room for:
one from every group, then a second from those that have one, and so on. Within a group they are
drawn at equal distances from a seeded start (systematic sampling: Cochran, Sampling Techniques,
1977, chapter 8); since rows stand in the order of the cases, that spreads them over the cases.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from harness.analysis.stored import StoredRun
from harness.completion.rollout import keyed_index
from harness.replay.witness import verdict_row
from harness.replay.witness_reader import Choice
from harness.runs.tables import VERDICT_TABLES
from harness.verdict_kinds import BUG, DEPARTURE, WARNED

GROUPED_BY: Final = (
    "engine",
    "kind",
    "class",
    "keyword",
    "family",
    "located",
    "effect",
    "shown_by",
)
"""What a group has in common, beside the kind of evidence."""

_FIRST: Final = (BUG, WARNED, "", DEPARTURE)
"""Classes in the order in which their groups are served; the empty one is that of no proof."""
_STEPS: Final = 1 << 32


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
    """Draw about `size` verdicts that have a witness; of fewer, all.

    The same `seed` always draws the same verdicts of the same run. Those in `also` (names for
    ``replay``) are shown in any case.
    """
    names = ", ".join(GROUPED_BY)
    order = ", ".join(f"evidence = '{evidence}' DESC" for evidence in VERDICT_TABLES)
    stored.add_able()
    stored.execute(
        f"""CREATE OR REPLACE TABLE groups AS SELECT row_number() OVER (ORDER BY {order}, {names})
            - 1 AS group_number, evidence, {names}, count(*) AS verdicts,
            count(DISTINCT case_row) AS cases FROM verdicts GROUP BY evidence, {names};
        CREATE OR REPLACE TABLE in_groups AS SELECT group_number, evidence, row,
            row_number() OVER (PARTITION BY group_number ORDER BY row) - 1 AS place
        FROM verdicts JOIN groups USING (evidence, {names}) SEMI JOIN able USING (evidence, row)"""
    )
    groups = stored.rows(
        f"""SELECT group_number, evidence, {names.replace("engine", "e.name AS engine")}, verdicts,
            cases, (SELECT count(*) FROM in_groups i WHERE i.group_number = g.group_number) AS able
        FROM groups g JOIN raw_engines e USING (engine) ORDER BY group_number"""
    )
    able = [group.pop("able") for group in groups]
    # bugs before all others, large groups before small ones
    ranks = [(_FIRST.index(group["class"]), -group["verdicts"]) for group in groups]
    rooms = allocated(able, ranks, size)
    places: list[tuple[int, int]] = []
    for group, many, room in zip(groups, able, rooms, strict=True):
        key = "/".join(str(group[name]) for name in ("evidence", *GROUPED_BY))
        chosen = spread(many, room, f"{seed}/report/{key}")
        places += [(group["group_number"], place) for place in chosen]
    numbers, chosen_places = np.array(places, dtype=np.int64).reshape(-1, 2).T
    stored.add("picked", group_number=numbers, place=chosen_places)
    named = [*map(verdict_row, also)]
    evidences = np.array([evidence for evidence, _ in named], dtype=np.str_)
    stored.add("wanted", evidence=evidences, row=np.array([row for _, row in named], dtype=int))
    shown = stored.rows(
        """SELECT v.*, group_number AS "group", accepters, rejecters
        FROM in_groups i JOIN verdicts v USING (evidence, row)
        LEFT JOIN disputes USING (dispute_row)
        WHERE EXISTS (FROM picked p WHERE p.group_number = i.group_number AND p.place = i.place)
            OR EXISTS (FROM wanted w WHERE w.evidence = i.evidence AND w.row = i.row)
        ORDER BY row"""
    )
    of = {(row["evidence"], row["row"]): row for row in shown}
    counted = np.bincount([row["group"] for row in shown], minlength=len(groups)).tolist()
    for group in groups:
        group["shown"] = counted[group.pop("group_number")]
    rows = {
        evidence: np.array([row for side, row in of if side == evidence], dtype=np.int64)
        for evidence in VERDICT_TABLES
    }
    return ShownSample(Choice(rows), groups, of)


def allocated(sizes: Sequence[int], ranks: Sequence[Any], total: int) -> list[int]:
    """How many of `total` to take of each group: one, then a second where there is one, and on.

    Where a round cannot serve all, groups of the lowest ranks come first.
    """
    taken = [0] * len(sizes)
    left = sorted(range(len(sizes)), key=lambda group: (ranks[group], group))
    while total > 0 and (left := [group for group in left if taken[group] < sizes[group]]):
        for group in left[:total]:
            taken[group] += 1
        total -= min(total, len(left))
    return taken


def spread(size: int, many: int, key: str) -> list[int]:
    """`many` of `size` places, at equal distances from a start that `key` decides, ascending."""
    if not many:
        return []
    start = keyed_index(key, _STEPS) / _STEPS
    places = np.floor((np.arange(many) + start) * (size / many)).astype(np.int64)
    return [int(place) for place in np.minimum(places, size - 1)]
