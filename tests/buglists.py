"""Bugs written by hand, for tests of what shows them."""

from dataclasses import replace
from typing import Any

from harness.analysis.statistics import Interval
from harness.bugs.error_case import ErrorCase
from harness.bugs.groups import PENDING
from harness.bugs.listing import Bug, BugList, Report

REPORTED = Report("00000001", "https://example.org/threads/7", "open", "", "It is refused.")


def bug(engine: str = "a", number: int = 0, **others: Any) -> Bug:
    """A bug of an engine; `others` are attributes of it or of its error."""
    of_error = {key: others.pop(key) for key in ("kind", "schema", "text") if key in others}
    case = ErrorCase(engine, "false_rejection", '{"type":"integer","minimum":0}', b"-0")
    severity, cases = others.pop("severity", "plain"), others.pop("cases", 3)
    values: dict[str, Any] = {
        "id": f"{number:08x}",
        "engine": engine,
        "version": "1.2.3",
        "options": {"config": "spec"},
        "error": replace(case, **of_error),
        "at": 0,
        "keyword": "minimum",
        "title": "a value such as -0 is refused under `minimum`",
        "class_": "bug",
        "departure": "",
        "effect": "lost_value",
        "data": "maskbench",
        "met": dict.fromkeys(range(cases), severity),
        "judged": 10,
        "share": Interval(cases / 10, 0.1, 0.6, "resampled"),
        "verdicts": 10 * cases,
        "sampled": 3,
        "verdict": "0",
        "case": "",
        "attributed": "minimum",
        "upstream": None,
        "versions": {"1.2.3": True},
        "others": None,
        "shared": False,
        **others,
    }
    return Bug(**values)


def apart(engine: str, number: int, **others: Any) -> Bug:
    """A bug on a topic of its own."""
    return bug(engine, number, schema=f'{{"keyword{number}":0}}', **others)


def bug_list(*bugs: Bug, pending: int = 0, **unexplained: int) -> BugList:
    """A list of bugs in its order; `pending` verdicts are not shrunk yet."""
    reasons = {key.replace("_", " "): many for key, many in unexplained.items()}
    reasons |= {PENDING: pending} if pending else {}
    verdicts = sum(one.verdicts for one in bugs) + sum(reasons.values())
    ordered = tuple(sorted(bugs, key=lambda one: one.order))
    return BugList(ordered, verdicts, reasons, 3 * len(bugs))
