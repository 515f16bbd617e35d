"""The driver of a sweep may be ended at any moment: that is told, and nothing of it is left."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from harness import interrupts
from harness.errors import MaskcourtError, UsageError
from harness.execution.sweep.lanes import apart
from harness.workers.temporary_directories import temporary_directory
from tests.command import is_gone, until

pytestmark = [
    pytest.mark.processes,
    pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning"),
]


def test_what_it_gives_comes_back_and_what_it_prints_does_not(capfd, tmp_path):
    def work():
        print("noise", flush=True)  # noqa: T201 - Ray does
        sys.stderr.write("progress\n")
        return tmp_path

    assert apart(work) == tmp_path
    assert capfd.readouterr() == ("", "progress\n")


class Unsendable(Exception):
    def __reduce__(self):
        raise TypeError


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (UsageError("no room", "declare less"), UsageError),
        (KeyError("a", 2), KeyError),
        (Unsendable("of this place"), RuntimeError),
    ],
)
def test_what_it_raises_is_raised(error, raised):
    def work():
        raise error

    with pytest.raises(raised) as found:
        apart(work)
    assert str(found.value).removeprefix("Unsendable: ") == str(error)


@pytest.mark.parametrize(
    ("end", "how"),
    [
        (lambda: os._exit(0), "exit code 0"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "signal 9"),
    ],
)
def test_its_end_is_told_and_what_it_started_ends(tmp_path, end, how):
    """Also what has lost its parent and its environment, and directories that it held."""
    pid, held = tmp_path / "pid", tmp_path / "held"

    def work():
        held.write_text(str(temporary_directory().__enter__()))
        program = f"echo $$ > {pid}.new; mv {pid}.new {pid}; sleep 60"
        command = ["/bin/sh", "-c", f"setsid /bin/sh -c '{program}' & "]
        subprocess.run(command, env={}, check=True, timeout=10)
        until(pid.exists)
        end()

    with pytest.raises(MaskcourtError, match=how) as found:
        apart(work)
    assert found.value.exit_code == 2
    until(lambda: is_gone(int(pid.read_text())))
    assert not Path(held.read_text()).exists()


def test_a_signal_ends_it_as_it_would_end_this_process(tmp_path):
    def work():
        try:
            (tmp_path / "begun").touch()
            time.sleep(60)
        except KeyboardInterrupt:
            (tmp_path / "cleaned up").touch()
            raise
        return tmp_path

    def terminate():
        until((tmp_path / "begun").exists)
        os.kill(os.getpid(), signal.SIGTERM)

    with interrupts.heeded():
        thread = threading.Thread(target=terminate)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            apart(work)
        thread.join()
    assert (tmp_path / "cleaned up").exists()


def test_a_signal_amid_the_fork_is_not_lost(monkeypatch, tmp_path):
    """Also where another thread takes it; Python ignores what is raised in hooks of a fork."""
    fork, over = os.fork, threading.Event()

    def interrupted_fork():
        child = fork()
        if child:
            with contextlib.suppress(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(0.1)
        return child

    monkeypatch.setattr(os, "fork", interrupted_fork)
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        with interrupts.heeded(), pytest.raises(KeyboardInterrupt):
            apart(lambda: tmp_path)
    finally:
        over.set()
        thread.join()


def test_a_signal_after_its_work_ends_it_all_the_same():
    """The child is a copy of this process, and must not go on as one."""

    class Late:
        def __reduce__(self):
            signal.raise_signal(signal.SIGTERM)
            return str, ("late",)

    here = os.getpid()
    try:
        with interrupts.heeded(), pytest.raises(MaskcourtError, match="exit code 0"):
            apart(Late)
    finally:
        if os.getpid() != here:
            os._exit(3)


def test_it_ends_with_this_process(tmp_path):
    program = (
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from harness.execution.sweep.lanes import apart\n"
        "def work():\n"
        "    print(os.getpid(), file=sys.stderr, flush=True)\n"
        "    time.sleep(60)\n"
        "apart(work)\n"
    )
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, cwd=root, stderr=subprocess.PIPE, text=True) as process:
        pid = int(process.stderr.readline())
        process.kill()
    until(lambda: is_gone(pid))
