"""What connects to a sweep: its lanes, and now and then somebody else."""

import queue
from types import SimpleNamespace

from harness.execution.sweep.lanes import LaneActors


def test_whoever_is_no_lane_is_passed_over():
    """A probe of the port breaks off in the middle of what a lane would say."""
    calls = [OSError("bad message length"), ConnectionResetError(), (3, "node")]

    def accept():
        if not calls:
            actors._closed = True
            raise OSError("closed")
        said = calls.pop(0)
        if isinstance(said, OSError):
            raise said
        return SimpleNamespace(recv=lambda: said)

    listener = SimpleNamespace(accept=accept)
    actors = SimpleNamespace(_listener=listener, _calls=queue.SimpleQueue(), _closed=False)
    LaneActors._accept(actors)
    assert actors._calls.get_nowait()[:2] == (3, "node")
