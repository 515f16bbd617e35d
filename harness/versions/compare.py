"""Two versions of an engine, compared: bugs, schemas and times.

Of schemas it is compared what both versions were judged on: the same place in the same reference of
a walk, and the same instance. Texts that the engines wrote themselves differ, and stay out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from harness.analysis.compile_reasons import plain_reason
from harness.analysis.statistics import is_sample, paired
from harness.analysis.stored import stored_run
from harness.analysis.timing import timings
from harness.bugs.listing import BugList, version_order
from harness.bugs.trial import Trial
from harness.engines.specs import read_spec
from harness.errors import UsageError
from harness.runs.directory import RunDirectory
from harness.runs.made_with import engine_of, limits_of
from harness.validators.format_rules import format_rule
from harness.validators.judge import Judge
from harness.verdict_kinds import BUG, COUNTED, INSTANCE, SAMPLE, WALK
from harness.versions.bugs import STATUSES, BugChange, bug_change

COMPILED = "compiled"

_Key = tuple[Hashable, ...]


@dataclass(frozen=True)
class Side:
    """An engine, by its spec, in a finished run."""

    run: RunDirectory
    engine: str

    @property
    def described(self) -> dict[str, Any]:
        return _engines(self.run)[self.engine]

    @property
    def version(self) -> str:
        return str(self.described["version"])

    @property
    def label(self) -> str:
        """The version; of a local build with its path."""
        return read_spec(self.engine).labelled(self.version)


def sides(
    old: RunDirectory, new: RunDirectory, first: str | None = None, second: str | None = None
) -> list[tuple[Side, Side]]:
    """The pairs of engines to compare: those named, or those that differ in the version alone.

    Raises:
        UsageError: A run is unfinished or lacks the engine, or nothing can be paired.
    """
    for run, engine in ((old, first), (new, second)):
        require_finished(run, engine)
    if (first is None) != (second is None):
        raise UsageError("one engine is named", "name both: --old SPEC --new SPEC")
    if first is not None and second is not None:
        return [(Side(old, first), Side(new, second))]
    before, after = (
        {read_spec(name).unversioned: Side(run, name) for name in _engines(run)}
        for run in (old, new)
    )
    pairs = [(before[kind], after[kind]) for kind in before if kind in after]
    if old.path == new.path:
        pairs = _within(old)
    if not pairs:
        runs = {run.path: f"{run.path} ({', '.join(_engines(run))})" for run in (old, new)}
        raise UsageError(
            f"no engine is in two versions in {' and '.join(runs.values())}",
            "name two: --old SPEC --new SPEC",
        )
    return pairs


def require_finished(run: RunDirectory, engine: str | None = None) -> None:
    """Raise a UsageError for a run that is not finished, or has no such engine."""
    if not run.finished:
        raise UsageError(
            f"{run.path} is not finished", "finish it first: the same bench command goes on"
        )
    if engine is not None and engine not in _engines(run):
        raise UsageError(
            f"{run.path} has no engine {engine!r}", f"it has {', '.join(_engines(run))}"
        )


def _engines(run: RunDirectory) -> dict[str, dict[str, Any]]:
    return dict(run.manifest["identity"]["engines"])


def _within(run: RunDirectory) -> list[tuple[Side, Side]]:
    """Oldest and newest version of each engine; builds of one version in the run's order."""
    by_kind: dict[str, list[Side]] = {}
    for name in _engines(run):
        by_kind.setdefault(read_spec(name).unversioned, []).append(Side(run, name))
    pairs = []
    for same in by_kind.values():
        same.sort(key=lambda side: version_order(side.version))
        old, new = same[0], same[-1]
        if any(old.described.get(word) != new.described.get(word) for word in ("version", "build")):
            pairs.append((old, new))
    return pairs


def is_alike(pace: float) -> bool:
    """Whether a machine that takes `pace` times as long as another is about as fast."""
    return 0.8 <= pace <= 1.25


