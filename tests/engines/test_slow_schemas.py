"""Outcomes near the time limit of compilation are remembered, those far from it are not."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest

from harness.engines.panel import Limits, Panel, SlowSchemas
from harness.engines.requests import Opened
from harness.engines.specs import EngineSpec
from harness.workers import hosts
from harness.workers.outcomes import Compiled, TimedOut
from tests.inprocess import default_options
from tests.miniatures import HangsOnCompile

NOTHING = (None, "")
ENGINE = Opened("toy", "1", {}, {"toy": "1"}, sha256="", words=1, code="a")


def slow(tmp_path, limit=10.0, vocabulary="v") -> SlowSchemas:
    return SlowSchemas(tmp_path, limit, vocabulary)


@pytest.mark.parametrize("printed", ["a warning\n\n", "10 %\r20 %\r\n", "\nübrig"])
def test_what_was_printed_until_a_time_out_is_remembered_with_it(tmp_path, printed):
    slow(tmp_path).keep(ENGINE, "{}", "timed_out", 10.0, printed)
    assert slow(tmp_path).recall(ENGINE, "{}") == ("timed_out", printed)


@pytest.mark.parametrize(
    ("seconds", "recalled"),
    [(1.9, None), (2.1, "compiled"), (9.9, "compiled")],
)
def test_a_success_is_remembered_when_it_came_near_the_limit(tmp_path, seconds, recalled):
    slow(tmp_path).keep(ENGINE, "{}", "compiled", seconds)
    assert slow(tmp_path).recall(ENGINE, "{}") == (recalled, "")


@pytest.mark.parametrize("content", [b"", b"no such outcome\n", b"\xff\xfe"])
def test_a_memory_that_is_damaged_or_of_another_schema_is_no_memory(tmp_path, content):
    memory = slow(tmp_path)
    for schema, outcome in (("{}", "timed_out"), ("true", "compiled")):
        memory.keep(ENGINE, schema, outcome, 9.0)
    memory._file(ENGINE, "{}").rename(memory._file(ENGINE, "true"))
    memory._file(ENGINE, "{}").write_bytes(content)
    assert memory.recall(ENGINE, "true") == memory.recall(ENGINE, "{}") == NOTHING
    assert memory.limit("compiled") > memory.limit(None) == 10.0, "what compiled has more time"


@pytest.mark.parametrize(
    "other",
    [
        {"engine": replace(ENGINE, version="2")},
        {"engine": replace(ENGINE, options={"fast": True})},
        {"engine": replace(ENGINE, code="b")},
        {"engine": replace(ENGINE, build="wheel sha256:1")},
        {"schema": "true"},
        {"limit": 11.0},
        {"vocabulary": "w"},
    ],
)
def test_nothing_else_is_taken_for_it(tmp_path, other):
    slow(tmp_path).keep(ENGINE, "{}", "timed_out", 10.0)
    asked = slow(tmp_path, other.get("limit", 10.0), other.get("vocabulary", "v"))
    assert asked.recall(other.get("engine", ENGINE), other.get("schema", "{}")) == NOTHING


def test_a_directory_that_cannot_be_written_costs_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    memory = slow(tmp_path / "file")
    memory.keep(ENGINE, "{}", "timed_out", 10.0)
    assert memory.recall(ENGINE, "{}") == NOTHING


@pytest.fixture
def panel(tmp_path, vocabulary, vocabulary_file):
    """Of one engine, which hangs at will; it has 0.3 s, and remembers what needs them."""
    spec = EngineSpec(
        "hangs", "tests.miniatures:HangsOnCompile", default_options(HangsOnCompile), paths=(".",)
    )
    memory = SlowSchemas(tmp_path, 0.3, vocabulary.sha256)
    limits = Limits(compile=0.3)
    panel = Panel([spec], str(vocabulary_file), vocabulary.words, limits, memory)
    yield panel
    panel.close()


@pytest.mark.processes
def test_a_panel_tries_a_schema_that_timed_out_only_once(panel):
    hanging = '{"const": 1, "x-crash": true}'
    first = panel.compile(hanging)[0]
    assert isinstance(first, TimedOut)
    assert panel.output(0) == "this may take long\n"
    assert panel.open() == {}
    again = panel.compile(hanging)[0]
    assert (again, panel.output(0)) == (first, "this may take long\n")
    assert panel.output(0) == "", "it is told once"
    assert panel.open() == {}, "the host was not asked, so it did not die again"
    assert isinstance(panel.compile('{"const": 1}')[0], Compiled)


@pytest.mark.processes
def test_that_somebody_stopped_an_engine_says_nothing_of_the_schema(panel, monkeypatch):
    monkeypatch.setattr(hosts, "STOPPED_SECONDS", 0.5)
    assert panel.open() == {}
    stopped = panel._hosts[0]._process
    os.kill(stopped.pid, signal.SIGSTOP)
    assert isinstance(panel.compile('{"const": 1}')[0], Compiled)
    assert panel._hosts[0]._process != stopped, "another process was asked"
