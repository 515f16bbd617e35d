"""What texts prove that are fed whole, counted: the cases' own instances, and engines' samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.counting.counts import Counts, StoredRun
from harness.runs.columns import Ints, matching, numbers, words
from harness.runs.directory import RunDirectory
from harness.runs.tables import GENERATED, TEXT_TABLES, VERDICT_TABLES, is_mislabelled
from harness.verdict_kinds import (
    CLASSES,
    FALSE_ACCEPTANCE,
    MAIN_KINDS,
    OTHER_KINDS,
    SAMPLE,
)
from harness.workers.outcomes import EXCLUDING


def mislabelled(run: RunDirectory) -> dict[str, int]:
    """How many instances both validators judge otherwise than their labels, in how many cases."""
    rows = run.table("instances", ["case", "label", "verdict"])
    wrong = [
        case
        for case, label, verdict in zip(*(one.to_pylist() for one in rows.columns), strict=True)
        if is_mislabelled(label, verdict)
    ]
    return {"instances": len(wrong), "cases": len(set(wrong))}


def made_of_schemas(run: RunDirectory) -> dict[str, int]:
    """How many instances were made of schemas, and how many cases were walked along such."""
    label = words(run.table("instances", ["label"])["label"])
    walked = run.table("cases", ["generated", "walks"]).to_pylist()
    cases = sum(one["generated"] and one["walks"] > 0 for one in walked)
    return {"instances": int(label.equal(GENERATED).sum()), "cases": cases}


class TextCounts:
    """The instances or the samples of a run, and which engine was tested with which.

    An engine is tested with every text of the cases that it compiled, unless it failed at that, a
    verdict says that nothing could be concluded, or the text is fed to its writer alone.

    Args:
        stored: The run.
        evidence: ``instance`` or ``sample``.
    """

    def __init__(self, stored: StoredRun, evidence: str) -> None:
        self.unit = TEXT_TABLES[evidence]
        names = ["case", evidence, "label", "verdict"]
        more = ["writers"] if evidence == SAMPLE else []
        table = stored.run.table(self.unit, [*names, *more])
        self._stored = stored
        self._case = stored.case_of(table["case"])
        self._number = numbers(table[evidence])
        self._verdict = words(table["verdict"])
        self._writers = numbers(table["writers"]).astype(np.int64) if more else None
        label = words(table["label"])
        self._shared, self._made = ~label.equal("own"), label.equal(GENERATED)
        found = stored.run.table(VERDICT_TABLES[evidence], ["case", evidence, "engine", "kind"])
        self._open = words(found["kind"]).equal("unresolved")
        self._open_engine = words(found["engine"])
        self._open_at = (stored.case_of(found["case"]), numbers(found[evidence]))
        told = stored.run.table("engines", ["case", "engine", "stage", "outcome"])
        stage, outcome = words(told["stage"]), words(told["outcome"])
        self._compiled = stage.equal("compile") & outcome.equal("compiled")
        self._failed, self._failed_at_made = stage.equal(self.unit), stage.equal(GENERATED)
        for one in EXCLUDING:
            self._failed |= outcome.equal(one)
        self._told_engine = words(told["engine"])
        self._told_case = stored.case_of(told["case"])

    def tested(self, engine: int) -> npt.NDArray[np.bool_]:
        """Which texts one engine was tested with, shape ``(texts,)``."""
        name = self._stored.engines[engine]
        told = self._told_engine.equal(name)
        cases, made = np.zeros((2, len(self._stored.cases)), dtype=np.bool_)
        cases[self._told_case[self._compiled & told]] = True
        cases[self._told_case[self._failed & told]] = False
        made[self._told_case[self._failed_at_made & told]] = True
        mine = self._open & self._open_engine.equal(name)
        left = matching((self._case, self._number), [column[mine] for column in self._open_at])
        found: npt.NDArray[np.bool_] = cases[self._case] & (left < 0)
        found &= ~(self._made & made[self._case])
        return found if self._writers is None else found & (self._shared | self._wrote(engine))

    def per_case(self, engine: int) -> Ints:
        """With how many texts of each case one engine was tested, shape ``(cases,)``."""
        return np.bincount(self._case[self.tested(engine)], minlength=len(self._stored.cases))

    def counts(self, engine: int, mine: Counts) -> dict[str, Any]:
        """One engine's counts as JSON; `mine` are its verdicts on these texts.

        Keys: ``false_acceptances``, ``false_rejections`` and ``other_kinds`` (by kind), each with
        ``instances`` or ``samples``, ``cases`` and the texts by class (``bug``, ``warned``,
        ``departure``); ``by_format``, the false acceptances that rest on ``format`` alone;
        and how many texts there were for the engine: ``tested_valid``, ``tested_invalid``,
        ``contested``; of samples also ``written``, those that it wrote itself.
        """
        tested = self._verdict[self.tested(engine)]
        others = {kind: self._counted(mine.where(kind=kind)) for kind in OTHER_KINDS}
        accepted = mine.where(kind=FALSE_ACCEPTANCE.name, by_format=True)
        found = {
            **{key: self._counted(mine.where(kind=kind)) for key, kind in MAIN_KINDS.items()},
            "by_format": accepted.total()["tokens"],
            "other_kinds": {kind: one for kind, one in others.items() if one[self.unit]},
            "tested_valid": int(tested.equal("valid").sum()),
            "tested_invalid": int(tested.equal("invalid").sum()),
            "contested": int(tested.equal("contested").sum()),
        }
        if self._writers is not None:
            found["written"] = int(self._wrote(engine).sum())
        return found

    def _wrote(self, engine: int) -> npt.NDArray[np.bool_]:
        assert self._writers is not None
        found: npt.NDArray[np.bool_] = self._writers >> engine & 1 == 1
        return found

    def _counted(self, mine: Counts) -> dict[str, int]:
        """Each entry is one text: an engine has at most one verdict of a kind on it."""
        found = mine.total()
        return {
            self.unit: found["tokens"],
            "cases": found["cases"],
            **mine.tokens_by("class", CLASSES),
        }


def is_tested(counts: Mapping[str, Any]) -> bool:
    """Whether an engine was tested with any text of `TextCounts.counts`."""
    return bool(counts["tested_valid"] + counts["tested_invalid"])
