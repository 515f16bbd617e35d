"""What a run is summed up to, and the search for the bugs behind it that goes before."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from harness import interrupts
from harness.cli.baseline import NO_BASELINE, BaselineCheck
from harness.cli.common import FailOn
from harness.cli.printing import print_json, table_console
from harness.errors import MaskcourtError
from harness.printable import one_line
from harness.verdict_kinds import BUG

if TYPE_CHECKING:
    from harness.bugs.listing import BugList
    from harness.bugs.search import SearchResult
    from harness.classification.departures import Catalogue
    from harness.runs.directory import RunDirectory


def end_run(
    run: RunDirectory,
    options: Mapping[str, Any],
    fail_on: FailOn,
    baseline: BaselineCheck = NO_BASELINE,
) -> None:
    """Search a run for the bugs behind its verdicts, as the options say, and sum it up in short.

    The run is stored: whatever becomes of the search, the summary is printed.

    Raises:
        KeyboardInterrupt: The search was interrupted.
        UsageError: The run was to be compared with a baseline, and not all of its bugs are known.
    """
    from harness.classification.departures import load_catalogue

    summary = Summary(run, load_catalogue(), fail_on)
    interrupted = False
    seconds = None if baseline.asked else options["bugs"]
    if seconds != 0 and run.finished:
        try:
            with interrupts.heeded():
                summary.search(seconds, options["lanes"])
        except KeyboardInterrupt:
            interrupted = True
        except Exception as error:  # noqa: BLE001 - whatever it is, the run is good
            click.echo(f"maskcourt: the search for bugs failed: {one_line(str(error))}", err=True)
    with contextlib.suppress(MaskcourtError):
        summary.look_up()
    failed = summary.show(as_json=options["as_json"], in_short=True)
    if interrupted:
        raise KeyboardInterrupt
    if baseline.asked:
        failed |= baseline.fails(run, summary.bugs, summary.rule)
    if failed:
        sys.exit(1)


def find_bugs(run: RunDirectory, catalogue: Catalogue, **how: Any) -> SearchResult:
    """See `harness.bugs.search.search`; how far it is is told on standard error."""
    from harness.bugs.printing import ShrinkProgress
    from harness.bugs.search import search

    with ShrinkProgress() as progress:
        return search(run, catalogue, progress=progress.tell, **how)


class Summary:
    """What a run found: counts, and the bugs behind its verdicts, where they are known.

    Args:
        run: The run, finished or not.
        catalogue: The declared departures.
        fail_on: What to leave with 1 for.

    Attributes:
        bugs: The bugs, as far as they are known.
        rule: Gives verdicts their classes.
    """

    def __init__(self, run: RunDirectory, catalogue: Catalogue, fail_on: FailOn) -> None:
        from harness.classification.departures import classify
        from harness.report.tally import summary

        fail_on.check(run.manifest["identity"]["engines"])
        self._run = run
        self._catalogue = catalogue
        self._fail_on = fail_on
        self.rule = functools.cache(functools.partial(classify, catalogue))
        self._counts = summary(run, self.rule)
        self.bugs: BugList | None = None

    def search(self, seconds: float | None, lanes: int | None) -> None:
        """Look for the bugs; nothing is begun after some `seconds`, if there are any.

        Raises:
            MaskcourtError: The run's engines or its vocabulary cannot be used.
        """
        from harness.execution.lanes import default_lanes

        room = default_lanes(1)
        how = {"classes": (BUG,), "seed": 0, "lanes": min(lanes or room, room)}
        find_bugs(self._run, self._catalogue, **how, seconds=seconds, rule=self.rule)

    def look_up(self) -> None:
        """Take what a search found so far.

        Raises:
            RunDirectoryError: The run is damaged.
        """
        from harness.bugs.listing import known_bugs

        self.bugs = known_bugs(self._run, self._catalogue, self.rule)

    def show(self, *, as_json: bool, in_short: bool = False) -> bool:
        """Print it: the bugs first, then the tables, or all that `in_short`.

        Returns:
            Whether an engine has a bug that is to be failed on; which, is said.
        """
        from harness.report.digest import print_digest
        from harness.report.render import print_summary

        path, counts, bugs = str(self._run.path), self._counts, self.bugs
        if as_json:
            found = {
                "bugs": None if bugs is None else [one.row() for one in bugs.bugs],
                "unexplained": None if bugs is None else bugs.unexplained,
            }
            print_json({**found, **counts, "run": path})
        elif in_short:
            print_digest(self._run, counts, table_console(), self.rule, bugs)
        else:
            print_summary(counts, path, table_console(), bugs)
        if reasons := self._fail_on.reasons(counts["engines"]):
            click.echo("maskcourt: failed on " + "; ".join(reasons), err=True)
        return bool(reasons)
