"""The token that most schemas with a bug share: one rule broken everywhere looks like much.

A character that an engine forbids in every string makes nearly every schema one with a bug. Whoever
reads a share of schemas must be told when one token alone stands behind it.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.errors import MaskcourtError
from harness.inputs.vocabulary import Vocabulary
from harness.inputs.vocabulary_readers import EMBEDDED, open_vocabulary
from harness.report.counts import StoredRun
from harness.runs.columns import Ints, numbers, words
from harness.verdict_kinds import BUG, WALK


class Widespread:
    """Finds the most widespread token among the bugs of walks of a run."""

    def __init__(self, stored: StoredRun) -> None:
        self._stored = stored
        table = stored.run.table("verdicts", ["case", "engine", "kind", "token"])
        self._case = stored.case_of(table["case"])
        self._token = numbers(table["token"], -1)
        self._engine, self._kind = words(table["engine"]), words(table["kind"])
        self._bug = words(stored.classes(WALK)["class"]).equal(BUG)

    def token(self, engine: str, kind: str) -> dict[str, Any] | None:
        """The token of one kind of bug that occurs in most cases, as JSON.

        Returns:
            ``token``, ``bytes`` (as a Python literal without quotes; None where no vocabulary is
            at hand in a file), ``cases``, ``alone`` (those of them in which no other token is
            proven to be one of these bugs) and ``of``, the cases with any; None where there are
            none.
        """
        mine = self._bug & self._engine.equal(engine) & self._kind.equal(kind) & (self._token >= 0)
        if not mine.any():
            return None
        case, token = _pairs(self._case[mine], self._token[mine])
        ids, cases = np.unique(token, return_counts=True)
        most = int(ids[cases.argmax()])  # of several the smallest
        others = np.bincount(case, minlength=len(self._stored.cases))
        return {
            "token": most,
            "bytes": self._spelled(most),
            "cases": int(cases.max()),
            "alone": int(np.count_nonzero(others[case[token == most]] == 1)),
            "of": int(np.count_nonzero(others)),
        }

    def _spelled(self, token: int) -> str | None:
        known = self._vocabulary
        if known is None or token >= known.size:
            return None
        return repr(known.token(token))[2:-1]

    @cached_property
    def _vocabulary(self) -> Vocabulary | None:
        """The vocabulary of the run, if it is still what it was."""
        stored = self._stored.run.manifest["identity"].get("vocabulary", {})
        try:
            if stored["spec"] != EMBEDDED and not Path(stored["spec"]).exists():
                return None  # of a hub: a tally asks no network
            found = open_vocabulary(stored["spec"], stored["eos"])
        except (KeyError, OSError, MaskcourtError):
            return None
        return found if found.sha256 == stored.get("sha256") else None


def _pairs(case: npt.NDArray[Any], token: npt.NDArray[Any]) -> tuple[Ints, Ints]:
    """Each token once in each case that it occurs in."""
    width = int(token.max()) + 1
    keys = np.unique(case.astype(np.int64) * width + token)
    return keys // width, keys % width
