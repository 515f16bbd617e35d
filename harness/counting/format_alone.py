"""Which false acceptances rest on `format` alone: as an annotation it would make their texts valid.

The keyword of a verdict is the first that a validator names. A text may break others besides, and
`anyOf` and its like stand for what is broken behind them. So the texts in question are judged once
more, by both validators, with formats as annotations.
"""

from __future__ import annotations

import functools
from contextlib import closing

import numpy as np
import numpy.typing as npt

from harness.engines.panel import Limits
from harness.replay.witness_reader import Choice, witnesses
from harness.runs.columns import translated, words
from harness.runs.directory import RunDirectory
from harness.runs.made_with import vocabulary_at_hand
from harness.runs.tables import VERDICT_TABLES
from harness.validators.format_rules import ANNOTATION, format_rule
from harness.validators.judge import VALID, Judge
from harness.verdict_kinds import FALSE_ACCEPTANCE

_FORMAT = "format"
_HIDING = (
    *("anyOf", "oneOf", "not", "contains", "minContains", "maxContains"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
"""Keywords that are named where what they broke is something behind them."""


def rests_on_format(run: RunDirectory, evidence: str) -> npt.NDArray[np.bool_]:
    """Which verdicts are false acceptances of texts that break nothing but `format`.

    Where the vocabulary is not at hand no text is, and those count whose first keyword it is.

    Args:
        run: The run, finished or not.
        evidence: ``walk``, ``instance`` or ``sample``.

    Returns:
        Shape ``(n,)``, in the order of the table of verdicts.
    """
    kinds = {one: _candidates(run, one) for one in VERDICT_TABLES}
    asked, named = kinds[evidence]
    if not asked.any():
        return asked
    if vocabulary_at_hand(run) is None:
        return named
    rows = tuple(tuple(np.flatnonzero(one).tolist()) for one, _ in kinds.values())
    found = np.zeros(len(asked), dtype=np.bool_)
    found[_judged(run, rows)[evidence]] = True
    return found


def _candidates(
    run: RunDirectory, evidence: str
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which verdicts may be about `format`, by keyword and schema, and which name it."""
    table = run.table(VERDICT_TABLES[evidence], ["case", "kind", "keyword"])
    keyword = words(table["keyword"])
    accepted = words(table["kind"]).equal(FALSE_ACCEPTANCE.name)
    if format_rule(run.manifest["identity"]) == ANNOTATION or not accepted.any():
        nothing = np.zeros(len(accepted), dtype=np.bool_)
        return nothing, nothing
    cases = run.table("cases", ["case", "schema"])
    schemas = cases["schema"].to_pylist()
    rows = {name: row for row, name in enumerate(cases["case"].to_pylist())}
    of = translated(words(table["case"]), rows)
    formats, branches = (
        np.array([f'"{one}"' in schema for schema in schemas], dtype=np.bool_)[of]
        for one in (_FORMAT, "if")
    )
    named = accepted & keyword.equal(_FORMAT)
    hidden = keyword.equal(*_HIDING) | (branches & ~keyword.equal("json"))
    return named | (accepted & formats & hidden), named


@functools.lru_cache(maxsize=2)
def _judged(run: RunDirectory, rows: tuple[tuple[int, ...], ...]) -> dict[str, list[int]]:
    """Which of some rows, by evidence, have texts that are valid where formats are annotations."""
    vocabulary = vocabulary_at_hand(run)
    assert vocabulary is not None
    arrays = (np.array(one, dtype=np.int64) for one in rows)
    choice = Choice(dict(zip(VERDICT_TABLES, arrays, strict=True)))
    found: dict[str, list[int]] = {one: [] for one in VERDICT_TABLES}
    with closing(Judge(Limits().memory, formats=ANNOTATION)) as judge:
        for case in witnesses(run, choice, vocabulary):
            if judge.open(case.schema) is not None:
                continue
            some = list(case.witnesses)
            rulings = judge.judge([one.text for one in some])
            for one, ruling in zip(some, rulings, strict=True):
                if ruling.verdict == VALID:
                    found[one.evidence].append(one.number)
    return found
