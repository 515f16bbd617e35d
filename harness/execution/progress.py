"""Progress of a run: cases, failures and disputed tokens, with an estimate of what is left."""

from __future__ import annotations

import time
from typing import Self

from harness.execution.lanes import CaseDone
from harness.live import LiveLine

FAILED = ("harness_error", "lane_died")
"""States of cases that say nothing about an engine."""


class RunProgress(LiveLine):
    """Counts cases, failures and disputed tokens while a run goes on.

    The estimate of what is left is the mean time per case of this session times the cases left;
    before three cases are done there is none, and no throughput either.
    """

    def __init__(self, total: int) -> None:
        super().__init__("cases", total, "starting the engines")
        self.total = total
        self.done = 0
        self._here = 0
        self._disputed = 0
        self._failed = 0
        self._slowest = ""
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        super().__enter__()
        plural = "" if self.total == 1 else "s"
        self.plain(f"{self.total} case{plural}; starting the engines")
        return self

    def skip(self, already: int) -> None:
        """So many cases are there from before."""
        self.done = already
        self.update(already)
        if already:
            self.plain(f"{already} of {self.total} cases are there already")

    def case_stored(self, case: CaseDone) -> None:
        """One more case is stored."""
        self.done += 1
        self._here += 1
        self._disputed += case.disputed_tokens
        self._failed += case.status in FAILED
        self._slowest = ""
        self._show(at_once=self.done == self.total)

    def running(self, case: str, seconds: float) -> None:
        """The case that has been running for the longest time; empty when none is."""
        self._slowest = f", slowest running: {case} ({seconds:.0f} s)" if case else ""
        self._show()

    def _show(self, *, at_once: bool = False) -> None:
        note = f"{self._disputed:,} disputed tokens{self._rate()}{self._slowest}{self._left()}"
        self.update(self.done, note)
        if self.is_due() or at_once:
            seconds = time.monotonic() - self._began
            self.plain(f"{self.done}/{self.total} cases, {seconds:.0f} s, {note}")

    def _rate(self) -> str:
        failed = f", {self._failed} failed" if self._failed else ""
        if self._here < 3:
            return failed
        minutes = (time.monotonic() - self._began) / 60
        return f", {self._here / minutes:.1f} cases/min{failed}"

    def _left(self) -> str:
        left = self.total - self.done
        if self._here < 3 or left == 0:
            return ""
        seconds = (time.monotonic() - self._began) / self._here * left
        return (
            f", about {seconds / 60:.0f} min left"
            if seconds >= 90
            else f", about {seconds:.0f} s left"
        )
