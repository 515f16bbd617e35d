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
import numpy.typing as npt

from harness.completion.rollout import keyed_index
from harness.counting.counts import Classify, StoredRun
from harness.replay.witness import verdict_row
from harness.replay.witness_reader import Choice, every
from harness.runs.columns import CodedColumn, Ints, distinct, grouped, numbers, ranged, words
from harness.runs.directory import RunDirectory
from harness.runs.tables import VERDICT_TABLES
from harness.verdict_kinds import BUG, DEPARTURE, WARNED

GROUPED_BY: Final = ("engine", "kind", "class", "keyword", "family", "located", "severity")
"""What a group has in common, beside the kind of evidence."""

_FIRST: Final = (BUG, WARNED, "", DEPARTURE)
"""Classes in the order in which their groups are served; the empty one is that of no proof."""

_STEPS: Final = 1 << 32


@dataclass(frozen=True)
class ShownSample:
    """Verdicts that stand for all of a run.

    Attributes:
        choice: Those to show.
        groups: Every group: `GROUPED_BY`, ``evidence``, ``verdicts`` (how many there are),
            ``cases`` and ``shown`` (how many of them are in `choice`).
        group_of: The number of the group of each verdict that is shown, by evidence and row.
        departures: The entry of the catalogue that each of them fits, likewise; mostly empty.
    """

    choice: Choice
    groups: Sequence[Mapping[str, Any]]
    group_of: Mapping[tuple[str, int], int]
    departures: Mapping[tuple[str, int], str]


@dataclass(frozen=True)
class _Grouped:
    """The verdicts of one kind of evidence in groups.

    Attributes:
        rows: What each group is, as in `ShownSample.groups`.
        able: Per group the rows of the verdicts that can be shown, ascending.
        departure: The entry of each verdict, shape ``(n,)``.
    """

    rows: list[dict[str, Any]]
    able: list[Ints]
    departure: CodedColumn


def draw(
    run: RunDirectory, classify: Classify, size: int, seed: int, also: Collection[str] = ()
) -> ShownSample:
    """Draw about `size` verdicts that have a witness; of fewer, all.

    Args:
        run: The run, finished or not.
        classify: Gives verdicts their classes.
        size: How many.
        seed: The same seed always draws the same verdicts of the same run.
        also: Verdicts that are shown in any case, by their names for ``replay``.
    """
    more: dict[str, list[int]] = {one: [] for one in VERDICT_TABLES}
    for evidence, verdict in map(verdict_row, also):
        more[evidence].append(verdict)
    stored, able = StoredRun(run, classify), every(run)
    found = {one: _by_group(stored, one, able.of(one)) for one in VERDICT_TABLES}
    order = [(one, at) for one, sets in found.items() for at in range(len(sets.rows))]
    rooms = allocated(
        [len(found[one].able[at]) for one, at in order],
        [_rank(found[one].rows[at]) for one, at in order],
        size,
    )
    nothing = np.zeros(0, dtype=np.int64)
    picked: dict[str, list[Ints]] = {one: [nothing] for one in VERDICT_TABLES}
    groups, group_of, entries = [], {}, {}
    for number, ((one, at), room) in enumerate(zip(order, rooms, strict=True)):
        sets = found[one]
        row = sets.rows[at]
        key = "/".join(str(row[name]) for name in ("evidence", *GROUPED_BY))
        of_group = sets.able[at]
        chosen = spread(of_group, room, f"{seed}/report/{key}")
        chosen = np.union1d(chosen, of_group[np.isin(of_group, more[one])])
        groups.append({**row, "shown": len(chosen)})
        picked[one].append(chosen)
        for verdict in chosen.tolist():
            group_of[one, verdict] = number
            entries[one, verdict] = sets.departure.values[sets.departure.codes[verdict]]
    choice = Choice({one: np.sort(np.concatenate(rows)) for one, rows in picked.items()})
    return ShownSample(choice, groups, group_of, entries)


def allocated(sizes: Sequence[int], ranks: Sequence[Any], total: int) -> list[int]:
    """How many to take of each group: one of every, then a second of every that has it, and on.

    Args:
        sizes: How many each group has.
        ranks: Where a round cannot serve all, groups of the lowest ranks come first.
        total: How many to take in all.
    """
    taken = [0] * len(sizes)
    left = sorted(range(len(sizes)), key=lambda group: (ranks[group], group))
    while total > 0 and (left := [group for group in left if taken[group] < sizes[group]]):
        for group in left[:total]:
            taken[group] += 1
        total -= min(total, len(left))
    return taken


def spread(rows: Ints, many: int, key: str) -> Ints:
    """`many` of some rows, at equal distances from a start that `key` decides, ascending."""
    if not many:
        return rows[:0]
    start = keyed_index(key, _STEPS) / _STEPS
    at = np.floor((np.arange(many) + start) * (len(rows) / many)).astype(np.int64)
    chosen: Ints = rows[np.minimum(at, len(rows) - 1)]
    return chosen


def _rank(row: Mapping[str, Any]) -> tuple[int, int]:
    """Bugs before all others, large groups before small ones."""
    return _FIRST.index(row["class"]), -row["verdicts"]


def _by_group(stored: StoredRun, evidence: str, able: Ints) -> _Grouped:
    names = ["case", "engine", "kind", "keyword", "located"]
    table = stored.run.table(VERDICT_TABLES[evidence], names)
    classes = stored.classes(evidence)
    case = stored.case_of(table["case"])
    family = words(stored.run.table("cases", ["family"])["family"])
    columns = (
        *(words(column) for column in (table["engine"], table["kind"], classes["class"])),
        words(table["keyword"]),
        CodedColumn(family.codes[case], family.values),
        ranged(numbers(table["located"], missing=False)),
        stored.severities(evidence),
    )
    departure = words(classes["departure"])
    first, group = grouped(columns)
    rows = [
        {"evidence": evidence}
        | {name: one.values[one.codes[row]] for name, one in zip(GROUPED_BY, columns, strict=True)}
        for row in first.tolist()
    ]
    sizes = np.bincount(group, minlength=len(rows)).tolist()
    cases = _cases_in(group, case, len(rows))
    for row, size, many in zip(rows, sizes, cases, strict=True):
        row |= {"verdicts": size, "cases": many}
    order = np.argsort(group[able], kind="stable")
    ends = np.searchsorted(group[able][order], np.arange(len(rows) + 1))
    of_group = [able[order[ends[at] : ends[at + 1]]] for at in range(len(rows))]
    return _Grouped(rows, of_group, departure)


def _cases_in(group: Ints, case: npt.NDArray[Any], groups: int) -> list[int]:
    """In how many cases each group occurs."""
    if not len(group):
        return []
    width = int(case.max()) + 1
    pairs = distinct(group * width + case)
    found: list[int] = np.bincount(pairs // width, minlength=groups).tolist()
    return found
