"""Publish an impact run: its summary, a row for each item and engine, smallest cases, manifest."""

from __future__ import annotations

import json
from pathlib import Path

from harness.bugs.samples import smallest
from harness.impact.answer_file import ImpactRun
from harness.impact.causes import read_causes
from harness.impact.overruled import RULINGS
from harness.impact.summary import accuracy, as_json, summarize
from harness.printable import json_rows
from harness.render.table import Row, Table, as_csv
from harness.report.exports import write_texts

_ITEMS = ("item", "condition", "engine", "outcome", "parsed", "correct", "reason")


def publish_impact(run: ImpactRun, directory: Path) -> list[Path]:
    """Write the tables of an impact run, finished or not; what they say is written by hand.

    Args:
        run: The run.
        directory: Where to.

    Returns:
        The files.

    Raises:
        RunDirectoryError: The run is damaged, or the files cannot be written.
    """
    summary = as_json(run, summarize(run), accuracy(run))
    del summary["run"]
    manifest = json.dumps(run.manifest, indent=2, ensure_ascii=False)
    texts = {
        "summary.json": json.dumps(summary, indent=2, ensure_ascii=False) + "\n",
        "items.csv": as_csv(item_table(run)),
        "bugs.json": _bugs(run),
        "manifest.json": manifest + "\n",
    }
    return write_texts(texts, directory)


def item_table(run: ImpactRun) -> Table:
    """A row for each item and engine: what became of the answer, and of the overruled steps.

    Raises:
        RunDirectoryError: The run is damaged.
    """
    rows: list[Row] = []
    for one in run.answers():
        ruled = {word: sum(step.ruling == word for step in one.overruled) for word in RULINGS}
        row: Row = {name: getattr(one, name) for name in _ITEMS}
        rows.append({**row, "tokens": len(one.tokens), "overruled": len(one.overruled), **ruled})
    columns = (*_ITEMS, "tokens", "overruled", *RULINGS)
    return Table.of("Items by engine", columns, rows)


def _bugs(run: ImpactRun) -> str:
    """The smallest case of each bug that is known in each engine, a line each."""
    found = smallest(read_causes(run).values())
    return json_rows(
        {
            "engine": engine,
            "bug": bug,
            "class": one.class_,
            "departure": one.departure,
            "schema": one.error.schema,
            "text": one.error.readable_text,
            "at": one.at,
        }
        for (bug, engine), one in sorted(found.items(), key=lambda entry: entry[0][::-1])
        if one.error is not None
    )
