"""The commands ``maskcourt impact …``: what mask errors cost a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.common import Json
from harness.cli.options import RUN, command
from harness.console import print_json
from harness.errors import UsageError
from harness.impact.request import ImpactRequest
from harness.render.table import Table
from harness.render.terminal import print_lines, print_table
from harness.verdict_kinds import LOST_VALUE, SPELLING, TRAP, UNCLEAR

if TYPE_CHECKING:
    from harness.analysis.statistics import Interval
    from harness.impact.answers import ImpactRun
    from harness.impact.summary import Accuracy, EngineImpact

_COSTS = {LOST_VALUE: "values lost", TRAP: "traps"}
_COSTS |= {UNCLEAR: "wrongly, unclear", SPELLING: "spellings"}
"""What a step that was wrongly overruled cost, by effect."""

_DATA = click.Path(path_type=Path, exists=True)


@click.group()
def impact() -> None:
    """Find out what mask errors cost a language model: answers, probability, time."""


@command(ImpactRequest, Json)
@click.option(
    "--data",
    type=_DATA,
    metavar="PATH",
    help="The data of BFCL; else those of the installed package bfcl-eval.",
)
def bfcl(request: ImpactRequest, json: Json, data: Path | None) -> None:
    """Function calls of the Berkeley Function Calling Leaderboard, answered under each engine."""
    _run("bfcl", data, request, json)


@command(ImpactRequest, Json)
@click.option("--data", type=_DATA, required=True, metavar="PATH", help="The data of the task.")
def keys(request: ImpactRequest, json: Json, data: Path) -> None:
    """The same question with its instruction in other places: do names of keys carry it?"""
    _run("keys", data, request, json)


@command(Json)
@click.argument("run", type=RUN, metavar="DIR")
def show(json: Json, run: Path) -> None:
    """Print what a run says of each engine so far."""
    from harness.impact.answers import open_impact

    _print(open_impact(run), as_json=json.as_json)


for _command in (bfcl, keys, show):
    impact.add_command(_command)


def _run(task: str, data: Path | None, request: ImpactRequest, json: Json) -> None:
    from harness.impact.work import run_impact

    engines = [spec for spec in request.engines if spec]
    if not engines and not request.how.unconstrained:
        raise UsageError("there is nobody to answer", "name --engines")
    asked = replace(request, task=task, task_options={"path": data}, engines=engines)
    _print(run_impact(asked), as_json=json.as_json)


def _print(run: ImpactRun, *, as_json: bool) -> None:
    from harness.impact import summary

    engines, answers = summary.summarize(run), summary.accuracy(run)
    if as_json:
        print_json(summary.as_json(run, engines, answers))
        return
    print_table(_answers(run, engines, answers))
    print_lines(_comparison(answers))
    print_table(_masks(engines))
    print_table(_times(engines))
    for name, engine in engines.items():
        for what, counts in (("bug", engine.bugs), ("departure", engine.departures)):
            print_lines(
                f"{name}: {steps} steps, {effect.replace('_', ' ')}, {what} {id_}"
                for effect, some in counts.items()
                for id_, steps in some.items()
            )


def _comparison(answers: Accuracy) -> Iterator[str]:
    """Who is better, and what the placements of an instruction do."""
    yield from (pair.verdict for pair in answers.pairs)
    if answers.unanswerable:
        yield (
            f"left out of these: {answers.unanswerable} items that no text which keeps their"
            " schema answers rightly"
        )
    for name, placed in answers.placements.items():
        shares = ", ".join(f"{place} {_share(share)}" for place, share in placed.accuracy.items())
        yield f"{name}, {placed.groups} questions: {shares}"
        for effect in placed.effects:
            yield f"  {effect.name}: {effect.value:+.1%}, {effect.verdict}"


def _share(share: Interval) -> str:
    return "" if share.value is None else f"{share.value:.1%}{share.in_brackets}"


def _answers(run: ImpactRun, engines: Mapping[str, EngineImpact], answers: Accuracy) -> Table:
    task = run.manifest["identity"]["task"]
    rows = []
    for name, engine in engines.items():
        rest = {what: count for what, count in engine.outcomes.items() if what != "answered"}
        row = {"engine": name, "asked": engine.items, "answered": engine.answered}
        row |= {"parsed": engine.parsed, "right": engine.correct}
        row |= {"share": _share(answers.shares[name])}
        others = (f"{count} {what.replace('_', ' ')}" for what, count in rest.items())
        rows.append({**row, "others": ", ".join(others)})
    return Table.of_rows(f"answers to {task['name']}, {task['items']} items", rows)


def _masks(engines: Mapping[str, EngineImpact]) -> Table:
    from harness.impact.answers import UNCONSTRAINED

    rows = []
    for name, engine in engines.items():
        if name != UNCONSTRAINED:
            row = {"engine": name, "tokens": engine.tokens, "overruled": engine.overruled}
            row |= {words: engine.effects.get(effect, 0) for effect, words in _COSTS.items()}
            row |= {"rightly": engine.rulings["right"], "open": engine.rulings["open"]}
            row |= {"mass removed": f"{engine.removed:.3%}"}
            row |= {"mass wrongly": f"{engine.proven_mass:.3%}"}
            rows.append({**row, "mass of values": f"{engine.losing_mass:.3%}"})
    return Table.of_rows("what masks took from the model", rows)


_TIMES = {
    "compile": ("first mask ms", "{:.1f}"),
    "mask": ("mask ms", "{:.3f}"),
    "model": ("model ms", "{:.2f}"),
    "texts": ("texts a step", "{:.1f}"),
    "overhead": ("overhead", "{:+.1f}%"),
    "whole": ("whole answer", "{:+.1f}%"),
}
"""Means of `CostSummary`, with their titles and how they are printed."""


def _times(engines: Mapping[str, EngineImpact]) -> Table:
    rows = []
    for name, engine in engines.items():
        halves = ((f"{one.smallest:,} to {one.largest:,}", one.cost) for one in engine.by_size)
        for which, cost in (("all", engine.cost), *halves):
            row = {"engine": name if which == "all" else "", "schemas, bytes": which}
            for key, (title, form) in _TIMES.items():
                number = getattr(cost, key)
                row[title] = "" if number is None else form.format(number)
            rows.append(row)
    return Table.of_rows("time per token", rows)
