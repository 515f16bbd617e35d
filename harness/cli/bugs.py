"""The commands ``maskcourt bugs | compare``: the few bugs behind many verdicts."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.common import Json, Search, Trusting
from harness.cli.options import RUN, command
from harness.cli.summary import find_bugs
from harness.console import print_json, say
from harness.errors import UsageError
from harness.options import option
from harness.render.terminal import table_console
from harness.verdict_kinds import BUG, CLASSES, ERRORS

if TYPE_CHECKING:
    from harness.bugs.listing import Bug, BugList
    from harness.runs.directory import RunDirectory


@dataclass(frozen=True)
class Wanted:
    """Which bugs are listed."""

    engine: str | None = option(None, "Only bugs of this engine.", metavar="NAME")
    kind: str | None = option(None, "Only bugs of this kind.", choices=ERRORS)
    keyword: str | None = option(None, "Only bugs whose smallest schema has this keyword.")
    shared: bool = option(False, "Only errors that all engines make.")
    class_: str = option(
        BUG,
        "What to look for: bugs, or what engines declare or warn of.",
        "--class",
        choices=CLASSES,
    )
    write: Path | None = option(
        None,
        "Write a stand-alone script and a text for the engine's tracker of each.",
        metavar="DIR",
        writes="directory",
    )

    def __contains__(self, bug: Bug) -> bool:
        return (
            self.kind in (None, bug.error.kind)
            and (self.keyword is None or f'"{self.keyword}":' in bug.error.schema)
            and (bug.shared or not self.shared)
        )


@command(Wanted, Search, Trusting, Json)
@click.argument("run", type=RUN)
def bugs(wanted: Wanted, search: Search, access: Trusting, json: Json, run: Path) -> None:
    """Find the bugs behind the verdicts of a finished run, each shrunk to its smallest case.

    What is found is kept in the run and used again; an interrupted search goes on.
    """
    from harness.bugs.listing import bug_list
    from harness.bugs.printing import print_bugs
    from harness.regex_constraint.work import REGEX, open_regex
    from harness.versions.compare import require_finished

    of_patterns = (run / REGEX.file).is_file()
    stored = open_regex(run, trust=access.trust) if of_patterns else access.open(run)
    require_finished(stored, wanted.engine)
    listed = bug_list(stored, find_bugs(stored, **search.of(wanted.class_)), wanted.engine)
    chosen = [bug for bug in listed.bugs if bug in wanted]
    written = _written(wanted.write, chosen) if wanted.write else []
    if json.as_json:
        counts = ("verdicts", "explained", "unexplained", "sampled")
        about = {"run": str(stored.path), **{count: getattr(listed, count) for count in counts}}
        print_json({"bugs": [bug.row() for bug in chosen], **about, "written": written})
        return
    print_bugs(chosen, listed, wanted.class_)
    for file in written:
        say(file)


def _written(directory: Path, chosen: list[Bug]) -> list[str]:
    from harness.bugs.scripts import no_script, report, script
    from harness.report.tables import write_files

    texts = {}
    for bug in chosen:
        if not no_script(bug):
            texts[f"{bug.id}.py"] = script(bug)
        texts[f"{bug.id}.md"] = report(bug)
    return list(map(str, write_files(texts, directory)))


@dataclass(frozen=True)
class Compared:
    """Which engines are compared, and how the comparison is printed."""

    first: str | None = option(None, "The old engine, as in its run.", "--old", metavar="SPEC")
    second: str | None = option(None, "The new engine, likewise.", "--new", metavar="SPEC")
    markdown: bool = option(False, "Print Markdown, say for a pull request.")


@command(Compared, Search, Trusting, Json)
@click.argument("old_run", type=RUN, metavar="OLD")
@click.argument("new_run", type=RUN, metavar="[NEW]", required=False)
def compare(
    asked: Compared,
    search: Search,
    access: Trusting,
    json: Json,
    old_run: Path,
    new_run: Path | None,
) -> None:
    """Say which bugs of the run OLD are fixed in the run NEW, which are new, which still there.

    Of one run alone, the oldest and the newest version of each engine in it are compared. The bugs
    are searched for where they are not known yet; the smallest case of each is put to the other
    version.
    """
    from rich.markdown import Markdown

    from harness.bugs.listing import bug_list
    from harness.versions import compare as versions
    from harness.versions.text import comparison_markdown

    if json.as_json and asked.markdown:
        raise UsageError("--json and --markdown are both given", "leave one out")
    old = access.open(old_run)
    new = access.open(new_run) if new_run else old

    @functools.cache
    def bugs_of(run: RunDirectory) -> BugList:
        return bug_list(run, find_bugs(run, **search.of(BUG)))

    found = [
        versions.compare(*pair, lambda side: bugs_of(side.run))
        for pair in versions.sides(old, new, asked.first, asked.second)
    ]
    if json.as_json:
        print_json(versions.as_json(found))
    elif asked.markdown:
        say(comparison_markdown(found), end="")
    else:
        table_console().print(Markdown(comparison_markdown(found)))
