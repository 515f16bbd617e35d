"""What the cases' own instances prove, counted: the second kind of evidence beside walks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from harness.counting.counts import Counts, StoredRun
from harness.runs.columns import Ints, matching, numbers, words
from harness.runs.directory import RunDirectory
from harness.runs.tables import VERDICT_TABLES, is_mislabelled
from harness.verdict_kinds import (
    CLASSES,
    FALSE_ACCEPTANCE,
    INSTANCE,
    MAIN_KINDS,
    OTHER_KINDS,
)


def mislabelled(run: RunDirectory) -> dict[str, int]:
    """How many instances both validators judge otherwise than their labels, in how many cases."""
    rows = run.table("instances", ["case", "label", "verdict"])
    wrong = [
        case
        for case, label, verdict in zip(*(one.to_pylist() for one in rows.columns), strict=True)
        if is_mislabelled(label, verdict)
    ]
    return {"instances": len(wrong), "cases": len(set(wrong))}


class InstanceCounts:
    """The instances of a run, and which engine was tested with which.

    An engine is tested with every instance of the cases that it compiled, unless it failed at that
    or a verdict says that nothing could be concluded.
    """

    def __init__(self, stored: StoredRun) -> None:
        table = stored.run.table("instances", ["case", "instance", "verdict"])
        self._stored = stored
        self._case = stored.case_of(table["case"])
        self._number = numbers(table["instance"])
        self._verdict = words(table["verdict"])
        found = stored.run.table(VERDICT_TABLES[INSTANCE], ["case", "instance", "engine", "kind"])
        self._open = words(found["kind"]).equal("unresolved")
        self._open_engine = words(found["engine"])
        self._open_at = (stored.case_of(found["case"]), numbers(found["instance"]))
        told = stored.run.table("engines", ["case", "engine", "stage", "outcome"])
        stage, outcome = words(told["stage"]), words(told["outcome"])
        self._compiled = stage.equal("compile") & outcome.equal("compiled")
        self._failed = stage.equal("instances")
        self._told_engine = words(told["engine"])
        self._told_case = stored.case_of(told["case"])

    def tested(self, engine: int) -> npt.NDArray[np.bool_]:
        """Which instances one engine was tested with, shape ``(instances,)``."""
        name = self._stored.engines[engine]
        told = self._told_engine.equal(name)
        cases = np.zeros(len(self._stored.cases), dtype=np.bool_)
        cases[self._told_case[self._compiled & told]] = True
        cases[self._told_case[self._failed & told]] = False
        mine = self._open & self._open_engine.equal(name)
        left = matching((self._case, self._number), [column[mine] for column in self._open_at])
        found: npt.NDArray[np.bool_] = cases[self._case] & (left < 0)
        return found

    def per_case(self, engine: int) -> Ints:
        """With how many instances of each case one engine was tested, shape ``(cases,)``."""
        return np.bincount(self._case[self.tested(engine)], minlength=len(self._stored.cases))

    def counts(self, engine: int, mine: Counts) -> dict[str, Any]:
        """One engine's counts as JSON; `mine` are its verdicts on instances.

        Keys: ``false_acceptances``, ``false_rejections`` and ``other_kinds`` (by kind), each with
        ``instances``, ``cases`` and the instances by class (``bug``, ``warned``, ``departure``);
        ``by_format``, the false acceptances that rest on ``format`` alone;
        and how many instances there were for the engine: ``tested_valid``, ``tested_invalid``,
        ``contested``.
        """
        tested = self._verdict[self.tested(engine)]
        others = {kind: _counted(mine.where(kind=kind)) for kind in OTHER_KINDS}
        accepted = mine.where(kind=FALSE_ACCEPTANCE.name, by_format=True)
        return {
            **{key: _counted(mine.where(kind=kind)) for key, kind in MAIN_KINDS.items()},
            "by_format": accepted.total()["tokens"],
            "other_kinds": {kind: one for kind, one in others.items() if one["instances"]},
            "tested_valid": int(tested.equal("valid").sum()),
            "tested_invalid": int(tested.equal("invalid").sum()),
            "contested": int(tested.equal("contested").sum()),
        }


def _counted(mine: Counts) -> dict[str, int]:
    """Each entry is one instance: an engine has at most one verdict of a kind on it."""
    found = mine.total()
    return {
        "instances": found["tokens"],
        "cases": found["cases"],
        **mine.tokens_by("class", CLASSES),
    }
