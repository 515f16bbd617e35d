"""The report of a run as one HTML file: everything that it says, which the page only lays out."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from harness import __version__
from harness.analysis.compile_reasons import compile_reasons
from harness.analysis.matrix import COLUMNS
from harness.analysis.stored import stored_run
from harness.analysis.tally import case_statuses, crossed, summary
from harness.bugs.listing import Bug, BugList, known_bugs
from harness.bugs.scripts import marked_parts, no_script, script
from harness.classification.departures import load_catalogue
from harness.render.page import asset, embedded, page
from harness.report import SHOWN
from harness.report.page.explained import explained
from harness.report.page.sampling import draw
from harness.report.tables import headline, pairs
from harness.runs.directory import RunDirectory
from harness.runs.made_with import asks_for_trust, vocabulary_of
from harness.verdict_kinds import CLASSES, KINDS, MEANINGS

_OF_DEPARTURE: Final = ("id", "class_", "engine", "from_", "source", "says")
_REASONS: Final = 8
"""Reasons of an engine that are listed for each outcome."""
_SCRIPTS: Final = ("base.js", "bugs.js", "figures.js", "explorer.js", "page.js")


def assembled(data: Mapping[str, Any]) -> str:
    script = "\n".join(["'use strict';", *(asset(f"report/page/{name}") for name in _SCRIPTS)])
    return page("report/page/page.html", {"script": script, "data": embedded(data)})


def collect(
    run: RunDirectory,
    shown_as: str,
    *,
    verdicts: int = SHOWN,
    seed: int = 0,
) -> dict[str, Any]:
    """All data of a report, as JSON. The same run and arguments always give the same.

    `shown_as` is the run's name in the commands that the report tells; so many `verdicts` are
    explained, drawn by `seed`.

    Raises:
        UsageError: The vocabulary is not the one that the run was made with.
    """
    stored, tally = stored_run(run), summary(run)
    bugs = known_bugs(run)
    also = {one.verdict for one in bugs.bugs} if bugs is not None else set()
    cells = (cell["example"] or {} for cells in tally["matrix"].values() for cell in cells.values())
    also |= {example["verdict"] for example in cells if "verdict" in example}
    sample = draw(stored, verdicts, seed, also if verdicts else ())
    shown, cases = explained(stored, sample, vocabulary_of(run))
    departures = [row for row in crossed(stored, "departure") if row["departure"]]
    used = {row["departure"] for row in departures}
    tables = run.manifest.get("tables")
    rows = tables and {name: one["rows"] for name, one in tables.items()}
    manifest = {key: value for key, value in run.manifest.items() if key not in ("tables", "seal")}
    return {
        "about": {**_about(run, shown_as), "seed": seed, "shown": len(shown)},
        "kinds": {name: one.meaning for name, one in KINDS.items()},
        "classes": CLASSES,
        "effects": MEANINGS,
        "summary": tally,
        "bugs": shown_bugs(bugs),
        "columns": COLUMNS,
        "tables": {"headline": headline(tally).laid_out(), "pairs": pairs(tally).laid_out()},
        "keywords": crossed(stored, "keyword"),
        "families": crossed(stored, "family"),
        "case_statuses": case_statuses(stored),
        "failures": [
            {"engine": engine, "outcome": outcome, **row}
            for engine, outcomes in compile_reasons(run).items()
            for outcome, rows in outcomes.items()
            for row in rows[:_REASONS]
            if outcome != "warned"
        ],
        "departures": departures,
        "catalogue": [
            {word.removesuffix("_"): getattr(one, word) for word in _OF_DEPARTURE}
            for one in load_catalogue()
            if one.id in used
        ],
        "groups": sample.groups,
        "verdicts": shown,
        "cases": cases,
        "manifest": {**manifest, "rows": rows},
    }


def _about(run: RunDirectory, shown_as: str) -> dict[str, Any]:
    named = shlex.quote(shown_as) + (" --trust" if asks_for_trust(run) else "")
    engines = run.manifest["identity"]["engines"]
    return {
        "run": shown_as,
        "replayed": f"maskcourt replay {named}",
        "searched": f"maskcourt bugs {named}",
        "spelled": f"maskcourt spellings --engine {shlex.quote(','.join(engines))}",
        "name": run.path.resolve().name,
        "maskcourt": __version__,
    }


def shown_bugs(bugs: BugList | None) -> dict[str, Any] | None:
    """Bugs as JSON; a ``script`` holds the numbers of ``lines``, each of which is there once."""
    if bugs is None:
        return None
    lines: dict[str, int] = {}
    return {
        "list": [_bug(one, lines) for one in bugs.bugs],
        "lines": list(lines),
        "verdicts": bugs.verdicts,
        "explained": bugs.percent_explained,
        "unexplained": bugs.unexplained,
    }


def _bug(one: Bug, lines: dict[str, int]) -> dict[str, Any]:
    problem = no_script(one)
    text = "" if problem else script(one)
    return {
        **one.row(),
        **{name: getattr(one, name) for name in ("engine", "case", "also_in")},
        "schema": one.error.schema,
        "text": [part.decode("utf-8", "surrogateescape") for part in marked_parts(one)],
        "token": bool(one.error.token),
        "upstream": one.upstream and {**asdict(one.upstream), "status": one.upstream.status},
        "script": [lines.setdefault(line, len(lines)) for line in text.splitlines()],
        "no_script": problem,
    }
