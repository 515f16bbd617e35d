"""What connects to a sweep: its lanes, and now and then somebody else."""

import queue
import socket
import threading
from functools import partial
from multiprocessing import AuthenticationError, connection
from types import SimpleNamespace

import pytest

from harness.execution.sweep.lanes import LaneActors


@pytest.fixture
def actors():
    listener = connection.Listener(("127.0.0.1", 0))
    order = SimpleNamespace(key=b"key")
    made = SimpleNamespace(
        _listener=listener, _calls=queue.SimpleQueue(), _closed=False, _order=order
    )
    made._answer = partial(LaneActors._answer, made)
    threading.Thread(target=LaneActors._accept, args=(made,), daemon=True).start()
    yield made
    made._closed = True
    listener.close()


def calling(actors, key=b"key"):
    return connection.Client(actors._listener.address, authkey=key)


def test_a_lane_says_which_one_it_is_and_where(actors):
    with calling(actors) as lane:
        lane.send((3, "node"))
        assert actors._calls.get(timeout=60)[:2] == (3, "node")


def test_whoever_is_no_lane_is_passed_over(actors):
    """A probe of the port says nothing, or breaks off in the middle of what a lane would say."""
    with socket.create_connection(actors._listener.address) as silent:
        with socket.create_connection(actors._listener.address) as broken:
            broken.send(b"\x00\x00")
        with pytest.raises(AuthenticationError):
            calling(actors, b"another")
        with calling(actors) as lane:
            lane.send((4, "node"))
            assert actors._calls.get(timeout=60)[:2] == (4, "node")
        assert silent.fileno() >= 0


def test_it_listens_on_after_an_error(actors):
    """As where no more files can be opened for a while."""
    errors = [OSError("too many open files")]
    listener = actors._listener

    def accept():
        if errors:
            raise errors.pop()
        return listener.accept()

    actors._listener = SimpleNamespace(accept=accept, close=listener.close)
    with connection.Client(listener.address, authkey=b"key"):
        pass  # the call that was waited for before
    with connection.Client(listener.address, authkey=b"key") as lane:
        lane.send((5, "node"))
        assert actors._calls.get(timeout=60)[:2] == (5, "node")
    assert not errors
