"""Bugs on a terminal: what is wrong, its smallest case, how often it was met."""

from __future__ import annotations

from collections.abc import Iterable

from rich.progress import TimeRemainingColumn

from harness.bugs.listing import Bug, BugList
from harness.bugs.scripts import marked
from harness.console import say
from harness.engines.specs import read_spec
from harness.live import LiveLine
from harness.printable import plural, printable
from harness.verdict_kinds import BUG


class ShrinkProgress(LiveLine):
    """How many verdicts were shrunk, with a live line on a terminal."""

    def __init__(self) -> None:
        super().__init__("shrink", 0, "reading the verdicts", TimeRemainingColumn())

    def tell(self, done: int, wanted: int, bugs: int) -> None:
        """Say how far it is; how many are wanted in the end is not known before."""
        note = f"{plural(bugs, 'bug')} so far, {wanted} more to shrink"
        self.update(done, note, total=done + wanted)
        if self.is_due():
            self.plain(f"{plural(done, 'verdict')} shrunk, {note}")


def print_bug(bug: Bug) -> None:
    kind = bug.error.kind.replace("_", " ")
    shown = f": {bug.shown_in_words}" * bool(bug.shown_in_words)
    met = f"in {bug.cases:,} of {plural(bug.judged, bug.error.about)}{bug.share.in_brackets}"
    such = bug.case if bug.error.about == "pattern" else bug.verdict
    lines = [
        bug.title,
        *filter(None, [bug.effect_in_words]),
        f"{bug.error.about:7} {bug.error.compiled}",
        f"text    {marked(bug)}",
        f"{met}{shown}; {plural(bug.verdicts, 'verdict')}, such as {such}",
        _upstream(bug),
    ]
    if bug.also_in:
        lines.append(f"the same case is an error of: {bug.also_in}")
    if bug.since:
        versions = ", ".join(
            f"{name} {'yes' if is_in else 'no'}" for name, is_in in bug.versions.items()
        )
        lines.append(f"met in version: {versions}")
    head = f"{bug.id}  {read_spec(bug.engine).name} {bug.version}  {kind}"
    say("\n  ".join(printable(line, "") for line in (head, *lines)))


def _upstream(bug: Bug) -> str:
    if bug.departure or bug.class_ != BUG:
        return f"{bug.class_}: {bug.departure}"
    if bug.upstream is None:
        return "not yet reported, as far as is known"
    return f"reported ({bug.upstream.status}): {bug.upstream.thread}"


def print_bugs(chosen: Iterable[Bug], bugs: BugList, class_: str = BUG) -> None:
    """Some bugs of a run; how much of it all of them explain, and why not the rest."""
    for bug in chosen:
        print_bug(bug)
    say("\n  ".join(printable(line, "") for line in bugs.told(class_)))
