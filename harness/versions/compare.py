"""Two versions of an engine, compared: bugs, schemas and times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from harness.analysis.timing import timings
from harness.bugs.listing import BugList
from harness.classification.departures import Catalogue, classify
from harness.errors import UsageError
from harness.replay.repeat import same_engines
from harness.runs.made_with import engine_of, limits_of
from harness.validators.format_rules import format_rule
from harness.validators.judge import Judge
from harness.versions.bugs import STATUSES, BugChange, OtherEngine, bug_change
from harness.versions.schemas import SchemaChanges, schema_changes
from harness.versions.sides import Side


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
    old: Side, new: Side, bugs: Callable[[Side], BugList], catalogue: Catalogue
) -> Comparison:
    """Compare two versions of an engine; `bugs` gives the bugs of a side's run.

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
            closing(_engine(old, judge, catalogue)) as before,
            closing(_engine(new, judge, catalogue)) as after,
        ):
            changes = [
                bug_change(bug, before.does(bug.error), old.version, is_new=True) for bug in other
            ] + [
                bug_change(bug, after.does(bug.error), new.version, is_new=False)
                for bug in mine
                if bug.id not in again
            ]
    changes.sort(key=lambda change: (STATUSES.index(change.status), change.bug.order))
    return Comparison(
        old,
        new,
        tuple(changes),
        schema_changes(old, new, cache(partial(classify, catalogue))),
        {name: timings(side.run)[side.engine] for name, side in (("old", old), ("new", new))},
        {name: listed.pending for name, listed in known.items()},
    )


def _engine(side: Side, judge: Judge, catalogue: Catalogue) -> OtherEngine:
    """The engine of a side, as it was in its run."""
    engine = OtherEngine(engine_of(side.run, side.engine, side.version), judge, catalogue)
    try:
        same_engines({side.engine: engine.info}, {side.engine: side.described})
    except BaseException:
        engine.close()
        raise
    return engine


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
