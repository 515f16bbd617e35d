"""The commands ``maskcourt bugs | minimize``: the few bugs behind the verdicts of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.common import departures_option, json_option, seed_option, trust_option
from harness.cli.printing import print_json
from harness.cli.summary import find_bugs
from harness.errors import UsageError
from harness.verdict_kinds import BUG, CLASSES, ERRORS

if TYPE_CHECKING:
    from harness.bugs.listing import Bug, BugList

_run = click.argument("run", type=click.Path(path_type=Path))
_write = click.option(
    "--write",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write a stand-alone script and a text for the engine's tracker of each.",
)


@click.command()
@_run
@click.option("--engine", metavar="NAME", help="Only bugs of this engine.")
@click.option("--kind", type=click.Choice(ERRORS), help="Only bugs of this kind.")
@click.option("--keyword", help="Only bugs whose smallest schema has this keyword.")
@click.option("--shared", is_flag=True, help="Only errors that all engines of the run make.")
@click.option(
    "--class",
    "class_",
    type=click.Choice(CLASSES),
    default=BUG,
    show_default=True,
    help="What to look for: bugs, or what engines declare or warn of.",
)
@click.option("--lanes", type=click.IntRange(min=1), metavar="N", help="Verdicts shrunk at a time.")
@_write
@seed_option
@departures_option
@trust_option
@json_option
def bugs(
    run: Path,
    engine: str | None,
    kind: str | None,
    keyword: str | None,
    shared: bool,
    class_: str,
    lanes: int | None,
    write: Path | None,
    seed: int,
    departures: Path | None,
    trust: bool,
    as_json: bool,
) -> None:
    """Find the bugs behind the verdicts of a finished run, each shrunk to its smallest case.

    What is found is kept in the run and used again; an interrupted search goes on.
    """
    from harness.bugs.listing import bug_list
    from harness.bugs.printing import print_bugs, print_unexplained
    from harness.classification.departures import load_catalogue
    from harness.execution.lanes import default_lanes
    from harness.runs.directory import open_run

    stored = open_run(run, trust=trust)
    if not stored.finished:
        raise UsageError(
            f"{run} is not finished", "finish it first: the same bench command goes on"
        )
    if engine is not None and engine not in stored.manifest["identity"]["engines"]:
        names = ", ".join(stored.manifest["identity"]["engines"])
        raise UsageError(f"{run} has no engine {engine!r}", f"it has {names}")
    how = {"classes": (class_,), "seed": seed, "lanes": lanes or default_lanes(1)}
    everything = bug_list(stored, find_bugs(stored, load_catalogue(departures), **how))
    chosen = [
        one
        for one in everything.bugs
        if engine in (None, one.engine)
        and kind in (None, one.error.kind)
        and (keyword is None or f'"{keyword}":' in one.error.schema)
        and (one.shared or not shared)
    ]
    written = _written(write, chosen) if write is not None else []
    if as_json:
        print_json({"run": str(run), **_as_json(everything, chosen), "written": written})
        return
    print_bugs(chosen)
    print_unexplained(everything, class_)
    for file in written:
        click.echo(file)


def _as_json(everything: BugList, chosen: list[Bug]) -> dict[str, object]:
    return {
        "bugs": [one.row() for one in chosen],
        "verdicts": everything.verdicts,
        "explained": everything.explained,
        "unexplained": everything.unexplained,
        "sampled": everything.sampled,
        "misattributed": everything.misattributed,
    }


def _written(directory: Path, chosen: list[Bug]) -> list[str]:
    """Write scripts and texts; the names of the files."""
    from harness.bugs.scripts import no_script, report, script

    directory.mkdir(parents=True, exist_ok=True)
    files = []
    for one in chosen:
        if not no_script(one):
            files.append(directory / f"{one.id}.py")
            files[-1].write_text(script(one), "utf-8")
        files.append(directory / f"{one.id}.md")
        files[-1].write_text(report(one), "utf-8")
    return [str(file) for file in files]


@click.command()
@_run
@click.argument("verdict")
@departures_option
@trust_option
@json_option
def minimize(run: Path, verdict: str, departures: Path | None, trust: bool, as_json: bool) -> None:
    """Shrink one verdict to the smallest schema and text that show the same error.

    VERDICT is named as for maskcourt replay: 17 for one of a walk, i3 for one of an instance.
    """
    from harness.bugs.listing import bug_of
    from harness.bugs.printing import print_bug
    from harness.bugs.search import minimized
    from harness.classification.departures import load_catalogue
    from harness.runs.directory import open_run

    stored = open_run(run, trust=trust)
    sample = minimized(stored, load_catalogue(departures), verdict)
    if sample.error is None:
        if as_json:
            print_json({"run": str(run), "verdict": verdict, "bug": None, "reason": sample.reason})
        else:
            click.echo(f"verdict {verdict} is not shrunk: {sample.reason}")
        return
    one = bug_of(stored, sample)
    if as_json:
        print_json({"run": str(run), "verdict": verdict, "bug": one.row(), "reason": ""})
    else:
        print_bug(one)
