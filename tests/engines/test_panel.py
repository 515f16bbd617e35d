"""The panel asks all engines at once and tells what became of each, whatever the others do."""

import json
import os
import signal
from dataclasses import replace

import numpy as np
import pytest

from harness.engines.panel import Limits, Panel
from harness.engines.requests import Lengthen, Prove
from harness.engines.specs import EngineSpec
from harness.protocol import token_ids
from harness.workers import hosts, wire
from harness.workers.outcomes import (
    Compiled,
    Crashed,
    MaskViolation,
    OutOfMemory,
    Refusal,
    TimedOut,
)
from tests import miniatures
from tests.inprocess import Died, InProcessPanel, default_options, names_of

QUICK = Limits(compile=1.0, mask=0.4, resolve=2.0, memory=128 << 20)
SCHEMA = json.dumps({"enum": [12, 123, 45]})


@pytest.fixture
def panel_of(vocabulary, vocabulary_file):
    """A real panel of miniatures; its hosts end with the test."""
    panels = []

    def make(*kinds, limits=QUICK):
        specs = [
            EngineSpec(name, f"tests.miniatures:{kind.__name__}", default_options(kind))
            for name, kind in zip(names_of(kinds), kinds, strict=True)
        ]
        panels.append(Panel(specs, str(vocabulary_file), vocabulary.words, limits))
        return panels[-1]

    yield make
    for panel in panels:
        panel.close()


@pytest.fixture(params=[pytest.param("in hosts", marks=pytest.mark.processes), "in process"])
def panel(request, panel_of, vocabulary):
    """The same panel of three with and without processes: what it says must not differ."""
    kinds = (miniatures.Enumerator, miniatures.ForbidsOne, miniatures.ConsumeLies)
    if request.param == "in hosts":
        return panel_of(*kinds, limits=Limits())
    return InProcessPanel(kinds, vocabulary)


def allowed(panel, engine, vocabulary):
    """The tokens of the engine's last mask, as bytes."""
    buffer = panel._hosts[engine].buffer
    mask = buffer.masks[panel._bank, buffer.progress[0] - 1]
    return {vocabulary.tokens[one] for one in token_ids(mask, vocabulary.size)}


def walk(panel, engines, tokens, at=0):
    """Walk from the start, or with `at` go on from there; what became of each engine."""
    return panel.walk(engines, tokens if at else [-1, *tokens], at)


class TestCompiling:
    @pytest.mark.processes
    def test_every_way_to_fail_is_told_apart_and_survived(self, panel_of):
        outcomes = {
            miniatures.Enumerator: None,
            miniatures.RefusesAll: Refusal("this engine refuses every schema"),
            miniatures.CrashesOnCompile: Crashed("died of SIGSEGV", signal="SIGSEGV"),
            miniatures.ExitsOnCompile: Crashed("left with exit code 3"),
            miniatures.HangsOnCompile: TimedOut("over the limit of 1 s"),
            miniatures.EatsMemory: OutOfMemory("over the memory limit of 128 MiB"),
            miniatures.RaisesOnCompile: Crashed("RuntimeError: a miniature raised on purpose"),
        }
        panel = panel_of(*outcomes)
        found = panel.compile(json.dumps({"const": 1, "x-crash": True}))
        assert list(found) == list(range(len(outcomes)))
        assert isinstance(found.pop(0), Compiled)
        assert list(found.values()) == list(outcomes.values())[1:]

        again = panel.compile(json.dumps({"const": 1}))
        refused = again.pop(1)
        assert refused == outcomes[miniatures.RefusesAll]
        assert all(isinstance(one, Compiled) for one in again.values())

    @pytest.mark.processes
    def test_an_engine_that_cannot_be_made(self, panel_of):
        panel = panel_of(*[miniatures.Enumerator] * 3)
        good, gone, bad = panel.specs
        gone = replace(gone, reference="tests.miniatures:Nothing")
        panel.specs = (good, gone, replace(bad, options={}))
        for _ in range(2):
            failed = panel.open()
            assert sorted(failed) == [1, 2]
            assert "Nothing" in failed[1].message
            assert "when it is made, it raises KeyError: 'compact'" in failed[2].message
        outcomes = panel.compile(SCHEMA)
        assert [type(one) for one in outcomes.values()] == [Compiled, Crashed, Crashed]

    def test_of_some_engines_alone(self, panel, vocabulary):
        panel.compile(SCHEMA)
        assert list(panel.compile('{"const": 9}', [1])) == [1]
        walk(panel, [0, 1], [])
        assert allowed(panel, 0, vocabulary) == {b"1", b"12", b"4"}
        assert allowed(panel, 1, vocabulary) == {b"9"}


