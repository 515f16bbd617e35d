"""An engine that does what no engine should costs itself the case, and nobody else anything.

So does one that is killed from outside twice over the same question; killed once, it is asked
again, and nothing is different.
"""

import contextlib
import os
import signal
from dataclasses import replace

import numpy as np
import pytest

from harness.comparison.case_run import CaseRun
from harness.comparison.resolvers import Effort, SharedResolver
from harness.engines.panel import Limits, Panel
from harness.engines.specs import EngineSpec
from harness.errors import UsageError
from harness.execution.lanes import Lane, LaneSettings
from harness.runs.tables import SCHEMAS
from harness.validators.judge import Judge
from harness.workers.hosts import Host
from harness.workers.outcomes import Crashed
from tests.inprocess import UNCAPPED, InProcessPanel, case, default_options, records
from tests.miniatures import (
    AcceptsExtra,
    EatsMemory,
    EatsOnMask,
    Enumerator,
    ForbidsOne,
    HangsBehindExtra,
    SleepsOnMask,
)
from tests.misbehaving import (
    HARMFUL,
    HARMLESS,
    PLACES,
    DiesAlways,
    DiesOnce,
    ForksAndAnswersShort,
    at,
)

pytestmark = pytest.mark.processes
RULES = replace(UNCAPPED, on_dropout="continue")
CASE = case({"enum": [1, 12, 123], "x-extra": ["124"], "x-forbidden": [["1", "2"]]}, 123)


@pytest.fixture(scope="module")
def judge():
    """The validators, for all tests."""
    with contextlib.closing(Judge(4 << 30)) as judge:
        yield judge


@pytest.fixture(scope="module")
def rows_of(vocabulary, vocabulary_file, judge):
    """The rows of the case, run by real hosts; those of honest engines serve all tests."""
    kept = {}

    def run(*kinds, one=CASE, limits=Limits(mask=5.0)):  # noqa: B008 - it is frozen
        specs = [
            EngineSpec(f"engine{at}", f"{kind.__module__}:{kind.__name__}", default_options(kind))
            for at, kind in enumerate(kinds)
        ]
        panel = Panel(specs, str(vocabulary_file), vocabulary.words, limits)
        hosts = panel._hosts
        for index, kind in enumerate(kinds):
            if kind in (AcceptsExtra, Enumerator, ForbidsOne):
                hosts[index] = kept.setdefault((index, kind, limits.memory), hosts[index])
        with contextlib.ExitStack() as ending:
            for host in hosts:
                if host not in kept.values():
                    ending.enter_context(contextlib.closing(host))
            resolver = SharedResolver(Effort())
            return CaseRun(panel, judge, vocabulary, resolver, RULES).run(one)

    yield run
    for host in kept.values():
        host.close()


@pytest.fixture(scope="module")
def honest(rows_of):
    """What is told of the second engine beside an honest one."""
    return told(rows_of(Enumerator, AcceptsExtra), without="engine0")


def told(rows, *, without=""):
    """All tables but the times, without the rows about one engine."""
    tables = SCHEMAS.keys() - {"timings", "costs"}
    return {
        table: [row for row in records(rows, table) if row.get("engine") != without]
        for table in tables
    }


def compiled(rows):
    """The outcomes of compilation, by engine."""
    stored = records(rows, "engines")
    return {row["engine"]: row["outcome"] for row in stored if row["stage"] == "compile"}


def charged(rows):
    return {row["engine"] for row in records(rows, "verdicts")}


@pytest.mark.parametrize(
    ("kind", "place"),
    [*((HARMLESS[0], place) for place in PLACES), *((kind, "mask") for kind in HARMLESS[1:])],
)
def test_what_does_no_harm_changes_nothing(rows_of, honest, kind, place):
    assert honest["verdicts"], "there is something to find"
    rows = rows_of(at(kind, place), AcceptsExtra)
    assert told(rows, without="engine0") == honest
    assert compiled(rows) == {"engine0": "compiled", "engine1": "compiled"}
    assert charged(rows) == {"engine1"}


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        *((HARMFUL[0], place) for place in PLACES),
        *((kind, "mask") for kind in (*HARMFUL[1:], ForksAndAnswersShort)),
    ],
)
def test_what_breaks_the_channel_is_held_against_its_engine_alone(rows_of, kind, place):
    """Also by a walk that is said to be done before it is."""
    rows = rows_of(at(kind, place), AcceptsExtra, Enumerator)
    [stored] = records(rows, "cases")
    assert stored["status"] == "walked", stored
    assert (compiled(rows)["engine1"], compiled(rows)["engine2"]) == ("compiled", "compiled")
    assert charged(rows) == {"engine1"}


