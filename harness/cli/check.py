"""The command ``maskcourt check``: which engine can be trusted with a schema?"""

from __future__ import annotations

import json as json_
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from harness.check.request import CheckRequest
from harness.cli.common import FAILURES, Json
from harness.cli.options import command
from harness.console import print_json, tell
from harness.errors import InputError
from harness.files import write_whole
from harness.inputs.limits import read_file
from harness.options import RESULT, file_option, option
from harness.verdict_kinds import BUG, COSTLY, MAIN_KINDS, RARE

if TYPE_CHECKING:
    from harness.check.answers import Answer

_STATUSES: Final = ("refuses", "failed")
_ERRORS: Final = ("false_acceptances", "false_rejections", "other_errors")
"""Lists of errors in what is printed of an engine and a schema."""


@dataclass(frozen=True)
class CheckResult:
    """What becomes of the answers."""

    fail_on: Sequence[str] = option(
        (),
        "Exit with 1 when an engine does this with one of the schemas; repeatable. value: a loss,"
        " leak or trap, each by everyday values.",
        choices=(*FAILURES, *MAIN_KINDS, *_STATUSES),
    )
    junit: Path | None = file_option(
        "Write a test per engine and schema as JUnit's XML; it fails as --fail-on says, by default"
        " on value and failed.",
    )
    baseline: Path | None = file_option(
        "What an earlier check printed by --json: findings that are there fail nothing.",
        writes="",
        exists=True,
    )
    report: Path | None = file_option("Write a page with all errors.")
    out: Path | None = option(
        None,
        "Keep the runs there, for maskcourt report and replay.",
        "-o",
        heading=RESULT,
        metavar="DIR",
    )


def _fails(answer: Answer, what: str) -> bool:
    """Whether an engine does this with a schema, and neither declares nor warns of it."""
    if what in _STATUSES:
        return answer.status == what
    bugs = [error for error in answer.errors if error.class_ == BUG]
    if what in FAILURES:
        counted = (one.effect for one in bugs if one.is_everyday or one.effect not in COSTLY)
        return any(effect in FAILURES[what] for effect in counted)
    return any(one.forbids if what == "false_rejections" else one.lets_through for one in bugs)


def _known(path: Path | None) -> frozenset[tuple[str | bool, ...]]:
    """The findings in what an earlier check printed; what rare values alone show is told apart."""
    if path is None:
        return frozenset()
    try:
        rows = json_.loads(read_file(path))["schemas"]
        every = [(one["schema"], *pair) for one in rows for pair in one["engines"].items()]
        return frozenset(
            (schema, engine, *what)
            for schema, engine, row in every
            for what in (
                (row["answer"],),
                *(
                    (e["effect"], e["keyword"], e["severity"] == RARE)
                    for kind in _ERRORS
                    for e in row[kind]
                    if e["class"] == BUG
                ),
            )
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        hint = "maskcourt check --json prints one"
        raise InputError(f"{path} is not what a check printed", hint) from None


def _new(answer: Answer, known: frozenset[tuple[str | bool, ...]]) -> Answer:
    about = answer.schema, answer.engine
    errors = tuple(
        e
        for e in answer.errors
        if not known & {(*about, e.effect, e.keyword, rare) for rare in {False, e.severity == RARE}}
    )
    is_known = (*about, answer.status) in known
    return replace(answer, errors=errors, status="no_error_found" if is_known else answer.status)


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
    from harness.workers.temporary_directories import temporary_directory

    known = _known(result.baseline)
    named = usable_schemas(schemas, request)
    tools = {one.name: one.tool for one in named if one.tool}
    answers = Answers([one.name for one in named], [one.name for one in request.specs], tools)
    output = CheckOutput(answers, quiet=json.as_json, early=not request.walks)
    interrupted = False
    kept = temporary_directory() if result.out is None else nullcontext(result.out)
    with kept as directory:
        try:
            with output, SchemaCheck(request, named, directory, output.heard) as work:
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
        if _fails(_new(answer, known), what)
    ]
    if result.junit is not None:
        write_whole(result.junit, junit(answers, failures))
    if failures and result.fail_on:
        reasons = [
            f"{one.schema}: {one.engine}: {what.replace('_', ' ')}" for one, what in failures
        ]
        tell("maskcourt: failed on " + "; ".join(reasons))
        sys.exit(1)
