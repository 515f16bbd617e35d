"""Whole sweeps on clusters of this machine: killed in every part, they lose and double nothing."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from harness.workers.temporary_directories import short_base
from tests.command import ROOT, begun, descendants, is_gone, maskcourt, until
from tests.sweeping import (
    CASES,
    GATES,
    LOOPBACK,
    Cases,
    HeldCluster,
    cluster,
    listening_beyond_here,
    parent,
    tables,
)

pytestmark = pytest.mark.ray

SMALL = ("--lanes", 2, "--lane-memory", "1G")

if not importlib.util.find_spec("ray"):  # to import it here would cost every collection of tests
    pytest.skip("ray is not installed: pip install '.[sweep]'", allow_module_level=True)


@pytest.fixture(scope="module")
def nodes():
    """A cluster with two nodes that run lanes."""
    with cluster(2) as held:
        yield held


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """Cases, and the run of them that ``bench`` made."""
    cases = Cases(tmp_path_factory.mktemp("sweep"))
    cases.open_gates()
    done = maskcourt(*cases.arguments("bench", cases.root / "local", "--json", "--lanes", 1))
    assert done.returncode == 0, done.stderr
    return cases, json.loads(done.stdout)


@pytest.fixture
def cases(local):
    """The cases, their gates closed; what a local run of them came to is in ``local``."""
    local[0].close_gates()
    return local[0]


def sweep(cases: Cases, nodes: HeldCluster, out: object, *others: object) -> list[object]:
    return cases.arguments("sweep", out, "--address", nodes.address, *others)


def finished(process, log: Path) -> str:
    assert process.wait(120) == 0, log.read_text()
    return log.read_text()


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
        did = re.findall(r"node 127\.0\.0\.1 \(\w{6}\): (\d+) cases?, 1 lane busy", done.stderr)
        assert len(did) == 2
        assert sum(map(int, did)) == CASES


class TestKilled:
    def test_a_host_is_that_engine_s_crash_and_no_more(self, cases, nodes, tmp_path):
        out, log = tmp_path / "run", tmp_path / "log"
        with begun(sweep(cases, nodes, out), log, LOOPBACK) as process:
            os.kill(cases.host_at(2), signal.SIGKILL)
            cases.open_gates()
            finished(process, log)
        rows = pq.read_table(out / "engines.parquet").to_pylist()
        crashed = [(row["case"], row["engine"]) for row in rows if row["outcome"] == "crashed"]
        assert crashed == [("case-2", "tests.planted:Gated")]
        assert pq.read_table(out / "cases.parquet")["case"].to_pylist() == [
            f"case-{number}" for number in range(CASES)
        ]

    def test_a_lane_is_replaced(self, cases, nodes, tmp_path):
        out, log = tmp_path / "run", tmp_path / "log"
        with begun(sweep(cases, nodes, out), log, LOOPBACK) as process:
            host = cases.host_at(2)
            lane = parent(host)
            below = descendants(lane)
            os.kill(lane, signal.SIGKILL)
            until(lambda: all(map(is_gone, below)), process)
            cases.host_at(2, times=2)
            cases.open_gates()
            said = finished(process, log)
        assert tables(out) == tables(cases.root / "local")
        assert "1 lane died" in said

    def test_a_node_leaves_its_cases_to_the_others(self, cases, nodes, tmp_path):
        out, log = tmp_path / "run", tmp_path / "log"
        with begun(sweep(cases, nodes, out), log, LOOPBACK) as process:
            lane = parent(cases.host_at(2))
            raylet, below = parent(lane), descendants(lane)
            os.kill(raylet, signal.SIGKILL)
            until(lambda: all(map(is_gone, [lane, *below])), process)
            cases.open_gates()
            said = finished(process, log)
        nodes.add_node()
        assert tables(out) == tables(cases.root / "local")
        assert "the node is gone" in said

    @pytest.mark.parametrize(("first", "second"), [("sweep", "bench"), ("bench", "sweep")])
    def test_the_driver_is_gone_on_with(self, cases, nodes, tmp_path, first, second):
        """By a sweep or a local run, whichever of them it was that was killed."""
        out, log = tmp_path / "run", tmp_path / "log"
        commands = {
            "sweep": sweep(cases, nodes, out),
            "bench": cases.arguments("bench", out, "--lanes", 2),
        }
        with begun(commands[first], log, LOOPBACK) as process:
            lanes = [parent(cases.host_at(gate)) for gate in GATES]
            process.kill()
            process.wait()
        until(lambda: all(map(is_gone, lanes)))
        stored = len(list(out.glob("parts/[0-9]*")))
        cases.open_gates()
        done = maskcourt(*commands[second], env={**os.environ, **LOOPBACK})
        assert done.returncode == 0, done.stderr
        assert tables(out) == tables(cases.root / "local")
        assert not stored or f"{stored} of {CASES} cases are there already" in done.stderr

    def test_a_case_that_takes_down_three_lanes_is_left(self, nodes, tmp_path):
        cases = Cases(tmp_path)
        cases.open_gates()
        lines = (tmp_path / "own.jsonl").read_text().splitlines()
        kills = {"enum": ["ab"], "x-kills": True}
        lines[3] = json.dumps({"id": "case-3", "schema": kills, "valid": ["ab"]})
        (tmp_path / "own.jsonl").write_text("\n".join(lines))
        engines = ("-e", "tests.miniatures:Enumerator,tests.sweeping:KillsLane")
        runs = {}
        for command in (("bench", "--lanes", 1), ("sweep", "--address", nodes.address)):
            runs[command[0]] = tmp_path / command[0]
            done = maskcourt(
                command[0],
                *engines,
                *("--cases", tmp_path / "own.jsonl", "--vocabulary", tmp_path / "vocabulary"),
                *("--out", runs[command[0]], *command[1:]),
                env={**os.environ, **LOOPBACK},
            )
            assert done.returncode == 0, done.stderr
        statuses = pq.read_table(runs["sweep"] / "cases.parquet")["status"].to_pylist()
        assert statuses == ["walked"] * 3 + ["lane_died"] + ["walked"] * 3
        assert tables(runs["sweep"]) == tables(runs["bench"])


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


class TestAtUrl:
    def test_a_run_is_finished_there_after_a_driver_died(self, cases, nodes, tmp_path):
        there, log = tmp_path / "there", tmp_path / "log"
        url = f"file://{there}"
        with begun(sweep(cases, nodes, url), log, LOOPBACK) as process:
            cases.host_at(2)
            cases.host_at(5)
            process.kill()
            process.wait()
        cases.open_gates()
        done = maskcourt(*sweep(cases, nodes, url, "--json"), env={**os.environ, **LOOPBACK})
        assert done.returncode == 0, done.stderr
        assert tables(there) == tables(cases.root / "local")
        assert not (there / "parts").exists()
        mirror = ROOT / json.loads(done.stdout)["run"]
        assert tables(mirror) == tables(there)
        shutil.rmtree(mirror)


class TestSubmitted:
    def test_it_is_run_there_and_its_summary_is_printed_here(self, cases, local, tmp_path):
        cases.open_gates()
        with cluster(1, dashboard=True) as held:
            arguments = cases.arguments("sweep", tmp_path / "run", "--json")
            done = maskcourt(*arguments, "--submit", f"http://{held.dashboard}")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["cases"] == CASES
        assert tables(tmp_path / "run") == tables(cases.root / "local")
        assert "1 lane busy" in done.stderr, "the job's log"


class TestOnThisMachine:
    def test_it_listens_here_only_and_leaves_nothing_behind(self, cases, tmp_path):
        out, log = tmp_path / "run", tmp_path / "log"
        with begun(cases.arguments("sweep", out, "--lanes", 1), log) as process:
            cases.host_at(2)
            below = descendants(process.pid)
            listening = listening_beyond_here([process.pid, *below])
            cases.open_gates()
            finished(process, log)
        until(lambda: all(map(is_gone, below)))
        assert listening == []
        assert len(below) > 5
        assert not (short_base() / f"r{process.pid}").exists()
        assert tables(out) == tables(cases.root / "local")

    @pytest.mark.parametrize("part", ["gcs_server", "raylet"])
    def test_a_part_of_ray_that_dies_is_told_in_one_line(self, cases, tmp_path, part):
        log = tmp_path / "log"
        with begun(cases.arguments("sweep", tmp_path / "run", "--lanes", 1), log) as process:
            cases.host_at(2)
            below = descendants(process.pid)
            (gone,) = [one for one in below if part in program_of(one)]
            os.kill(gone, signal.SIGKILL)
            assert process.wait(60) == 2, log.read_text()
        until(lambda: all(map(is_gone, below)))
        last = log.read_text().splitlines()[-1]
        assert last == (
            f"maskcourt: Ray's {part} on this machine ended"
            " (stored cases are kept, the same command goes on)"
        )
        assert not (short_base() / f"r{process.pid}").exists()

    def test_the_first_of_two_nodes_ends_the_sweep_which_can_be_gone_on_with(self, cases, tmp_path):
        """Ray may end the driver before it notices, and leaves agents behind."""
        out, log = tmp_path / "run", tmp_path / "log"
        with begun(cases.arguments("sweep", out, "--nodes", 2, *SMALL), log) as process:
            cases.host_at(2)
            below = descendants(process.pid)
            os.kill(raylet_of(below, first=True), signal.SIGKILL)
            assert process.wait(60) == 2, log.read_text()
            assert all(map(is_gone, below))
        last = log.read_text().splitlines()[-1]
        assert last.startswith("maskcourt: Ray")
        assert last.endswith("(stored cases are kept, the same command goes on)")
        assert not [one for one in short_base().glob("r*") if one.name[1:] in map(str, below)]
        cases.open_gates()
        done = maskcourt(*cases.arguments("bench", out))
        assert done.returncode == 0, done.stderr
        assert tables(out) == tables(cases.root / "local")

    def test_another_node_leaves_its_cases_to_the_first(self, cases, tmp_path):
        out, log = tmp_path / "run", tmp_path / "log"
        with begun(cases.arguments("sweep", out, "--nodes", 2, *SMALL), log) as process:
            cases.host_at(2)
            cases.host_at(5)
            below = descendants(process.pid)
            os.kill(raylet_of(below, first=False), signal.SIGKILL)
            cases.open_gates()
            said = finished(process, log)
        assert "(raylet)" not in said, "what Ray prints on standard output is no part of ours"
        assert tables(out) == tables(cases.root / "local")


class TestClusterThatGoesAway:
    def test_it_is_told_in_one_line_and_can_be_gone_on_with(self, cases, tmp_path):
        out, log = tmp_path / "run", tmp_path / "log"
        patience = {"RAY_gcs_rpc_server_reconnect_timeout_s": "5"}
        with cluster(1) as held:
            with begun(sweep(cases, held, out), log, {**LOOPBACK, **patience}) as process:
                lane = parent(cases.host_at(2))
                below = [lane, *descendants(lane)]
                for one in [*descendants(held.process.pid), held.process.pid]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(one, signal.SIGKILL)
                assert process.wait(90) == 2, log.read_text()
            until(lambda: all(map(is_gone, below)))
        last = log.read_text().splitlines()[-1]
        assert last.startswith("maskcourt: ")
        assert last.endswith("(stored cases are kept, the same command goes on)")
        cases.open_gates()
        done = maskcourt(*cases.arguments("bench", out))
        assert done.returncode == 0, done.stderr
        assert tables(out) == tables(cases.root / "local")


def program_of(process):
    """The name of its executable file."""
    return command_line(process)[0].rpartition(b"/")[2].decode()


def raylet_of(processes, *, first):
    """The raylet of the first of two nodes, or of the other."""
    raylets = [one for one in processes if program_of(one) == "raylet"]
    (found,) = [one for one in raylets if (b"--head" in command_line(one)) is first]
    return found


def command_line(process):
    return Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")


class TestWithoutRay:
    def test_bench_does_not_import_it(self, local):
        cases, _ = local
        program = (
            "import sys\n"
            "from harness.cli.main import cli\n"
            "import harness.execution.sweep\n"
            "cli.main(sys.argv[1:], standalone_mode=False)\n"
            "sys.exit('ray' in sys.modules or 'fsspec' in sys.modules)\n"
        )
        arguments = map(str, cases.arguments("bench", cases.root / "local"))
        done = maskcourt_program(program, *arguments)
        assert done.returncode == 0, done.stderr

    def test_a_sweep_says_how_to_install_it(self, local, tmp_path):
        cases, _ = local
        program = (
            "import sys\n"
            "sys.modules['ray'] = None\n"
            "from harness.cli.main import main\n"
            "sys.argv[0] = 'maskcourt'\n"
            "main()\n"
        )
        done = maskcourt_program(program, *map(str, cases.arguments("sweep", tmp_path / "run")))
        assert (done.returncode, done.stdout) == (2, "")
        assert "pip install '.[sweep]'" in done.stderr
        assert done.stderr.count("\n") == 1


def maskcourt_program(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
