"""The bugs of a run as its page shows them: smallest case, one verdict of the wild, script."""

from __future__ import annotations

from typing import Any

from harness.bugs.listing import Bug, BugList
from harness.bugs.scripts import marked_parts, no_script, script
from harness.counting.severity import IN_WORDS


def shown_bugs(bugs: BugList | None) -> dict[str, Any] | None:
    """The bugs as JSON; None where they are not known.

    Returns:
        ``list`` (the bugs in their order), ``lines`` (those of all scripts, each once: the
        ``script`` of a bug holds their numbers), ``verdicts``, ``explained`` (the
        share of them, in percent) and ``unexplained`` (by reason).
    """
    if bugs is None:
        return None
    lines: dict[str, int] = {}
    return {
        "list": [_row(one, lines) for one in bugs.bugs],
        "lines": list(lines),
        "verdicts": bugs.verdicts,
        "explained": bugs.percent_explained,
        "unexplained": bugs.unexplained,
    }


def _row(one: Bug, lines: dict[str, int]) -> dict[str, Any]:
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
        "severity": IN_WORDS[one.severity],
        "severities": {IN_WORDS[name]: many for name, many in one.severities.items() if many},
        "verdict": one.verdict,
        "case": one.case,
        "versions": dict(one.versions),
        "also_in": one.also_in,
        "upstream": one.upstream and {**one.upstream.row(), "status": one.upstream.status},
        "script": [lines.setdefault(line, len(lines)) for line in text.splitlines()],
        "no_script": problem,
    }
