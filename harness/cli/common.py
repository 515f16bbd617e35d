"""Requests that several commands have: how stored runs are read, and what to fail on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness import verdict_kinds as kinds
from harness.console import say
from harness.options import option
from harness.printable import markdown, plural
from harness.render.table import Table, as_csv, as_markdown
from harness.render.terminal import print_lines, print_table
from harness.runs.tables import TEXT_TABLES

if TYPE_CHECKING:
    from harness.runs.directory import RunDirectory

FAILURES: Final[Mapping[str, Sequence[str]]] = {"value": kinds.COSTLY, **kinds.COUNTED}
"""Effects to fail on, by their names; `value` is any that costs one."""


@dataclass(frozen=True)
class Json:
    """How a result is printed."""

    as_json: bool = option(False, "Print as JSON.", "--json")


@dataclass(frozen=True)
class Trusting:
    """What a stored run may do."""

    trust: bool = option(
        False,
        "Import, install, open and fetch what the run names beyond what comes with maskcourt.",
    )

    def open(self, run: Path) -> RunDirectory:
        """A stored run; a RunDirectoryError where there is none or it is damaged."""
        from harness.runs.directory import open_run

        return open_run(run, trust=self.trust)


@dataclass(frozen=True)
class Search:
    """How long and how the bugs behind verdicts are searched for."""

    lanes: int | None = option(None, "Verdicts shrunk at a time.", least=1)
    seconds: float | None = option(
        None,
        "Stop shrinking after N seconds; report what remains unexplained."
        "  [default: when all are explained]",
        "--shrink-budget",
        least=0,
        unit="SECONDS",
    )
    seed: int = option(0, "Of the sample.")

    def of(self, *classes: str) -> dict[str, Any]:
        """The arguments of `harness.bugs.search.search` for verdicts of some classes."""
        from harness.execution.lanes import default_lanes

        lanes = self.lanes or default_lanes(1)
        return {"classes": classes, "lanes": lanes, "seed": self.seed, "seconds": self.seconds}


@dataclass(frozen=True)
class FailOn:
    """What a command is to fail on: effects or kinds of bugs."""

    kinds: Sequence[str] = option(
        (),
        "Exit with 1 when an engine has such a bug; repeatable. value: a loss, leak or trap."
        " The last two count whatever they cost, spellings too.",
        "--fail-on",
        choices=(*FAILURES, *kinds.MAIN_KINDS),
    )

    def reasons(self, engines: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Why to fail, by the engines of a tally; departures and warnings are no bugs."""
        return [
            f"{name}: {' and '.join(counts)}"
            for kind in self.kinds
            for name in engines
            if (counts := _counts(engines[name], kind))
        ]


def _counts(engine: Mapping[str, Any], kind: str) -> list[str]:
    if kind in FAILURES:
        names = ("loss", "leak", "trap") if kind == "value" else (kind,)
        every = [("schema", one, engine[one]["schemas"] - engine[one]["declared"]) for one in names]
    else:
        every = [("token", kind, engine["by_class"][kinds.MAIN_KINDS[kind]][kinds.BUG])]
        every += [(what, kind, engine[at][kind][kinds.BUG]) for what, at in TEXT_TABLES.items()]
    found = ((plural(many, what), one.replace("_", " ")) for what, one, many in every if many)
    return [" with ".join(one) for one in found]


def print_as(kind: str, table: Table, notes: Iterable[str]) -> None:
    """Print a table with its notes as text or Markdown, or alone as CSV."""
    if kind == "csv":
        say(as_csv(table), end="")
    elif kind == "markdown":
        say("\n".join([as_markdown(table), *(f"- {markdown(line)}" for line in notes)]))
    else:
        print_table(table)
        print_lines(notes)
