"""What a run is summed up to, and the search for the bugs behind it that goes before."""

from __future__ import annotations

import contextlib
import functools
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness import interrupts
from harness.cli.baseline import NO_BASELINE, BaselineCheck
from harness.cli.common import FailOn
from harness.console import print_json, tell
from harness.errors import MaskcourtError
from harness.options import RESULT, option
from harness.printable import one_line
from harness.render.terminal import table_console
from harness.verdict_kinds import BUG

if TYPE_CHECKING:
    from harness.bugs.groups import Explanation
    from harness.bugs.listing import BugList
    from harness.classification.departures import Catalogue
    from harness.runs.directory import RunDirectory


@dataclass(frozen=True)
class ShrinkBudget:
    """How long a finished run is searched for bugs."""

    seconds: float = option(
        60.0,
        "Look N seconds for the few bugs behind the verdicts when the run is finished; 0: not at"
        " all. maskcourt bugs RUN goes on.",
        "--shrink-budget",
        heading=RESULT,
        least=0,
        unit="SECONDS",
    )


def end_run(
    run: RunDirectory,
    fail_on: FailOn,
    budget: ShrinkBudget,
    lanes: int | None,
    as_json: bool,
    baseline: BaselineCheck = NO_BASELINE,
) -> None:
    """Search a run for the bugs behind its verdicts, sum it up in short, leave with 1 if it failed.

    The run is stored: whatever becomes of the search, the summary is printed.
    """
    from harness.classification.departures import load_catalogue

    summary = RunSummary(run, load_catalogue(), fail_on)
    interrupted = False
    seconds, spellings = None if baseline.asked else budget.seconds, baseline.spellings
    if seconds != 0 and run.finished:
        try:
            with interrupts.heeded():
                summary.search(seconds, lanes, spellings=spellings)
        except KeyboardInterrupt:
            interrupted = True
        except Exception as error:  # noqa: BLE001 - whatever it is, the run is good
            tell(f"maskcourt: the search for bugs failed: {one_line(str(error))}")
    with contextlib.suppress(MaskcourtError):
        summary.look_up(spellings=spellings)
    failed = summary.show(as_json=as_json, in_short=True)
    if interrupted:
        raise KeyboardInterrupt
    if baseline.asked:
        failed |= baseline.fails(run, summary.bugs, summary.rule)
    if failed | summary.tell_harness_errors():
        sys.exit(1)


def find_bugs(run: RunDirectory, catalogue: Catalogue, **how: Any) -> Explanation:
    """See `harness.bugs.search.search`; progress goes to standard error."""
    from harness.bugs.printing import ShrinkProgress
    from harness.bugs.search import search

    with ShrinkProgress() as progress:
        return search(run, catalogue, progress=progress.tell, **how)


class RunSummary:
    """Counts of a run, and the bugs behind its verdicts, as far as they are known."""

    def __init__(self, run: RunDirectory, catalogue: Catalogue, fail_on: FailOn) -> None:
        from harness.analysis.tally import summary
        from harness.classification.departures import classify

        fail_on.check(run.manifest["identity"]["engines"])
        self._run, self._catalogue, self._fail_on = run, catalogue, fail_on
        self.rule = functools.cache(functools.partial(classify, catalogue))
        self._counts = summary(run, self.rule)
        self.bugs: BugList | None = None

    def search(self, seconds: float | None, lanes: int | None, *, spellings: bool) -> None:
        """Look for the bugs; nothing is begun after some `seconds`, if there are any."""
        from harness.execution.lanes import default_lanes

        room = default_lanes(1)
        how = {"classes": (BUG,), "seed": 0, "lanes": min(lanes or room, room)}
        how |= {"seconds": seconds, "rule": self.rule, "spellings": spellings}
        find_bugs(self._run, self._catalogue, **how)

    def look_up(self, *, spellings: bool = False) -> None:
        """Take what a search found so far."""
        from harness.bugs.listing import known_bugs

        self.bugs = known_bugs(self._run, self._catalogue, self.rule, spellings=spellings)

    def show(self, *, as_json: bool, in_short: bool = False) -> bool:
        """Print it, in full or in short; whether an engine has a bug that is to be failed on."""
        from harness.report.digest import print_digest
        from harness.report.terminal import print_summary

        path, counts, bugs = str(self._run.path), self._counts, self.bugs
        if as_json:
            found = {
                "bugs": None if bugs is None else [bug.row() for bug in bugs.bugs],
                "unexplained": None if bugs is None else bugs.unexplained,
            }
            print_json({**found, **counts, "run": path})
        elif in_short:
            print_digest(self._run, counts, table_console(), self.rule, bugs)
        else:
            print_summary(counts, path, table_console(), bugs)
        if reasons := self._fail_on.reasons(counts["engines"]):
            tell("maskcourt: failed on " + "; ".join(reasons))
        return bool(reasons)

    def tell_harness_errors(self) -> bool:
        """Say in a line which cases ended in an error of the harness; whether any did."""
        from harness.execution.progress import FAILED

        cases = [
            row
            for row in self._run.table("cases", ["case", "status", "message"]).to_pylist()
            if row["status"] in FAILED
        ]
        if cases:
            last = cases[0]["message"].strip().rpartition("\n")[2]
            many = f"{len(cases):,} case{'s' if len(cases) > 1 else ''}"
            which = f"such as {cases[0]['case']}" if len(cases) > 1 else str(cases[0]["case"])
            about = one_line(f"{which}: {last}")
            tell(f"maskcourt: {many} ended in an error of the harness: {about}")
        return bool(cases)
