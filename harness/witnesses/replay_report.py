"""Print a replay as it goes along: results on standard output, progress on standard error."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import click
from rich.progress import TimeRemainingColumn

from harness.report.live import LiveLine
from harness.runs.store import RunDirectory
from harness.witnesses.replay import Replayed, replay, vocabulary_of
from harness.witnesses.witness_reader import Choice
from harness.witnesses.witness_text import described, readable

SHOWN = 50
"""Up to so many replayed verdicts are listed one by one; of more, those that differ."""


def print_replay(run: RunDirectory, choice: Choice, *, as_json: bool) -> bool:
    """Replay verdicts and print what comes of them; whether all agree.

    Raises:
        MaskcourtError: As `harness.witnesses.replay.replay`.
    """
    with Counted(len(choice)) as counted, contextlib.closing(replay(run, choice)) as results:
        seen = counted.each(results)
        if as_json:
            _print_json(seen, counted)
        else:
            for one in seen:
                if len(choice) <= SHOWN or not one.agrees:
                    counted.say(str(one))
    if not as_json:
        click.echo(f"{counted.done - counted.differ} agree, {counted.differ} differ")
    return counted.differ == 0


def print_witness(run: RunDirectory, choice: Choice, *, as_json: bool) -> None:
    """Print the witness of one verdict in full."""
    witness = described(run, choice, vocabulary_of(run))
    if as_json:
        click.echo(json.dumps(witness, indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(readable(witness)))


def _print_json(results: Iterator[Replayed], counted: Counted) -> None:
    """One object, written a row at a time: there may be millions."""
    separator = '{\n  "verdicts": ['
    for one in results:
        counted.say(f"{separator}\n    {json.dumps(one.row(), ensure_ascii=False)}", end="")
        separator = ","
    begin, end = ("", "\n  ]") if counted.done else (separator, "]")
    counted.say(f'{begin}{end},\n  "replayed": {counted.done},\n  "differ": {counted.differ}\n}}')


class Counted:
    """Counts verdicts as they are replayed, with a live line on a terminal; `total` are to be."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.differ = 0
        self._line = LiveLine("replay", total, "starting the engines", TimeRemainingColumn())

    def __enter__(self) -> Self:
        self._line.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._line.__exit__(kind, error, trace)

    def each(self, results: Iterator[Replayed]) -> Iterator[Replayed]:
        """The same results, counted."""
        for one in results:
            self.done += 1
            self.differ += not one.agrees
            self._tell()
            yield one

    def say(self, text: str, end: str = "\n") -> None:
        """Print to standard output; a live line on the same terminal is out of the way."""
        self._line.write(text + end)

    def _tell(self) -> None:
        note = f"{self.differ:,} differ"
        self._line.update(self.done, note)
        if self._line.is_due():
            self._line.plain(f"{self.done:,}/{self.total:,} verdicts, {note}")
