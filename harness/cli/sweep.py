"""The command ``maskcourt sweep``: what ``bench`` does, on a Ray cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from harness.cli.common import FailOn
from harness.cli.run_options import Count, Number, Size, is_url, request_of, run_options
from harness.cli.summary import end_run
from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.execution.sweep.start import SweepRequest

_NOT_OF_JOB = {"nodes", "address", "submit", "fail_on", "fail_engine", "as_json"}
"""Which cluster, and what becomes of the summary here."""


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
    fail_on = FailOn.of(options)
    if options["submit"] is not None:
        from harness.execution.sweep.submit import submit

        run = submit(options["submit"], options_of_job(options), options["out"])
    else:
        from harness.execution.sweep.start import start

        run = start(sweep_request(options))
    end_run(run, options, fail_on)


def sweep_request(options: Mapping[str, Any]) -> SweepRequest:
    """What the options ask for."""
    from harness.execution.sweep.start import SweepRequest

    url = options["out"] if is_url(options["out"]) else None
    return SweepRequest(
        request_of({**options, "out": None if url else options["out"]}),
        url=url,
        nodes=options["nodes"] or 1,
        address=options["address"],
        lane_cpus=options["lane_cpus"],
        lane_memory=options["lane_memory"],
    )


def options_of_job(options: Mapping[str, Any]) -> list[str]:
    """The options with which a job does what is asked for here.

    Raises:
        UsageError: The run's place means something else elsewhere.
    """
    out = options["out"]
    if out is None or not (is_url(out) or out.is_absolute()):
        raise UsageError(
            "--submit needs --out as an absolute path or a URL",
            "one that the cluster and this machine see alike",
        )
    given = []
    for option in sweep.params:
        if option.name in _NOT_OF_JOB:
            continue
        value: Any = 0 if option.name == "bugs" else options[str(option.name)]  # sought here
        for one in value if option.multiple else [value]:
            text = "none" if one is None and isinstance(option.type, Count) else one
            given += [] if text is None else [f"{option.opts[0]}={text}"]
    return given
