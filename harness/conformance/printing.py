"""The table of conformance as Markdown, CSV and JSON, and scores of gate lists as text."""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from harness.conformance.gates import GateScore
from harness.conformance.outcomes import (
    ENFORCED,
    REFUSED,
    WORDS,
    CellOutcome,
    ConformanceTable,
    WrongText,
)
from harness.conformance.places import PLACES
from harness.printable import markdown, spreadsheet_cell

SHOWN: Final[Mapping[str, str]] = {
    one: one.replace("_", " ").replace("and strict", "and too strict") for one in WORDS
}
"""The outcomes in words."""

COLUMNS: Final = ("keyword", "place", "engine", "version", "outcome", "let_through", "forbidden")
_BY_CELL: Final = (*COLUMNS, "schema", "message")
_MOST: Final = 20
"""Cells of a score that are shown one by one."""


def summary_cell(some: Sequence[CellOutcome]) -> str:
    """What an engine makes of a keyword: its worst outcome, at how many of the places."""
    if not some:
        return "-"
    counts = Counter(one.word for one in some)
    worst = max(counts, key=WORDS.index)
    everywhere = counts[worst] == len(some)
    return SHOWN[worst] if everywhere else f"{SHOWN[worst]} {counts[worst]}/{len(some)}"


def as_markdown(table: ConformanceTable) -> str:
    """The summary: a row a keyword, a column an engine; then the places, and the totals."""
    found = table.by_keyword()
    head = ["keyword", *(f"{name} {version}" for name, version in table.engines.items())]
    rows = [
        [f"`{keyword}`", *(summary_cell(found.get((keyword, name), ())) for name in table.engines)]
        for keyword in table.keywords
    ]
    counts = {name: Counter[str]() for name in table.engines}
    for one in table.outcomes:
        counts[one.engine][one.word] += 1
    lines = [*_table(head, rows), "", *_by_place(table)]
    totals = [[SHOWN[word], *(f"{some[word]:,}" for some in counts.values())] for word in WORDS]
    lines += _table(["cells", *head[1:]], totals)
    return "\n".join([*lines, *_left_out(table)]) + "\n"


def _by_place(table: ConformanceTable) -> Iterator[str]:
    """A row a place: how many keywords are enforced there, wrong, of how many; none of a suite."""
    counts: dict[tuple[str, str], list[CellOutcome]] = defaultdict(list)
    for one in table.outcomes:
        counts[one.cell.place, one.engine].append(one)
    known = {place for place, _ in counts}
    rows = [
        [f"`{place.name}`", *(_enforced(counts[place.name, name]) for name in table.engines)]
        for place in PLACES
        if place.name in known
    ]
    if rows:
        yield from _table(["place: enforced, wrong", *table.engines], rows)
        yield ""


def _enforced(some: Sequence[CellOutcome]) -> str:
    enforced = sum(one.word == ENFORCED for one in some)
    return f"{enforced}, {sum(one.is_wrong for one in some)} of {len(some)}"


def _left_out(table: ConformanceTable) -> Iterator[str]:
    if table.unjudged:
        yield f"\n{len(table.unjudged):,} cases are left out: the validators cannot judge them."
    if table.relabelled:
        yield (
            f"\n{table.relabelled:,} texts do not count: a validator says other than their label."
        )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _line(head)
    yield _line(["---"] * len(head))
    yield from map(_line, rows)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(markdown, cells))} |"


def as_csv(table: ConformanceTable, columns: Sequence[str] = _BY_CELL) -> str:
    """Every cell of every engine in a line, with the texts behind it."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(columns)
    for one in table.outcomes:
        values = {
            "keyword": one.cell.keyword,
            "place": one.cell.place,
            "engine": one.engine,
            "version": table.engines[one.engine],
            "outcome": one.word,
            "let_through": _shown(one.let_through),
            "forbidden": _shown(one.forbidden),
            "schema": one.schema,
            "message": one.message,
        }
        lines.writerow([spreadsheet_cell(values[name]) for name in columns])
    return out.getvalue()


def as_json(table: ConformanceTable) -> dict[str, Any]:
    """All of it; the schemas by keyword and place."""
    return {
        "engines": dict(table.engines),
        "cases": table.data,
        "vocabulary": table.vocabulary,
        "schemas": {f"{one.cell.keyword}/{one.cell.place}": one.schema for one in table.outcomes},
        "cells": [one.row() for one in table.outcomes],
        "unjudged": dict(table.unjudged),
        "relabelled_texts": table.relabelled,
    }


def score_lines(scores: Iterable[GateScore]) -> Iterator[str]:
    """Scores in words, what is wrong with a list cell by cell."""
    for one in scores:
        trusted = len(one.passed) + len(one.passed_wrongly) + len(one.passed_refused)
        others = len(one.kept_out) + len(one.kept_out_wrongly)
        yield f"{one.engine} {one.version}: {trusted:,} cells trusted, {others:,} not"
        yield (
            f"  let through and wrong: {len(one.passed_wrongly):,}"
            f" (right: {len(one.passed):,}, refused by the engine: {len(one.passed_refused):,})"
        )
        yield from _some(one.passed_wrongly)
        yield (
            f"  refused and right: {len(one.kept_out_wrongly):,}"
            f" (rightly refused: {len(one.kept_out):,})"
        )
        yield from _some(one.kept_out_wrongly)


def _some(cells: Sequence[CellOutcome]) -> Iterator[str]:
    for one in cells[:_MOST]:
        yield f"    {one.cell.keyword} at {one.cell.place}: {case_in_words(one)}"
    if len(cells) > _MOST:
        yield f"    {len(cells) - _MOST:,} more; --format json has all"


def case_in_words(one: CellOutcome) -> str:
    """The outcome of a cell with its smallest case, or with what the engine says."""
    if one.word in (ENFORCED, REFUSED):
        return f"{SHOWN[one.word]}, {one.schema}"
    parts = [SHOWN[one.word]]
    parts += [f"allows {_shown(one.let_through)}"] if one.let_through is not None else []
    parts += [f"forbids {_shown(one.forbidden)}"] if one.forbidden is not None else []
    parts += [one.message] if one.message else []
    return f"{', '.join(parts)} under {one.schema}"


def _shown(one: WrongText | None) -> str:
    return "" if one is None else one.text.decode("utf-8", "backslashreplace")
