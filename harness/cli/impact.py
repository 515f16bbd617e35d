"""The commands ``maskcourt impact …``: what mask errors cost a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.common import Json
from harness.cli.options import RUN, command
from harness.console import print_json
from harness.errors import UsageError
from harness.impact.generation import ImpactRequest
from harness.printable import plural
from harness.render.table import Table
from harness.render.terminal import print_lines, print_table
from harness.report.tables import with_interval
from harness.verdict_kinds import LOST_VALUE, SPELLING, TRAP, UNCLEAR

if TYPE_CHECKING:
    from harness.impact.answers import ImpactRun

_COSTS = {
    LOST_VALUE: "values lost",
    TRAP: "traps",
    UNCLEAR: "wrongly, unclear",
    SPELLING: "spellings",
}
"""What a step that was wrongly overruled cost, by effect."""


@click.group()
def impact() -> None:
    """Find out what mask errors cost a language model: answers, probability, time."""


@command(ImpactRequest, Json)
def bfcl(request: ImpactRequest, json: Json) -> None:
    """Function calls of the Berkeley Function Calling Leaderboard, answered under each engine."""
    from harness.impact.bfcl import load
    from harness.impact.work import run_impact

    engines = [spec for spec in request.engines if spec]
    if not engines and not request.how.unconstrained:
        raise UsageError("there is nobody to answer", "name --engines")
    _print(run_impact(replace(request, engines=engines), load()), as_json=json.as_json)


@command(Json)
@click.argument("run", type=RUN, metavar="DIR")
def show(json: Json, run: Path) -> None:
    """Print what a run says of each engine so far."""
    from harness.impact.answers import open_impact

    _print(open_impact(run), as_json=json.as_json)


for _command in (bfcl, show):
    impact.add_command(_command)


def _print(run: ImpactRun, *, as_json: bool) -> None:
    from harness.impact.summary import summarize

    summary = summarize(run)
    if as_json:
        print_json(summary)
        return
    engines: Mapping[str, Mapping[str, Any]] = summary["engines"]
    print_table(answers_table(summary["task"], engines))
    print_lines(comparison_lines(summary))
    print_table(masks_table(engines))
    print_table(_times(engines))
    for name, engine in engines.items():
        if keywords := engine["keywords"]:
            counts = ", ".join(f"{keyword or 'none'} {many}" for keyword, many in keywords.items())
            print_lines([f"{name} forbade wrongly, by the keyword in force: {counts}"])


def comparison_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    yield from (pair["verdict"] for pair in summary["pairs"])
    if summary["unanswerable"]:
        yield (
            f"left out of these: {plural(summary['unanswerable'], 'item')} that no text which keeps"
            " the schema answers rightly"
        )


def answers_table(task: Mapping[str, Any], engines: Mapping[str, Mapping[str, Any]]) -> Table:
    """Of a summary: how many items each engine answered, and how many of them rightly."""
    columns = ("engine", "asked", "answered", "parsed", "right", "share", "others")
    rows = []
    for name, engine in engines.items():
        rest = {what: count for what, count in engine["outcomes"].items() if what != "answered"}
        others = ", ".join(f"{count} {what.replace('_', ' ')}" for what, count in rest.items())
        numbers = (engine[key] for key in ("items", "answered", "parsed", "correct"))
        rows.append((name, *numbers, with_interval(engine["share"]), others))
    return Table.of(f"answers to {task['name']}, {plural(task['items'], 'item')}", columns, rows)


def masks_table(engines: Mapping[str, Mapping[str, Any]]) -> Table:
    """Of a summary: what masks forbade that the model wanted, and what it cost."""
    from harness.impact.answers import UNCONSTRAINED

    columns = ("engine", "tokens", "overruled", *_COSTS.values(), "rightly", "open")
    mass = ("mass removed", "mass wrongly", "mass of values")
    rows = []
    for name, engine in engines.items():
        if name != UNCONSTRAINED:
            costs = (engine["effects"].get(effect, 0) for effect in _COSTS)
            rest = (engine["rulings"][word] for word in ("right", "open"))
            masses = (f"{engine[key]:.3%}" for key in ("removed", "proven_mass", "losing_mass"))
            rows.append((name, engine["tokens"], engine["overruled"], *costs, *rest, *masses))
    return Table.of("what masks took from the model", (*columns, *mass), rows)


def _times(engines: Mapping[str, Mapping[str, Any]]) -> Table:
    columns = ("engine", "first mask ms", "mask ms", "model ms", "texts a step")
    forms = {"compile": "{:.1f}", "mask": "{:.3f}", "model": "{:.2f}", "texts": "{:.1f}"}
    forms |= {"overhead": "{:+.1f}%", "whole": "{:+.1f}%"}
    rows = []
    for name, engine in engines.items():
        costs = ((form, engine["cost"][what]) for what, form in forms.items())
        cells = ("" if number is None else form.format(number) for form, number in costs)
        rows.append((name, *cells))
    return Table.of("time per token", (*columns, "overhead", "whole answer"), rows)