@dataclass(frozen=True)
class Comparison:
    """What changed from one version of an engine to another.

    `schemas` says as JSON what became of those in both runs: those that one version alone compiles
    have the outcome in the other. By side, ``old`` and ``new``, are `times`, those of
    `harness.analysis.timing.timings`, and `pending`, the verdicts not searched for bugs yet.
    """

    old: Side
    new: Side
    changes: tuple[BugChange, ...]
    schemas: Mapping[str, Any]
    times: Mapping[str, Mapping[str, Any]]
    pending: Mapping[str, int]

    @property
    def pace(self) -> float:
        """How many times as long the new run's machine took for the same work; 1 if unknown."""
        old, new = (
            side.run.manifest.get("machine", {}).get("pace") for side in (self.old, self.new)
        )
        return new / old if old and new else 1.0

    def having(self, status: str) -> list[BugChange]:
        return [change for change in self.changes if change.status == status]


def compare(old: Side, new: Side, bugs: Callable[[Side], BugList]) -> Comparison:
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
    both = {"old": old, "new": new}
    known = {name: bugs(side) for name, side in both.items()}
    memory = max(limits_of(side.run).memory for side in both.values())
    there = known["new"].of(new.engine)
    again = {bug.id for bug in there}
    gone = [bug for bug in known["old"].of(old.engine) if bug.id not in again]
    changes = []
    with closing(Judge(memory, formats=formats.pop())) as judge:
        for side, met in ((old, there), (new, gone)):
            spec = engine_of(side.run, side.engine, side.version)
            with closing(Trial(spec, judge, side.described)) as trial:
                is_new = side is old
                changes += [bug_change(bug, trial, side.version, is_new=is_new) for bug in met]
    changes.sort(key=lambda change: (STATUSES.index(change.status), change.bug.order))
    return Comparison(
        old,
        new,
        tuple(changes),
        _schema_changes(old, new),
        {name: timings(side.run)[side.engine] for name, side in both.items()},
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
        "schemas": {one.new.engine: one.schemas for one in comparisons},
        "times": {one.new.engine: dict(one.times) for one in comparisons},
        "pace": {one.new.engine: one.pace for one in comparisons},
        "pending": {one.new.engine: dict(one.pending) for one in comparisons},
    }


def _schema_changes(old: Side, new: Side) -> dict[str, Any]:
    """What became of the schemas that two sides have in common, by name and text.

    ``rates`` say in how many schemas each version has errors that cost a value, by what
    they are called, of those judged in both; of samples there are the 95% interval of the shares'
    difference, new less old, and McNemar's exact p.
    """
    first, second = _SideRun(old), _SideRun(new)
    common = sorted(
        name for name, text in first.schemas.items() if second.schemas.get(name) == text
    )
    was, now = first.outcomes, second.outcomes
    pairs = {name: (was.get(name, ("", "")), now.get(name, ("", ""))) for name in common}
    both = {*first.judged.values()} & {*second.judged.values()}
    both = {unit for unit in both if unit[1] in pairs}
    schemas = len({case for _, case, *_ in both})
    sampled, rates = is_sample(old.run) and is_sample(new.run), []
    for kind in ("leak", "loss", "trap"):
        before, after = (side.met(COUNTED[kind], both) for side in (first, second))
        counts = schemas, len(before & after), len(after - before), len(before - after)
        (row,) = paired([counts], sampled=sampled)
        about = {"kind": kind, "schemas": schemas, "both": row["both"]}
        about |= {"only_old": row["only_second"], "only_new": row["only_first"]}
        rates.append({**about, **{name: row[name] for name in ("low", "high", "p")}})
    return {
        "schemas": len(common),
        "compiled_now": {name: _failed(*a) for name, (a, b) in pairs.items() if _mended(a, b)},
        "not_now": {name: _failed(*b) for name, (a, b) in pairs.items() if _mended(b, a)},
        "rates": rates,
    }


def _mended(before: tuple[str, str], after: tuple[str, str]) -> bool:
    """Whether a schema is compiled that, as is known, was not."""
    return after[0] == COMPILED != before[0] and any(before)


def _failed(status: str, message: str) -> str:
    return ": ".join(filter(None, (status, plain_reason(message))))


class _SideRun:
    """What the run of a side says of its engine.

    `outcomes` has by case the outcome of its compilation and the message; `judged` what the engine
    was judged on: by how verdicts name it, what is alike in both runs; evidence and case are first.
    """

    def __init__(self, side: Side) -> None:
        self._stored = stored_run(side.run)
        self._engine = list(_engines(side.run)).index(side.engine)
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
