"""The budget of one case: processor time after which everything about the case ends.

A pattern such as ``^(a|a)*$`` or an ``anyOf`` in every member can keep each part of a case busy
within a limit of its own for minutes. The budget is looked at between steps; within a step a timer
interrupts what the coordinator itself computes.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_NOT_INTERRUPTED = ("harness.engines.panel", "harness.validators.judge", "harness.workers.")
"""Modules that talk to processes: half a message would be worse than waiting for its end."""

_AGAIN = 0.05
"""Seconds until the timer looks again after it came in one of these modules."""


class BudgetSpentError(Exception):
    """The case has used up its budget."""


class CaseBudget:
    """The budget of the case that is being run: processor time of this process and of the hosts.

    `hosts` gives the seconds that the hosts have used since they exist.
    """

    def __init__(self, seconds: float, hosts: Callable[[], float]) -> None:
        self.seconds = seconds
        self._hosts = hosts
        self._began = self._used()

    def left(self) -> float:
        """Seconds that are left; negative once it is spent."""
        return self.seconds - (self._used() - self._began)

    def check(self) -> float:
        """Seconds that are left; raises `BudgetSpentError` where there are none."""
        if (left := self.left()) <= 0:
            raise BudgetSpentError
        return left

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Raise `BudgetSpentError` inside once it is spent, unless a host is being talked to.

        Outside the main thread nothing can be interrupted: there only `check` ends the case.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGPROF, _interrupt)
        signal.setitimer(signal.ITIMER_PROF, max(self.left(), _AGAIN))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

    def _used(self) -> float:
        return time.process_time() + self._hosts()


def _interrupt(_number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(_NOT_INTERRUPTED):
            signal.setitimer(signal.ITIMER_PROF, _AGAIN)
            return
        frame = frame.f_back
    raise BudgetSpentError
