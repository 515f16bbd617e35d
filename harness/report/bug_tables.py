"""The bugs of a run as a table, for files, documents and frames."""

from __future__ import annotations

from typing import Final

from harness.bugs.listing import Bug, BugList
from harness.printable import markdown
from harness.report.figure_tables import FigureTable, Row

_CASE: Final = ("schema", "text", "token")
COLUMNS: Final = (
    *("engine", "version", "id", "kind", "severity", "title"),
    *("cases", "judged", "share", "low", "high", "verdicts", "verdict", "state", "thread"),
    *_CASE,
)
"""Columns of `bug_rows`; `schema`, `text` and `token` are the smallest case."""


def bug_rows(bugs: BugList | None) -> list[Row]:
    """Each bug as a row with `COLUMNS`, in the list's order; none where bugs are not known."""
    return [_row(one) for one in bugs.bugs] if bugs is not None else []


def bug_table(bugs: BugList) -> FigureTable:
    """The bugs without their cases, which are in a file of their own."""
    columns = tuple(name for name in COLUMNS if name not in _CASE)
    return FigureTable("Bugs: the few errors behind the verdicts", columns, tuple(bug_rows(bugs)))


def _row(one: Bug) -> Row:
    known, share = one.upstream, one.share.scaled(1)
    return {
        "engine": one.engine,
        "version": one.version,
        "id": one.id,
        "kind": one.error.kind,
        "severity": one.severity,
        "title": one.title,
        "cases": one.cases,
        "judged": one.judged,
        "share": share["value"],
        "low": share["low"],
        "high": share["high"],
        "verdicts": one.verdicts,
        "verdict": one.verdict,
        "state": None if known is None else known.state,
        "thread": None if known is None else known.thread,
        "schema": one.error.schema,
        "text": one.error.text.decode("utf-8", "backslashreplace"),
        "token": one.error.token.decode("utf-8", "backslashreplace"),
    }


def bugs_in_markdown(bugs: BugList, engine: str, most: int) -> str:
    """The first bugs of an engine as a table in GitHub's Markdown; how many more is said below."""
    mine = bugs.of(engine)
    if not mine:
        return f"No bug of {markdown(engine)} was found."
    lines = [
        "| bug | what is wrong | schemas | met | upstream |",
        "| --- | --- | --- | --- | --- |",
    ]
    for one in mine[:most]:
        cells = (f"`{one.id}`", markdown(one.title), _met(one), _words(one), _upstream(one))
        lines.append(f"| {' | '.join(cells)} |")
    more = len(mine) - most
    return "\n".join(lines) + (f"\n\nAnd {more:,} more in bugs.csv." if more > 0 else "")


def _words(one: Bug) -> str:
    return "whole texts" if one.severity == "unranked" else one.severity.replace("_", " ")


def _met(one: Bug) -> str:
    text = f"{one.cases:,} of {one.judged:,}"
    if one.share.low is None or one.share.high is None:
        return text
    return f"{text} ({one.share.low:.1%} to {one.share.high:.1%})"


def _upstream(one: Bug) -> str:
    known = one.upstream
    if known is None:
        return ""
    return f"[{known.state}{f' in {known.fixed_in}' if known.fixed_in else ''}]({known.thread})"
