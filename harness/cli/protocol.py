"""``maskcourt protocol``: does a library do what a server relies on, whatever its masks hold?"""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from harness.cli.common import json_option, seed_option
from harness.cli.printing import print_json, table_console
from harness.errors import UsageError
from harness.printable import one_line, printable

if TYPE_CHECKING:
    from harness.court.docket import Docket
    from harness.court.hearing import Heard
    from harness.court.record import Record, RecordHead

_FILE = click.Path(path_type=Path, dir_okay=False)
_STORED = click.Path(path_type=Path, dir_okay=False, exists=True)
_COUNT = click.IntRange(min=0)


@click.command()
@click.option("--engines", multiple=True, metavar="SPECS", help="As of bench; repeatable.")
@click.option("--cases", default="quick", show_default=True, metavar="SPEC", help="As of bench.")
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Only N of the cases.")
@click.option("--vocabulary", default="qwen2.5", show_default=True, help="As of bench.")
@click.option(
    "--texts",
    type=_COUNT,
    default=2,
    show_default=True,
    help="Texts of each schema that each engine writes itself, to be tried along.",
)
@click.option(
    "--positions",
    type=click.IntRange(min=2),
    default=6,
    show_default=True,
    help="Places of each text.",
)
@click.option(
    "--whole",
    type=_COUNT,
    default=2,
    show_default=True,
    help="Places of each case at which a large vocabulary is gone through as a whole.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    show_default=True,
    help="Processor time of one rule on one case.",
)
@click.option(
    "--out", type=_FILE, help="Where to write what is heard; started again it goes on there."
)
@click.option("--format", "kind", type=click.Choice(["text", "markdown", "csv"]), default="text")
@click.option("--fail-on-violation", is_flag=True, help="Exit with 1 when there is one.")
@click.option(
    "--write-smallest", type=_FILE, help="Where to write the smallest violation of each rule."
)
@click.option("--read", "stored", type=_STORED, help="Print what a file holds instead.")
@click.option(
    "--replay",
    "again",
    type=_STORED,
    help="Try the violations of a file again instead; exit with 1 when one shows no more.",
)
@click.option(
    "--trust", is_flag=True, help="Import and install engines that a file for --replay names."
)
@seed_option
@json_option
def protocol(**options: Any) -> None:
    """Hold libraries to what a server relies on: consuming, rollback, forced text, batches.

    No text is judged: each library is held against itself alone.
    """
    from harness.court.docket import Docket
    from harness.court.record import read_record, write_record

    if options["again"]:
        _replay(options["again"], trust=options["trust"], as_json=options["as_json"])
        return
    if options["stored"]:
        head, heard = read_record(options["stored"])
    else:
        record = _hear(options)
        head, heard = record.head, record.heard
    docket = Docket.of(heard)
    if options["write_smallest"]:
        write_record(options["write_smallest"], head, list(docket.smallest()))
    _print(head, docket, "json" if options["as_json"] else options["kind"])
    if options["fail_on_violation"] and docket.violated:
        sys.exit(1)


def _hear(options: Mapping[str, Any]) -> Record:
    from harness.court.hearing import Bench, hear
    from harness.court.record import Record, RecordHead
    from harness.court.routes import Thoroughness
    from harness.engines.environments import provide_all
    from harness.engines.specs import DEFAULT, parse_specs
    from harness.inputs.case_selection import open_cases, select
    from harness.inputs.vocabulary_readers import open_vocabulary

    specs = provide_all(parse_specs(options["engines"] or DEFAULT))
    seed, texts, positions, whole = (
        options[name] for name in ("seed", "texts", "positions", "whole")
    )
    source, vocabulary = open_cases(options["cases"]), open_vocabulary(options["vocabulary"])
    cases = list(select(source, sample=options["sample"], seed=seed))
    how = Thoroughness(seed, texts, positions, whole)
    bench = Bench(vocabulary, how, options["seconds"])
    named = options["vocabulary"], vocabulary.sha256, options["cases"], source.sha256
    record = Record.open(
        options["out"], RecordHead(*named, seed, texts, positions, whole, bench.seconds)
    )
    with _telling(options["out"]):
        for spec in specs:
            left = [case for case in cases if not record.has(spec.name, case.id)]
            click.echo(printable(f"{spec.name}: {len(left)} cases"), err=True)
            for number, heard in enumerate(hear(spec, left, bench), 1):
                record.add(heard)
                click.echo(printable(f"  {number}/{len(left)} {heard.case}"), err=True)
    return record


