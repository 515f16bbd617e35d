"""What the figures of a report show, counted: beside the summary, which holds most of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np

from harness.report.counts import Counts, StoredRun
from harness.report.estimates import Disputes
from harness.runs.columns import CodedColumn, Ints, grouped, numbers, ranged, words
from harness.runs.tables import named_engines
from harness.verdict_kinds import ACCEPTANCES, BUG, ERRORS, INSTANCE, REJECTIONS, WALK

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
        self._instance = stored.fold(INSTANCE, names)

    def by_keyword(self) -> list[dict[str, Any]]:
        """Errors by ``keyword``; see `crossed`.

        Each row also has ``scaled``, the tokens that its tokens stand for in a capped run.
        """
        weights = self._disputes.scaled(self._walk, self._dispute_rows)
        scaled = Counts.of(replace(self._walk.folded, tokens=weights))
        names = ("keyword", "engine", "kind", "class")
        key = itemgetter(*names)
        sums = {key(row): row["tokens"] for row in scaled.grouped(names)}
        rows = crossed(self._walk, self._instance, "keyword")
        return [{**row, "scaled": sums.get(key(row), 0)} for row in rows]

    def by_family(self) -> list[dict[str, Any]]:
        """Errors by ``family``; see `crossed`."""
        family = words(self._stored.run.table("cases", ["family"])["family"])
        walk, instance = (
            one.having(family=family[one.case]) for one in (self._walk, self._instance)
        )
        return crossed(walk, instance, "family")

    def departures(self) -> list[dict[str, Any]]:
        """What no bug is: per ``departure`` and ``engine``, likewise."""
        rows = crossed(self._walk, self._instance, "departure")
        return [row for row in rows if row["departure"]]

    def sets(self) -> list[dict[str, Any]]:
        """Who accepts together and who rejects, with most disputed tokens first.

        Each row has ``accepters`` and ``rejecters`` (engines), ``tokens`` and ``resolved`` of them,
        ``positions``, ``cases``, and of the resolved tokens those where the accepters are proven
        right (``right``, of which ``right_bug``: the others are warned of or departures) and wrong
        (``wrong``, ``wrong_bug``); the rest is open.
        """
        return _sets(self._stored, self._walk, self._dispute_rows)

    def fates(self) -> list[dict[str, Any]]:
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


def crossed(walk: Counts, instance: Counts, by: str) -> list[dict[str, Any]]:
    """Errors by one column, engine, kind and class, both kinds of evidence together.

    Each row has the column, ``engine``, ``kind``, ``class``, ``tokens`` (of walks), ``instances``
    (verdicts about them), and ``cases``: those with either.
    """
    names = (by, "engine", "kind", "class")
    sides = {"tokens": walk.where(kind=ERRORS), "instances": instance.where(kind=ERRORS)}
    found: dict[tuple[Any, ...], dict[str, int]] = defaultdict(dict)
    cases: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for unit, counts in sides.items():
        for row in counts.grouped(names):
            found[tuple(row[name] for name in names)][unit] = row["tokens"]
        for key, case in _pairs(counts, names):
            cases[key].add(case)
    rows = [
        {
            **dict(zip(names, key, strict=True)),
            "tokens": units.get("tokens", 0),
            "instances": units.get("instances", 0),
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


def _sets(stored: StoredRun, walk: Counts, disputes: Ints) -> list[dict[str, Any]]:
    names = ["case", "walk", "position", "accepters", "rejecters", "tokens", "drawn"]
    table = stored.run.table("disputes", names)
    if not table.num_rows:
        return []
    case = stored.case_of(table["case"])
    number = {name: numbers(table[name]).astype(np.int64) for name in names[1:]}
    keys = [ranged(number[name]) for name in ("walk", "position")]
    position = grouped([ranged(case), *keys])[1]
    sides = [ranged(number[name]) for name in ("accepters", "rejecters")]
    first, group = grouped(sides)
    proven = _proven(walk, disputes, table.num_rows, stored.engines)
    sums = {"tokens": number["tokens"], "resolved": number["drawn"], **proven}
    rows = []
    for at, row in enumerate(first.tolist()):
        mine = group == at
        rows.append(
            {
                "accepters": named_engines(int(number["accepters"][row]), stored.engines),
                "rejecters": named_engines(int(number["rejecters"][row]), stored.engines),
                **{name: int(column[mine].sum()) for name, column in sums.items()},
                "positions": len(np.unique(position[mine])),
                "cases": len(np.unique(case[mine])),
            }
        )
    return sorted(rows, key=lambda row: (-row["tokens"], row["accepters"], row["rejecters"]))


def _proven(walk: Counts, rows: Ints, many: int, engines: Sequence[str]) -> dict[str, Ints]:
    """What is proven of the tokens of each dispute, shape ``(many,)`` each.

    One token may convict several engines: of each dispute the engine with most verdicts counts.
    """
    engine, kind, bug = (
        walk.column("engine"),
        walk.column("kind"),
        walk.column("class").equal(BUG),
    )
    found = {}
    for name, kinds in (("right", REJECTIONS), ("wrong", ACCEPTANCES)):
        fits = kind.equal(*kinds) & (rows >= 0)
        found[name] = _most(engine, fits, rows, walk.tokens, many, engines)
        found[f"{name}_bug"] = _most(engine, fits & bug, rows, walk.tokens, many, engines)
    return found


def _most(
    engine: CodedColumn,
    fits: np.ndarray[Any, Any],
    rows: Ints,
    tokens: Ints,
    many: int,
    names: Sequence[str],
) -> Ints:
    best = np.zeros(many, dtype=np.int64)
    for name in names:
        mine = fits & engine.equal(name)
        counted = np.bincount(rows[mine], tokens[mine], many).astype(np.int64)
        best = np.maximum(best, counted)
    return best


def _first_line(message: str) -> str:
    line = message.strip().partition("\n")[0].strip()
    return line if len(line) <= _MESSAGE_LENGTH else line[: _MESSAGE_LENGTH - 1] + "…"
