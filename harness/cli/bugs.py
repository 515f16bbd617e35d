"""The commands ``maskcourt bugs | minimize``: the few bugs behind the verdicts of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.common import (
    departures_option,
    json_option,
    search_option,
    seed_option,
    trust_option,
)
from harness.cli.printing import print_json
from harness.cli.summary import find_bugs
from harness.printable import printable
from harness.verdict_kinds import BUG, CLASSES, ERRORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.bugs.listing import Bug, BugList
    from harness.runs.directory import RunDirectory
    from harness.versions.bugs import MetBug

_run = click.argument("run", type=click.Path(path_type=Path))
_write = click.option(
    "--write",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write a stand-alone script and a text for the engine's tracker of each.",
)


@click.command()
@click.argument("runs", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="RUN…")
@click.option("--engine", metavar="NAME", help="Only bugs of this engine.")
@click.option("--kind", type=click.Choice(ERRORS), help="Only bugs of this kind.")
@click.option("--keyword", help="Only bugs whose smallest schema has this keyword.")
@click.option("--shared", is_flag=True, help="Only errors that all engines make.")
@click.option(
    "--also",
    metavar="SPEC,…",
    default="",
    help="Put the smallest cases to these engines, too, which had no part in the run.",
)
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
@search_option
@seed_option
@departures_option
@trust_option
@json_option
def bugs(
    runs: tuple[Path, ...],
    engine: str | None,
    kind: str | None,
    keyword: str | None,
    shared: bool,
    also: str,
    class_: str,
    lanes: int | None,
    write: Path | None,
    seconds: float | None,
    seed: int,
    departures: Path | None,
    trust: bool,
    as_json: bool,
) -> None:
    """Find the bugs behind the verdicts of a finished run, each shrunk to its smallest case.

    What is found is kept in the run and used again; an interrupted search goes on. Of several runs,
    say of the same cases with other vocabularies, it says of each bug in which it was met.
    """
    from harness.bugs.listing import bug_list
    from harness.bugs.printing import print_bug, print_unexplained
    from harness.classification.departures import load_catalogue
    from harness.engines.environments import provide_all
    from harness.engines.specs import parse_specs
    from harness.execution.lanes import default_lanes
    from harness.runs.directory import open_run
    from harness.versions.bugs import bugs_across, with_others
    from harness.versions.sides import require_engine, require_finished

    further = provide_all(parse_specs([also])) if also else []
    stored = [open_run(run, trust=trust) for run in runs]
    for one in stored:
        require_finished(one)
        if engine is not None:
            require_engine(one, engine)
    how = {
        "classes": (class_,),
        "seed": seed,
        "lanes": lanes or default_lanes(1),
        "seconds": seconds,
    }
    catalogue = load_catalogue(departures)
    lists = {
        name: (
            one,
            with_others(one, bug_list(one, find_bugs(one, catalogue, **how)), further, catalogue),
        )
        for name, one in zip(_names(stored), stored, strict=True)
    }
    chosen = [
        one
        for one in bugs_across(lists)
        if engine in (None, one.bug.engine)
        and kind in (None, one.bug.error.kind)
        and (keyword is None or f'"{keyword}":' in one.bug.error.schema)
        and (one.bug.shared or not shared)
    ]
    written = _written(write, [one.bug for one in chosen]) if write is not None else []
    if as_json:
        print_json({**_as_json(lists, chosen), "written": written})
        return
    for met in chosen:
        print_bug(met.bug)
        if len(lists) > 1:
            click.echo(printable(f"  met with: {_in_words(met)}"))
    for name, (_, everything) in lists.items():
        print_unexplained(everything, class_, name if len(lists) > 1 else "")
    for file in written:
        click.echo(file)


def _names(runs: list[RunDirectory]) -> list[str]:
    """What runs are called: by their vocabularies where these tell them apart.

    That they are of different cases is said on standard error: bugs may be missing for that.
    """
    from harness.report.query import run_names

    names = run_names(runs)
    identities = [run.manifest["identity"] for run in runs]
    if any(one.get("data") != identities[0].get("data") for one in identities):
        click.echo(
            "maskcourt: the runs are of different cases; a bug may be missing for that",
            err=True,
        )
    vocabularies = [one.get("vocabulary", {}).get("name", "") for one in identities]
    return vocabularies if len(set(vocabularies)) == len(runs) else names


def _in_words(one: MetBug) -> str:
    words = {True: "yes", False: "no", None: "not judged"}
    return ", ".join(f"{name} {words[met]}" for name, met in one.met.items())


def _as_json(
    lists: Mapping[str, tuple[RunDirectory, BugList]], chosen: list[MetBug]
) -> dict[str, object]:
    """One run as ever; of several, the counts of each by its name, and where each bug was met."""
    each = {
        name: {
            "run": str(run.path),
            "verdicts": everything.verdicts,
            "explained": everything.explained,
            "unexplained": everything.unexplained,
            "sampled": everything.sampled,
            "misattributed": everything.misattributed,
        }
        for name, (run, everything) in lists.items()
    }
    if len(lists) == 1:
        (counts,) = each.values()
        return {"bugs": [one.bug.row() for one in chosen], **counts}
    return {"runs": each, "bugs": [{**one.bug.row(), "met": one.met} for one in chosen]}


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
            click.echo(printable(f"verdict {verdict} is not shrunk: {sample.reason}"))
        return
    one = bug_of(stored, sample)
    if as_json:
        print_json({"run": str(run), "verdict": verdict, "bug": one.row(), "reason": ""})
    else:
        print_bug(one)
