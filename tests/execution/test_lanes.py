"""A lane runs one case after the other and stores each, whatever goes wrong in it."""

import itertools
import os

import pytest

from harness.comparison.case_run import Rules
from harness.engines.panel import Limits
from harness.errors import MaskcourtError, RunDirectoryError, UsageError
from harness.execution import lanes
from harness.execution.bench import run_with
from harness.execution.lanes import Lane, LaneSettings
from harness.execution.request import BenchRequest
from harness.inputs.vocabulary import byte_vocabulary
from harness.runs.directory import create_or_resume
from harness.runs.tables import SCHEMAS
from tests.inprocess import case, make_run
from tests.miniatures import CrashesOnCompile, Enumerator, ForbidsOne

SCHEMA = {"enum": [12, 34], "x-forbidden": [["", "1"]]}


@pytest.fixture
def lane_of(tmp_path):
    """A lane with engines in this process."""

    def make(*engines):
        byte_vocabulary().save(tmp_path / "vocabulary")
        lane = Lane(LaneSettings((), str(tmp_path / "vocabulary"), Limits(), Rules()))
        lane.runner = make_run(engines or (Enumerator, ForbidsOne))
        return lane

    return make


@pytest.fixture
def run(tmp_path):
    names = ("CrashesOnCompile", "Enumerator", "ForbidsOne")
    engines = {name: {"version": "0"} for name in names}
    return create_or_resume(tmp_path / "run", {"engines": engines}, {})


def served(lane, run, cases):
    """Run the cases; the order in which they were done."""
    jobs, order = iter(enumerate(cases)), []
    lane.serve(run, lambda: next(jobs, None), lambda done: order.append(done.case))
    return order


def named(*names):
    return [case(SCHEMA, 12, name=name) for name in names]


def test_the_rows_are_those_of_cases_run_alone(run, lane_of):
    cases = [
        case({**SCHEMA, "x-crash": number == 2}, 12, name=f"case-{number}") for number in range(4)
    ]
    engines = (Enumerator, ForbidsOne, CrashesOnCompile)
    assert served(lane_of(*engines), run, cases) == [one.id for one in cases]
    assert run.done() == set(range(4))
    alone = [make_run(engines).run(one) for one in cases]
    for table in SCHEMAS.keys() - {"timings", "costs"}:
        stored = run.table(table).to_pylist()
        assert stored == list(itertools.chain(*(one.table(table).to_pylist() for one in alone)))


def test_an_error_of_the_harness_is_stored_and_the_others_go_on(run, lane_of):
    lane = lane_of()
    inner = lane.runner.run

    def broken(one):
        if one.id == "b":
            raise ZeroDivisionError("a defect")
        return inner(one)

    lane.runner.run = broken
    served(lane, run, named("a", "b", "c"))
    stored = {row["case"]: row["status"] for row in run.table("cases").to_pylist()}
    assert stored == {"a": "walked", "b": "harness_error", "c": "walked"}


def test_a_run_that_cannot_be_written_ends_the_lane(run, lane_of):
    run.write_case = lambda *_: (_ for _ in ()).throw(RunDirectoryError("no space left"))
    with pytest.raises(RunDirectoryError):
        served(lane_of(), run, named("a", "b"))


@pytest.mark.parametrize(
    ("engines", "processors", "gib", "count"),
    [
        (3, 8, 64, 8),  # a processor each
        (3, 8, 15, 3),  # memory for no more
        (2, 8, 15, 5),
        (12, 8, 64, 2),  # as many engines at a time
        (12, 8, 20, 1),
        (12, 1, 4, 1),
    ],
)
def test_there_are_as_many_lanes_as_there_is_room_for_their_engines(
    monkeypatch, engines, processors, gib, count
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)))
    monkeypatch.setattr(lanes, "_memory", lambda: gib << 30)
    assert lanes.default_lanes(engines) == count


@pytest.mark.parametrize(("limit", "lanes_of_one"), [("6442450944\n", 3), ("max\n", 8), (None, 8)])
def test_a_container_may_have_less_memory_than_its_machine(
    monkeypatch, tmp_path, limit, lanes_of_one
):
    """A lane beyond would be ended by the kernel, and its engine would be said to have crashed."""
    file = tmp_path / "memory.max"
    if limit is not None:
        file.write_text(limit)
    monkeypatch.setattr(lanes, "CONTAINER_LIMIT", file)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 64 << 18}.get)
    assert lanes.default_lanes(1) == lanes_of_one


ENGINES = ("tests.miniatures:Enumerator", "tests.miniatures:ForbidsOne")


class Reached(Exception):
    """The cases are selected and lanes would be started."""


class Recorder:
    """An executor that says what it was asked, and runs nothing."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, settings, cases, begin, telling):
        self.asked.append(cases)
        raise Reached


def request_for(tmp_path, **asked):
    return BenchRequest(ENGINES, out=tmp_path / "run", **asked)


def test_prepares_nothing_for_cases_that_are_not_there(tmp_path):
    executor = Recorder()
    with pytest.raises(UsageError, match="no family 'nonsense'"):
        run_with(executor, request_for(tmp_path, families=("nonsense",)))
    assert executor.asked == []


def test_a_bad_place_is_refused_before_anything_is_looked_at(tmp_path):
    (tmp_path / "run").touch()
    with pytest.raises(MaskcourtError, match="is no directory"):
        run_with(Recorder(), request_for(tmp_path, vocabulary="nowhere"))


@pytest.mark.processes
def test_another_run_is_refused_before_anything_is_started(tmp_path):
    executor = Recorder()
    with pytest.raises(Reached):
        run_with(executor, request_for(tmp_path, limit=3))
    assert executor.asked == [3]
    create_or_resume(tmp_path / "run", {"engines": {}, "data": {"name": "another"}}, {}).release()
    other = Recorder()
    with pytest.raises(RunDirectoryError, match="holds a run with other data"):
        run_with(other, request_for(tmp_path, limit=3))
    assert other.asked == []


@pytest.mark.processes
def test_each_executor_has_directories_of_its_own(tmp_path, monkeypatch):
    """A sweep does not find the finished run of the same bench and print that."""
    found = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("harness.execution.bench.same_run", lambda path, *_: found.append(path))
    for prefix in ("", "sweep-"):
        with pytest.raises(Reached):
            run_with(Recorder(), BenchRequest(ENGINES, limit=3), prefix=prefix)
    assert found[1].name == f"sweep-{found[0].name}"
