"""Options that several commands have, each with the same words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from harness.errors import UsageError, nearest
from harness.runs.tables import TEXT_TABLES
from harness.verdict_kinds import BUG, MAIN_KINDS

_fail_on = click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice(list(MAIN_KINDS)),
    help="Exit with 1 when an engine has such a bug, proven by whatever evidence; repeatable.",
)
_fail_engine = click.option(
    "--fail-engine",
    multiple=True,
    metavar="NAME",
    help="With --fail-on: only for bugs of this engine; repeatable.  [default: all]",
)


@dataclass(frozen=True)
class FailOn:
    """What a command is to fail on: bugs of these kinds, of these engines or of all."""

    kinds: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> FailOn:
        """What the options of `fail_options` ask for, and of a run's, where they are among them.

        Raises:
            UsageError: Engines are named that are not in the run, or nothing to fail on.
        """
        if options["fail_engine"] and not options["fail_on"]:
            raise UsageError("--fail-engine goes with --fail-on", "say on what to fail")
        asked = cls(options["fail_on"], options["fail_engine"])
        if asked.engines and "engines" in options:
            from harness.engines.specs import parse_specs

            asked.check([spec.name for spec in parse_specs(options["engines"])])
        return asked

    def check(self, engines: Collection[str]) -> None:
        """Refuse names that no engine of a run has.

        Raises:
            UsageError: There is one.
        """
        for name in self.engines:
            if name not in engines:
                raise UsageError(f"--fail-engine {name}: no such engine", nearest(name, engines))

    def reasons(self, engines: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Why to fail, by the engines of a tally; nothing where all is well.

        Departures, and what an engine warned of, are no bugs.
        """
        return [
            f"{name}: {' and '.join(found)} with {kind.replace('_', ' ')}"
            for kind in self.kinds
            for name in self.engines or engines
            if (found := list(_found(engines[name], kind)))
        ]


def fail_options(command: Callable[..., None]) -> Callable[..., None]:
    """``--fail-on`` and ``--fail-engine``."""
    return _fail_on(_fail_engine(command))


def _found(engine: Mapping[str, Any], kind: str) -> Iterator[str]:
    """How much of each kind of evidence shows bugs of one kind."""
    if walks := engine["by_class"][MAIN_KINDS[kind]][BUG]:
        yield _many(walks, "token")
    for evidence, table in TEXT_TABLES.items():
        if texts := engine[table][kind][BUG]:
            yield _many(texts, evidence)


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


departures_option = click.option(
    "--departures",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Classify by this catalogue instead of the one that comes with maskcourt.",
)
trust_option = click.option(
    "--trust",
    is_flag=True,
    help="Import, install, open and fetch what the run names beyond what comes with maskcourt.",
)
seed_option = click.option("--seed", type=int, default=0, show_default=True, help="Of the sample.")
search_option = click.option(
    "--seconds",
    type=click.FloatRange(min=0),
    metavar="N",
    help="After so long no more verdicts are shrunk; what is not known then is said.  [default:"
    " until all are explained]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
