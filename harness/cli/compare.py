"""The command ``maskcourt compare``: what changed from one version of an engine to another."""

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
from harness.cli.printing import print_json, table_console
from harness.cli.summary import find_bugs
from harness.errors import UsageError
from harness.verdict_kinds import BUG

if TYPE_CHECKING:
    from harness.bugs.listing import BugList
    from harness.versions.sides import Side


@click.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path), required=False)
@click.option("--old", "first", metavar="SPEC", help="The old engine, as its run names it.")
@click.option("--new", "second", metavar="SPEC", help="The new engine, as its run names it.")
@click.option("--markdown", is_flag=True, help="Print Markdown, say for a pull request.")
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a page.",
)
@click.option("--lanes", type=click.IntRange(min=1), metavar="N", help="Verdicts shrunk at a time.")
@search_option
@seed_option
@departures_option
@trust_option
@json_option
def compare(
    old: Path,
    new: Path | None,
    first: str | None,
    second: str | None,
    markdown: bool,
    report: Path | None,
    lanes: int | None,
    seconds: float | None,
    seed: int,
    departures: Path | None,
    trust: bool,
    as_json: bool,
) -> None:
    """Say which bugs of the run OLD are fixed in the run NEW, which are new, which still there.

    Of one run alone, the oldest and the newest version of each engine in it are compared. The bugs
    are searched for where they are not known yet; the smallest case of each is put to the other
    version.
    """
    from harness.bugs.listing import bug_list
    from harness.classification.departures import load_catalogue
    from harness.execution.lanes import default_lanes
    from harness.runs.directory import open_run
    from harness.versions.compare import as_json as rows
    from harness.versions.compare import compare as compared
    from harness.versions.sides import sides
    from harness.versions.text import comparison_markdown, write_page

    if as_json and markdown:
        raise UsageError("--json and --markdown are both given", "leave one out")
    stored = [open_run(run, trust=trust) for run in (old, new or old)]
    catalogue = load_catalogue(departures)
    how = {"classes": (BUG,), "seed": seed, "lanes": lanes or default_lanes(1), "seconds": seconds}

    found_in: dict[Path, BugList] = {}

    def bugs(side: Side) -> BugList:
        run = side.run
        if run.path not in found_in:
            found_in[run.path] = bug_list(run, find_bugs(run, catalogue, **how))
        return found_in[run.path]

    pairs = sides(stored[0], stored[1] if new else stored[0], first, second)
    found = [compared(*pair, bugs, catalogue) for pair in pairs]
    if as_json:
        print_json(rows(found))
    elif markdown:
        click.echo(comparison_markdown(found), nl=False)
    else:
        from rich.markdown import Markdown

        table_console().print(Markdown(comparison_markdown(found)))
    if report is not None:
        click.echo(f"{report} ({write_page(found, report):,} bytes)", err=True)