@contextlib.contextmanager
def _telling(out: Path | None) -> Iterator[None]:
    """Say what is kept where the work is interrupted."""
    try:
        yield
    except KeyboardInterrupt as error:
        kept = f"the same command goes on in {out}" if out else "nothing is kept without --out"
        raise KeyboardInterrupt(kept) from error


def _print(head: RecordHead, docket: Docket, kind: str) -> None:
    from harness.court.printing import as_csv, as_markdown

    if kind == "json":
        print_json(docket.as_json())
    elif kind == "text":
        _print_text(docket)
    else:
        click.echo((as_csv if kind == "csv" else as_markdown)(head, docket), nl=False)


def _print_text(docket: Docket) -> None:
    from harness.court.rules import RULES

    titles = [f"{engine} ({docket.cases(engine)} cases)" for engine in docket.engines]
    table = Table("rule", *titles, title="what a server relies on")
    for rule in RULES:
        table.add_row(rule, *(docket.word(engine, rule) for engine in docket.engines))
    table_console().print(table)
    for rule, count, heard, one in docket.witnesses():
        documented = f"  documented: {count.documented}\n" if count.documented else ""
        click.echo(
            printable(
                f"\n{heard.engine} {rule}: {RULES[rule].says}\n  {one_line(one.complaint)}\n"
                f"  case {heard.case}, behind {len(one.consumed)} tokens\n{documented}"
            ).rstrip()
        )
    for engine, reasons in docket.not_begun.items():
        click.echo(printable(f"\n{engine} could not be tried on {len(reasons)} cases, such as"))
        case, reason = next(iter(reasons.items()))
        click.echo(f"  {printable(case)}: {one_line(reason, 200)}")


def _replay(path: Path, *, trust: bool, as_json: bool) -> None:
    from harness.court.hearing import Bench, docked
    from harness.court.record import read_record
    from harness.engines.environments import provide
    from harness.engines.specs import parse_spec
    from harness.inputs.vocabulary_readers import open_vocabulary

    head, heard = read_record(path)
    by_engine: dict[str, list[Heard]] = {}
    for one in heard:
        if any(result.violated for result in one.rules.values()):
            by_engine.setdefault(one.engine, []).append(one)
    _check_trusted(path, head, list(by_engine), trust=trust)
    vocabulary = open_vocabulary(head.vocabulary)
    if vocabulary.sha256 != head.vocabulary_sha256:
        raise UsageError(f"{path}: the vocabulary {head.vocabulary!r} is another one now")
    outcomes: list[dict[str, Any]] = []
    for engine, some in by_engine.items():
        with docked(provide(parse_spec(engine)), Bench(vocabulary, seconds=head.seconds)) as dock:
            outcomes += [outcome for one in some for outcome in _retried(dock, one)]
    counts = Counter(one["outcome"] for one in outcomes)
    if as_json:
        print_json({"violations": outcomes, "counts": dict(counts)})
    else:
        for row in outcomes:
            words = f": {one_line(row['complaint'])}" if row["complaint"] else ""
            who = f"{row['engine']} {row['version']}"
            click.echo(printable(f"{row['outcome']:<15}  {who} {row['rule']} {row['case']}{words}"))
        click.echo(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    if counts["shows"] < len(outcomes):
        sys.exit(1)


def _retried(dock: Any, heard: Heard) -> list[dict[str, Any]]:
    """What became of each violation of one engine on one case."""
    from harness.court.hearing import retry

    outcomes = []
    for trial, _ in heard.trials():
        try:
            complaint = retry(dock, trial)
            outcome = "shows" if complaint else "does not show"
        except LookupError as error:
            complaint, outcome = str(error), "cannot be tried"
        outcomes.append(
            {"engine": heard.engine, "version": dock.version, "rule": trial.rule}
            | {"case": heard.case, "outcome": outcome, "complaint": complaint or ""}
        )
    return outcomes


def _check_trusted(path: Path, head: RecordHead, engines: Sequence[str], *, trust: bool) -> None:
    """Refuse what a file names, unless it is known and installed, or the file is trusted.

    Raises:
        UsageError: It would have something imported, installed or opened.
    """
    from harness.engines.environments import is_installed
    from harness.engines.specs import BUILT_IN, parse_spec, read_spec
    from harness.inputs.vocabulary_names import vocabulary_names

    for engine in engines:
        known = head.vocabulary in vocabulary_names() and read_spec(engine).name in BUILT_IN
        if not trust and not (known and is_installed(parse_spec(engine))):
            raise UsageError(
                f"{path} would have {engine!r} or {head.vocabulary!r} imported, installed "
                "or opened",
                "if you trust who made the file, allow it: --trust",
            )