class TestDistrust:
    """An engine whose faster way was found to differ from its masks is held to the masks."""

    def proven(self, panel):
        """Whether the engine is believed to go on with 9 behind 1, which its mask forbids."""
        one, none = np.array([ord("1")], dtype=np.int32), np.zeros(1, dtype=np.int32)
        rest, members = wire.Ragged.of_ints([[ord("9")]]), wire.Ragged.of_ints([[0]])
        return panel.ask({0: Prove(one, none, none, rest, members)})[0].values.tolist() == [0]

    def test_lasts_for_the_case_and_through_a_restart(self, vocabulary):
        panel = InProcessPanel([miniatures.Hasty], vocabulary)
        panel.compile(SCHEMA, distrusted=())
        assert self.proven(panel)
        panel.compile(SCHEMA, distrusted=[0])
        assert not self.proven(panel)
        panel._hosts[0].stop()
        assert panel.recover(0, ()) is None
        assert not self.proven(panel)
        panel.compile(SCHEMA, distrusted=())
        assert self.proven(panel)


class TestWalking:
    def test_a_batch_is_as_many_steps(self, panel, vocabulary):
        panel.compile(SCHEMA)
        batch = [one.masks.copy() for one in walk(panel, [0, 1], b"123").values()]
        singly = [one.masks.copy() for one in panel.walk([0, 1], [-1], 0).values()]
        for at, token in enumerate(b"123"):
            walked = panel.walk([0, 1], [token], at).values()
            singly = [
                np.vstack(pair) for pair in zip(singly, [one.masks for one in walked], strict=True)
            ]
        assert all(np.array_equal(*pair) for pair in zip(batch, singly, strict=True))

    def test_what_is_asked_meanwhile_waits_and_takes_nothing_from_the_walk(self, panel, vocabulary):
        panel.compile(SCHEMA)
        expected = [one.masks.copy() for one in walk(panel, [0, 1], b"123").values()]
        panel.recover_start(0)
        panel.recover_start(1)
        panel.begin_walk([0, 1], [-1, *b"123"], 0)
        tokens = np.array([ord("2")], dtype=np.int32)
        answer = panel.ask({1: Lengthen(tokens, 1, at=1)})[1]
        assert answer.values.tolist() == [1]
        walked = panel.end_walk([0, 1])
        found = [walked[engine].masks for engine in (0, 1)]
        assert all(np.array_equal(*pair) for pair in zip(found, expected, strict=True))

    def test_a_question_that_was_given_up_is_held_against_no_engine(self, panel):
        """As where the time for a schema is over between two chunks of roll-outs."""
        panel.compile(SCHEMA)
        walk(panel, [0], b"1")
        panel.begin({0: Lengthen(np.array([ord("2")], dtype=np.int32), 1, at=1)})
        assert {type(one) for one in panel.compile(SCHEMA).values()} == {Compiled}

    def test_an_engine_that_refuses_a_token_of_its_mask(self, panel):
        panel.compile(json.dumps({"const": 12, "x-forbidden": [["1", "2"]]}))
        walked = walk(panel, [0, 2], b"12")
        assert (len(walked[0]), walked[0].failure) == (3, None)
        assert len(walked[2]) == 2
        assert walked[2].failure == MaskViolation("refused to consume a token that its mask allows")

    def test_an_exception_in_a_mask_is_a_crash_that_leaves_the_others_alone(self, vocabulary):
        panel = InProcessPanel([miniatures.RaisesOnMask, miniatures.Enumerator], vocabulary)
        panel.compile(json.dumps({"const": 12, "x-crash": 1}))
        walked = walk(panel, [0, 1], b"12")
        assert walked[0].failure == Crashed("RuntimeError: a miniature raised on purpose")
        assert len(walked[0]) == 1, "it reached the start"
        assert (len(walked[1]), walked[1].failure) == (3, None)


@pytest.mark.processes
def test_a_defect_of_the_harness_in_a_host_is_held_against_no_engine(panel_of):
    panel = panel_of(miniatures.Enumerator, miniatures.Enumerator, limits=Limits())
    panel.compile(SCHEMA)
    wrong = Lengthen(np.zeros(1, dtype=np.int32), "no number", at=0)
    with pytest.raises(RuntimeError, match="in the host of Enumerator: TypeError: can't multiply"):
        panel.ask({0: wrong, 1: Lengthen(np.zeros(1, dtype=np.int32), 1, at=0)})
    assert {type(one) for one in panel.compile(SCHEMA).values()} == {Compiled}


