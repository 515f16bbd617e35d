"""Bugs on a terminal: what is wrong, its smallest case, how often it was met."""

from __future__ import annotations

import click
from rich.progress import TimeRemainingColumn

from harness.bugs.listing import Bug, BugList
from harness.bugs.scripts import marked
from harness.counting.severity import IN_FULL
from harness.engines.specs import read_spec
from harness.live import LiveLine
from harness.verdict_kinds import BUG


class ShrinkProgress(LiveLine):
    """How many verdicts were shrunk, with a live line on a terminal."""

    def __init__(self) -> None:
        super().__init__("shrink", 0, "reading the verdicts", TimeRemainingColumn())

    def tell(self, done: int, wanted: int, bugs: int) -> None:
        """Say how far it is; how many are wanted in the end is not known before."""
        note = f"{bugs} bugs so far, {wanted} more to shrink"
        self.update(done, note, total=done + wanted)
        if self.is_due():
            self.plain(f"{done:,} verdicts shrunk, {note}")


def print_bug(one: Bug) -> None:
    """One bug: its title, its smallest case, how often it was met."""
    kind = one.error.kind.replace("_", " ")
    click.echo(f"{one.id}  {read_spec(one.engine).name} {one.version}  {kind}")
    click.echo(f"  {one.title}")
    click.echo(f"  schema  {one.error.schema}")
    click.echo(f"  text    {marked(one)}")
    met = f"in {one.cases:,} of {one.judged:,} schemas{one.share.in_brackets}"
    where = IN_FULL[one.severity]
    click.echo(f"  {met}, {where}; {one.verdicts:,} verdicts, such as {one.verdict}")
    click.echo(f"  {_upstream(one)}")
    if one.also_in:
        click.echo(f"  the same case is an error of: {one.also_in}")
    if one.since:
        there = ", ".join(f"{name} {'yes' if met else 'no'}" for name, met in one.versions.items())
        click.echo(f"  met in version: {there}")


def _upstream(one: Bug) -> str:
    if one.departure or one.class_ != BUG:
        return f"{one.class_}: {one.departure}"
    if one.upstream is None:
        return "not yet reported, as far as is known"
    return f"reported ({one.upstream.status}): {one.upstream.thread}"


def print_unexplained(found: BugList, class_: str, run: str = "") -> None:
    """How much the bugs of a run explain, and why the rest is not."""
    of = f"{run}: " if run else ""
    what = f"{found.verdicts:,} verdicts of the class {class_}"
    click.echo(f"{of}{found.percent_explained} of {what} explained by {len(found.bugs)} bugs")
    for reason, count in found.unexplained.items():
        click.echo(f"  {count:,} not: {reason}")
