"""The command ``maskcourt check``: which engine can be trusted with a schema?"""

from __future__ import annotations

import contextlib
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.printing import print_json
from harness.cli.run_options import SECONDS, Size
from harness.errors import InputError

if TYPE_CHECKING:
    from harness.check.answers import Answer
    from harness.check.work import CheckRequest
    from harness.inputs.schema_inputs import NamedSchema

_FINDINGS: Mapping[str, Callable[[Answer], bool]] = {
    "false_acceptances": lambda one: any(error.lets_through for error in one.errors),
    "false_rejections": lambda one: any(error.forbids for error in one.errors),
    "refuses": lambda one: one.word == "refuses",
    "failed": lambda one: one.word == "failed",
}
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.argument("schemas", nargs=-1, required=True, metavar="SCHEMA...")
@click.option("--valid", multiple=True, type=_FILE, help="A JSON text that is valid; repeatable.")
@click.option("--invalid", multiple=True, type=_FILE, help="A text that is not; repeatable.")
@click.option(
    "--engine",
    "-e",
    "engines",
    multiple=True,
    metavar="SPEC",
    help="An engine; repeatable.  [default: xgrammar, llguidance, outlines]",
)
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice(list(_FINDINGS)),
    help="Exit with 1 when an engine does this with one of the schemas; repeatable.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a page with all errors.",
)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep the runs there, for maskcourt report and replay.",
)
@click.option("--vocabulary", default="qwen2.5", show_default=True, metavar="SPEC")
@click.option(
    "--compile-timeout",
    type=SECONDS,
    default=10.0,
    show_default=True,
    help="Seconds of processor time that an engine gets for a schema.",
)
@click.option("--memory", type=Size(), default="4G", show_default=True, help="Of an engine.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def check(schemas: Sequence[str], **options: Any) -> None:
    """Say which engine can be trusted with a schema.

    SCHEMA is a file, a directory of *.json, - for standard input, or module:Model for a model of
    Pydantic. Every engine is tried: first byte by byte, then with a whole vocabulary.
    """
    from harness.check.answers import Answers
    from harness.check.page import write_page
    from harness.check.printing import CheckOutput
    from harness.check.work import SchemaCheck
    from harness.classification.departures import load_catalogue

    request = _request(schemas, options)
    answers = Answers([one.name for one in request.schemas], [one.name for one in request.engines])
    output = CheckOutput(answers, quiet=options["as_json"])
    interrupted = False
    with _directory(options["out"]) as directory:
        try:
            with output, SchemaCheck(request, directory, load_catalogue()) as work:
                for answer in work.answers():
                    answers.add(answer)
                    output.tell(answer)
        except KeyboardInterrupt:
            interrupted = True
    if options["as_json"]:
        print_json(answers.row())
    else:
        output.end()
    if (page := options["report"]) is not None:
        click.echo(f"{page} ({write_page(answers, page):,} bytes)", err=True)
    if interrupted:
        raise KeyboardInterrupt("what is known so far is printed")
    if reasons := list(_failed(options["fail_on"], answers)):
        click.echo("maskcourt: failed on " + "; ".join(reasons), err=True)
        sys.exit(1)


def _request(names: Sequence[str], options: Mapping[str, Any]) -> CheckRequest:
    """What is asked, each schema looked at before anything is started."""
    from harness.check.work import CheckRequest
    from harness.comparison.case_run import Rules
    from harness.engines.panel import Limits
    from harness.engines.specs import DEFAULT, parse_specs
    from harness.inputs.schema_inputs import read_instance, read_schemas

    specs = parse_specs(options["engines"] or DEFAULT)
    schemas = read_schemas(names)
    for one in schemas:
        _check_schema(one)
    valid, invalid = (
        [read_instance(path, is_json=name == "valid") for path in options[name]]
        for name in ("valid", "invalid")
    )
    limits = Limits(compile=options["compile_timeout"], memory=options["memory"])
    rules = Rules(seed=options["seed"], generated=32, samples=16)
    return CheckRequest(schemas, specs, valid, invalid, options["vocabulary"], rules, limits)


def _check_schema(one: NamedSchema) -> None:
    """Refuse what the validators cannot judge by."""
    from harness.validators.validate import UnjudgeableError, Validators

    try:
        Validators(one.text)
    except UnjudgeableError as error:
        raise InputError(f"{one.name} cannot be used: {error.message}", error.hint) from None


@contextlib.contextmanager
def _directory(out: Path | None) -> Iterator[Path]:
    """Where the runs go: a directory of the user's, or one that is removed."""
    from harness.workers.temporary_directories import shared_directory

    if out is None:
        with shared_directory(secrets.token_hex(8)) as directory:
            yield directory
    else:
        yield out


def _failed(fail_on: Sequence[str], answers: Iterable[Answer]) -> Iterator[str]:
    """Why to leave with 1."""
    for answer in answers:
        for what in fail_on:
            if _FINDINGS[what](answer):
                yield f"{answer.schema}: {answer.engine}: {what.replace('_', ' ')}"
