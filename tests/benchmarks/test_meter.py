"""The benchmark's timer and meter tell the truth."""

import time

import numpy as np
import pytest

from benchmarks.meter import Meter, TellExpenses, Timer
from harness.workers import wire


class Slow:
    """A matcher of sorts: one call takes a known time, another calls it."""

    def wait(self) -> str:
        time.sleep(0.01)
        return "waited"

    def wait_twice(self) -> None:
        self.wait()
        self.wait()


class Slower(Slow):
    def wait(self) -> str:
        return super().wait()


class TestTheTimer:
    def test_a_call_inside_another_counts_once(self):
        timer = Timer()
        timer.attach(Slow)
        Slow().wait_twice()
        timer.detach()
        assert timer.calls == 1
        assert timer.ns / 1e9 >= 0.02

    def test_leaves_the_class_as_it_was(self):
        before = dict(vars(Slower))
        timer = Timer()
        timer.attach(Slower)
        assert vars(Slower)["wait"] is not before["wait"]
        assert "wait_twice" in vars(Slower)
        timer.detach()
        assert dict(vars(Slower)) == before
        Slower().wait()
        assert timer.calls == 0

    def test_a_native_class_cannot_be_timed(self):
        assert not Timer().attach(np.ndarray)


class TestTheMeter:
    def test_tells_commands_apart_and_starts_again(self):
        meter = Meter()
        for do in ("a", "a", "b"):
            meter.answer(lambda message: message, wire.Message({"do": do}))
        commands = meter.answer(None, TellExpenses().message()).head["commands"]
        assert {do: one["requests"] for do, one in commands.items()} == {"a": 2, "b": 1}
        assert meter.spent().commands == {}

    def test_a_request_that_fails_is_measured_and_fails(self):
        def fail(_message):
            raise ValueError("no")

        meter = Meter()
        with pytest.raises(ValueError, match="no"):
            meter.answer(fail, wire.Message({"do": "a"}))
        assert meter.commands["a"].requests == 1
