"""The command ``maskcourt sweep``: what ``bench`` does, on a Ray cluster."""

from __future__ import annotations

from typing import Any

import click

from harness.cli.run_options import Number, Size, is_url, request_of, run_options
from harness.cli.runs import show_summary
from harness.errors import UsageError


@click.command()
@click.option(
    "--nodes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Nodes of the cluster that is started on this machine.  [default: 1]",
)
@click.option(
    "--address",
    metavar="HOST:PORT|auto",
    help="An existing Ray cluster instead, from a machine that is part of it.",
)
@click.option(
    "--submit",
    metavar="URL",
    help="Submit as a job to the cluster with this dashboard (http://HOST:8265); needs --out.",
)
@click.option(
    "--lane-cpus",
    type=Number("CPUS"),
    default=1.0,
    show_default=True,
    help="Processors that a lane is taken to keep busy.",
)
@click.option(
    "--lane-memory",
    type=Size(),
    help="Memory that a lane is taken to need.  [default: 1G, and 1G per engine's host]",
)
@run_options
def sweep(**options: Any) -> None:
    """Run the comparison on a Ray cluster; same options, run directory and output as bench.

    --out may be a URL that fsspec knows, such as s3://bucket/run.
    """
    chosen = [name for name in ("nodes", "address", "submit") if options[name] is not None]
    if len(chosen) > 1:
        given = " and ".join(f"--{name}" for name in chosen)
        raise UsageError(f"{given} do not go together", "choose one cluster")
    from harness.execution.sweep.start import SweepRequest, start

    out = options["out"]
    url = out if is_url(out) else None
    request = SweepRequest(
        request_of({**options, "out": None if url else out}),
        url=url,
        nodes=options["nodes"] or 1,
        address=options["address"],
        submit=options["submit"],
        lane_cpus=options["lane_cpus"],
        lane_memory=options["lane_memory"],
    )
    run = start(request)
    show_summary(run, as_json=options["as_json"], fail_on=options["fail_on"])
