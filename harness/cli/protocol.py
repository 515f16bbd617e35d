"""``maskcourt protocol``: does a library do what a server relies on, whatever its masks hold?"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from rich.table import Table

from harness.cli.common import json_option, seed_option
from harness.cli.printing import print_json, table_console
from harness.errors import InputError, UsageError
from harness.printable import one_line, printable

if TYPE_CHECKING:
    from harness.court.docket import Docket

_HINT = "a line that maskcourt protocol --out wrote"


@click.command()
@click.option("--engines", multiple=True, metavar="SPECS", help="As of bench; repeatable.")
@click.option("--cases", default="quick", show_default=True, metavar="SPEC", help="As of bench.")
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Only N of the cases.")
@click.option("--vocabulary", default="qwen2.5", show_default=True, help="As of bench.")
@click.option(
    "--texts",
    type=click.IntRange(min=0),
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
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    show_default=True,
    help="Processor time of one rule on one case.",
)
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="Where to write violations."
)
@click.option("--fail-on-violation", is_flag=True, help="Exit with 1 when there is one.")
@click.option(
    "--replay",
    "again",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
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
    if options["again"]:
        _replay(options["again"], trust=options["trust"], as_json=options["as_json"])
    else:
        _hear(options)


def _hear(options: Mapping[str, Any]) -> None:
    from harness.court.docket import Docket
    from harness.court.hearing import Bench, hear, violations
    from harness.court.routes import Thoroughness
    from harness.engines.environments import provide_all
    from harness.engines.specs import DEFAULT, parse_specs
    from harness.inputs.case_selection import open_cases, select
    from harness.inputs.vocabulary_readers import open_vocabulary

    specs = provide_all(parse_specs(options["engines"] or DEFAULT))
    seed = options["seed"]
    cases = select(open_cases(options["cases"]), sample=options["sample"], seed=seed)
    how = Thoroughness(seed, options["texts"], options["positions"])
    bench = Bench(open_vocabulary(options["vocabulary"]), how, options["seconds"])
    docket = Docket()
    with _opened(options["out"]) as out:
        for spec in specs:
            click.echo(printable(f"{spec.name}: {len(cases)} cases"), err=True)
            for told in hear(spec, cases, bench):
                docket.add(told)
                for one in violations(told, bench, options["vocabulary"]):
                    out.write(json.dumps(one) + "\n")
                    out.flush()
    if options["as_json"]:
        print_json(docket.as_json())
    else:
        _print(docket)
    if options["fail_on_violation"] and docket.violated:
        sys.exit(1)


@contextlib.contextmanager
def _opened(path: Path | None) -> Iterator[IO[str]]:
    """Where violations are written, each as soon as it is found."""
    with Path(path or os.devnull).open("w", encoding="utf-8") as file:
        try:
            yield file
        except KeyboardInterrupt as error:
            kept = f"violations so far are in {path}" if path else "nothing is kept without --out"
            raise KeyboardInterrupt(kept) from error


def _print(docket: Docket) -> None:
    from harness.court.rules import RULES

    table = Table("rule", *docket.engines, title="what a server relies on")
    for rule in RULES:
        table.add_row(rule, *(docket.word(engine, rule) for engine in docket.engines))
    console = table_console()
    console.print(table)
    for engine, rule, told in docket.witnesses():
        one = told.result.violated[0]
        documented = f"  documented: {told.documented}\n" if told.documented else ""
        click.echo(
            printable(
                f"\n{engine} {rule}: {RULES[rule].says}\n  {one_line(one.complaint)}\n"
                f"  case {told.case.id}, behind {len(one.consumed)} tokens\n{documented}"
            ).rstrip()
        )
    for engine, reasons in docket.not_begun.items():
        click.echo(printable(f"\n{engine} could not be tried on {len(reasons)} cases, such as"))
        case, reason = next(iter(reasons.items()))
        click.echo(f"  {printable(case)}: {one_line(reason, 200)}")


def _replay(path: Path, *, trust: bool, as_json: bool) -> None:
    from harness.court.hearing import Bench, docked, retry

    stored = list(_read(path))
    outcomes: list[dict[str, Any]] = []
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for one in stored:
        key = one["engine"], one["vocabulary"], one["vocabulary_sha256"]
        groups.setdefault(key, []).append(one)
    for key, some in groups.items():
        vocabulary, spec = _made_with(path, key, trust=trust)
        with docked(spec, Bench(vocabulary)) as dock:
            for one in some:
                try:
                    complaint = retry(dock, _trial(one))
                    outcome = "shows" if complaint else "does not show"
                except LookupError as error:
                    complaint, outcome = str(error), "cannot be tried"
                outcomes.append(
                    {"engine": one["engine"], "version": dock.version, "rule": one["rule"]}
                    | {"case": one["case"], "outcome": outcome, "complaint": complaint or ""}
                )
    counts = Counter(one["outcome"] for one in outcomes)
    if as_json:
        print_json({"violations": outcomes, "counts": dict(counts)})
    else:
        for one in outcomes:
            words = f": {one_line(one['complaint'])}" if one["complaint"] else ""
            who = f"{one['engine']} {one['version']}"
            click.echo(printable(f"{one['outcome']:<15}  {who} {one['rule']} {one['case']}{words}"))
        click.echo(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    if counts["shows"] < len(outcomes):
        sys.exit(1)


def _made_with(path: Path, key: tuple[str, str, str], *, trust: bool) -> tuple[Any, Any]:
    """The vocabulary and the engine that a file names.

    Raises:
        UsageError: Only a trusted file is given them, or the vocabulary is another one now.
    """
    from harness.engines.environments import is_installed, provide
    from harness.engines.specs import BUILT_IN, parse_spec, read_spec
    from harness.inputs.vocabulary_names import vocabulary_names
    from harness.inputs.vocabulary_readers import open_vocabulary

    engine, vocabulary_spec, sha256 = key
    known = vocabulary_spec in vocabulary_names() and read_spec(engine).name in BUILT_IN
    if not trust and not (known and is_installed(parse_spec(engine))):
        raise UsageError(
            f"{path} would have {engine!r} or {vocabulary_spec!r} imported, installed or opened",
            "if you trust who made the file, allow it: --trust",
        )
    vocabulary = open_vocabulary(vocabulary_spec)
    if vocabulary.sha256 != sha256:
        raise UsageError(f"{path}: the vocabulary {vocabulary_spec!r} is another one now")
    return vocabulary, provide(parse_spec(engine))


def _read(path: Path) -> Iterator[dict[str, Any]]:
    """The violations of a file.

    Raises:
        InputError: A line is none.
    """
    texts = {"engine", "rule", "case", "schema", "vocabulary", "vocabulary_sha256"}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            one = json.loads(line)
            right = all(isinstance(one[name], str) for name in texts)
            _trial(one)
        except (ValueError, LookupError, TypeError):
            right = False
        if not right:
            raise InputError(f"{path}:{number} holds no violation", _HINT)
        yield one


def _trial(one: Mapping[str, Any]) -> Any:
    from harness.court.hearing import StoredTrial
    from harness.court.rules import RULES

    consumed, tokens = ([int(token) for token in one[name]] for name in ("consumed", "tokens"))
    if one["rule"] not in RULES:
        raise LookupError(one["rule"])
    return StoredTrial(one["rule"], one["case"], one["schema"], consumed, tokens)
