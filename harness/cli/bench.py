"""The commands ``maskcourt bench | sweep``: a run of the comparison, here or on a Ray cluster."""

from __future__ import annotations

from harness.cli.baseline import BaselineCheck
from harness.cli.common import FailOn, Json
from harness.cli.options import command
from harness.cli.summary import ShrinkBudget, end_run
from harness.errors import UsageError
from harness.execution.request import BenchRequest, SweepRequest


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

    baseline.read()
    end_run(run_bench(request), fail_on, budget, request.lanes, json.as_json, baseline)


@command(SweepRequest, FailOn, Json, ShrinkBudget)
def sweep(request: SweepRequest, fail_on: FailOn, json: Json, budget: ShrinkBudget) -> None:
    """Run the comparison on a Ray cluster; same options, run directory and output as bench.

    All nodes must see --out under the same path.
    """
    from harness.execution.sweep.lanes import sweep as run_sweep

    if request.nodes is not None and request.address is not None:
        raise UsageError("--nodes and --address do not go together", "choose one cluster")
    run = run_sweep(request)
    end_run(run, fail_on, budget, request.bench.lanes, as_json=json.as_json)
