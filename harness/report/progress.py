"""Progress of long work on standard error: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from harness.processes.lanes import CaseDone

FAILED = ("harness_error", "lane_died")
"""States of cases that say nothing about an engine."""

PLAIN_EVERY = 10.0
"""Seconds between two plain lines."""


class RunProgress:
    """Counts cases, failures and disputed tokens while a run goes on.

    The estimate of what is left is the mean time per case of this session times the cases left;
    before three cases are done there is none, and no throughput either.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self._here = 0
        self._disputed = 0
        self._failed = 0
        self._slowest = ""
        self._began = self._printed = time.monotonic()
        self._bar: Progress | None = None
        if sys.stderr.isatty():
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[note]}"),
                console=Console(stderr=True),
                transient=True,
            )

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task(
                "cases", total=self.total, completed=self.done, note="starting the engines"
            )
        else:
            plural = "" if self.total == 1 else "s"
            _say(f"{self.total} case{plural}; starting the engines")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def skip(self, already: int) -> None:
        """So many cases are there from before."""
        self.done = already
        if self._bar is not None:
            self._bar.update(self._task, completed=already)
        elif already:
            _say(f"{already} of {self.total} cases are there already")

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

    def say(self, line: str) -> None:
        """Print a line of its own."""
        if self._bar is not None:
            self._bar.console.print(line, highlight=False, markup=False)
        else:
            _say(line)

    def _show(self, *, at_once: bool = False) -> None:
        note = f"{self._disputed:,} disputed tokens{self._rate()}{self._slowest}{self._left()}"
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, note=note)
            return
        now = time.monotonic()
        if now - self._printed >= PLAIN_EVERY or at_once:
            self._printed = now
            _say(f"{self.done}/{self.total} cases, {now - self._began:.0f} s, {note}")

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


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
