"""The sides of a comparison: an engine in a run, another version of it in the same or another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from packaging.version import InvalidVersion, Version

from harness.engines.specs import read_spec
from harness.errors import UsageError
from harness.runs.directory import RunDirectory


@dataclass(frozen=True)
class Side:
    """One engine of one run.

    Attributes:
        run: The run, finished.
        engine: The engine's spec in it.
    """

    run: RunDirectory
    engine: str

    @property
    def described(self) -> Mapping[str, Any]:
        """What the run's manifest says of the engine."""
        found: Mapping[str, Any] = self.run.manifest["identity"]["engines"][self.engine]
        return found

    @property
    def version(self) -> str:
        """The engine's version."""
        return str(self.described["version"])

    @property
    def label(self) -> str:
        """The version, of a build at hand with where it was."""
        return read_spec(self.engine).labelled(self.version)

    @property
    def number(self) -> int:
        """Of the engine in the run: its bit in sets of engines."""
        return list(self.run.manifest["identity"]["engines"]).index(self.engine)


def sides(
    old: RunDirectory, new: RunDirectory, first: str | None = None, second: str | None = None
) -> list[tuple[Side, Side]]:
    """Which engine of the old run is held against which of the new one.

    Args:
        old: The old run.
        new: The new one, which may be the same.
        first: The old engine's spec; None where there is no choice.
        second: The new engine's.

    Raises:
        UsageError: A run is not finished or has no such engine, or it is not clear which to take.
    """
    for run in (old, new):
        if not run.finished:
            raise UsageError(
                f"{run.path} is not finished", "finish it first: the same bench command goes on"
            )
    if (first is None) != (second is None):
        raise UsageError("one engine is named", "name both: --old SPEC --new SPEC")
    if first is not None and second is not None:
        return [(_named(old, first), _named(new, second))]
    found = _versions_of_one(old) if old.path == new.path else _alike(old, new)
    if not found:
        there = "; ".join(", ".join(run.manifest["identity"]["engines"]) for run in (old, new))
        raise UsageError(
            f"no engine is in two versions in {old.path} and {new.path}: {there}",
            "name two: --old SPEC --new SPEC",
        )
    return found


def _named(run: RunDirectory, engine: str) -> Side:
    names = run.manifest["identity"]["engines"]
    if engine not in names:
        raise UsageError(f"{run.path} has no engine {engine!r}", f"it has {', '.join(names)}")
    return Side(run, engine)


def _versions_of_one(run: RunDirectory) -> list[tuple[Side, Side]]:
    """Of every engine that a run has in several versions the oldest and the newest.

    Builds at hand of one version are in the order in which the run names them.
    """
    by_kind: dict[str, list[Side]] = {}
    for name in run.manifest["identity"]["engines"]:
        by_kind.setdefault(read_spec(name).unversioned, []).append(Side(run, name))
    ordered = [sorted(found, key=_in_order) for found in by_kind.values()]
    return [(found[0], found[-1]) for found in ordered if _is_other(found[0], found[-1])]


def _is_other(old: Side, new: Side) -> bool:
    builds = [side.described.get("build") for side in (old, new)]
    return (old.version, builds[0]) != (new.version, builds[1])


def _alike(old: RunDirectory, new: RunDirectory) -> list[tuple[Side, Side]]:
    """Engines of two runs that are named alike but for the version."""
    mine, other = (
        {read_spec(name).unversioned: name for name in run.manifest["identity"]["engines"]}
        for run in (old, new)
    )
    return [(Side(old, mine[kind]), Side(new, other[kind])) for kind in mine if kind in other]


def _in_order(side: Side) -> tuple[bool, Version]:
    try:
        return True, Version(side.version)
    except InvalidVersion:
        return False, Version("0")
