"""Options that compare a run with a file of what is known to be wrong, and write the outcome."""

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
    from harness.runs.directory import RunDirectory
    from harness.versions.baseline import Baseline

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


def baseline_options(command: Callable[..., None]) -> Callable[..., None]:
    """``--baseline``, ``--write-baseline``, ``--junit`` and ``--summary``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class BaselineCheck:
    """The baseline that a run must pass, if any, and the files for the outcome."""

    known: Baseline | None = None
    write: Path | None = None
    junit: Path | None = None
    summary: Path | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> BaselineCheck:
        """What the options ask for; the baseline is read before anything is run.

        Raises:
            MaskcourtError: The baseline cannot be read.
        """
        from harness.versions.baseline import read_baseline

        file = options["baseline"]
        known = read_baseline(file) if file is not None else None
        return cls(known, options["write_baseline"], options["junit"], options["summary"])

    @property
    def asked(self) -> bool:
        """Whether there is anything to do."""
        return self != NO_BASELINE

    def fails(self, run: RunDirectory, bugs: BugList | None, rule: Classify) -> bool:
        """Write the files that are asked for, print what differs; whether the run fails.

        Raises:
            UsageError: The run is not finished, not all of its bugs are known, or a file cannot be
                written.
        """
        from harness.counting.counts import StoredRun
        from harness.versions import text
        from harness.versions.baseline import Baseline, against, outcomes_of

        if not run.finished or bugs is None or bugs.pending:
            raise UsageError(
                "a baseline needs all bugs of a finished run", "the same command goes on"
            )
        outcomes = outcomes_of(StoredRun(run, rule))
        diff = against(self.known or Baseline(), bugs.bugs, outcomes, bugs.unexplained)
        if self.junit is not None:
            _write(self.junit, text.baseline_junit(diff, outcomes))
        if self.summary is not None:
            _write(self.summary, text.baseline_markdown(diff))
        if self.write is not None:
            _write(self.write, Baseline.of(bugs.bugs, outcomes).text())
        if self.known is None:
            return False
        for line in text.first(text.baseline_lines(diff)):
            click.echo(line, err=True)
        verdict = text.baseline_verdict(diff)
        click.echo(f"maskcourt: compared with the baseline, the run {verdict}", err=True)
        return diff.fails


NO_BASELINE = BaselineCheck()


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(
            f"{file} cannot be written: {error.strerror or error}", "choose another file"
        ) from error