class TestRecovering:
    @pytest.mark.processes
    def test_an_engine_that_crashed_is_brought_back_to_the_same_mask(self, panel_of, vocabulary):
        panel = panel_of(miniatures.Enumerator, miniatures.Enumerator, limits=Limits())
        panel.compile(SCHEMA)
        before = walk(panel, [0, 1], b"12")[0].masks[-1].copy()
        os.kill(panel._hosts[0]._process.pid, signal.SIGSEGV)
        walked = panel.walk([0, 1], [-1], 2)
        assert walked[0].failure == Crashed("died of SIGSEGV", signal="SIGSEGV")
        assert len(walked[0]) == 0
        assert walked[1].failure is None
        assert panel.recover(0, tuple(b"12")) is None
        walked = panel.walk([0, 1], [-1], 2)
        assert np.array_equal(walked[0].masks[0], before)
        panel.walk([0, 1], [ord("3")], 2)
        assert allowed(panel, 0, vocabulary) == allowed(panel, 1, vocabulary) == {b"<eos>"}

    @pytest.mark.processes
    def test_an_engine_that_hangs_in_a_mask(self, panel_of, vocabulary):
        panel = panel_of(miniatures.HangsOnMask, miniatures.CrashesOnMask)
        panel.compile(json.dumps({"const": 12, "x-crash": 1}))
        walked = walk(panel, [0, 1], b"12")
        assert walked[0].failure == TimedOut("over the limit of 0.4 s")
        assert walked[1].failure == Crashed("died of SIGSEGV", signal="SIGSEGV")
        assert [len(one) for one in walked.values()] == [1, 1], "both came to the start"
        assert panel.recover_start(0) is None
        assert list(walk(panel, [0], [])) == [0]
        assert allowed(panel, 0, vocabulary) == {b"1", b"12"}

    @pytest.mark.processes
    def test_the_limit_is_for_each_mask_of_a_batch(self, panel_of):
        panel = panel_of(miniatures.SlowMasks)
        panel.compile(json.dumps({"const": 1234}))
        (walked,) = walk(panel, [0], b"1234").values()
        assert (len(walked), walked.failure) == (5, None)

    def test_an_engine_that_fails_at_every_start_is_not_brought_back(self, vocabulary):
        class Dies(miniatures.Enumerator):
            def matcher(self, schema):
                raise Died(Crashed("died of SIGABRT", signal="SIGABRT"))

        panel = InProcessPanel([Dies, miniatures.Enumerator], vocabulary)
        panel.compile(SCHEMA)
        walk(panel, [1], b"1")
        assert panel.recover(0, tuple(b"1")) == Crashed("died of SIGABRT", signal="SIGABRT")
        assert panel.walk([1], [ord("2")], 1)[1].failure is None

    def test_an_engine_that_refuses_the_second_time(self, vocabulary):
        panel = InProcessPanel([miniatures.Enumerator], vocabulary)
        panel.compile(SCHEMA)
        panel._schema = "true"
        assert isinstance(panel.recover(0, ()), Refusal)


class TestOutput:
    @pytest.mark.processes
    def test_is_kept_by_engine_and_by_case(self, panel_of, capfd):
        panel = panel_of(miniatures.Chatty, miniatures.Enumerator)
        panel.compile(SCHEMA)
        said = panel.output(0)
        for stream in ("stdout", "stderr", "descriptor 1"):
            assert f"chatty: compile on {stream}" in said
        assert "warning: mask on descriptor 2" in said, "the first mask belongs to compilation"
        assert panel.output(1) == ""
        walk(panel, [0, 1], [])
        assert "compile" not in (later := panel.output(0))
        assert "chatty: mask on stdout" in later
        panel.compile(SCHEMA)
        assert panel.output(0) == said, "it does not depend on the case before"
        assert capfd.readouterr() == ("", "")


@pytest.mark.processes
def test_that_somebody_stopped_an_engine_says_nothing_of_the_schema(panel_of, monkeypatch):
    monkeypatch.setattr(hosts, "STOPPED_SECONDS", 0.5)
    panel = panel_of(miniatures.Enumerator)
    assert panel.open() == {}
    stopped = panel._hosts[0]._process
    os.kill(stopped.pid, signal.SIGSTOP)
    assert isinstance(panel.compile('{"const": 1}')[0], Compiled)
    assert panel._hosts[0]._process != stopped, "another process was asked"
