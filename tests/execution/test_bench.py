"""Whole runs in processes of their own: killed, interrupted, gone on with, on one lane or two."""

import json
import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from harness.analysis.tally import summary
from harness.runs.directory import open_run
from tests.command import (
    begun,
    descendants,
    ignores_interrupts,
    is_gone,
    is_progress,
    lanes,
    maskcourt,
    until,
)
from tests.sweeping import ENGINES, GATES, Cases, tables

pytestmark = pytest.mark.processes

UNHELD = [f"{number:06d}" for number in range(min(GATES))]
"""The parts that one lane stores before it waits at the first gate."""


class Bench(Cases):
    """The cases and a run of them that nothing disturbed, on one lane."""

    @property
    def finished(self) -> Path:
        return self.root / "finished"

    @property
    def printed(self) -> str:
        """The JSON object that the run printed."""
        return (self.root / "printed.json").read_text()

    def command(self, out: Path, lanes: int = 1) -> list[object]:
        return self.arguments("bench", out, "--lanes", lanes)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    bench = Bench(tmp_path_factory.mktemp("bench"))
    bench.open_gates()
    done = maskcourt(*bench.command(bench.finished), "--json")
    assert done.returncode == 0, done.stderr
    (bench.root / "printed.json").write_text(done.stdout)
    return bench


@pytest.fixture
def bench(undisturbed):
    """The same, its gates closed."""
    undisturbed.close_gates()
    return undisturbed


def parts(run: Path) -> list[str]:
    return sorted(part.name for part in run.glob("parts/[0-9]*"))


def kill(process) -> None:
    """End a run as the system does when it has no more memory: at once, and it alone."""
    below = descendants(process.pid)
    process.kill()
    process.wait()
    until(lambda: all(map(is_gone, below)))


class TestKilled:
    def test_at_several_moments_it_goes_on_to_the_same_result(self, bench, tmp_path):
        """Until then it can be read; `tests/runs/test_directory.py` has two who write at once."""
        out, log = tmp_path / "run", tmp_path / "log"
        with begun(bench.command(out), log) as process:
            until((out / "run.json").exists, process)
            kill(process)
        with begun(bench.command(out), log) as process:
            until(lambda: bench.waiting(2) and parts(out) == UNHELD, process)
            counts = summary(open_run(out))
            kill(process)
        assert [counts[name] for name in ("finished", "seconds")] == [False, None]
        assert counts["cases"] == len(UNHELD)
        bench.open_gates()
        done = maskcourt(*bench.command(out))
        assert done.returncode == 0, done.stderr
        assert f"{len(UNHELD)} of 7 cases are there already" in done.stderr
        assert tables(out) == tables(bench.finished)
        assert not list(out.glob("parts")) + list(out.glob("*.tmp"))


class TestLanes:
    def test_one_that_dies_behind_a_case_is_replaced(self, bench, tmp_path):
        """The main process stands still meanwhile: it hears of the case, or not, and the death."""
        out = tmp_path / "run"
        with begun(bench.command(out), tmp_path / "log") as process:
            until(lambda: bench.waiting(2), process)
            (lane,) = lanes(process.pid)
            process.send_signal(signal.SIGSTOP)
            bench.open_gates()
            until(lambda: len(parts(out)) > len(UNHELD))
            os.kill(lane, signal.SIGKILL)
            until(lambda: is_gone(lane))
            process.send_signal(signal.SIGCONT)
            assert process.wait() == 0, (tmp_path / "log").read_text()
        assert tables(out) == tables(bench.finished)

    def test_a_case_that_takes_down_three_is_stored_as_that(self, bench, tmp_path):
        out, log = tmp_path / "run", tmp_path / "log"
        bench.open_gates(5)
        with begun([*bench.command(out), "--json"], log) as process:
            for times in (1, 2, 3):
                until(lambda times=times: bench.waiting(2) == times, process)
                (lane,) = lanes(process.pid)
                os.kill(lane, signal.SIGKILL)
            assert process.wait() == 1, log.read_text()
        printed = log.read_text()
        assert "1 case ended in an error of the harness: case-2" in printed
        counts, _ = json.JSONDecoder().raw_decode(printed[printed.index("{\n") :])
        assert (counts["cases"], counts["walked"], counts["harness_errors"]) == (7, 6, 1)
        assert counts["engines"]["tests.planted:Gated"]["compile"]["crashed"] == 0


