"""Whole sweeps on clusters of this machine: killed in every part, they lose and double nothing."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.command import ROOT, STUDY, begun, descendants, is_gone, maskcourt, until
from tests.sweeping import (
    CASES,
    LOOPBACK,
    ONE_LANE,
    cluster,
    finished,
    parent,
    sweep,
    tables,
)

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def nodes():
    """A cluster of two nodes; tests that take something away from it come last."""
    with cluster(2) as held:
        yield held


class TestUndisturbed:
    def test_it_gives_what_a_local_run_gives(self, cases, local, nodes, tmp_path):
        cases.open_gates()
        arguments = sweep(cases, nodes, tmp_path / "run", "--json")
        done = maskcourt(*arguments, env={**os.environ, **LOOPBACK})
        assert done.returncode == 0, done.stderr
        assert tables(tmp_path / "run") == tables(cases.root / "local")
        printed = json.loads(done.stdout)
        assert printed.keys() == local[1].keys()
        for key in ("cases", "walked", "positions", "disputed_tokens"):
            assert printed[key] == local[1][key]
        runs = (tmp_path / "run", cases.root / "local")
        ours, theirs = (json.loads((run / "run.json").read_text()) for run in runs)
        assert ours["identity"] == theirs["identity"]
        did = re.findall(r"node 127\.0\.0\.1 \(\w{6}\): (\d+) cases?, 1 lane", done.stderr)
        assert len(did) == 2
        assert sum(map(int, did)) == CASES


class TestDriver:
    def test_one_that_is_killed_is_gone_on_with(self, cases, nodes, tmp_path):
        """By a sweep or a local run, whichever of them it was that was killed."""
        out, log = tmp_path / "run", tmp_path / "log"
        local = cases.arguments("bench", out, *ONE_LANE)
        for times, command in enumerate((local, sweep(cases, nodes, out, *ONE_LANE)), 1):
            with begun(command, log, LOOPBACK) as process:
                lane = parent(cases.host_at(2, times))
                process.kill()
                process.wait()
            until(lambda lane=lane: is_gone(lane))
        stored = len(list(out.glob("parts/[0-9]*")))
        cases.open_gates()
        done = maskcourt(*local)
        assert done.returncode == 0, done.stderr
        assert tables(out) == tables(cases.root / "local")
        assert f"{stored} of {CASES} cases are there already" in done.stderr

    def test_when_it_is_interrupted_lanes_end_and_the_cluster_stays(self, cases, nodes, tmp_path):
        log = tmp_path / "log"
        command = sweep(cases, nodes, tmp_path / "run", *ONE_LANE)
        with begun(command, log, LOOPBACK) as process:
            lane = parent(cases.host_at(2))
            below = [lane, *descendants(lane)]
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(60) == 130, log.read_text()
        until(lambda: all(map(is_gone, below)))
        last = log.read_text().strip().splitlines()[-1]
        assert last.startswith("maskcourt: interrupted; finished cases are kept")


@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_installed_command_finds_the_engines_wherever_it_is_started(
    nodes, tmp_path, vocabulary_file, elsewhere
):
    """Also in the checkout itself, which Ray puts on the module path of lanes, too."""
    arguments = ("--family", "numbers", "--limit", 1, "--engines", "llguidance,glrmask")
    arguments += ("--cap", 1, "--vocabulary", vocabulary_file, "--address", nodes.address, *STUDY)
    arguments += (*ONE_LANE, "--shrink-budget", 0, "--out", tmp_path / "run")
    done = subprocess.run(
        [Path(sys.executable).with_name("maskcourt"), "sweep", *map(str, arguments)],
        cwd=tmp_path if elsewhere else ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            **LOOPBACK,
        },
    )
    assert done.returncode == 0, done.stderr
    assert pq.read_table(tmp_path / "run" / "cases.parquet")["status"].to_pylist() == ["walked"]


class TestKilled:
    def test_what_a_lane_and_a_node_did_is_done_again(self, cases, nodes, tmp_path):
        """A lane is replaced, the case of a node is left to the others."""
        out, log = tmp_path / "run", tmp_path / "log"
        with begun(sweep(cases, nodes, out), log, LOOPBACK) as process:
            until(lambda: cases.waiting(2) and cases.waiting(5), process)
            stayed, lane = (parent(cases.host_at(gate)) for gate in (5, 2))
            lost = [lane, *descendants(lane)]
            os.kill(lane, signal.SIGKILL)
            until(lambda lost=lost: all(map(is_gone, lost)), process)
            until(lambda: cases.waiting(2) == 2, process)
            both = [stayed, parent(cases.host_at(2, times=2))]
            (node,) = {parent(one) for one in both} - set(nodes.head)
            lost = [node, *descendants(node)]
            os.kill(node, signal.SIGKILL)
            until(lambda: all(map(is_gone, lost)), process)
            cases.open_gates()
            said = finished(process, log)
        assert tables(out) == tables(cases.root / "local")
        assert sum(map(int, re.findall(r"(\d+) lanes? died", said))) == 2, said
        assert "the node is gone" in said
        assert "(raylet)" not in said, "what Ray prints on standard output is no part of ours"

    def test_a_cluster_that_goes_away_is_told_in_one_line(self, cases, nodes, tmp_path):
        """And the sweep can be gone on with, without it."""
        out, log = tmp_path / "run", tmp_path / "log"
        patience = {"RAY_gcs_rpc_server_reconnect_timeout_s": "5"}
        command = sweep(cases, nodes, out, *ONE_LANE)
        with begun(command, log, {**LOOPBACK, **patience}) as process:
            lane = parent(cases.host_at(2))
            below = [lane, *descendants(lane)]
            for one in [*descendants(nodes.process.pid), nodes.process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)
            assert process.wait(90) == 2, log.read_text()
        until(lambda: all(map(is_gone, below)))
        last = log.read_text().splitlines()[-1]
        assert last.startswith("maskcourt: ")
        assert last.endswith("(stored cases are kept, the same command goes on)")
        cases.open_gates()
        done = maskcourt(*cases.arguments("bench", out, "--lanes", 1))
        assert done.returncode == 0, done.stderr
        assert tables(out) == tables(cases.root / "local")
