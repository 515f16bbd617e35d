"""Signals that ask a program to end: all of them end it as Ctrl-C does.

The processes of a run ignore them, from their first moment on: the main one decides.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What a terminal sends, a service manager or a batch system, and a terminal that is closed."""

_received = [signal.SIGINT]
_waiting: list[int] | None = None
"""What came while signals were deferred; None while they are not."""


@contextlib.contextmanager
def heeded() -> Iterator[None]:
    """Have the signals raise `KeyboardInterrupt`, once; one that ``nohup`` ignores stays so."""
    with _kept():
        for number in SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, _interrupt)
        yield


def received() -> int:
    """The signal that was received; SIGINT where there was none."""
    return int(_received[-1])


def _interrupt(number: int, _frame: FrameType | None = None) -> None:
    if _waiting is not None:
        _waiting.append(number)
        return
    _received.append(signal.Signals(number))
    ignore()
    raise KeyboardInterrupt


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Have `heeded` signals raise at the end of this, for what an exception must not come amid.

    Around a fork it would be lost: Python ignores what is raised in the hooks there. A mask of the
    thread does not help, since another thread takes the signal and the hooks still see it.
    """
    global _waiting  # noqa: PLW0603 - as there is one set of handlers
    came: list[int] = []
    _waiting = came
    try:
        yield
    finally:
        _waiting = None
        if came:
            _interrupt(came[0])


def ignore() -> None:
    """Ignore them all; what is started from now on does so too."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def deaf() -> Iterator[None]:
    """Have processes that start meanwhile ignore them at once: a Ctrl-C is sent to all of them."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can, and only it is interrupted
        return
    with _kept():
        ignore()
        yield


@contextlib.contextmanager
def _kept() -> Iterator[None]:
    """What is done about the signals is afterwards what it was before."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
