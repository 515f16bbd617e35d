"""``maskcourt protocol``: does a library do what a server relies on, whatever its masks hold?"""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from harness.cli.common import json_option, seed_option
from harness.cli.printing import print_json
from harness.errors import UsageError
from harness.printable import one_line, printable

if TYPE_CHECKING:
    from harness.protocol_checks.results import ResultsFile, ResultsHead, Summary

_F = TypeVar("_F", bound=Callable[..., Any])
_FILE = click.Path(path_type=Path, dir_okay=False)
_STORED = click.Path(path_type=Path, dir_okay=False, exists=True)
_COUNT, _SECONDS = click.IntRange(min=0), click.FloatRange(min=0, min_open=True)


def _usual(name: str, default: Any, text: str, kind: Any = str) -> Callable[[_F], _F]:
    return click.option(name, type=kind, default=default, show_default=True, help=text)


@click.command()
@click.option("--engines", multiple=True, metavar="SPECS", help="As of bench; repeatable.")
@_usual("--cases", "quick", "As of bench.")
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Only N of the cases.")
@_usual("--vocabulary", "qwen2.5", "As of bench.")
@_usual("--texts", 2, "Texts of each schema that each engine writes, to be tried along.", _COUNT)
@_usual("--positions", 6, "Places of each text.", click.IntRange(min=2))
@_usual("--whole", 2, "Places of each case where all of a large vocabulary is tried.", _COUNT)
@_usual("--seconds", 120.0, "Processor time of one rule on one case.", _SECONDS)
@click.option("--out", type=_FILE, help="Where to write results; started again it goes on there.")
@click.option("--format", "kind", type=click.Choice(["text", "markdown", "csv"]), default="text")
@click.option("--fail-on-violation", is_flag=True, help="Exit with 1 when there is one.")
@click.option("--write-smallest", type=_FILE, help="Where to write each rule's smallest violation.")
@click.option("--read", "stored", type=_STORED, help="Print what a file holds instead.")
@click.option(
    "--replay",
    "again",
    type=_STORED,
    help="Try the violations of a file again instead; exit with 1 when one shows no more.",
)
@click.option("--trust", is_flag=True, help="Import and install what a file for --replay names.")
@seed_option
@json_option
def protocol(**options: Any) -> None:
    """Hold libraries to what a server relies on: consuming, rollback, forced text, batches.

    No text is judged: each library is held against itself alone.
    """
    from harness.protocol_checks.results import Summary, read_results, write_results

    if options["again"]:
        _replay(options["again"], trust=options["trust"], as_json=options["as_json"])
        return
    if options["stored"]:
        head, results = read_results(options["stored"])
    else:
        file = _check(options)
        head, results = file.head, file.results
    summary = Summary(results)
    if options["write_smallest"]:
        write_results(options["write_smallest"], head, list(summary.smallest()))
    _print(head, summary, "json" if options["as_json"] else options["kind"])
    if options["fail_on_violation"] and summary.violated:
        sys.exit(1)


def _check(options: Mapping[str, Any]) -> ResultsFile:
    from harness.engines.environments import provide_all
    from harness.engines.specs import DEFAULT, parse_specs
    from harness.inputs.case_selection import open_cases, select
    from harness.inputs.vocabulary_readers import open_vocabulary
    from harness.protocol_checks.checks import Settings, run_checks
    from harness.protocol_checks.places import Thoroughness
    from harness.protocol_checks.results import ResultsFile, ResultsHead

    specs = provide_all(parse_specs(options["engines"] or DEFAULT))
    limits = {name: options[name] for name in ("seed", "texts", "positions", "whole")}
    seconds = options["seconds"]
    source, vocabulary = open_cases(options["cases"]), open_vocabulary(options["vocabulary"])
    cases = list(select(source, sample=options["sample"], seed=options["seed"]))
    settings = Settings(vocabulary, Thoroughness(*limits.values()), seconds)
    named = options["vocabulary"], vocabulary.sha256, options["cases"], source.sha256
    file = ResultsFile.open(options["out"], ResultsHead(*named, **limits, seconds=seconds))
    with _interruptible(options["out"]):
        for spec in specs:
            left = [case for case in cases if not file.has(spec.name, case.id)]
            click.echo(printable(f"{spec.name}: {len(left)} cases"), err=True)
            for number, result in enumerate(run_checks(spec, left, settings), 1):
                file.add(result)
                click.echo(printable(f"  {number}/{len(left)} {result.case}"), err=True)
    return file


