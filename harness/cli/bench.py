"""The commands ``maskcourt bench | sweep``: a run of the comparison, here or on a Ray cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from harness.cli.baseline import BaselineCheck
from harness.cli.common import FailOn, Json
from harness.cli.options import Number, Option, command, config_option, is_url
from harness.cli.summary import ShrinkBudget, end_run
from harness.errors import UsageError
from harness.execution.bench import BenchRequest
from harness.execution.sweep.start import SweepRequest

_NOT_OF_JOB = {"nodes", "address", "submit", "fail_on", "fail_engine", "json"}
"""Which cluster, and what becomes of the summary here."""


@command(BenchRequest, FailOn, Json, ShrinkBudget, BaselineCheck)
@config_option
def bench(
    request: BenchRequest,
    fail_on: FailOn,
    json: Json,
    budget: ShrinkBudget,
    baseline: BaselineCheck,
) -> None:
    """Run the comparison and print who is wrong: the bugs of each engine, how often and why."""
    from harness.execution.bench import bench as run_bench

    if is_url(request.out):
        raise UsageError(
            f"bench writes to directories of this machine, not to {request.out}",
            "maskcourt sweep writes to URLs",
        )
    _check(fail_on, request)
    baseline.read()
    end_run(run_bench(request), fail_on, budget, request.lanes, json.as_json, baseline)


@command(SweepRequest, FailOn, Json, ShrinkBudget)
@config_option
@click.option(
    "--submit",
    metavar="URL",
    help="Submit as a job to the cluster with this dashboard (http://HOST:8265); needs --out.",
)
def sweep(
    request: SweepRequest, fail_on: FailOn, json: Json, budget: ShrinkBudget, submit: str | None
) -> None:
    """Run the comparison on a Ray cluster; same options, run directory and output as bench.

    --out may be a URL that fsspec knows, such as s3://bucket/run.
    """
    clusters = {"nodes": request.nodes, "address": request.address, "submit": submit}
    chosen = [f"--{name}" for name, value in clusters.items() if value is not None]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} do not go together", "choose one cluster")
    _check(fail_on, request.bench)
    out = request.bench.out
    if submit is not None:
        from harness.execution.sweep import submit as jobs

        words = options_of_job(click.get_current_context())
        assert out is not None, "asked for"
        run = jobs.submit(submit, words, out)
    else:
        from harness.execution.sweep import start

        if is_url(out):
            request = replace(request, bench=replace(request.bench, out=None), url=str(out))
        run = start.start(request)
    end_run(run, fail_on, budget, request.bench.lanes, as_json=json.as_json)


def _check(fail_on: FailOn, request: BenchRequest) -> None:
    """Refuse engines to fail on that are not in the run, before it begins."""
    if fail_on.engines:
        from harness.engines.specs import parse_specs

        fail_on.check([spec.name for spec in parse_specs(request.engines)])


def options_of_job(context: click.Context) -> list[str]:
    """The options with which a job does what is asked for here.

    Raises:
        UsageError: The run's place means something else elsewhere.
    """
    given = context.params
    out = given["out"]
    if out is None or not (is_url(out) or out.is_absolute()):
        raise UsageError(
            "--submit needs --out as an absolute path or a URL",
            "one that the cluster and this machine see alike",
        )
    words = []
    for param in context.command.params:
        if param.name in _NOT_OF_JOB or not param.expose_value:
            continue
        value: Any = 0 if param.name == "shrink_budget" else given[str(param.name)]  # done here
        for one in value if isinstance(param, Option) and param.multiple else [value]:
            none = one is None and isinstance(param.type, Number) and param.type.none
            words += (
                [] if one is None and not none else [f"{param.opts[0]}={'none' if none else one}"]
            )
    return words
