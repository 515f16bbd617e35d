"""The command ``maskcourt check``: which engine can be trusted with a schema?"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from harness.check.request import CheckRequest
from harness.cli.common import FAILURES, Json
from harness.cli.options import command
from harness.console import print_json, tell
from harness.options import RESULT, option
from harness.verdict_kinds import BUG

if TYPE_CHECKING:
    from harness.check.answers import Answer


def _has(effects: Sequence[str], answer: Answer) -> bool:
    return any(error.effect in effects and error.class_ == BUG for error in answer.errors)


_FAILURES: Final[Mapping[str, Callable[[Answer], bool]]] = {
    **{name: functools.partial(_has, effects) for name, effects in FAILURES.items()},
    "false_acceptances": lambda answer: any(error.lets_through for error in answer.errors),
    "false_rejections": lambda answer: any(error.forbids for error in answer.errors),
    "refuses": lambda answer: answer.status == "refuses",
    "failed": lambda answer: answer.status == "failed",
}


@dataclass(frozen=True)
class CheckResult:
    """What becomes of the answers."""

    fail_on: Sequence[str] = option(
        (),
        "Exit with 1 when an engine does this with one of the schemas; repeatable. value: a loss,"
        " leak or trap.",
        choices=tuple(_FAILURES),
    )
    junit: Path | None = option(
        None,
        "Write a test per engine and schema as JUnit's XML; it fails as --fail-on says, by default"
        " on value and failed.",
        metavar="FILE",
        writes="file",
    )
    report: Path | None = option(
        None, "Write a page with all errors.", metavar="FILE", writes="file"
    )
    out: Path | None = option(
        None,
        "Keep the runs there, for maskcourt report and replay.",
        "-o",
        heading=RESULT,
        metavar="DIR",
    )


@command(CheckRequest, CheckResult, Json)
@click.argument("schemas", nargs=-1, metavar="[SCHEMA...]")
def check(request: CheckRequest, result: CheckResult, json: Json, schemas: Sequence[str]) -> None:
    """Say which engine can be trusted with a schema.

    SCHEMA is a file, also one of tools or of OpenAPI, a directory of *.json, - for standard input,
    or module:Model for a model of Pydantic. Every engine is tried.
    """
    from harness.check.answers import Answers
    from harness.check.request import usable_schemas
    from harness.check.text import CheckOutput, junit, write_page
    from harness.check.work import SchemaCheck
    from harness.classification.departures import load_catalogue
    from harness.workers.temporary_directories import temporary_directory

    named = usable_schemas(schemas, request)
    tools = {one.name: one.tool for one in named if one.tool}
    answers = Answers([one.name for one in named], [one.name for one in request.specs], tools)
    output = CheckOutput(answers, quiet=json.as_json, early=not request.walks)
    interrupted = False
    kept = temporary_directory() if result.out is None else nullcontext(result.out)
    with kept as directory:
        try:
            asked = request, named, directory, load_catalogue(), output.heard
            with output, SchemaCheck(*asked) as work:
                for answer in work.answers():
                    answers.add(answer)
                    output.tell(answer)
        except KeyboardInterrupt:
            interrupted = True
    if json.as_json:
        print_json(answers.row())
    else:
        output.end()
    if result.report is not None:
        tell(f"{result.report} ({write_page(answers, result.report):,} bytes)")
    if interrupted:
        raise KeyboardInterrupt("what is known so far is printed")
    failures = [
        (answer, what)
        for answer in answers
        for what in result.fail_on or ("value", "failed") * (result.junit is not None)
        if _FAILURES[what](answer)
    ]
    if result.junit is not None:
        result.junit.write_text(junit(answers, failures), "utf-8")
    if failures and result.fail_on:
        reasons = [
            f"{one.schema}: {one.engine}: {what.replace('_', ' ')}" for one, what in failures
        ]
        tell("maskcourt: failed on " + "; ".join(reasons))
        sys.exit(1)
