"""Two versions of an engine, compared: bugs, schemas and times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from harness.bugs.listing import BugList
from harness.changes.bug_changes import STATUSES, BugChange, OtherVersion, bug_changes, by_status
from harness.changes.schema_changes import SchemaChanges, schema_changes
from harness.changes.sides import Side
from harness.classification.departures import Catalogue, classify
from harness.errors import UsageError
from harness.report.timing import timings
from harness.runs.made_with import engine_of, limits_of
from harness.validators.format_rules import format_rule
from harness.validators.judge import Judge

TOLD_TIMES = ("time_to_first_mask", "time_between_masks")
"""Of `harness.report.timing.MEASURES`."""


@dataclass(frozen=True)
class Comparison:
    """What changed from one version of an engine to another.

    Attributes:
        old: The old version.
        new: The new one.
        changes: Its bugs.
        schemas: Its schemas.
        times: By side, ``old`` and ``new``, as `harness.report.timing.timings` has them.
        pending: By side, how many verdicts of its run the search for bugs has not come to.
    """

    old: Side
    new: Side
    changes: tuple[BugChange, ...]
    schemas: SchemaChanges
    times: Mapping[str, Mapping[str, Any]]
    pending: Mapping[str, int]

    @property
    def by_status(self) -> Mapping[str, list[BugChange]]:
        """Its bugs by what became of them."""
        return by_status(self.changes)


def compare(
    old: Side, new: Side, bugs: Callable[[Side], BugList], catalogue: Catalogue
) -> Comparison:
    """Compare two versions of an engine.

    Args:
        old: The old version.
        new: The new one.
        bugs: Gives the bugs of a side's run.
        catalogue: The declared departures.

    Raises:
        MaskcourtError: An engine cannot be started as it was, or a run is damaged.
        UsageError: To the validators of the runs formats are different things.
    """
    formats = {format_rule(side.run.manifest["identity"]) for side in (old, new)}
    if len(formats) > 1:
        raise UsageError(
            f"{old.run.path} and {new.run.path} differ in what formats are to the validators",
            "make both with the same --formats",
        )
    known = bugs(old), bugs(new)
    memory = max(limits_of(side.run).memory for side in (old, new))
    with closing(Judge(memory, formats=formats.pop())) as judge:

        def version(side: Side) -> OtherVersion:
            spec = engine_of(side.run, side.engine, side.version)
            return OtherVersion(side, spec, judge, catalogue)

        with closing(version(old)) as before, closing(version(new)) as after:
            mine = known[0].of(old.engine), known[1].of(new.engine)
            changes = bug_changes(*mine, before.does, after.does)
    return Comparison(
        old,
        new,
        tuple(changes),
        schema_changes(old, new, cache(partial(classify, catalogue))),
        {name: timings(side.run)[side.engine] for name, side in (("old", old), ("new", new))},
        {name: found.pending for name, found in zip(("old", "new"), known, strict=True)},
    )


def as_json(comparisons: list[Comparison]) -> dict[str, Any]:
    """Comparisons as JSON: the bugs of all by what became of them, the rest by engine."""
    changes = [change for one in comparisons for change in one.changes]
    return {
        "engines": [
            {
                name: {"run": str(side.run.path), "engine": side.engine, "version": side.version}
                for name, side in (("old", one.old), ("new", one.new))
            }
            for one in comparisons
        ],
        **{status: [change.row() for change in by_status(changes)[status]] for status in STATUSES},
        "schemas": {one.new.engine: one.schemas.row() for one in comparisons},
        "times": {one.new.engine: dict(one.times) for one in comparisons},
        "pending": {one.new.engine: dict(one.pending) for one in comparisons},
    }
