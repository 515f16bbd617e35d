"""The baseline: what is known to be wrong, as a file of lines that a pull request can show.

A line is a bug or an outcome::

    bug      xgrammar  1b9ccb0c  `enum` beside `type` lets other types through
    outcome  xgrammar  realistic/order  refused

Engines are named without their version: the next version is compared with the same file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from harness.analysis.stored import StoredRun
from harness.bugs.listing import Bug
from harness.engines.specs import read_spec
from harness.errors import InputError, UsageError
from harness.printable import printable
from harness.verdict_kinds import BUG, ERRORS, LEGAL, SPELLINGS
from harness.workers.outcomes import COMPILE_STATUSES

CORRECT, REFUSED, WRONG, CRASH = WORSE = ("correct", "refused", "wrong", "crash")
"""Outcomes, each worse than the one before. ``crash`` stands for time-outs and exceeded memory as
well, ``wrong`` for any bug, by whatever evidence."""

_COMPILED, _REFUSED, *_FAILED = COMPILE_STATUSES
_HEAD: Final = (
    "# Known to maskcourt: bugs, and schemas with another outcome than correct. A run that is\n"
    "# compared with this file fails on other bugs and on worse outcomes. Written by\n"
    "# maskcourt bench --write-baseline; remove a line when what it names is fixed.\n"
)

_Key = tuple[str, str]
Outcomes = dict[_Key, str]
"""By engine (its spec without its version) and case."""


@dataclass(frozen=True)
class Baseline:
    """What is known to be wrong: titles of bugs by engine and id, outcomes that are not correct."""

    bugs: Mapping[_Key, str] = field(default_factory=dict)
    outcomes: Mapping[_Key, str] = field(default_factory=dict)

    @classmethod
    def of(cls, bugs: Sequence[Bug], outcomes: Outcomes) -> Baseline:
        wrong = {key: status for key, status in outcomes.items() if status != CORRECT}
        return cls({_key(bug): bug.title for bug in bugs}, wrong)

    def text(self) -> str:
        bugs = (
            f"bug      {_quoted(engine)}  {id_}  {printable(title, '')}\n"
            for (engine, id_), title in sorted(self.bugs.items())
        )
        outcomes = (
            f"outcome  {_quoted(engine)}  {_quoted(case)}  {status}\n"
            for (engine, case), status in sorted(self.outcomes.items())
        )
        return "".join((_HEAD, *bugs, *outcomes))


def read_baseline(file: Path) -> Baseline:
    """The baseline in a file; a UsageError where there is none, an InputError for a bad line."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except FileNotFoundError as error:
        raise UsageError(
            f"there is no baseline {file}", f"make it: --write-baseline {file}"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    bugs: dict[_Key, str] = {}
    outcomes: Outcomes = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match line.split(maxsplit=3):
            case ["bug", engine, id_, *title]:
                bugs[unquote(engine), id_] = " ".join(title)
            case ["outcome", engine, case, status] if status in WORSE:
                outcomes[unquote(engine), unquote(case)] = status
            case _:
                raise InputError(
                    f"{file}, line {number}: neither bug ENGINE ID nor outcome ENGINE CASE STATUS",
                    f"STATUS is one of {', '.join(WORSE)}",
                )
    return Baseline(bugs, outcomes)


def _key(bug: Bug) -> _Key:
    return read_spec(bug.engine).unversioned, bug.id


def _quoted(name: str) -> str:
    """A name without white space; what it needs is written as in URLs."""
    return quote(name, safe="/:@+,=[]()*!$&'~")


class OutcomeChange(NamedTuple):
    """A case with another outcome than the baseline says."""

    engine: str
    case: str
    was: str
    now: str


@dataclass(frozen=True)
class BaselineDiff:
    """A run compared with a baseline.

    `gone_bugs` are bugs of the run's engines that the baseline names and the run did not meet;
    `open` counts the verdicts that no bug explains, by reason.
    """

    new_bugs: tuple[Bug, ...]
    gone_bugs: Mapping[_Key, str]
    worse: tuple[OutcomeChange, ...]
    better: tuple[OutcomeChange, ...]
    open: Mapping[str, int]

    @property
    def fails(self) -> bool:
        """Whether the run has anything that the baseline does not know."""
        return bool(self.new_bugs or self.worse)


def against(
    baseline: Baseline, bugs: Sequence[Bug], outcomes: Outcomes, unexplained: Mapping[str, int]
) -> BaselineDiff:
    """What in a run differs from a baseline; `outcomes` are of all its cases and engines."""
    met = {_key(bug): bug for bug in bugs}
    engines = {engine for engine, _ in outcomes}
    gone = {
        key: title for key, title in baseline.bugs.items() if key not in met and key[0] in engines
    }
    changes: dict[bool, list[OutcomeChange]] = {True: [], False: []}
    for key, now in sorted(outcomes.items()):
        if (was := baseline.outcomes.get(key, CORRECT)) != now:
            changes[WORSE.index(now) > WORSE.index(was)].append(OutcomeChange(*key, was, now))
    new = tuple(bug for key, bug in met.items() if key not in baseline.bugs)
    return BaselineDiff(new, gone, tuple(changes[True]), tuple(changes[False]), unexplained)


def outcomes_of(stored: StoredRun) -> Outcomes:
    """What became of each case in each engine of a run; none of a case that cannot be judged.

    Errors that are not shown to cost a value do not count.
    """
    found: Outcomes = {}
    for row in stored.rows(
        """SELECT engine, name, outcome, EXISTS (FROM verdicts v WHERE v.engine = e.engine
            AND v.case_row = e.case_row AND class = $1 AND kind IN $2 AND effect NOT IN $3) AS wrong
        FROM engines e JOIN cases USING (case_row)
        WHERE status <> 'set_aside' OR reason = 'values_alone'""",
        *(BUG, [name for name in ERRORS if name not in LEGAL], SPELLINGS),
    ):
        outcome = row["outcome"]
        status = CRASH if outcome in _FAILED else REFUSED if outcome == _REFUSED else CORRECT
        key = read_spec(stored.engines[row["engine"]]).unversioned, row["name"]
        wrong = WRONG if row["wrong"] else CORRECT
        found[key] = max(found.get(key, CORRECT), status, wrong, key=WORSE.index)
    return found
