"""A published page that grows: the rows of schemas that runs of several days made, read and joined.

Beside the page stand its rows (`benchmarks.pages.schema_rows`) and a manifest with what all runs
have in common, and what each one was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.pages.layout import milliseconds
from benchmarks.pages.schema_rows import ROWS, SchemaRows
from harness.errors import UsageError
from harness.render.table import Table
from harness.report.frames import Run
from harness.versions.compare import is_alike

_ONE_RUN: Final = ("started", "machine", "commit", "seconds", "replayed")
_MAY_DIFFER: Final = ("harness",)
"""What of the identity of runs that are told as one may differ; each names its commit."""
FAIR: Final = 200
"""So many schemas that chance drew say how fast a machine is; half of them, in a pinch."""


@dataclass(frozen=True)
class Gathered:
    """Rows of schemas, the identity of the runs that made them, and a note on each run."""

    rows: SchemaRows
    identity: Mapping[str, Any]
    runs: Sequence[Mapping[str, Any]]

    @classmethod
    def read(cls, directory: Path) -> Gathered | None:
        """What is published in a directory; None where no rows are."""
        if not (directory / ROWS).exists():
            return None
        manifest = json.loads((directory / "manifest.json").read_text("utf-8"))
        identity = manifest["identity"]
        return cls(SchemaRows.read(directory, identity), identity, manifest["runs"])

    @classmethod
    def of(cls, run: Run, manifest: Mapping[str, Any], earlier: Gathered | None) -> Gathered:
        """A run, and what was published before; `manifest` is what is published of the run's.

        A run that was published before is replaced. One of fewer engines amends what is said of
        these, and one of no schemas changes nothing.

        Raises:
            UsageError: The earlier runs asked something else, or as fast a machine was not theirs.
        """
        rows, runs = SchemaRows.of(run), []
        note: dict[str, Any] = {"cases": len(run.cases)}
        identity = manifest["identity"]
        if earlier:
            earlier.require_same(identity)
            if not rows.rows:
                return earlier
            runs = [one for one in earlier.runs if one["started"] != manifest["started"]]
            if rows.engines.keys() < earlier.rows.engines.keys():
                note["engines"] = [*rows.engines]
                rows, identity = earlier.rows.amended(rows), earlier.identity
            elif pace := earlier.pace(rows, is_new=len(runs) == len(earlier.runs)):
                note["pace"] = round(pace, 2)
            rows = rows.joined(earlier.rows)
        note |= {name: manifest[name] for name in _ONE_RUN if name in manifest}
        return cls(rows, identity, [*runs, note])

    def pace(self, rows: SchemaRows, *, is_new: bool = True) -> float | None:
        """How many times as long as here compilations take in a run with these rows.

        Of each engine the medians of schemas that chance drew are compared, and of the engines the
        median is taken; None where there are too few schemas. A new run that makes schemas of here
        again is compared by those.

        Raises:
            UsageError: It is so much that, under one limit of time, others would be out of it.
        """
        mine = {one.id for one in rows.rows}
        again = self.rows.where(one for one in self.rows.rows if one.id in mine)
        others = self.rows.where(one for one in self.rows.rows if one.id not in mine)
        if is_new and len(again.rows) >= FAIR // 2:
            same = {one.id for one in again.rows}
            rows, others = rows.where(one for one in rows.rows if one.id in same), again
        if min(len(rows.rows), len(others.rows)) < FAIR // 2:
            return None
        took = [(milliseconds(rows, name), milliseconds(others, name)) for name in rows.engines]
        pace = float(np.median([np.median(now) / np.median(then) for now, then in took if now]))
        if not is_alike(pace):
            raise UsageError(
                f"compilations take {pace:.2g} times as long here as in the runs of the page,"
                " so that others would be out of time",
                "run it when, or where, the machine is as fast as theirs",
            )
        return pace

    def require_same(self, identity: Mapping[str, Any]) -> None:
        """UsageError where a run of this identity asks something else than is published."""
        engines, asked = self.identity.get("engines"), identity.get("engines")
        if isinstance(engines, Mapping) and isinstance(asked, Mapping):
            engines = {name: engines[name] for name in asked if name in engines} or engines
        known = {**self.identity, "engines": engines}
        for name in sorted({*identity, *known} - {*_MAY_DIFFER}):
            if identity.get(name) != known.get(name):
                raise UsageError(
                    f"the page has schemas of runs with other {name}",
                    "give the versions and options of its manifest, or remove the page",
                )

    @property
    def manifest(self) -> dict[str, Any]:
        return {"cases": len(self.rows.rows), "identity": self.identity, "runs": self.runs}

    @property
    def tables(self) -> dict[str, Table]:
        return self.rows.tables
