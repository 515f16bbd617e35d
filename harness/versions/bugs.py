"""What became of a bug in another version of its engine.

That a bug was not met again says little: its schemas may be refused now, or not have been in the
run. So two lists are never subtracted: the smallest case of each bug is put to the other engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from harness.bugs.listing import Bug
from harness.bugs.trial import Trial
from harness.verdict_kinds import BUG, SPELLING, SPELLINGS, WRONG_BITS

NEW, FIXED, REMAINING, CANNOT_TELL = STATUSES = ("new", "fixed", "remaining", "cannot_tell")
"""What may become of a bug, in the order of the report."""


@dataclass(frozen=True)
class BugChange:
    """What became of a bug, and why; of one that both versions have, `bug` is the new run's."""

    bug: Bug
    status: str
    reason: str = ""

    def row(self) -> dict[str, Any]:
        return {**self.bug.row(), "status": self.status, "reason": self.reason}


def bug_change(bug: Bug, trial: Trial, version: str, *, is_new: bool) -> BugChange:
    """What became of a bug, by what the engine in the other `version` does with its smallest case.

    It is fixed, or new, where that compiles the schema and treats the text as both validators do,
    or where it takes another spelling of a value that is lost here.
    """
    case = replace(bug.error, engine=trial.spec.name)
    with trial.with_token(case.token):
        if (symptom := trial.reproduce(case)) is not None:
            reason = "" if symptom.class_ == BUG else f"counts as {symptom.class_} in {version}"
            effect = trial.effect(case, symptom) if bug.effect not in ("", *SPELLINGS) else ""
            if effect == SPELLING:
                reason = f"{version} takes another spelling of the value"
                return BugChange(bug, NEW if is_new else FIXED, reason)
            if effect and effect != bug.effect:
                reason = f"its effect is {effect.replace('_', ' ')} in {version}"
            return BugChange(bug, REMAINING, reason)
        if not trial.compiles(case.schema):
            return BugChange(bug, CANNOT_TELL, f"{version} does not compile the schema")
        if case.kind not in WRONG_BITS or all(trial.are_right([case])):
            return BugChange(bug, NEW if is_new else FIXED)
        return BugChange(bug, CANNOT_TELL, f"{version} does something else with the text")
