"""Print a replay as it goes along: results on standard output, progress on standard error."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from rich.progress import TimeRemainingColumn

from harness.console import print_json, say
from harness.live import LiveLine
from harness.printable import json_text, printable
from harness.replay.repeat import Replayed, replay
from harness.replay.witness_reader import Choice
from harness.replay.witness_text import described, readable
from harness.runs.directory import RunDirectory
from harness.runs.made_with import vocabulary_of

SHOWN = 50
"""Up to so many replayed verdicts are listed one by one; of more, those that differ."""


def print_replay(run: RunDirectory, choice: Choice, *, as_json: bool) -> bool:
    """Replay verdicts and print what comes of them; whether all agree.

    Raises:
        MaskcourtError: As `harness.replay.repeat.replay`.
    """
    with Counted(len(choice)) as counted, contextlib.closing(replay(run, choice)) as results:
        seen = counted.each(results)
        if as_json:
            _print_json(seen, counted)
        else:
            for one in seen:
                if len(choice) <= SHOWN or not one.agrees:
                    counted.write(f"{printable(str(one), '')}\n")
    if not as_json:
        say(f"{counted.done - counted.differ} agree, {counted.differ} differ")
    return counted.differ == 0


def print_witness(run: RunDirectory, choice: Choice, *, as_json: bool) -> None:
    """Print the witness of one verdict in full."""
    witness = described(run, choice, vocabulary_of(run))
    if as_json:
        print_json(witness)
    else:
        say("\n".join(readable(witness)))


def _print_json(results: Iterator[Replayed], counted: Counted) -> None:
    """One object, written a row at a time: there may be millions."""
    separator = '{\n  "verdicts": ['
    for one in results:
        counted.write(f"{separator}\n    {json_text(one.row())}")
        separator = ","
    begin, end = ("", "\n  ]") if counted.done else (separator, "]")
    totals = f'  "replayed": {counted.done},\n  "differ": {counted.differ}\n'
    counted.write(f"{begin}{end},\n{totals}}}\n")


class Counted(LiveLine):
    """Counts verdicts as they are replayed, with a live line on a terminal; `total` are to be."""

    def __init__(self, total: int) -> None:
        super().__init__("replay", total, "starting the engines", TimeRemainingColumn())
        self.total = total
        self.done = 0
        self.differ = 0

    def each(self, results: Iterator[Replayed]) -> Iterator[Replayed]:
        """The same results, counted."""
        for one in results:
            self.done += 1
            self.differ += not one.agrees
            self._tell()
            yield one

    def _tell(self) -> None:
        note = f"{self.differ:,} differ"
        self.update(self.done, note)
        if self.is_due():
            self.plain(f"{self.done:,}/{self.total:,} verdicts, {note}")
