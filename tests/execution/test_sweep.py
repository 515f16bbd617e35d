"""Whole sweeps on clusters of this machine: killed in every part, they lose and double nothing."""

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
    GATES,
    LOOPBACK,
    Cases,
    cluster,
    finished,
    parent,
    sweep,
    tables,
)

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def nodes():
    """A cluster with two nodes that run lanes."""
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


class TestKilled:
    @pytest.mark.parametrize(("above", "told"), [(1, "1 lane died"), (2, "the node is gone")])
    def test_what_is_lost_is_done_again(self, cases, nodes, tmp_path, above, told):
        """A lane is replaced, the cases of a node are left to the others."""
        out, log = tmp_path / "run", tmp_path / "log"
        with begun(sweep(cases, nodes, out), log, LOOPBACK) as process:
            lost = killed = cases.host_at(2)
            for _ in range(above):
                lost, killed = killed, parent(killed)
            below = [lost, *descendants(lost)]
            os.kill(killed, signal.SIGKILL)
            until(lambda: all(map(is_gone, below)), process)
            cases.open_gates()
            said = finished(process, log)
        if above == 2:
            nodes.add_node()
        assert tables(out) == tables(cases.root / "local")
        assert told in said
        assert "(raylet)" not in said, "what Ray prints on standard output is no part of ours"

    def test_the_driver_is_gone_on_with(self, cases, nodes, tmp_path):
        """By a sweep or a local run, whichever of them it was that was killed."""
        out, log = tmp_path / "run", tmp_path / "log"
        local = cases.arguments("bench", out, "--lanes", 2)
        for times, command in enumerate((local, sweep(cases, nodes, out)), 1):
            with begun(command, log, LOOPBACK) as process:
                lanes = [parent(cases.host_at(gate, times)) for gate in GATES]
                process.kill()
                process.wait()
            until(lambda lanes=lanes: all(map(is_gone, lanes)))
        stored = len(list(out.glob("parts/[0-9]*")))
        cases.open_gates()
        done = maskcourt(*local)
        assert done.returncode == 0, done.stderr
        assert tables(out) == tables(cases.root / "local")
        assert f"{stored} of {CASES} cases are there already" in done.stderr

    def test_a_case_that_takes_down_three_lanes_is_left(self, nodes, tmp_path):
        cases = Cases(tmp_path)
        cases.open_gates()
        lines = (tmp_path / "own.jsonl").read_text().splitlines()
        kills = {"enum": ["ab"], "x-kills": True}
        lines[3] = json.dumps({"id": "case-3", "schema": kills, "valid": ["ab"]})
        (tmp_path / "own.jsonl").write_text("\n".join(lines))
        done = maskcourt(
            *("sweep", "--address", nodes.address, "--cases", tmp_path / "own.jsonl"),
            *("-e", "tests.miniatures:Enumerator,tests.sweeping:KillsLane"),
            *("--vocabulary", tmp_path / "vocabulary", "--out", tmp_path / "run"),
            env={**os.environ, **LOOPBACK},
        )
        assert done.returncode == 1, done.stderr
        statuses = pq.read_table(tmp_path / "run" / "cases.parquet")["status"].to_pylist()
        assert statuses == ["walked"] * 3 + ["lane_died"] + ["walked"] * 3


class TestInterrupted:
    def test_lanes_end_and_the_cluster_stays(self, cases, nodes, tmp_path):
        out, log = tmp_path / "run", tmp_path / "log"
        with begun(sweep(cases, nodes, out), log, LOOPBACK) as process:
            lanes = [parent(cases.host_at(gate)) for gate in GATES]
            below = [deeper for lane in lanes for deeper in descendants(lane)]
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(60) == 130, log.read_text()
        until(lambda: all(map(is_gone, [*lanes, *below])))
        last = log.read_text().strip().splitlines()[-1]
        assert last.startswith("maskcourt: interrupted; finished cases are kept")


@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_installed_command_finds_the_engines_wherever_it_is_started(
    nodes, tmp_path, vocabulary_file, elsewhere
):
    """Also in the checkout itself, which Ray puts on the module path of lanes, too."""
    arguments = ("--family", "numbers", "--limit", 1, "--engines", "llguidance,glrmask")
    arguments += ("--cap", 1, "--vocabulary", vocabulary_file, "--address", nodes.address, *STUDY)
    arguments += ("--shrink-budget", 0, "--ahead", 0, "--out", tmp_path / "run")
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
