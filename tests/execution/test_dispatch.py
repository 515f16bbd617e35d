"""The dispatcher and lanes that die: whose fault it was, and when a run is given up."""

from types import SimpleNamespace

import pytest

from harness.errors import MaskcourtError
from harness.execution.dispatch import Death, Dispatch, LaneHandle


class Lane(LaneHandle):
    """A lane that says what it is given to say and then dies."""

    def __init__(self, messages=(), death=None):
        self.messages, self.death = list(messages), death

    def receive(self):
        return self.messages.pop(0) if self.messages else None

    def send(self, what):
        pass


class Starter:
    """Starts lanes in the order given; each in turn is heard."""

    false_starts, hint = 3, "look at the nodes"

    def __init__(self, lanes):
        self.lanes = lanes

    def start(self):
        return self.lanes.pop(0)

    def ready(self, lanes):
        return lanes[-1:]

    def buried(self, lane):
        return lane.death or Death("")

    def close(self, lanes):
        pass


def dispatch(lanes, count=1):
    run = SimpleNamespace(seen=frozenset)
    nothing = lambda *_: None  # noqa: E731
    progress = SimpleNamespace(case_stored=nothing, running=nothing)
    return Dispatch(Starter(lanes), count, lambda engines: (run, iter(())), progress)


GOOD = [{"tiny": "1.0"}, "take", "left"]


def test_lanes_that_die_with_their_machine_while_they_start_are_no_reason_to_give_up():
    lost = [Lane(death=Death("the node died", machine=True)) for _ in range(4)]
    dispatch([*lost, Lane(GOOD)]).run()


def test_lanes_that_die_of_themselves_while_they_start_are():
    broken = [Lane(death=Death("no such library")) for _ in range(3)]
    with pytest.raises(MaskcourtError, match=r"died while starting \(no such library\)"):
        dispatch([*broken, Lane(GOOD)]).run()
