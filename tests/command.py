"""The command line as a user has it: in a process of its own, watched from outside."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.interrupts import SIGNALS

ROOT = Path(__file__).resolve().parent.parent
COMMAND = [sys.executable, "-c", "from harness.cli.main import main; main()"]
PATIENCE = 300
"""Seconds after which something that should have happened is taken to never happen."""

STUDY = ("--on-dropout", "stop", "--samples", 0, "--generated", 0)
"""Options for a run in the original study's way: it proves what engines dispute themselves."""


def is_progress(line: str) -> bool:
    """Whether a line of standard error says how a run begins."""
    starts = ("engine ", "vocabulary ", "  ")
    ends = ("starting the engines", "are there already")
    return line.startswith(starts) or line.endswith(ends) or bool(_CASES.match(line))


_CASES = re.compile(r"[0-9]+ cases?: |[0-9]+/[0-9]+ cases, ")


def maskcourt(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; its output as text."""
    command = [*COMMAND, *map(str, arguments)]
    settings = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": PATIENCE, **options}
    return subprocess.run(command, check=False, **settings)


@contextmanager
def begun(
    arguments: Iterable[object], log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A command that has started, in a session of its own, as at a terminal.

    What it prints goes to `log`, its temporary files beside it. What is left of it at the end is
    killed.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**os.environ, "TMPDIR": str(log.parent), **(environment or {})},
            # a shell's background jobs ignore Ctrl-C, and hand that down to what they start
            preexec_fn=lambda: [signal.signal(one, signal.SIG_DFL) for one in SIGNALS],  # noqa: PLW1509
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def finished_run(
    directory: Path, cases: Iterable[object], engines: str, vocabulary: Path, *options: object
) -> Path:
    """The run in `directory` of cases that are written there; its errors are not shrunk."""
    (directory / "cases.jsonl").write_text("".join(json.dumps(one) + "\n" for one in cases))
    done = maskcourt(
        "bench", "--cases", directory / "cases.jsonl", "-e", engines, "--out", directory / "run",
        "--vocabulary", vocabulary, "--lanes", 1, "--shrink-budget", 0, "--json",
        *options,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return directory / "run"


def until(condition: Callable[[], object], process: subprocess.Popen[bytes] | None = None) -> None:
    """Wait until something is so; `process` must not end before that."""
    last = time.monotonic() + PATIENCE
    while not condition():
        assert process is None or process.poll() is None, "the command ended too early"
        assert time.monotonic() < last, "this should have happened by now"
        time.sleep(0.01)


def children(pid: int) -> list[int]:
    """The processes that were started by a process and are still there."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        fields = _fields(stat)
        if fields and int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def descendants(pid: int) -> list[int]:
    """The processes below a process, at any depth."""
    below = children(pid)
    return below + [deeper for one in below for deeper in descendants(one)]


def is_gone(pid: int) -> bool:
    """Whether a process is no more, or only waits to be reaped."""
    fields = _fields(Path(f"/proc/{pid}/stat"))
    return not fields or fields[0] == "Z"


def ignores_interrupts(pid: int) -> bool:
    """Whether nothing that ends a run does anything to a process, not even while it starts."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8", "replace")
    (ignored,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:"))
    return all(int(ignored, 16) >> (number - 1) & 1 for number in SIGNALS)


def lanes(pid: int) -> list[int]:
    """The lane processes of a run."""
    return [one for one in children(pid) if b"spawn_main" in _command_line(one)]


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _fields(stat: Path) -> list[str]:
    """State, parent and so on, out of a ``stat`` file of /proc; none when the process is gone."""
    try:
        return stat.read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return []
