"""What a run asks of whatever runs its cases, before there is a lane."""

from __future__ import annotations

import contextlib
import threading

import pytest

from harness.errors import RunDirectoryError, UsageError
from harness.execution import bench
from harness.execution.bench import BenchRequest, run_with
from harness.runs.directory import create_or_resume

ENGINES = ("tests.miniatures:Enumerator", "tests.miniatures:ForbidsOne")


class Reached(Exception):
    """The cases are selected and lanes would be started."""


class Recorder:
    """An executor that says what it was asked, and runs nothing."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.is_up = threading.Event()

    @contextlib.contextmanager
    def prepared(self):
        self.heard.append("up")
        self.is_up.set()
        try:
            yield
        finally:
            self.heard.append("down")

    def lanes(self, cases):
        return 1

    def run(self, settings, cases, begin, progress):
        self.heard.append(f"run {cases}")
        raise Reached


@pytest.fixture
def executor():
    return Recorder()


def request_for(tmp_path, **asked):
    return BenchRequest(ENGINES, out=tmp_path / "run", **asked)


@pytest.mark.processes
def test_prepares_while_the_cases_are_selected(tmp_path, executor, monkeypatch):
    select = bench.select

    def select_when_up(*arguments, **named):
        assert executor.is_up.wait(60)  # would end in a time-out if one waited for the other
        return select(*arguments, **named)

    monkeypatch.setattr(bench, "select", select_when_up)
    monkeypatch.setattr(bench, "BAD_CASES_SECONDS", 0.01)
    with pytest.raises(Reached):
        run_with(executor, request_for(tmp_path, limit=3))
    assert executor.heard == ["up", "run 3", "down"]


def test_prepares_nothing_for_cases_that_are_not_there(tmp_path, executor):
    with pytest.raises(UsageError, match="no family 'nonsense'"):
        run_with(executor, request_for(tmp_path, families=("nonsense",)))
    assert executor.heard == []


def test_what_was_prepared_is_let_go_when_the_selection_fails(tmp_path, executor, monkeypatch):
    def fail_when_up(*arguments, **named):
        assert executor.is_up.wait(60)
        raise UsageError("nothing is left")

    monkeypatch.setattr(bench, "select", fail_when_up)
    monkeypatch.setattr(bench, "BAD_CASES_SECONDS", 0.01)
    with pytest.raises(UsageError, match="nothing is left"):
        run_with(executor, request_for(tmp_path))
    assert executor.heard == ["up", "down"]


@pytest.mark.processes
def test_another_run_is_refused_before_anything_is_started(tmp_path, executor):
    with pytest.raises(Reached):
        run_with(executor, request_for(tmp_path, limit=3))
    create_or_resume(tmp_path / "run", {"engines": {}, "data": {"name": "another"}}, {}).release()
    other = Recorder()
    with pytest.raises(RunDirectoryError, match="holds a run with other data"):
        run_with(other, request_for(tmp_path, limit=3))
    assert other.heard == []
