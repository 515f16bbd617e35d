"""The baseline: what is known to be wrong, as a file of lines that a pull request can show.

A line is a bug or an outcome::

    bug      xgrammar  1b9ccb0c  `enum` beside `type` lets other types through
    outcome  xgrammar  realistic/order  refused

Engines are named without their version: the file is what the next version is held to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from harness.bugs.listing import Bug
from harness.engines.specs import read_spec
from harness.errors import InputError, UsageError
from harness.printable import printable
from harness.ratchet.outcomes import CORRECT, FURTHER, Outcomes

_HEAD: Final = (
    "# Known to maskcourt: bugs, and schemas with another outcome than correct. A run that is\n"
    "# held to this file fails on other bugs and on outcomes further from correct. Written by\n"
    "# maskcourt bench --write-baseline; remove a line when what it names is mended.\n"
)

_Bugs = Mapping[tuple[str, str], str]
"""Titles, by engine and id."""


@dataclass(frozen=True)
class Baseline:
    """What is known to be wrong.

    Attributes:
        bugs: By engine (its spec without its version) and id, the title.
        outcomes: Those that are not correct, by engine and case.
    """

    bugs: _Bugs = field(default_factory=dict)
    outcomes: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def of(cls, bugs: Sequence[Bug], outcomes: Outcomes) -> Baseline:
        """What is wrong in a run."""
        return cls(
            {(read_spec(one.engine).unversioned, one.id): one.title for one in bugs},
            {key: word for key, word in outcomes.items() if word != CORRECT},
        )

    def text(self) -> str:
        """The file."""
        bugs = (
            f"bug      {_word(engine)}  {id_}  {printable(title, '')}\n"
            for (engine, id_), title in sorted(self.bugs.items())
        )
        outcomes = (
            f"outcome  {_word(engine)}  {_word(case)}  {word}\n"
            for (engine, case), word in sorted(self.outcomes.items())
        )
        return "".join((_HEAD, *bugs, *outcomes))


def read_baseline(file: Path) -> Baseline:
    """The baseline in a file.

    Raises:
        UsageError: There is no such file.
        InputError: A line of it cannot be read.
    """
    try:
        lines = file.read_text("utf-8").splitlines()
    except FileNotFoundError as error:
        raise UsageError(
            f"there is no baseline {file}", f"make it: --write-baseline {file}"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    bugs: dict[tuple[str, str], str] = {}
    outcomes: dict[tuple[str, str], str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match line.split(maxsplit=3):
            case ["bug", engine, id_, *title]:
                bugs[unquote(engine), id_] = " ".join(title)
            case ["outcome", engine, case, word] if word in FURTHER:
                outcomes[unquote(engine), unquote(case)] = word
            case _:
                raise InputError(
                    f"{file}, line {number}: neither bug ENGINE ID nor outcome ENGINE CASE WORD",
                    f"WORD is one of {', '.join(FURTHER)}",
                )
    return Baseline(bugs, outcomes)


def _word(name: str) -> str:
    """A name without white space; what it needs is written as in URLs."""
    return quote(name, safe="/:@+,=[]()*!$&'~")


@dataclass(frozen=True)
class OutcomeChange:
    """A case with another outcome than the baseline says."""

    engine: str
    case: str
    was: str
    now: str

    @property
    def worse(self) -> bool:
        """Whether it is further from correct."""
        return FURTHER.index(self.now) > FURTHER.index(self.was)


@dataclass(frozen=True)
class BaselineDiff:
    """A run held against a baseline.

    Attributes:
        new_bugs: Bugs that it does not name.
        gone_bugs: Bugs of the run's engines that it names, and that were not met.
        changes: Cases with another outcome, by engine and case.
        open: Verdicts that no bug explains, for which reasons.
    """

    new_bugs: tuple[Bug, ...]
    gone_bugs: _Bugs
    changes: tuple[OutcomeChange, ...]
    open: Mapping[str, int]

    @property
    def worse(self) -> list[OutcomeChange]:
        """Outcomes that are further from correct."""
        return [one for one in self.changes if one.worse]

    @property
    def better(self) -> list[OutcomeChange]:
        """Outcomes that are nearer to it."""
        return [one for one in self.changes if not one.worse]

    @property
    def fails(self) -> bool:
        """Whether the run went beyond the baseline."""
        return bool(self.new_bugs or self.worse)


def hold(
    baseline: Baseline, bugs: Sequence[Bug], outcomes: Outcomes, open_: Mapping[str, int]
) -> BaselineDiff:
    """Hold what a run found against a baseline.

    Args:
        baseline: What is known.
        bugs: Those of the run.
        outcomes: Of each of its cases in each of its engines.
        open_: How many of its verdicts no bug explains, by the reason.
    """
    keys = {(read_spec(one.engine).unversioned, one.id): one for one in bugs}
    engines = {engine for engine, _ in outcomes}
    return BaselineDiff(
        tuple(one for key, one in keys.items() if key not in baseline.bugs),
        {
            key: title
            for key, title in baseline.bugs.items()
            if key not in keys and key[0] in engines
        },
        tuple(
            OutcomeChange(engine, case, was, now)
            for (engine, case), now in sorted(outcomes.items())
            if (was := baseline.outcomes.get((engine, case), CORRECT)) != now
        ),
        open_,
    )
