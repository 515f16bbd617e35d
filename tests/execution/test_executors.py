"""What a run asks of whatever runs its cases, before there is a lane."""

from __future__ import annotations

import contextlib

import pytest

from harness.errors import RunDirectoryError, UsageError
from harness.execution.bench import run_with
from harness.execution.request import BenchRequest
from harness.runs.directory import create_or_resume

ENGINES = ("tests.miniatures:Enumerator", "tests.miniatures:ForbidsOne")


class Reached(Exception):
    """The cases are selected and lanes would be started."""


class Recorder:
    """An executor that says what it was asked, and runs nothing."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    @contextlib.contextmanager
    def __call__(self, settings, cases, say):
        self.asked.append(cases)
        raise Reached
        yield


@pytest.fixture
def executor():
    return Recorder()


def request_for(tmp_path, **asked):
    return BenchRequest(ENGINES, out=tmp_path / "run", **asked)


def test_prepares_nothing_for_cases_that_are_not_there(tmp_path, executor):
    with pytest.raises(UsageError, match="no family 'nonsense'"):
        run_with(executor, request_for(tmp_path, families=("nonsense",)))
    assert executor.asked == []


def test_a_bad_place_is_refused_before_anything_is_looked_at(tmp_path, executor):
    (tmp_path / "run").touch()
    with pytest.raises(RunDirectoryError, match="is no directory"):
        run_with(executor, request_for(tmp_path, vocabulary="nowhere"))


@pytest.mark.processes
def test_another_run_is_refused_before_anything_is_started(tmp_path, executor):
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
