"""A sweep as a job of a Ray cluster: the same command, run there; its log on standard error.

The run must be where both the cluster and this machine find it, or at a URL: the summary is made
here, from the run.
"""

from __future__ import annotations

import hashlib
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.comparison.case_run import Rules
from harness.engines.panel import Limits
from harness.errors import MaskcourtError, UsageError
from harness.execution.sweep.cluster import import_ray
from harness.runs.directory import RunDirectory, open_run

if TYPE_CHECKING:
    from harness.execution.sweep.start import SweepRequest

COMMAND = ("python", "-m", "harness.cli.main", "sweep", "--address", "auto")
"""The same command there; the cluster's nodes have the program installed."""

POLL_SECONDS = 1.0

TRIES = 60
"""Times that a cluster without a place for the job is asked."""


def submit(request: SweepRequest) -> RunDirectory:
    """Submit a sweep, wait for its end, and open its run.

    Ctrl-C ends the waiting and not the job.

    Raises:
        UsageError: No --out, or a path that means something else elsewhere.
        MaskcourtError: The job failed, or its run is not to be seen from here.
    """
    command = command_of(request)
    import_ray(local=False)
    from ray.job_submission import JobSubmissionClient

    try:
        client = JobSubmissionClient(request.submit)
        job = _submitted(client, shlex.join(command))
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = next(iter(str(error).splitlines()), "")
        raise MaskcourtError(
            f"no job can be submitted to {request.submit}: {reason}",
            "is it the address of a dashboard, http://HOST:8265?",
        ) from error
    _say(f"submitted as {job}; ray job logs --address {request.submit} {job}")
    status = _followed(client, job)
    if status != "SUCCEEDED":
        raise MaskcourtError(f"job {job} ended as {status.lower()}", "its log says why")
    return _opened(request)


def command_of(request: SweepRequest) -> list[str]:
    """The command that the job runs.

    Raises:
        UsageError: A place that means something else elsewhere.
    """
    bench = request.bench
    out = request.url or (str(bench.out) if bench.out is not None else "")
    if not out or not (request.url or Path(out).is_absolute()):
        raise UsageError(
            "--submit needs --out as an absolute path or a URL",
            "one that the cluster and this machine see alike",
        )
    pairs: list[tuple[str, Any]] = [("--engines", one) for one in bench.engines]
    pairs += [("--family", one) for one in bench.families]
    pairs += [
        ("--cases", bench.cases),
        ("--out", out),
        ("--id", bench.pattern),
        ("--limit", bench.limit),
        ("--sample", bench.sample),
        ("--vocabulary", bench.vocabulary),
        ("--eos", bench.eos),
        ("--lanes", bench.lanes),
        ("--resolver", bench.resolver),
        *_of_rules(bench.rules),
        *_of_limits(bench.limits),
        ("--lane-cpus", request.lane_cpus),
        ("--lane-memory", request.lane_memory),
    ]
    given = [f"{name}={value}" for name, value in pairs if value is not None]
    # --json keeps the table off the job's log: the summary is made here
    return [*COMMAND, *given, "--json"]


def _of_rules(rules: Rules) -> list[tuple[str, Any]]:
    cap = "none" if rules.cap is None else rules.cap
    return [(f"--{name}", value) for name, value in {**asdict(rules), "cap": cap}.items()]


def _of_limits(limits: Limits) -> list[tuple[str, Any]]:
    return [
        ("--compile-timeout", limits.compile),
        ("--mask-timeout", limits.mask),
        ("--resolve-timeout", limits.resolve),
        ("--memory", limits.memory),
    ]


def _submitted(client: Any, command: str, wait: Callable[[float], None] = time.sleep) -> str:
    """The id of the new job; a cluster that has just started may need some seconds to take it."""
    for _ in range(TRIES - 1):
        try:
            return str(client.submit_job(entrypoint=command))
        except RuntimeError as error:
            if "No available agent" not in str(error):
                raise
        wait(POLL_SECONDS)
    return str(client.submit_job(entrypoint=command))


def _followed(client: Any, job: str, wait: Callable[[float], None] = time.sleep) -> str:
    """The state in which a job ended; what it prints meanwhile goes to standard error."""
    shown = 0
    while True:
        status = client.get_job_status(job)
        log = client.get_job_logs(job)
        if len(log) > shown:
            sys.stderr.write(log[shown:])
            sys.stderr.flush()
            shown = len(log)
        if status.is_terminal():
            return str(status.value)
        wait(POLL_SECONDS)


def _opened(request: SweepRequest) -> RunDirectory:
    """The finished run, fetched if it is at a URL."""
    if request.url is not None:
        from harness.execution.sweep.run_url import fetch

        digest = hashlib.sha256(request.url.rstrip("/").encode()).hexdigest()[:8]
        return fetch(request.url, Path("runs") / f"fetched-{digest}")
    assert request.bench.out is not None
    return open_run(request.bench.out)


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
