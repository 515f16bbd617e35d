"""The commands ``maskcourt bench | sweep``: a run of the comparison, here or on a Ray cluster."""

from __future__ import annotations

from harness.cli.baseline import BaselineCheck
from harness.cli.common import FailOn, Json, Search
from harness.cli.options import command
from harness.cli.summary import ShrinkBudget, end_run, find_bugs
from harness.errors import UsageError
from harness.execution.request import BenchRequest, SweepRequest
from harness.verdict_kinds import BUG


@command(BenchRequest, FailOn, Json, ShrinkBudget, BaselineCheck)
def bench(
    request: BenchRequest,
    fail_on: FailOn,
    json: Json,
    budget: ShrinkBudget,
    baseline: BaselineCheck,
) -> None:
    """Run the comparison and print who is wrong: the bugs of each engine, how often and why."""
    from harness.execution.bench import bench as run_bench

    if request.constraint == "regex":
        if fail_on.kinds or baseline.asked:
            asked = "--fail-on" if fail_on.kinds else "a baseline, --junit or --summary"
            raise UsageError(f"{asked} does not go with --constraint regex", "read --json")
        _judge_patterns(request, budget, as_json=json.as_json)
        return
    baseline.read()
    end_run(run_bench(request), fail_on, budget, request.lanes, json.as_json, baseline)


def _judge_patterns(request: BenchRequest, budget: ShrinkBudget, *, as_json: bool) -> None:
    from harness.bugs.listing import bug_list
    from harness.bugs.printing import print_bugs
    from harness.console import print_json
    from harness.regex_constraint.summary import as_json as summary
    from harness.regex_constraint.summary import table
    from harness.regex_constraint.work import run_regex
    from harness.render.terminal import print_table

    run = run_regex(request)
    search = Search(request.lanes, budget.seconds).of(BUG)
    listed = bug_list(run, find_bugs(run, **search))
    if as_json:
        print_json({**summary(run), "bugs": [bug.row() for bug in listed.bugs]})
        return
    print_table(table(run))
    print_bugs(listed.bugs, listed)


@command(SweepRequest, FailOn, Json, ShrinkBudget)
def sweep(request: SweepRequest, fail_on: FailOn, json: Json, budget: ShrinkBudget) -> None:
    """Run the comparison on a Ray cluster; same options, run directory and output as bench.

    All nodes must see --out under the same path.
    """
    from harness.execution.sweep.lanes import sweep as run_sweep

    if request.bench.constraint == "regex":
        raise UsageError("--constraint regex is judged on one machine", "maskcourt bench does it")
    if request.nodes is not None and request.address is not None:
        raise UsageError("--nodes and --address do not go together", "choose one cluster")
    run = run_sweep(request)
    end_run(run, fail_on, budget, request.bench.lanes, as_json=json.as_json)
