"""The bugs of several runs as one list: in which of them each was met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.bugs.listing import Bug, BugList
from harness.runs.directory import RunDirectory


@dataclass(frozen=True)
class MetBug:
    """A bug, and in which of several runs it was met.

    Attributes:
        bug: As the first run that met it has it.
        met: By the names of the runs: whether it was met; None where the engine was judged on no
            schema.
    """

    bug: Bug
    met: Mapping[str, bool | None]

    @property
    def everywhere(self) -> bool:
        """Whether every run met it that could have."""
        return False not in self.met.values()


def bugs_across(lists: Mapping[str, tuple[RunDirectory, BugList]]) -> list[MetBug]:
    """The bugs of runs, by the names of these: first those that not every run met.

    A bug has the same id in every run; the same engine in another version or configuration is
    another one here.
    """
    judged = {name: _judged(run) for name, (run, _) in lists.items()}
    first: dict[tuple[str, str], Bug] = {}
    for _, found in lists.values():
        for one in found.bugs:
            first.setdefault((one.engine, one.id), one)
    ids = {name: {(one.engine, one.id) for one in found.bugs} for name, (_, found) in lists.items()}
    every = [
        MetBug(bug, {name: key in ids[name] if key[0] in judged[name] else None for name in lists})
        for key, bug in first.items()
    ]
    return sorted(every, key=lambda one: (one.everywhere, one.bug.order))


def _judged(run: RunDirectory) -> set[str]:
    """The engines that a run judged on any schema."""
    bits = run.table("cases", ["judged"])["judged"].to_pylist()
    engines = enumerate(run.manifest["identity"]["engines"])
    return {name for number, name in engines if any(one >> number & 1 for one in bits)}
