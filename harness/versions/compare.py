"""Two versions of an engine, compared: bugs, schemas and times.

Of schemas it is compared what both versions were judged on: the same place in the same reference of
a walk, and the same instance. Texts that the engines wrote themselves differ, and stay out of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from harness.analysis.statistics import difference, is_sample, mcnemar
from harness.analysis.stored import Classify
from harness.analysis.timing import timings
from harness.bugs.listing import BugList
from harness.bugs.trial import Trial
from harness.classification.departures import Catalogue, classify
from harness.errors import UsageError
from harness.runs.made_with import limits_of
from harness.runs.tables import VERDICT_TABLES
from harness.validators.format_rules import format_rule
from harness.validators.judge import Judge
from harness.verdict_kinds import BUG, INSTANCE, LEAKS, LOSSES, SPELLINGS, TRAPS, WALK
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
        schema_changes(old, new, cache(partial(classify, catalogue)), _counted(spellings)),
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


def _counted(spellings: bool) -> dict[str, Sequence[str]]:
    """Effects by the names of what is counted."""
    counted = {"leak": LEAKS, "loss": LOSSES, "trap": TRAPS}
    return counted | ({"spelling": SPELLINGS} if spellings else {})


def schema_changes(
    old: Side, new: Side, classify: Classify, counted: Mapping[str, Sequence[str]]
) -> SchemaChanges:
    """What became of the schemas that two sides have in common, by name and text."""
    before, after = (_rows(side, "cases", "case", "schema") for side in (old, new))
    texts = {row["case"]: row["schema"] for row in after}
    common = sorted(row["case"] for row in before if texts.get(row["case"]) == row["schema"])
    was, now = _outcomes(old), _outcomes(new)
    pairs = {name: (was.get(name, ("", "")), now.get(name, ("", ""))) for name in common}
    return SchemaChanges(
        len(common),
        {name: text for name, (a, b) in pairs.items() if (text := _failed(a)) and b[0] == COMPILED},
        {name: text for name, (a, b) in pairs.items() if (text := _failed(b)) and a[0] == COMPILED},
        dict(Counter((a[0], b[0]) for a, b in pairs.values())),
        _rates(old, new, set(common), classify, counted),
    )


def _rows(side: Side, table: str, *columns: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = side.run.table(table, columns).to_pylist()
    return rows


def _outcomes(side: Side) -> dict[str, tuple[str, str]]:
    """By case: the outcome of its compilation, and its message."""
    return {
        row["case"]: (row["outcome"], row["message"] or "")
        for row in _rows(side, "engines", "case", "engine", "stage", "outcome", "message")
        if row["stage"] == "compile" and row["engine"] == side.engine
    }


def _failed(outcome: tuple[str, str]) -> str:
    """The outcome of a schema that is not compiled, with the first line of its message."""
    status, message = outcome
    first = next(iter(message.strip().splitlines()), "")
    return "" if status == COMPILED else f"{status}: {first}" if first else status


def _rates(
    old: Side,
    new: Side,
    common: set[str],
    classify: Classify,
    counted: Mapping[str, Sequence[str]],
) -> tuple[RateChange, ...]:
    places = _places(old), _places(new)
    both = {unit for unit in {*places[0].values()} & {*places[1].values()} if unit[1] in common}
    schemas = len({case for _, case, *_ in both})
    sampled = is_sample(old.run) and is_sample(new.run)
    rates = []
    for kind, effects in counted.items():
        before, after = (
            {unit[1] for key in _bugs(side, effects, classify) if (unit := known.get(key)) in both}
            for side, known in zip((old, new), places, strict=True)
        )
        only_old, only_new = len(before - after), len(after - before)
        counts = (schemas, len(before & after), only_old, only_new)
        low = high = p = None
        if sampled:
            p = mcnemar(only_new, only_old)
            if only_old or only_new:
                low, high = difference(only_new, only_old, schemas)
        rates.append(RateChange(kind, *counts, low, high, p))
    return tuple(rates)


def _places(side: Side) -> dict[_Key, _Key]:
    """What the engine was judged on: by how a run's verdicts name it, what is alike in both runs.

    Both begin with the kind of evidence and the case.
    """
    references = {
        row["case"]: row["references"] for row in _rows(side, "cases", "case", "references")
    }
    found: dict[_Key, _Key] = {}
    for row in _rows(side, "positions", "case", "walk", "position", "offset", "judged"):
        if row["judged"] >> side.number & 1:
            case, walk = row["case"], row["walk"]
            text = references[case][walk] if references[case] else b""
            found[WALK, case, walk, row["position"]] = (WALK, case, text, row["offset"])
    compiled = {name for name, (status, _) in _outcomes(side).items() if status == COMPILED}
    for row in _rows(side, "instances", "case", "instance", "text"):
        if (case := row["case"]) in compiled:
            found[INSTANCE, case, row["instance"]] = (INSTANCE, case, row["text"])
    return found


def _bugs(side: Side, effects: Sequence[str], classify: Classify) -> set[_Key]:
    """Where an engine has bugs of some effects, as `_places` names it."""
    found: set[_Key] = set()
    for evidence, keys in ((WALK, ("walk", "position")), (INSTANCE, ("instance",))):
        table = side.run.table(VERDICT_TABLES[evidence], ["engine", "effect", "case", *keys])
        wanted = pc.and_(
            pc.equal(table["engine"].cast(pa.string()), side.engine),
            pc.is_in(table["effect"].cast(pa.string()), pa.array(effects)),
        )
        classes = classify(side.run, evidence)["class"].cast(pa.string())
        table = table.filter(pc.and_(wanted, pc.equal(classes, BUG))).select(["case", *keys])
        found |= {(evidence, *row.values()) for row in table.to_pylist()}
    return found
