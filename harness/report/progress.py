"""Progress of long work on standard error: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

PLAIN_EVERY = 10.0
"""Seconds between two plain lines."""


class RunProgress:
    """Counts cases, positions and disputed tokens while a run goes on.

    The estimate of what is left is the mean time per case of this session times the cases left;
    before three cases are done there is none.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self._here = 0
        self._disputed = 0
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

    def case_done(self, disputed_tokens: int) -> None:
        """One more case is stored."""
        self.done += 1
        self._here += 1
        self._disputed += disputed_tokens
        note = f"{self._disputed:,} disputed tokens{self._left()}"
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, note=note)
            return
        now = time.monotonic()
        if now - self._printed >= PLAIN_EVERY or self.done == self.total:
            self._printed = now
            _say(f"{self.done}/{self.total} cases, {now - self._began:.0f} s, {note}")

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
