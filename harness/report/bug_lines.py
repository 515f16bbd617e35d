"""The bugs of an engine in one line each, for summaries on a terminal."""

from __future__ import annotations

from typing import Final

from harness.bugs.listing import Bug, BugList
from harness.counting.severity import IN_WORDS
from harness.printable import printable

WIDTH = 80

LEGEND: Final = (
    "Bugs: in how many schemas; where: on the path of a usual valid text, at common tokens, at rare"
    " ones alone, or in whole texts; id; what is wrong."
)


def bug_lines(bugs: BugList, engine: str, most: int) -> list[str]:
    """The first bugs of an engine, those that a model meets before others, and how many more.

    Of an engine without any it is said where verdicts are not shrunk yet: they may be its own.
    """
    mine = bugs.of(engine)
    lines = [_line(one) for one in mine[:most]]
    if more := len(mine) - len(lines):
        lines.append(f"  and {more:,} more")
    return lines or ["  none yet"] * bool(bugs.pending)


def _line(one: Bug) -> str:
    severity = IN_WORDS[one.severity].removeprefix("whole ")
    line = f"  {one.cases:>4,} {severity:<7} {one.id} {printable(one.title, '')}"
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"


def explained(bugs: BugList) -> str:
    """How many of the verdicts the bugs explain."""
    many = len(bugs.bugs)
    words = "bug explains" if many == 1 else "bugs explain"
    text = f"{many:,} {words} {bugs.percent_explained} of {bugs.verdicts:,} verdicts that are bugs"
    return f"{text}; {bugs.pending:,} are not shrunk yet" if bugs.pending else text
