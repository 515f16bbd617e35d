"""The tally broken down: the same verdicts by keyword, category, departure and so on, or by cause.

One row is one value of the grouping column, for one engine, kind of error, class and kind of
evidence; contested verdicts, which count for nobody, are listed apart by what caused them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.counting.counts import Classify, Counts, StoredRun, by_catalogue
from harness.jsontext import strict_json
from harness.runs.columns import CodedColumn, grouped, words
from harness.runs.directory import RunDirectory
from harness.runs.tables import VERDICT_TABLES
from harness.verdict_kinds import ERRORS, FALSE_ACCEPTANCE

CAUSE = "cause"
_FOLDED = ("keyword", "category", "departure", "place", "severity", "number")
_OF_CASES = ("family", "draft", "case")
GROUPINGS = (
    *("keyword", "category", "family", "departure", "draft", "case", "place", "severity"),
    "number",
)
"""What verdicts can be grouped by; ``cause`` groups contested ones."""

_APART = ("located", "by_format")
_CAUSE = ("reason", "keyword", "jsonschema", "jsonschema_rs")


def breakdown(run: RunDirectory, by: str, classify: Classify = by_catalogue) -> dict[str, Any]:
    """The verdicts of a run by one column, or the contested ones by their cause, as JSON.

    Args:
        run: The run, finished or not.
        by: One of `GROUPINGS`, or ``cause``.
        classify: Gives verdicts their classes; the catalogue of departures does.

    Returns:
        ``by`` and ``rows``, those with most tokens first. A row has the grouping column,
        ``engine``, ``kind``, ``class``, ``evidence``
        (``walk``, ``instance`` or ``sample``), ``tokens`` (verdicts: one for each token, or for
        each text), ``positions``, ``cases``, and that of a false acceptance ``located``
        (those of the tokens at which the error itself lies) and ``by_format`` (those that rest on
        ``format`` alone).

        By cause, a row has ``evidence``, ``reason``, ``keyword``, ``jsonschema`` and
        ``jsonschema_rs`` (what each validator said), ``tokens`` (verdicts of all engines together),
        ``positions``, ``cases`` and ``example`` (a case); beside the rows stand ``contested`` and
        ``decided``, the verdicts of the run that are contested and that prove an engine wrong.
    """
    stored = StoredRun(run, classify)
    if by == CAUSE:
        return _by_cause(stored)
    rows = [row for evidence in VERDICT_TABLES for row in _rows(stored, by, evidence)]
    return {"by": by, "rows": sorted(rows, key=lambda row: _order(row, by))}


def _order(row: dict[str, Any], by: str) -> tuple[Any, ...]:
    return (-row["tokens"], row[by], row["engine"], row["kind"], row["class"], row["evidence"])


def _rows(stored: StoredRun, by: str, evidence: str) -> list[dict[str, Any]]:
    """The rows of one kind of evidence."""
    names = ("engine", "kind", "class", *_APART)
    folded = stored.fold(evidence, (*names, by) if by in _FOLDED else names)
    counts = folded.where(kind=ERRORS)
    if by in _OF_CASES:
        counts = counts.having(**{by: _of_cases(stored, by, counts)[counts.case]})
    columns = (by, "engine", "kind", "class")
    apart = {
        name: {
            tuple(row[column] for column in columns): row["tokens"]
            for row in counts.where(**{name: True}).grouped(columns)
        }
        for name in _APART
    }
    found = []
    for row in counts.grouped(columns):
        key = tuple(row[name] for name in columns)
        units = {name: row[name] for name in ("tokens", "positions", "cases")}
        one = {**dict(zip(columns, key, strict=True)), "evidence": evidence, **units}
        if row["kind"] == FALSE_ACCEPTANCE.name:
            one |= {name: of.get(key, 0) for name, of in apart.items()}
        found.append(one)
    return found


def _of_cases(stored: StoredRun, by: str, counts: Counts) -> CodedColumn:
    """A column of words that each case has one of."""
    if by == "case":
        return CodedColumn(np.arange(len(stored.cases)), stored.cases)
    if by == "family":
        return words(stored.run.table("cases", ["family"])["family"])
    schemas = stored.run.table("cases", ["schema"])["schema"]
    drafts = np.full(len(stored.cases), "", dtype=object)
    for row in np.unique(counts.case).tolist():
        drafts[row] = _draft(schemas[row].as_py())
    values, codes = np.unique(drafts.astype(str), return_inverse=True)
    return CodedColumn(codes, tuple(values.tolist()))


def _draft(schema: str) -> str:
    """The draft that a schema is read as."""
    from harness.validators.drafts import (
        draft_of,  # loads the validators, which nothing else here needs
    )

    try:
        draft = draft_of(strict_json.parse(schema))
    except strict_json.JsonError:
        draft = None
    return draft.name if draft else "unknown"


def _by_cause(stored: StoredRun) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    contested = decided = 0
    for evidence in VERDICT_TABLES:
        counts = stored.fold(evidence, ("kind", *_CAUSE))
        mine = counts.where(kind="contested")
        contested += int(mine.tokens.sum())
        decided += int(counts.where(kind=ERRORS).tokens.sum())
        rows += _with_examples(stored, evidence, mine)
    rows.sort(key=lambda row: (-row["tokens"], *(row[name] for name in ("evidence", *_CAUSE))))
    return {"by": CAUSE, "contested": contested, "decided": decided, "rows": rows}


def _with_examples(stored: StoredRun, evidence: str, mine: Counts) -> list[dict[str, Any]]:
    """The causes in one kind of evidence, each with the first case it occurs in."""
    examples = _first_cases(mine, _CAUSE)
    found = []
    for row in mine.grouped(_CAUSE):
        cause = tuple(row[name] for name in _CAUSE)
        example = stored.cases[examples[cause]]
        found.append({"evidence": evidence, **row, "example": example})
    return found


def _first_cases(counts: Counts, names: Sequence[str]) -> dict[tuple[Any, ...], int]:
    """The first case of each combination of words."""
    if not len(counts.case):
        return {}
    picked = [counts.column(name) for name in names]
    first, group = grouped(picked)
    cases = np.full(len(first), counts.case.max(), dtype=np.int64)
    np.minimum.at(cases, group, counts.case)
    keys = zip(*([one.values[code] for code in one.codes[first]] for one in picked), strict=True)
    return dict(zip(keys, cases.tolist(), strict=True))
