"""What the figures of a report show, counted: beside the summary, which holds most of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

from harness.counting.counts import Counts, StoredRun
from harness.report.agreement import agreement
from harness.report.estimates import Disputes
from harness.runs.columns import grouped, ranged, words
from harness.runs.tables import TEXT_TABLES
from harness.verdict_kinds import ERRORS, WALK

_MESSAGES = 8
"""Reasons for refusals that are listed for each engine."""
_MESSAGE_LENGTH = 160


class PageCounts:
    """Counts of one run; the verdicts of each kind of evidence are folded once."""

    def __init__(self, stored: StoredRun) -> None:
        names = ("engine", "kind", "class", "keyword", "departure")
        self._stored = stored
        self._walk = stored.fold(WALK, (*names, "dispute", "always_resolved"))
        self._disputes = Disputes(stored)
        self._dispute_rows = self._disputes.rows_of(self._walk)
        self._by_unit = {
            "tokens": self._walk,
            **{table: stored.fold(one, names) for one, table in TEXT_TABLES.items()},
        }

    def by_keyword(self) -> list[dict[str, Any]]:
        """Errors by ``keyword``; see `crossed`.

        Each row also has ``scaled``, the tokens that its tokens stand for in a capped run.
        """
        weights = self._disputes.scaled(self._walk, self._dispute_rows)
        scaled = Counts.of(replace(self._walk.folded, tokens=weights))
        names = ("keyword", "engine", "kind", "class")
        key = itemgetter(*names)
        sums = {key(row): row["tokens"] for row in scaled.grouped(names)}
        rows = crossed(self._by_unit, "keyword")
        return [{**row, "scaled": sums.get(key(row), 0)} for row in rows]

    def by_family(self) -> list[dict[str, Any]]:
        """Errors by ``family``; see `crossed`."""
        family = words(self._stored.run.table("cases", ["family"])["family"])
        return crossed(
            {unit: one.having(family=family[one.case]) for unit, one in self._by_unit.items()},
            "family",
        )

    def departures(self) -> list[dict[str, Any]]:
        """What no bug is: per ``departure`` and ``engine``, likewise."""
        rows = crossed(self._by_unit, "departure")
        return [row for row in rows if row["departure"]]

    def sets(self) -> list[dict[str, Any]]:
        """Who accepts together: see `harness.report.agreement.agreement`."""
        return agreement(self._stored, self._walk, self._dispute_rows)

    def case_statuses(self) -> list[dict[str, Any]]:
        """What became of the cases: ``family``, ``status``, ``reason`` and ``cases``."""
        table = self._stored.run.table("cases", ["family", "status", "reason"])
        counted = Counter(tuple(row.values()) for row in table.to_pylist())
        names = ("family", "status", "reason", "cases")
        return [
            dict(zip(names, (*one, many), strict=True)) for one, many in sorted(counted.items())
        ]

    def failures(self) -> list[dict[str, Any]]:
        """Why engines could not be judged: the most frequent messages of each.

        Each row has ``engine``, ``stage``, ``outcome``, ``message`` (its first line) and ``cases``.
        """
        columns = ["engine", "stage", "outcome", "message"]
        counted: Counter[tuple[str, ...]] = Counter()
        for row in self._stored.run.table("engines", columns).to_pylist():
            if row["outcome"] != "compiled":
                counted[
                    row["engine"], row["stage"], row["outcome"], _first_line(row["message"])
                ] += 1
        found: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for one, many in sorted(counted.items(), key=lambda item: (-item[1], item[0])):
            found[one[0]].append({**dict(zip(columns, one, strict=True)), "cases": many})
        return [row for name in self._stored.engines for row in found[name][:_MESSAGES]]


def crossed(by_unit: Mapping[str, Counts], by: str) -> list[dict[str, Any]]:
    """Errors by one column, engine, kind and class, all kinds of evidence together.

    Each row has the column, ``engine``, ``kind``, ``class``, ``tokens`` (of walks), ``instances``
    and ``samples`` (verdicts about them), and ``cases``: those with any.
    """
    names = (by, "engine", "kind", "class")
    found: dict[tuple[Any, ...], dict[str, int]] = defaultdict(dict)
    cases: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for unit, every in by_unit.items():
        counts = every.where(kind=ERRORS)
        for row in counts.grouped(names):
            found[tuple(row[name] for name in names)][unit] = row["tokens"]
        for key, case in _pairs(counts, names):
            cases[key].add(case)
    rows = [
        {
            **dict(zip(names, key, strict=True)),
            **{unit: units.get(unit, 0) for unit in by_unit},
            "cases": len(cases[key]),
        }
        for key, units in found.items()
    ]
    return sorted(rows, key=lambda row: (-row["cases"], *(str(row[name]) for name in names)))


def _pairs(counts: Counts, names: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Each combination of words with each case that it occurs in."""
    if not len(counts.case):
        return
    columns = [counts.column(name) for name in names]
    first, _ = grouped([*columns, ranged(counts.case)])
    picked = ([one.values[code] for code in one.codes[first].tolist()] for one in columns)
    yield from zip(zip(*picked, strict=True), counts.case[first].tolist(), strict=True)


def _first_line(message: str) -> str:
    line = message.strip().partition("\n")[0].strip()
    return line if len(line) <= _MESSAGE_LENGTH else line[: _MESSAGE_LENGTH - 1] + "…"
