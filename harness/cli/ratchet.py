"""Options that hold a run to a file of what is known to be wrong, and write what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.bugs.listing import BugList
    from harness.counting.counts import Classify
    from harness.ratchet.baseline import Baseline
    from harness.runs.directory import RunDirectory

_FILE = click.Path(path_type=Path, dir_okay=False)
_OPTIONS = (
    click.option(
        "--baseline",
        type=_FILE,
        metavar="FILE",
        help="Exit with 1 on bugs that FILE does not name, and on schemas whose outcome is further"
        " from correct than it says.",
    ),
    click.option(
        "--write-baseline", type=_FILE, metavar="FILE", help="Write what is wrong now to FILE."
    ),
    click.option("--junit", type=_FILE, metavar="FILE", help="Write the outcomes as JUnit's XML."),
    click.option(
        "--summary", type=_FILE, metavar="FILE", help="Write what changed as Markdown, say for CI."
    ),
)


def ratchet_options(command: Callable[..., None]) -> Callable[..., None]:
    """``--baseline``, ``--write-baseline``, ``--junit`` and ``--summary``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class Ratchet:
    """What a run is held to, and where what becomes of it is written.

    Attributes:
        known: What is known to be wrong; None where nothing is to be failed on.
        write: The file of a new baseline, if one is wanted.
        junit: The file of the XML, likewise.
        summary: That of the Markdown.
    """

    known: Baseline | None = None
    write: Path | None = None
    junit: Path | None = None
    summary: Path | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Ratchet:
        """What the options ask for; the baseline is read before anything is run.

        Raises:
            MaskcourtError: The baseline cannot be read.
        """
        from harness.ratchet.baseline import read_baseline

        file = options["baseline"]
        known = read_baseline(file) if file is not None else None
        return cls(known, options["write_baseline"], options["junit"], options["summary"])

    @property
    def asked(self) -> bool:
        """Whether there is anything to do."""
        return self != NO_RATCHET

    def holds(self, run: RunDirectory, bugs: BugList | None, rule: Classify) -> bool:
        """Write what is asked for, and say what is beyond the baseline; whether anything is.

        Raises:
            UsageError: The run is not finished, not all of its bugs are known, or a file cannot be
                written.
        """
        from harness.counting.counts import StoredRun
        from harness.ratchet.baseline import Baseline, hold
        from harness.ratchet.outcomes import outcomes
        from harness.ratchet.reports import as_junit, as_markdown, in_lines, listed, verdict

        if not run.finished or bugs is None or bugs.pending:
            raise UsageError(
                "a baseline needs all bugs of a finished run", "the same command goes on"
            )
        stored = StoredRun(run, rule)
        now = outcomes(stored)
        diff = hold(self.known or Baseline(), bugs.bugs, now, bugs.unexplained)
        if self.junit is not None:
            _write(self.junit, as_junit(diff, now))
        if self.summary is not None:
            _write(self.summary, as_markdown(diff))
        if self.write is not None:
            _write(self.write, Baseline.of(bugs.bugs, now).text())
        if self.known is None:
            return False
        for line in listed(in_lines(diff)):
            click.echo(line, err=True)
        click.echo(f"maskcourt: held to the baseline, the run {verdict(diff)}", err=True)
        return diff.fails


NO_RATCHET = Ratchet()


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(
            f"{file} cannot be written: {error.strerror or error}", "choose another file"
        ) from error
