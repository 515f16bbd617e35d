"""Which engine of an old run is compared with which engine of a new one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.bugs.listing import version_order
from harness.engines.specs import EngineSpec, read_spec
from harness.errors import UsageError
from harness.runs.directory import RunDirectory
from harness.runs.made_with import engine_of


@dataclass(frozen=True)
class Side:
    """An engine, by its spec, in a finished run."""

    run: RunDirectory
    engine: str

    @property
    def described(self) -> dict[str, Any]:
        """The engine in the run's manifest."""
        return _engines(self.run)[self.engine]

    @property
    def spec(self) -> EngineSpec:
        """The engine as it was in the run, ready to be started."""
        return engine_of(self.run, self.engine, self.version)

    @property
    def version(self) -> str:
        """The engine's version."""
        return str(self.described["version"])

    @property
    def label(self) -> str:
        """The version; of a local build with its path."""
        return read_spec(self.engine).labelled(self.version)

    @property
    def number(self) -> int:
        """The engine's bit in sets of engines of its run."""
        return list(_engines(self.run)).index(self.engine)


def sides(
    old: RunDirectory, new: RunDirectory, first: str | None = None, second: str | None = None
) -> list[tuple[Side, Side]]:
    """The pairs of engines to compare: those named, or those that differ in the version alone.

    Raises:
        UsageError: A run is unfinished or lacks the engine, or nothing can be paired.
    """
    for run in (old, new):
        require_finished(run)
    if (first is None) != (second is None):
        raise UsageError("one engine is named", "name both: --old SPEC --new SPEC")
    if first is not None and second is not None:
        require_engine(old, first)
        require_engine(new, second)
        return [(Side(old, first), Side(new, second))]
    pairs = _within(old) if old.path == new.path else _between(old, new)
    if not pairs:
        there = "; ".join(", ".join(_engines(run)) for run in (old, new))
        raise UsageError(
            f"no engine is in two versions in {old.path} and {new.path}: {there}",
            "name two: --old SPEC --new SPEC",
        )
    return pairs


def require_finished(run: RunDirectory) -> None:
    """Raise a UsageError for a run that is not finished."""
    if not run.finished:
        raise UsageError(
            f"{run.path} is not finished", "finish it first: the same bench command goes on"
        )


def require_engine(run: RunDirectory, engine: str) -> None:
    """Raise a UsageError for a run without this engine."""
    if engine not in _engines(run):
        names = ", ".join(_engines(run))
        raise UsageError(f"{run.path} has no engine {engine!r}", f"it has {names}")


def _engines(run: RunDirectory) -> dict[str, dict[str, Any]]:
    return dict(run.manifest["identity"]["engines"])


def _within(run: RunDirectory) -> list[tuple[Side, Side]]:
    """Oldest and newest version of each engine; builds of one version in the run's order."""
    by_kind: dict[str, list[Side]] = {}
    for name in _engines(run):
        by_kind.setdefault(read_spec(name).unversioned, []).append(Side(run, name))
    ordered = (
        sorted(same, key=lambda side: version_order(side.version)) for same in by_kind.values()
    )
    return [(same[0], same[-1]) for same in ordered if _identity(same[0]) != _identity(same[-1])]


def _between(old: RunDirectory, new: RunDirectory) -> list[tuple[Side, Side]]:
    before, after = (
        {read_spec(name).unversioned: Side(run, name) for name in _engines(run)}
        for run in (old, new)
    )
    return [(before[kind], after[kind]) for kind in before if kind in after]


def _identity(side: Side) -> tuple[str, object]:
    return side.version, side.described.get("build")