class TestInterrupted:
    @pytest.mark.parametrize(
        ("moment", "number"),
        [
            ("starting", signal.SIGTERM),
            ("starting", signal.SIGHUP),
            ("working", signal.SIGINT),
        ],
    )
    def test_it_says_so_keeps_what_is_there_and_leaves_nothing_behind(
        self, bench, tmp_path, moment, number
    ):
        out, log, scratch = tmp_path / "run", tmp_path / "log", tmp_path / "scratch"
        scratch.mkdir()
        stored, count = ([], 2) if moment == "starting" else (UNHELD, 1)
        with begun(bench.command(out, count), log, {"TMPDIR": str(scratch)}) as process:
            if moment == "starting":
                until(lambda: len(lanes(process.pid)) == 2, process)
                assert all(map(ignores_interrupts, lanes(process.pid)))
            else:
                until(lambda: parts(out) == stored, process)
            below = descendants(process.pid)
            os.killpg(process.pid, number)
            assert process.wait() == 128 + number
        until(lambda: all(map(is_gone, below)))
        said = [line for line in log.read_text().splitlines() if line and not is_progress(line)]
        assert said == ["maskcourt: interrupted; finished cases are kept, the same command goes on"]
        assert not list(scratch.iterdir())
        assert (
            {*stored} <= {*parts(out)} <= {*UNHELD}
        )  # starting on a busy machine may take a while
        if number == signal.SIGINT:
            bench.open_gates()
            again = maskcourt(*bench.command(out))
            assert again.returncode == 0, again.stderr
            assert tables(out) == tables(bench.finished)


class TestFinished:
    def test_started_again_prints_the_same_and_changes_nothing(self, bench):
        before = {file: file.read_bytes() for file in bench.finished.iterdir()}
        again = maskcourt(*bench.command(bench.finished), "--json")
        assert again.returncode == 0, again.stderr
        assert again.stdout == bench.printed
        assert {file: file.read_bytes() for file in bench.finished.iterdir()} == before

    def test_the_same_request_without_a_directory_finds_its_run(self, bench, tmp_path):
        bench.open_gates()
        data = bench.command(Path("unused"))
        data[data.index("--out") : data.index("--out") + 2] = []
        shutil.copytree("tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        data += ["--limit", 1, "--json"]
        runs = [maskcourt(*data, cwd=tmp_path) for _ in range(2)]
        assert [run.returncode for run in runs] == [0, 0], runs[0].stderr
        assert runs[0].stdout == runs[1].stdout
        assert len(list((tmp_path / "runs").iterdir())) == 1

    def test_json_is_one_documented_object(self, bench):
        counts = json.loads(bench.printed)
        documented = set(re.findall(r"``(\w+)``", summary.__doc__))
        assert counts.keys() - documented == {"run", "bugs", "unexplained"}
        for engine in counts["engines"].values():
            assert engine.keys() <= documented


def test_wrong_labels_are_reported_and_the_run_goes_on(undisturbed, tmp_path, call):
    cases = [
        {"id": "array", "schema": {"enum": [[1]]}, "valid": [[1, 2]]},
        {"id": "half", "schema": {"enum": ["ab"]}, "valid": ["cab", "ab"], "invalid": ["ab"]},
        {"id": "right", "schema": {"enum": ["ab", "cab"]}, "valid": ["ab"], "invalid": [1]},
    ]
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in cases))
    asked = ("--vocabulary", undisturbed.root / "vocabulary", "--out", tmp_path / "run")
    asked = (*asked, "--lanes", 1, "--shrink-budget", 0, "--json")
    done = maskcourt("bench", "-e", ENGINES, "--cases", path, *asked)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if "wrong label" in line]
    invalid = "is not valid under its schema: enum at its root"
    assert sorted(told) == [
        f"{path}:1: case 'array': an instance bears a wrong label: the reference [1, 2] {invalid}",
        f"{path}:2: case 'half': 2 instances bear wrong labels: the reference \"cab\" {invalid}",
    ]
    tally = json.loads(done.stdout)
    assert tally["mislabelled"] == {"instances": 3, "cases": 2}
    assert (tally["walked"], tally["set_aside"], tally["generated"]["cases"]) == (3, {}, 1)
    table = call("tally", tmp_path / "run")[1]
    assert "wrong labels: 3 instances in 2 cases; what both validators say counts" in table
