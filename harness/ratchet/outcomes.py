"""What became of each schema in each engine, as one word."""

from __future__ import annotations

from typing import Final

import numpy as np

from harness.counting.counts import StoredRun
from harness.counting.schema_bugs import SchemaBugs
from harness.engines.specs import read_spec
from harness.verdict_kinds import ERRORS
from harness.workers.outcomes import COMPILE_STATUSES

CORRECT, REFUSED, WRONG, CRASH = "correct", "refused", "wrong", "crash"
FURTHER: Final = (CORRECT, REFUSED, WRONG, CRASH)
"""Outcomes, each further from correct than the one before."""

_COMPILED, _REFUSED, *_FAILED = COMPILE_STATUSES

Outcomes = dict[tuple[str, str], str]
"""By engine (its spec without its version) and case."""


def outcomes(stored: StoredRun) -> Outcomes:
    """What became of each case in each engine of a run.

    ``crash`` stands for time-outs and exceeded memory as well, ``wrong`` for any bug, by whatever
    evidence. Cases that the validators cannot judge have no outcome.
    """
    table = stored.run.table("cases", ["case", "status"])
    judgeable = {row["case"] for row in table.to_pylist() if row["status"] != "set_aside"}
    found = _compilations(stored, judgeable)
    bugs = SchemaBugs(stored)
    for number, engine in enumerate(stored.engines):
        kind = read_spec(engine).unversioned
        flagged = bugs.of(number, ERRORS).any
        for case in np.array(stored.cases, dtype=object)[flagged].tolist():
            if (kind, case) in found:
                found[kind, case] = _further(found[kind, case], WRONG)
    return found


def _compilations(stored: StoredRun, cases: set[str]) -> Outcomes:
    """The outcomes as far as compilations and failures tell."""
    found: Outcomes = {}
    columns = ["case", "engine", "outcome"]
    for row in stored.run.table("engines", columns).to_pylist():
        if row["case"] not in cases:
            continue
        key = read_spec(row["engine"]).unversioned, row["case"]
        word = row["outcome"]
        told = CRASH if word in _FAILED else REFUSED if word == _REFUSED else CORRECT
        found[key] = _further(found.get(key, CORRECT), told)
    return found


def _further(one: str, other: str) -> str:
    return max(one, other, key=FURTHER.index)
