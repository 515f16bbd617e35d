"""A sweep as a job of a Ray cluster: the same command, run there; its log on standard error.

The run must be where both the cluster and this machine find it, or at a URL: the summary is made
here, from the run.
"""

from __future__ import annotations

import hashlib
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness.errors import MaskcourtError
from harness.execution.sweep.cluster import import_ray
from harness.runs.directory import RunDirectory, open_run

COMMAND = ("python", "-m", "harness.cli.main", "sweep", "--address", "auto")
"""The same command there; the cluster's nodes have the program installed."""

POLL_SECONDS = 1.0

TRIES = 60
"""Times that a cluster without a place for the job is asked."""


def submit(dashboard: str, options: Sequence[str], out: Path | str) -> RunDirectory:
    """Submit a sweep with these `options`, wait for its end, and open its run.

    Ctrl-C ends the waiting and not the job.

    Args:
        dashboard: Of the cluster.
        options: Of ``maskcourt sweep``, without those that choose a cluster.
        out: Where the run will be, here as there: an absolute path or a URL.

    Raises:
        MaskcourtError: The job failed, or its run is not to be seen from here.
    """
    import_ray(local=False)
    from ray.job_submission import JobSubmissionClient

    try:
        client = JobSubmissionClient(dashboard)
        # --json keeps the table off the job's log: the summary is made here
        job = _submitted(client, shlex.join([*COMMAND, *options, "--json"]))
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = next(iter(str(error).splitlines()), "")
        raise MaskcourtError(
            f"no job can be submitted to {dashboard}: {reason}",
            "is it the address of a dashboard, http://HOST:8265?",
        ) from error
    _say(f"submitted as {job}; ray job logs --address {dashboard} {job}")
    status = _followed(client, job)
    if status != "SUCCEEDED":
        raise MaskcourtError(f"job {job} ended as {status.lower()}", "its log says why")
    return _opened(out)


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


def _opened(out: Path | str) -> RunDirectory:
    """The finished run, whose engines the user named, fetched if it is at a URL."""
    if isinstance(out, Path):
        return open_run(out, trust=True)
    from harness.execution.sweep.run_url import fetch

    digest = hashlib.sha256(out.rstrip("/").encode()).hexdigest()[:8]
    run = fetch(out, Path("runs") / f"fetched-{digest}")
    run.trusted = True
    return run


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
