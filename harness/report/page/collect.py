"""Everything that a report says of a run, as one JSON object; the page only lays it out."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from harness import __version__
from harness.bugs.listing import known_bugs
from harness.classification.departures import Catalogue, classify, load_catalogue
from harness.counting.counts import StoredRun
from harness.counting.intervals import NO_SAMPLE
from harness.report.matrix import COLUMNS
from harness.report.page.answers_of_models import answers_of_models
from harness.report.page.counted import PageCounts
from harness.report.page.explained import SCHEMA_LIMIT, explained
from harness.report.page.sampling import draw
from harness.report.page.shown_bugs import shown_bugs
from harness.report.tally import summary
from harness.runs.directory import RunDirectory
from harness.runs.made_with import asks_for_trust, vocabulary_of
from harness.verdict_kinds import CLASSES, KINDS

SHOWN = 600
"""Verdicts that a report shows unless it is told otherwise."""

_VALIDATORS = ("jsonschema", "jsonschema-rs")


@dataclass(frozen=True)
class ReportRequest:
    """What a report is to show.

    Attributes:
        shown_as: What the run is called in the commands that the report tells.
        verdicts: How many verdicts it explains; 0 for none.
        seed: Of their sample.
        catalogue: The departures; None is the catalogue that comes with maskcourt.
        impact: An impact run, whose answers stand beside the errors of masks.
    """

    shown_as: str
    verdicts: int = SHOWN
    seed: int = 0
    catalogue: Catalogue | None = None
    impact: Path | None = None


def collect(run: RunDirectory, request: ReportRequest) -> dict[str, Any]:
    """All data of a report. The same run, request and validators always give the same.

    Args:
        run: The run, finished or not.
        request: What to show.

    Returns:
        ``about``, ``kinds`` (by name what each means), ``classes``, ``columns`` (of the matrix, by
        name their titles), ``summary`` (`harness.report.tally.summary`), ``bugs``
        (`harness.report.page.shown_bugs.shown_bugs`), the counts of
        `harness.report.page.counted.PageCounts` by their names, ``catalogue`` (the departures that
        occur), ``answers`` (`harness.report.page.answers_of_models.answers_of_models`; null without
        an impact run), ``groups`` (`harness.report.page.sampling.ShownSample`), ``verdicts`` and
        ``cases`` (`harness.report.page.explained.explained`), ``manifest`` (``run.json`` without
        checksums).

    Raises:
        RunDirectoryError: The run is damaged.
        UsageError: The vocabulary is not the one that the run was made with.
    """
    catalogue = request.catalogue or load_catalogue()
    rule = functools.cache(functools.partial(classify, catalogue))  # asked for by every count
    counted = PageCounts(StoredRun(run, rule))
    departures = counted.departures()
    tally = summary(run, rule)
    bugs = known_bugs(run, catalogue, rule)
    wild = {one.verdict for one in bugs.bugs} if bugs is not None else set()
    also = _examples(tally["matrix"]) | wild if request.verdicts else ()
    sample = draw(run, rule, request.verdicts, request.seed, also)
    found = explained(run, sample, vocabulary_of(run))
    return {
        "about": _about(run, request, found.verdicts),
        "kinds": {name: one.meaning for name, one in KINDS.items()},
        "classes": CLASSES,
        "summary": tally,
        "bugs": shown_bugs(bugs),
        "columns": COLUMNS,
        "keywords": counted.by_keyword(),
        "families": counted.by_family(),
        "sets": counted.sets(),
        "case_statuses": counted.case_statuses(),
        "failures": counted.failures(),
        "departures": departures,
        "catalogue": _used(catalogue, {row["departure"] for row in departures}),
        "answers": request.impact
        and answers_of_models(request.impact, run.manifest["identity"]["engines"]),
        "groups": sample.groups,
        "verdicts": found.verdicts,
        "cases": found.cases,
        "manifest": _manifest(run),
    }


def _examples(matrix: Mapping[str, Any]) -> set[str]:
    """The verdicts that the matrix shows."""
    cells = (cell["example"] or {} for cells in matrix.values() for cell in cells.values())
    return {cell["verdict"] for cell in cells if "verdict" in cell}


def _about(
    run: RunDirectory, request: ReportRequest, verdicts: list[dict[str, Any]]
) -> dict[str, Any]:
    shown_as = shlex.quote(request.shown_as) + (" --trust" if asks_for_trust(run) else "")
    return {
        "run": request.shown_as,
        "replayed": f"maskcourt replay {shown_as}",
        "searched": f"maskcourt bugs {shown_as}",
        "name": run.path.resolve().name,
        "maskcourt": __version__,
        "validators": {name: metadata.version(name) for name in _VALIDATORS},
        "seed": request.seed,
        "asked": request.verdicts,
        "shown": len(verdicts),
        "schema_limit": SCHEMA_LIMIT,
        "no_sample": NO_SAMPLE,
    }


def _used(catalogue: Catalogue, names: set[str]) -> list[dict[str, str]]:
    return [
        {
            "id": one.id,
            "class": one.class_,
            "engine": one.engine,
            "from": one.from_,
            "source": one.source,
            "says": one.says,
        }
        for one in catalogue
        if one.id in names
    ]


def _manifest(run: RunDirectory) -> Mapping[str, Any]:
    tables = run.manifest.get("tables")
    rest = {key: value for key, value in run.manifest.items() if key not in ("tables", "seal")}
    return {**rest, "rows": tables and {name: one["rows"] for name, one in tables.items()}}