@pytest.mark.parametrize(
    ("kind", "after", "stages", "outcome"),
    [
        (EatsMemory, 1, {"compile"}, "out_of_memory"),
        (SleepsOnMask, 1, {"walk", "instances"}, "timed_out"),
        (EatsOnMask, 1, {"walk", "instances"}, "out_of_memory"),
        (HangsBehindExtra, 4, {"resolve"}, "timed_out"),
    ],
)
def test_a_limit_is_named_and_nobody_elses_loss(rows_of, kind, after, stages, outcome):
    def judged(rows):
        return [row for row in records(rows, "verdicts") if row["engine"] != "engine3"]

    schema = {"enum": ["ab", "cab"], "x-extra": ['"axxxxxx"'], "x-forbidden": [['"', "c"]]}
    one = case({**schema, "x-crash": after}, "ab")
    limits = Limits(compile=1.0, mask=1.0, resolve=1.0, memory=300 << 20)
    others = Enumerator, Enumerator if "resolve" in stages else AcceptsExtra, ForbidsOne
    rows = rows_of(*others, kind, one=one, limits=limits)
    ends = [row for row in records(rows, "engines") if row["outcome"] != "compiled"]
    expected = {("engine3", stage, outcome) for stage in stages}
    assert {(row["engine"], row["stage"], row["outcome"]) for row in ends} == expected
    errors = ("engine", "position", "token", "kind")
    alone, beside = (
        [tuple(row[name] for name in errors) for row in judged(some)]
        for some in (rows_of(*others, one=one), rows)
    )
    assert alone == beside != []


def test_an_answer_of_another_length_is_none(vocabulary, monkeypatch):
    """As if the service were not the one that is asked."""
    from harness.engines.requests import Each, Lengthen

    panel = InProcessPanel([Enumerator], vocabulary)
    panel.compile(CASE.schema)
    service = panel._hosts[0]._service
    two = np.zeros(2, dtype=np.int32)
    monkeypatch.setattr(service, "lengthen", lambda _: Each(two))
    answer = panel.ask({0: Lengthen(two[:1], 1)})[0]
    assert answer == Crashed("gave no answer to what it was asked")
    assert not panel.up(0)


@pytest.mark.parametrize("place", ["compile", "mask"])
def test_an_engine_that_somebody_killed_is_asked_once_more(rows_of, tmp_path, monkeypatch, place):
    monkeypatch.setenv("KILLED", str(tmp_path / "killed"))
    (tmp_path / "killed").touch()
    undisturbed = told(rows_of(at(DiesOnce, place), AcceptsExtra, ForbidsOne))
    (tmp_path / "killed").unlink()
    assert told(rows_of(at(DiesOnce, place), AcceptsExtra, ForbidsOne)) == undisturbed
    assert (tmp_path / "killed").exists()


@pytest.mark.parametrize("place", ["compile", "mask"])
def test_one_that_is_killed_over_the_same_question_again_has_crashed(rows_of, place):
    rows = rows_of(at(DiesAlways, place), AcceptsExtra, Enumerator)
    first = "crashed" if place == "compile" else "compiled"
    assert compiled(rows)["engine0"] == first
    assert charged(rows) == {"engine1"}
    ends = [row for row in records(rows, "engines") if row["outcome"] == "crashed"]
    assert {(row["engine"], row["signal"]) for row in ends} == {("engine0", "SIGKILL")}


@pytest.fixture
def real(vocabulary, vocabulary_file):
    """Two real hosts of the honest engine that compiled the case."""
    options = default_options(Enumerator)
    specs = [EngineSpec(name, "tests.miniatures:Enumerator", options) for name in "ab"]
    panel = Panel(specs, str(vocabulary_file), vocabulary.words, Limits())
    panel.compile(CASE.schema)
    yield panel
    panel.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_one_that_is_killed_between_two_questions_stands_where_it_stood(real, number):
    expected = real.walk([0, 1], [-1, *b"12"], 0)[1].masks[2].copy()
    os.kill(real._hosts[0]._process.pid, number)
    walked = real.walk([0, 1], [-1], 2)
    assert walked[0].failure is None
    assert np.array_equal(walked[0].masks[0], expected)
    os.kill(real._hosts[0]._process.pid, number)
    walked = real.walk([0, 1], [ord("3")], 2)
    assert np.array_equal(walked[0].masks, walked[1].masks)


def test_what_it_asked_ahead_is_asked_again(real):
    real.begin_walk([0, 1], [-1, *b"12"], 0)
    os.kill(real._hosts[0]._process.pid, signal.SIGKILL)
    first, second = real.end_walk([0, 1]).values()
    assert first.failure is None
    assert np.array_equal(first.masks, second.masks)


def test_one_that_is_killed_while_it_starts_is_started_again(real, monkeypatch):
    launch, starts = Host.launch, []

    def killed_at_first(host):
        launch(host)
        starts.append(host)
        if len(starts) == 1:
            os.kill(host._process.pid, signal.SIGKILL)

    real._hosts[0].stop()
    monkeypatch.setattr(Host, "launch", killed_at_first)
    assert real.open() == {}
    assert len(starts) == 2


def test_one_that_is_killed_whenever_it_starts_is_not_said_to_be_missing(
    real, monkeypatch, vocabulary_file
):
    launch = Host.launch

    def killed(host):
        launch(host)
        os.kill(host._process.pid, signal.SIGKILL)

    settings = LaneSettings(real.specs[:1], str(vocabulary_file), Limits(), RULES)
    with contextlib.closing(Lane(settings)) as lane:
        monkeypatch.setattr(Host, "launch", killed)
        with pytest.raises(UsageError, match=r"does not start: died of SIGKILL") as caught:
            lane.open()
    assert "something else ended its process" in caught.value.hint
