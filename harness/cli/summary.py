"""What a run is summed up to, and the search for the bugs behind it that goes before."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness import interrupts
from harness.cli.baseline import NO_BASELINE, BaselineCheck
from harness.cli.common import FailOn
from harness.console import print_json, tell
from harness.errors import MaskcourtError
from harness.options import RESULT, option
from harness.printable import one_line, plural
from harness.render.terminal import table_console
from harness.verdict_kinds import BUG

if TYPE_CHECKING:
    from harness.bugs.groups import Explanation
    from harness.bugs.listing import BugList
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
    from harness.bugs.listing import known_bugs
    from harness.execution.lanes import default_lanes

    bugs, interrupted = None, False
    seconds = None if baseline.asked else budget.seconds
    try:
        if seconds != 0 and run.finished:
            room = default_lanes(1)
            how = {"classes": (BUG,), "seed": 0, "lanes": min(lanes or room, room)}
            with interrupts.heeded():
                find_bugs(run, **how, seconds=seconds)
    except KeyboardInterrupt:
        interrupted = True
    except Exception as error:  # noqa: BLE001 - whatever it is, the run is good
        tell(f"maskcourt: the search for bugs failed: {one_line(str(error))}")
    with contextlib.suppress(MaskcourtError):
        bugs = known_bugs(run)
    failed = sum_up(run, bugs, fail_on, as_json=as_json, in_short=True)
    if interrupted:
        raise KeyboardInterrupt
    if baseline.asked:
        failed |= baseline.fails(run, bugs)
    if failed | _tell_harness_errors(run):
        sys.exit(1)


def find_bugs(run: RunDirectory, **how: Any) -> Explanation:
    """See `harness.bugs.search.search`; progress goes to standard error."""
    from harness.bugs.printing import ShrinkProgress
    from harness.bugs.search import search

    with ShrinkProgress() as progress:
        return search(run, progress=progress.tell, **how)


def sum_up(
    run: RunDirectory,
    bugs: BugList | None,
    fail_on: FailOn,
    *,
    as_json: bool,
    in_short: bool = False,
) -> bool:
    """Print the counts of a run and its bugs, as far as they are known; whether it is a failure."""
    from harness.analysis.tally import summary
    from harness.report.digest import print_digest
    from harness.report.terminal import print_summary

    path, counts = str(run.path), summary(run)
    if as_json:
        rows = None if bugs is None else [bug.row() for bug in bugs.bugs]
        unexplained = None if bugs is None else bugs.unexplained
        print_json({"bugs": rows, "unexplained": unexplained, **counts, "run": path})
    elif in_short:
        print_digest(run, counts, table_console(), bugs=bugs)
    else:
        print_summary(counts, path, table_console(), bugs)
    if reasons := fail_on.reasons(counts["engines"]):
        tell("maskcourt: failed on " + "; ".join(reasons))
    return bool(reasons)


def _tell_harness_errors(run: RunDirectory) -> bool:
    """Say in a line which cases ended in an error of the harness; whether any did."""
    from harness.execution.progress import FAILED

    rows = run.table("cases", ["case", "status", "message"]).to_pylist()
    cases = [row for row in rows if row["status"] in FAILED]
    if cases:
        last = cases[0]["message"].strip().rpartition("\n")[2]
        which = f"such as {cases[0]['case']}" if len(cases) > 1 else str(cases[0]["case"])
        about = one_line(f"{which}: {last}")
        many = plural(len(cases), "case")
        tell(f"maskcourt: {many} ended in an error of the harness: {about}")
    return bool(cases)
