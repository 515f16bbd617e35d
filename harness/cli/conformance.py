"""The command ``maskcourt conformance``: which keyword each engine keeps at which place."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.common import departures_option
from harness.cli.printing import print_json
from harness.cli.run_options import SECONDS, Size
from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.conformance.gates import GateScore
    from harness.conformance.outcomes import ConformanceTable
    from harness.conformance.work import ConformanceRequest

FORMATS = ("markdown", "csv", "json", "page")
_OUTCOMES: Mapping[str, tuple[str, ...]] = {
    "too_lax": ("too_lax", "too_lax_and_strict"),
    "too_strict": ("too_strict", "too_lax_and_strict"),
    "failed": ("failed",),
}
_SCORES = ("passed_wrongly", "kept_out_wrongly")
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.option(
    "--engines",
    "-e",
    multiple=True,
    metavar="SPEC,…",
    help="Engines, as maskcourt bench takes them.  [default: xgrammar,llguidance,outlines]",
)
@click.option(
    "--suite",
    type=click.Path(path_type=Path, exists=True),
    metavar="PATH",
    help="Ask about the official JSON-Schema-Test-Suite: a checkout or an archive of it.",
)
@click.option("--draft", "drafts", multiple=True, help="Of the suite: draft7, …; repeatable.")
@click.option("--keyword", "keywords", multiple=True, help="Only this keyword; repeatable.")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where the run goes; started again it goes on.  [default: one under runs/]",
)
@click.option(
    "--run",
    "stored",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Read what was run before into DIR, and start no engine.",
)
@click.option("--format", "kind", type=click.Choice(FORMATS), default="markdown", show_default=True)
@click.option("--gates", type=_FILE, metavar="FILE", help="Score this gate list, not the table.")
@click.option(
    "--write-gates",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write what each engine can be trusted with, for a server to load.",
)
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice([*_OUTCOMES, *_SCORES]),
    help="Exit with 1 on such a cell; the last two are about --gates; repeatable.",
)
@click.option("--vocabulary", default="bytes", show_default=True, metavar="SPEC")
@click.option("--compile-timeout", type=SECONDS, default=2.0, show_default=True)
@click.option("--memory", type=Size(), default="4G", show_default=True, help="Of an engine.")
@click.option("--lanes", type=click.IntRange(min=1), metavar="N", help="Cases at the same time.")
@departures_option
def conformance(**options: Any) -> None:
    """Say which keyword each engine enforces at which place of a schema.

    Every keyword is tried at every place, with values that it allows and values that it forbids;
    the table says for each whether an engine refuses it, enforces it, is too strict or too lax.
    """
    from harness.classification.departures import load_catalogue
    from harness.conformance.gates import gates_of, read_gates, score
    from harness.conformance.outcomes import read_table
    from harness.conformance.work import finished_run, run_cases

    _check(options)
    catalogue = load_catalogue(options["departures"])
    stored = options["stored"]
    run = run_cases(_request(options)) if stored is None else finished_run(stored)
    table = read_table(run, catalogue)
    scores = None
    if (file := options["gates"]) is not None:
        scores = score(read_gates(file, table), table)
    if (target := options["write_gates"]) is not None:
        target.write_text(json.dumps(gates_of(table), indent=1, ensure_ascii=False) + "\n", "utf-8")
    _print(table, scores, options["kind"])
    if reasons := list(_reasons(options["fail_on"], table, scores or [])):
        click.echo("maskcourt: failed on " + "; ".join(reasons), err=True)
        sys.exit(1)


def _check(options: Mapping[str, Any]) -> None:
    """Refuse options that do not go together, before anything is run."""
    if options["drafts"] and options["suite"] is None:
        raise UsageError(
            "--draft goes with --suite", "the generated cases have no choice of drafts"
        )
    if options["suite"] is not None and (options["gates"] or options["write_gates"]):
        raise UsageError("gate lists are about places of a schema", "leave out --suite")
    if options["gates"] is None and set(options["fail_on"]).intersection(_SCORES):
        raise UsageError(f"--fail-on {' and '.join(_SCORES)} go with --gates")
    if options["gates"] is not None and options["kind"] in ("csv", "page"):
        raise UsageError("a score is printed as text or as JSON", "--format json, or none")
    others = ("engines", "suite", "drafts", "keywords", "out")
    if options["stored"] is not None and any(options[name] for name in others):
        raise UsageError("--run reads what was run, which says the engines and cases itself")


def _request(options: Mapping[str, Any]) -> ConformanceRequest:
    from harness.conformance.work import ConformanceRequest
    from harness.engines.panel import Limits
    from harness.engines.specs import DEFAULT

    return ConformanceRequest(
        options["engines"] or [",".join(DEFAULT)],
        options["suite"],
        options["drafts"],
        options["keywords"],
        options["out"],
        options["vocabulary"],
        options["lanes"],
        Limits(compile=options["compile_timeout"], memory=options["memory"]),
    )


def _print(table: ConformanceTable, scores: Sequence[GateScore] | None, kind: str) -> None:
    from harness.conformance.page import as_page
    from harness.conformance.printing import as_csv, as_json, as_markdown, score_lines

    if kind == "json":
        scored = None if scores is None else {"gates": [one.row() for one in scores]}
        print_json(as_json(table) if scored is None else scored)
    elif scores is not None:
        click.echo("\n".join(score_lines(scores)))
    else:
        formats: Mapping[str, Callable[[ConformanceTable], str]] = {
            "markdown": as_markdown,
            "csv": as_csv,
            "page": as_page,
        }
        click.echo(formats[kind](table), nl=False)


def _reasons(
    fail_on: Sequence[str], table: ConformanceTable, scores: Sequence[GateScore]
) -> Iterator[str]:
    """Why to leave with 1."""
    for what in fail_on:
        shown = what.replace("_", " ")
        if what in _OUTCOMES:
            for engine in table.engines:
                words = [one.word for one in table.outcomes if one.engine == engine]
                if found := sum(word in _OUTCOMES[what] for word in words):
                    yield f"{engine}: {found:,} cells {shown}"
        else:
            for one in scores:
                if cells := getattr(one, what):
                    yield f"{one.engine}: {len(cells):,} cells {shown}"