@contextlib.contextmanager
def _interruptible(out: Path | None) -> Iterator[None]:
    """Say what is kept where the work is interrupted."""
    try:
        yield
    except KeyboardInterrupt as error:
        kept = f"the same command goes on in {out}" if out else "nothing is kept without --out"
        raise KeyboardInterrupt(kept) from error


def _print(head: ResultsHead, summary: Summary, kind: str) -> None:
    from harness.protocol_checks.results import details, lines_of_witnesses, matrix
    from harness.render.table import as_csv, as_markdown
    from harness.render.terminal import print_lines, print_table

    witnesses = lines_of_witnesses(summary)
    if kind == "json":
        print_json(summary.as_json())
    elif kind == "csv":
        click.echo(as_csv(details(head, summary)), nl=False)
    elif kind == "markdown":
        click.echo("\n".join([as_markdown(matrix(head, summary)), *_listed(witnesses)]))
    else:
        print_table(matrix(head, summary))
        print_lines(witnesses)
        for engine in summary.engines:
            if reasons := summary.not_begun(engine):
                case, reason = next(iter(reasons.items()))
                many = f"{engine} could not be tried on {len(reasons)} cases"
                print_lines([f"{many}, such as {case}: {one_line(reason, 200)}"])


def _listed(lines: Iterator[str]) -> Iterator[str]:
    from harness.printable import markdown

    return (f"- {markdown(line)}" for line in lines)


def _replay(path: Path, *, trust: bool, as_json: bool) -> None:
    from harness.engines.environments import provide
    from harness.engines.specs import parse_spec
    from harness.inputs.vocabulary_readers import open_vocabulary
    from harness.protocol_checks.checks import Settings, hosted
    from harness.protocol_checks.results import read_results

    head, results = read_results(path)
    broken = [one for one in results if any(rule.violated for rule in one.rules.values())]
    engines = list(dict.fromkeys(one.engine for one in broken))
    _check_trusted(path, head, engines, trust=trust)
    vocabulary = open_vocabulary(head.vocabulary)
    if vocabulary.sha256 != head.vocabulary_sha256:
        raise UsageError(f"{path}: the vocabulary {head.vocabulary!r} is another one now")
    rows: list[dict[str, Any]] = []
    for engine in engines:
        settings = Settings(vocabulary, seconds=head.seconds)
        with hosted(provide(parse_spec(engine)), settings) as host:
            rows += [row for one in broken if one.engine == engine for row in _replayed(host, one)]
    counts = Counter(row["outcome"] for row in rows)
    if as_json:
        print_json({"violations": rows, "counts": dict(counts)})
    else:
        for row in rows:
            words = f": {one_line(row['complaint'])}" if row["complaint"] else ""
            which = f"{row['engine']} {row['version']} {row['rule']} {row['case']}"
            click.echo(printable(f"{row['outcome']:<15}  {which}{words}"))
        click.echo(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    if counts["shows"] < len(rows):
        sys.exit(1)


def _replayed(host: Any, result: Any) -> Iterator[dict[str, Any]]:
    """What became of each violation of one engine on one case."""
    for rule, found in result.rules.items():
        for violation in found.violated:
            try:
                complaint = host.replay(result, rule, violation)
                outcome = "shows" if complaint else "does not show"
            except LookupError as error:
                complaint, outcome = str(error), "cannot be tried"
            which = {"engine": result.engine, "version": host.version, "rule": rule}
            yield which | {"case": result.case, "outcome": outcome, "complaint": complaint or ""}


def _check_trusted(path: Path, head: ResultsHead, engines: list[str], *, trust: bool) -> None:
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
