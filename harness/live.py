"""How far long work is, on standard error: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from harness.console import say, tell
from harness.printable import printable

PLAIN_EVERY = 10.0
"""Seconds between two plain lines."""


class LiveLine:
    """How far long work has come, with a note and `more` columns; a context manager."""

    def __init__(self, name: str, total: int, note: str, *more: ProgressColumn) -> None:
        self._printed = time.monotonic()
        self._bar: Progress | None = None
        if sys.stderr.isatty():
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                *more,
                TextColumn("{task.fields[note]}", markup=False),
                console=Console(stderr=True),
                transient=True,
                redirect_stdout=False,  # results belong to standard output even then
            )
            self._task = self._bar.add_task(printable(name), total=total, note=printable(note))

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: int, note: str | None = None, total: int | None = None) -> None:
        """Show how much is done on the live line, and a new note or total where there is one."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total)
            if note is not None:
                self._bar.update(self._task, note=printable(note, ""))

    def is_due(self) -> bool:
        return self._bar is None and time.monotonic() - self._printed >= PLAIN_EVERY

    def plain(self, line: str) -> None:
        """Print a plain line where there is no live one."""
        if self._bar is None:
            self._printed = time.monotonic()
            self.say(line)

    def say(self, line: str) -> None:
        """Print a line of its own on standard error."""
        if self._bar is None:
            tell(line)
        else:
            self._bar.console.print(printable(line), highlight=False, markup=False)

    def write(self, text: str) -> None:
        """Write to standard output; a live line on the same terminal is out of the way."""
        hidden = self._bar if sys.stdout.isatty() else None
        if hidden is not None:
            hidden.stop()
        say(text, end="")
        if hidden is not None:
            hidden.start()
