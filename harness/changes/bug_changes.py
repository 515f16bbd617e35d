"""What became of bugs: the smallest case of each is put to the other version of the engine.

That a bug was not met again says little: its schemas may be refused now, or not have been in the
run. So nothing is concluded from two lists. Fixed is a bug whose smallest case the new version gets
right: it compiles the schema and does with the text what both validators say. New is one whose
smallest case the old version got right. All else is there still, or cannot be told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.bugs.elsewhere import ERRS, RIGHT, OtherEngine
from harness.bugs.error_case import ErrorCase
from harness.bugs.listing import Bug
from harness.changes.sides import Side
from harness.classification.departures import Catalogue
from harness.engines.specs import EngineSpec
from harness.replay.repeat import same_engines
from harness.validators.judge import Judge
from harness.verdict_kinds import BUG

FIXED, NEW, REMAINING, CANNOT_TELL = "fixed", "new", "remaining", "cannot_tell"
STATUSES: Final = (NEW, FIXED, REMAINING, CANNOT_TELL)
"""What may become of a bug, in the order in which it is told."""


@dataclass(frozen=True)
class BugChange:
    """A bug of one version, and what the other one does with its smallest case.

    Attributes:
        bug: The bug; of one that both versions have, as the new run has it.
        status: One of `STATUSES`.
        reason: What the other version does, where that needs saying; else empty.
    """

    bug: Bug
    status: str
    reason: str = ""

    def row(self) -> dict[str, Any]:
        """As JSON."""
        return {**self.bug.row(), "status": self.status, "reason": self.reason}


def bug_changes(
    old: Sequence[Bug],
    new: Sequence[Bug],
    in_old: Callable[[ErrorCase], tuple[str, str]],
    in_new: Callable[[ErrorCase], tuple[str, str]],
) -> list[BugChange]:
    """What became of the bugs of two versions, in the order of `STATUSES`.

    Args:
        old: Those that were found of the old version.
        new: Those of the new one.
        in_old: What the old version does with a case: as `OtherVersion.does` says it.
        in_new: What the new version does.
    """
    again = {one.id for one in new}
    found = []
    for one in new:
        status, reason = in_old(one.error)
        found.append(BugChange(one, NEW if status == FIXED else status, reason))
    found += [BugChange(one, *in_new(one.error)) for one in old if one.id not in again]
    return sorted(found, key=lambda one: (STATUSES.index(one.status), one.bug.order))


class OtherVersion:
    """One version of an engine, to which cases of the other are put.

    Args:
        side: The engine.
        spec: The same, ready to be started.
        judge: The validators.
        catalogue: The declared departures.
    """

    def __init__(self, side: Side, spec: EngineSpec, judge: Judge, catalogue: Catalogue) -> None:
        self._version = side.version
        self._engine = OtherEngine(spec, judge, catalogue)
        try:
            same_engines({side.engine: self._engine.info}, {side.engine: side.described})
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the engine's host."""
        self._engine.close()

    def does(self, case: ErrorCase) -> tuple[str, str]:
        """`REMAINING` where it errs in the case, `FIXED` where it is right, or `CANNOT_TELL`.

        Returns:
            One of these, and why, where that needs saying.
        """
        found = self._engine.does(case)
        if found.word == ERRS:
            counted = "" if found.class_ == BUG else f"counts as {found.class_} in {self._version}"
            return REMAINING, counted
        if found.word == RIGHT:
            return FIXED, ""
        return CANNOT_TELL, f"{self._version} {found.reason}"


def by_status(changes: Sequence[BugChange]) -> Mapping[str, list[BugChange]]:
    """Bugs by what became of them; every one of `STATUSES` is there."""
    return {status: [one for one in changes if one.status == status] for status in STATUSES}
