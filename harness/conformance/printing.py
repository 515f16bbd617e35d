"""The table of conformance as Markdown and CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from harness.conformance.cells import all_places
from harness.conformance.outcomes import ENFORCED, STATUSES, CellOutcome, ConformanceTable
from harness.printable import plural
from harness.render import table as tables
from harness.render.table import Table

SHOWN: Final = {
    one: one.replace("_", " ").replace("and strict", "and too strict") for one in STATUSES
}
"""The outcomes in words."""
_CELL: Final = (
    *("keyword", "place", "engine", "version", "outcome", "let_through", "forbidden", "schema"),
    "message",
)


def summary_cell(some: Sequence[CellOutcome]) -> str:
    """An engine's worst outcome of a keyword, and at how many places it is wrong, or does that."""
    if not some:
        return "-"
    counts = Counter(one.status for one in some)
    worst = max(counts, key=STATUSES.index)
    many = sum(one.is_wrong for one in some) or counts[worst]
    return SHOWN[worst] if many == len(some) else f"{SHOWN[worst]} {many}/{len(some)}"


def as_markdown(table: ConformanceTable) -> str:
    """The summary: a row a keyword, a column an engine; then the places, and the totals."""
    names = {name: f"{name} {version}" for name, version in table.engines.items()}
    by_keyword, by_place = table.by("keyword"), table.by("place")
    keywords = [
        {
            "keyword": f"`{keyword}`",
            **{names[name]: summary_cell(by_keyword.get((keyword, name), ())) for name in names},
        }
        for keyword in dict.fromkeys(one.keyword for one in table.outcomes)
    ]
    places = [
        {
            "place: enforced, wrong or failed": f"`{place.name}`",
            **{name: _enforced(by_place[place.name, name]) for name in names},
        }
        for place in all_places()
        if any(known == place.name for known, _ in by_place)
    ]
    counts = Counter((one.engine, one.status) for one in table.outcomes)
    totals = [
        {"cells": SHOWN[status], **{names[name]: f"{counts[name, status]:,}" for name in names}}
        for status in STATUSES
    ]
    some = (rows for rows in (keywords, places, totals) if rows)
    parts = [tables.as_markdown(Table.of("", rows[0], rows)) for rows in some]
    for reason, many in Counter(table.unjudged.values()).most_common():
        parts.append(f"{plural(many, 'case')} left out: {reason}\n")
    return "\n".join(parts)


def _enforced(some: Sequence[CellOutcome]) -> str:
    enforced = sum(one.status == ENFORCED for one in some)
    return f"{enforced}, {sum(one.is_wrong for one in some)} of {len(some)}"


def as_csv(table: ConformanceTable) -> str:
    return tables.as_csv(as_table(table))


def as_table(table: ConformanceTable) -> Table:
    """A row for each cell of each engine, with the texts behind it."""
    rows = []
    for one in table.outcomes:
        row = {"version": table.engines[one.engine], "outcome": one.status, **vars(one)}
        rows.append({name: str(row[name] or "") for name in _CELL})
    return Table.of("", _CELL, rows)
