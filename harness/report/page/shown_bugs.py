"""The bugs of a run as its page shows them: smallest case, one verdict of the wild, script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from harness.bugs.listing import Bug, BugList
from harness.bugs.scripts import marked_parts, no_script, script
from harness.runs.directory import RunDirectory
from harness.runs.tables import VERDICT_TABLES
from harness.verdict_kinds import INSTANCE, WALK


def shown_bugs(run: RunDirectory, bugs: BugList | None) -> dict[str, Any] | None:
    """The bugs as JSON; None where they are not known.

    Returns:
        ``list`` (the bugs in their order), ``lines`` (those of all scripts, each once: the
        ``script`` of a bug holds their numbers), ``verdicts``, ``explained`` (the share of them)
        and ``unexplained`` (by reason).
    """
    if bugs is None:
        return None
    cases, lines = _cases(run, bugs), dict[str, int]()
    return {
        "list": [_row(one, cases[one.verdict], lines) for one in bugs.bugs],
        "lines": list(lines),
        "verdicts": bugs.verdicts,
        "explained": bugs.explained,
        "unexplained": bugs.unexplained,
    }


def _row(one: Bug, case: str, lines: dict[str, int]) -> dict[str, Any]:
    problem = no_script(one)
    text = "" if problem else script(one)
    return {
        "id": one.id,
        "engine": one.engine,
        "kind": one.error.kind,
        "title": one.title,
        "schema": one.error.schema,
        "text": [part.decode("utf-8", "surrogateescape") for part in marked_parts(one)],
        "token": bool(one.error.token),
        "cases": one.cases,
        "judged": one.judged,
        "share": one.share.scaled(1),
        "verdicts": one.verdicts,
        "severity": one.severity,
        "severities": dict(one.severities),
        "verdict": one.verdict,
        "case": case,
        "versions": dict(one.versions),
        "upstream": None if one.upstream is None else one.upstream.row(),
        "script": [lines.setdefault(line, len(lines)) for line in text.splitlines()],
        "no_script": problem,
    }


def _cases(run: RunDirectory, bugs: BugList) -> Mapping[str, str]:
    """The case of each bug's verdict, by the verdict's name."""
    names = {one.verdict for one in bugs.bugs}
    found: dict[str, str] = {}
    for evidence, prefix in ((WALK, ""), (INSTANCE, "i")):
        mine = [one for one in names if one.startswith("i") == bool(prefix)]
        column = run.table(VERDICT_TABLES[evidence], ["case"])["case"]
        rows = pa.array([int(one.removeprefix(prefix)) for one in mine], pa.int64())
        found |= dict(zip(mine, column.take(rows).to_pylist(), strict=True))
    return found
