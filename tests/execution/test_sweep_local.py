"""Sweeps that start their cluster themselves, or lose it: told in a line, nothing left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import ROOT, begun, descendants, is_gone, until
from tests.sweeping import (
    SMALL,
    directories_of,
    finished,
    listening_beyond_here,
    tables,
)

pytestmark = pytest.mark.ray


class TestOnThisMachine:
    def test_it_listens_here_only_and_leaves_nothing_behind(self, cases, tmp_path):
        out, log = tmp_path / "run", tmp_path / "log"
        with begun(cases.arguments("sweep", out, "--lanes", 1), log) as process:
            cases.host_at(2)
            below = descendants(process.pid)
            directories = directories_of(below)
            listening = listening_beyond_here([process.pid, *below])
            cases.open_gates()
            finished(process, log)
        until(lambda: all(map(is_gone, below)))
        assert listening == []
        assert len(below) > 5
        assert [one.exists() for one in directories] == [False]
        assert tables(out) == tables(cases.root / "local")

    def test_a_part_of_ray_that_dies_is_told_in_one_line(self, cases, tmp_path):
        log = tmp_path / "log"
        two = ("--nodes", 2, *SMALL)
        with begun(cases.arguments("sweep", tmp_path / "run", *two), log) as process:
            cases.host_at(2)
            below = descendants(process.pid)
            directories = directories_of(below)
            (gone,) = [one for one in below if "gcs_server" in program_of(one)]
            os.kill(gone, signal.SIGKILL)
            assert process.wait(60) == 2, log.read_text()
        until(lambda: all(map(is_gone, below)))
        ours = "maskcourt: Ray's gcs_server on this machine ended"
        rays = "maskcourt: Ray ended the driver of the sweep (exit code 1)"  # it noticed first
        told = (ours, f"{rays}: the cluster or its node is gone")
        last = log.read_text().splitlines()[-1]
        assert last in {f"{one} (stored cases are kept, the same command goes on)" for one in told}
        assert [one.exists() for one in directories] == [False]


def program_of(process):
    """The name of its executable file."""
    return command_line(process)[0].rpartition(b"/")[2].decode()


def command_line(process):
    return Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")


def test_where_ray_is_missing_bench_does_not_need_it_and_a_sweep_says_how_to_install_it(
    local, tmp_path
):
    cases, _ = local
    program = (
        "import sys\n"
        "sys.modules['ray'] = None\n"
        "from harness.cli.main import main\n"
        "sys.argv[0] = 'maskcourt'\n"
        "main()\n"
    )
    for command, out, code in (("bench", cases.root / "local", 0), ("sweep", tmp_path / "run", 2)):
        arguments = [sys.executable, "-c", program, *map(str, cases.arguments(command, out))]
        done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "pip install '.[sweep]'" in done.stderr
    assert done.stderr.count("\n") == 1
