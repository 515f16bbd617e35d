"""The bugs of a run as a table, for files, documents and frames."""

from __future__ import annotations

from typing import Final

from harness.bugs.listing import Bug, BugList
from harness.render.table import Row, Table

_CASE: Final = ("schema", "text", "token")
COLUMNS: Final = (
    *("engine", "version", "id", "kind", "severity", "title"),
    *(
        "cases",
        "judged",
        "share",
        "low",
        "high",
        "verdicts",
        "verdict",
        "state",
        "thread",
        "also_in",
    ),
    *_CASE,
)
"""Columns of `bug_rows`; `schema`, `text` and `token` are the smallest case."""


def bug_rows(bugs: BugList | None) -> list[Row]:
    """Each bug as a row with `COLUMNS`, in the list's order; none where bugs are not known."""
    return [_row(one) for one in bugs.bugs] if bugs is not None else []


def bug_table(bugs: BugList) -> Table:
    """The bugs without their cases, which are in a file of their own."""
    columns = tuple(name for name in COLUMNS if name not in _CASE)
    return Table.of("Bugs: the few errors behind the verdicts", columns, bug_rows(bugs))


def _row(one: Bug) -> Row:
    row = one.row()
    ends, known = row["share"], row["upstream"] or {}
    row |= {"engine": one.engine, "schema": one.error.schema, "share": ends["value"]}
    row |= {"low": ends["low"], "high": ends["high"]}
    row |= {"state": known.get("state"), "thread": known.get("thread"), "also_in": one.also_in}
    return {name: row[name] for name in COLUMNS}
