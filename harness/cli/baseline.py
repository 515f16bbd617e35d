"""Compares a run with a file of what is known to be wrong, and writes what came out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.console import tell
from harness.errors import UsageError
from harness.files import write_whole
from harness.options import RESULT, file_option

if TYPE_CHECKING:
    from harness.bugs.listing import BugList
    from harness.runs.directory import RunDirectory
    from harness.versions.baseline import Baseline


@dataclass(frozen=True)
class BaselineCheck:
    """The baseline that a run must pass, if any, and the files for the outcome."""

    baseline: Path | None = file_option(
        "Exit with 1 on bugs that FILE does not name, and on schemas with a worse outcome.",
        writes="",
        heading=RESULT,
    )
    write_baseline: Path | None = file_option("Write what is wrong now to FILE.", heading=RESULT)
    junit: Path | None = file_option("Write the outcomes as JUnit's XML.", heading=RESULT)
    summary: Path | None = file_option(
        "Write what changed as Markdown, say for CI.", heading=RESULT
    )

    @property
    def asked(self) -> bool:
        return bool(self.baseline or self.write_baseline or self.junit or self.summary)

    def read(self) -> Baseline | None:
        """The baseline, if one is named; to be read before anything is run."""
        from harness.versions.baseline import read_baseline

        return None if self.baseline is None else read_baseline(self.baseline)

    def fails(self, run: RunDirectory, bugs: BugList | None) -> bool:
        """Write the files that are asked for, print what differs; whether the run fails."""
        from harness.analysis.stored import stored_run
        from harness.versions import text
        from harness.versions.baseline import Baseline, against, outcomes_of

        if not run.finished or bugs is None or bugs.pending:
            raise UsageError(
                "a baseline needs all bugs of a finished run", "the same command goes on"
            )
        known = self.read()
        outcomes = outcomes_of(stored_run(run))
        now = Baseline.of(bugs.bugs, outcomes)
        diff = against(known or now, bugs.bugs, outcomes, bugs.unexplained)
        markdown = text.baseline_markdown(diff)
        for file, written in (
            (self.junit, text.baseline_junit(diff, outcomes)),
            (self.summary, markdown),
            (self.write_baseline, now.text()),
        ):
            if file is not None:
                write_whole(file, written)
        if known is None:
            return False
        if reasons := markdown.partition("\n")[2].strip():
            tell(reasons)
        tell(f"maskcourt: compared with the baseline, the run {text.baseline_verdict(diff)}")
        return diff.fails


NO_BASELINE = BaselineCheck()
