"""Two versions of an engine, compared: bugs, schemas and times.

Of schemas it is compared what both versions were judged on: the same place in the same reference of
a walk, and the same instance. Texts that the engines wrote themselves differ, and stay out of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness.analysis.statistics import is_sample, paired
from harness.analysis.stored import Classify, stored_run
from harness.analysis.timing import timings
from harness.bugs.listing import BugList
from harness.bugs.trial import Trial
from harness.classification.departures import Catalogue, classify
from harness.errors import UsageError
from harness.runs.made_with import limits_of
from harness.validators.format_rules import format_rule
from harness.validators.judge import Judge
from harness.verdict_kinds import BUG, INSTANCE, LEAKS, LOSSES, SAMPLE, SPELLINGS, TRAPS, WALK
from harness.versions.bugs import STATUSES, BugChange, bug_change
from harness.versions.sides import Side

COMPILED = "compiled"

_Key = tuple[Hashable, ...]


@dataclass(frozen=True)
class RateChange:
    """In how many schemas each version has a `kind` of bugs, say leaks, of those judged in both.

    Of samples there are the 95% interval of the shares' difference, new less old, and McNemar's
    exact p.
    """

    kind: str
    schemas: int
    both: int
    only_old: int
    only_new: int
    low: float | None = None
    high: float | None = None
    p: float | None = None


@dataclass(frozen=True)
class SchemaChanges:
    """What became of the schemas that are in both runs.

    Those that one version alone compiles have the outcome in the other; `outcomes` counts by
    outcome, old and new.
    """

    schemas: int
    compiled_now: dict[str, str]
    not_now: dict[str, str]
    outcomes: dict[tuple[str, str], int]
    rates: tuple[RateChange, ...]

    def row(self) -> dict[str, Any]:
        """As JSON."""
        return {
            **vars(self),
            "outcomes": [
                {"old": old, "new": new, "schemas": many}
                for (old, new), many in sorted(self.outcomes.items())
            ],
            "rates": [vars(rate) for rate in self.rates],
        }


@dataclass(frozen=True)
class Comparison:
    """What changed from one version of an engine to another.

    `times` are by side, ``old`` and ``new``, those of `harness.analysis.timing.timings`; `pending`
    says how many verdicts of a side's run the search for bugs has not come to.
    """

    old: Side
    new: Side
    changes: tuple[BugChange, ...]
    schemas: SchemaChanges
    times: Mapping[str, Mapping[str, Any]]
    pending: Mapping[str, int]

    def having(self, status: str) -> list[BugChange]:
        """The bugs of which this became."""
        return [change for change in self.changes if change.status == status]


def compare(
    old: Side,
    new: Side,
    bugs: Callable[[Side], BugList],
    catalogue: Catalogue,
    *,
    spellings: bool = False,
) -> Comparison:
    """Compare two versions of an engine; `bugs` gives the bugs of a side's run.

    In how many schemas there are errors that are not shown to cost a value is only said where
    `spellings` are asked for.

    Raises:
        MaskcourtError: An engine cannot be started as it was, or a run is damaged.
        UsageError: The validators of the two runs treat formats differently.
    """
    formats = {format_rule(side.run.manifest["identity"]) for side in (old, new)}
    if len(formats) > 1:
        raise UsageError(
            f"{old.run.path} and {new.run.path} differ in what formats are to the validators",
            "make both with the same --formats",
        )
    counted: dict[str, Sequence[str]] = {"leak": LEAKS, "loss": LOSSES, "trap": TRAPS}
    counted |= {"spelling": SPELLINGS} if spellings else {}
    known = {"old": bugs(old), "new": bugs(new)}
    memory = max(limits_of(side.run).memory for side in (old, new))
    with closing(Judge(memory, formats=formats.pop())) as judge:
        mine, other = known["old"].of(old.engine), known["new"].of(new.engine)
        again = {bug.id for bug in other}
        with (
            closing(Trial(old.spec, judge, catalogue, old.described)) as before,
            closing(Trial(new.spec, judge, catalogue, new.described)) as after,
        ):
            changes = [
                bug_change(bug, trial, side.version, is_new=is_new)
                for trial, side, bugs_there, is_new in (
                    (before, old, other, True),
                    (after, new, [bug for bug in mine if bug.id not in again], False),
                )
                for bug in bugs_there
            ]
    changes.sort(key=lambda change: (STATUSES.index(change.status), change.bug.order))
    return Comparison(
        old,
        new,
        tuple(changes),
        _schema_changes(old, new, partial(classify, catalogue), counted),
        {name: timings(side.run)[side.engine] for name, side in (("old", old), ("new", new))},
        {name: listed.pending for name, listed in known.items()},
    )


def as_json(comparisons: list[Comparison]) -> dict[str, Any]:
    """Comparisons as JSON: the bugs of all by what became of them, the rest by engine."""
    return {
        "engines": [
            {
                name: {"run": str(side.run.path), "engine": side.engine, "version": side.version}
                for name, side in (("old", one.old), ("new", one.new))
            }
            for one in comparisons
        ],
        **{
            status: [change.row() for one in comparisons for change in one.having(status)]
            for status in STATUSES
        },
        "schemas": {one.new.engine: one.schemas.row() for one in comparisons},
        "times": {one.new.engine: dict(one.times) for one in comparisons},
        "pending": {one.new.engine: dict(one.pending) for one in comparisons},
    }


def _schema_changes(
    old: Side, new: Side, rule: Classify, counted: Mapping[str, Sequence[str]]
) -> SchemaChanges:
    """What became of the schemas that two sides have in common, by name and text.

    `counted` are effects by the names of what is counted.
    """
    first, second = _SideRun(old, rule), _SideRun(new, rule)
    common = sorted(
        name for name, text in first.schemas.items() if second.schemas.get(name) == text
    )
    was, now = first.outcomes, second.outcomes
    pairs = {name: (was.get(name, ("", "")), now.get(name, ("", ""))) for name in common}
    both = {*first.judged.values()} & {*second.judged.values()}
    both = {unit for unit in both if unit[1] in pairs}
    schemas = len({case for _, case, *_ in both})
    rates = []
    for kind, effects in counted.items():
        before, after = first.met(effects, both), second.met(effects, both)
        counts = schemas, len(before & after), len(after - before), len(before - after)
        (row,) = paired([counts], sampled=is_sample(old.run) and is_sample(new.run))
        tested = row["low"], row["high"], row["p"]
        rates.append(RateChange(kind, *counts[:2], *counts[:1:-1], *tested))
    return SchemaChanges(
        len(common),
        {name: text for name, (a, b) in pairs.items() if (text := _failed(a)) and b[0] == COMPILED},
        {name: text for name, (a, b) in pairs.items() if (text := _failed(b)) and a[0] == COMPILED},
        dict(Counter((a[0], b[0]) for a, b in pairs.values())),
        tuple(rates),
    )


def _failed(outcome: tuple[str, str]) -> str:
    """The outcome of a schema that is not compiled, with the first line of its message."""
    status, message = outcome
    first = next(iter(message.strip().splitlines()), "")
    return "" if status == COMPILED else f"{status}: {first}" if first else status


class _SideRun:
    """What the run of a side says of its engine.

    `outcomes` has by case the outcome of its compilation and the message; `judged` what the engine
    was judged on: by how verdicts name it, what is alike in both runs. Both names begin with the
    kind of evidence and the case.
    """

    def __init__(self, side: Side, rule: Classify) -> None:
        self._stored, self._engine = stored_run(side.run, rule), side.number
        self.schemas = dict(self._rows("SELECT name, schema FROM cases WHERE $1 >= 0"))
        self.outcomes = {
            name: (outcome, message or "")
            for name, outcome, message in self._rows(
                """SELECT name, outcome, message FROM engines JOIN cases USING (case_row)
                WHERE engine = $1 AND stage = 'compile'"""
            )
        }
        self.judged: dict[_Key, _Key] = {
            (WALK, case, walk, number): (WALK, case, text or b"", offset)
            for case, walk, number, text, offset in self._rows(
                """SELECT name, walk, number, "references"[walk + 1], "offset"
                FROM places JOIN cases USING (case_row) WHERE (judged >> $1) & 1 = 1"""
            )
        }
        for row in side.run.table("instances", ["case", "instance", "text"]).to_pylist():
            if self.outcomes.get(case := row["case"], ("",))[0] == COMPILED:
                self.judged[INSTANCE, case, row["instance"]] = (INSTANCE, case, row["text"])

    def met(self, effects: Sequence[str], among: set[_Key]) -> set[Hashable]:
        """The cases with bugs of some effects, among what was judged."""
        rows = self._rows(
            """SELECT evidence, name, number, before FROM verdicts JOIN cases USING (case_row)
            WHERE engine = $1 AND class = $2 AND effect IN $3 AND evidence <> $4""",
            *(BUG, effects, SAMPLE),
        )
        keys = (key if key[0] == WALK else key[:3] for key in rows)
        return {unit[1] for key in keys if (unit := self.judged.get(key)) in among and unit}

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in self._stored.rows(sql, self._engine, *values)]
