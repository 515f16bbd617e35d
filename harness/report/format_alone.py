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
from harness.runs.columns import CodedColumn, Ints, translated, words
from harness.runs.directory import RunDirectory
from harness.runs.made_with import vocabulary_at_hand
from harness.runs.tables import VERDICT_TABLES
from harness.validators.format_rules import ANNOTATION, format_rule
from harness.validators.judge import VALID, Judge
from harness.verdict_kinds import FALSE_ACCEPTANCE, WALK

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
        evidence: ``walk`` or ``instance``.

    Returns:
        Shape ``(n,)``, in the order of the table of verdicts.
    """
    table = run.table(VERDICT_TABLES[evidence], ["case", "kind", "keyword"])
    keyword = words(table["keyword"])
    accepted = words(table["kind"]).equal(FALSE_ACCEPTANCE.name)
    if format_rule(run.manifest["identity"]) == ANNOTATION or not accepted.any():
        return np.zeros(len(accepted), dtype=np.bool_)
    asked = accepted & _may_rest(run, words(table["case"]), keyword)
    if not asked.any():
        return asked
    if vocabulary_at_hand(run) is None:
        return accepted & keyword.equal(_FORMAT)
    return _judged(run, evidence, tuple(np.flatnonzero(asked).tolist()), len(asked))


def _may_rest(run: RunDirectory, case: CodedColumn, keyword: CodedColumn) -> npt.NDArray[np.bool_]:
    """Which verdicts may be about `format`, as far as the keyword and the schema say."""
    cases = run.table("cases", ["case", "schema"])
    schemas = cases["schema"].to_pylist()
    rows = {name: row for row, name in enumerate(cases["case"].to_pylist())}
    of = translated(case, rows)
    formats, branches = (
        np.array([f'"{one}"' in schema for schema in schemas], dtype=np.bool_)[of]
        for one in (_FORMAT, "if")
    )
    hidden = keyword.equal(*_HIDING) | (branches & ~keyword.equal("json"))
    found: npt.NDArray[np.bool_] = keyword.equal(_FORMAT) | (formats & hidden)
    return found


@functools.lru_cache(maxsize=4)
def _judged(
    run: RunDirectory, evidence: str, rows: tuple[int, ...], size: int
) -> npt.NDArray[np.bool_]:
    """Which of some rows have texts that are valid where formats are annotations."""
    vocabulary = vocabulary_at_hand(run)
    assert vocabulary is not None
    chosen: Ints = np.array(rows, dtype=np.int64)
    nothing = chosen[:0]
    choice = Choice(chosen, nothing) if evidence == WALK else Choice(nothing, chosen)
    found = np.zeros(size, dtype=np.bool_)
    with closing(Judge(Limits().memory, formats=ANNOTATION)) as judge:
        for case in witnesses(run, choice, vocabulary):
            if judge.open(case.schema) is not None:
                continue
            some = list(case.witnesses)
            rulings = judge.judge([one.text for one in some])
            for one, ruling in zip(some, rulings, strict=True):
                found[one.number] = ruling.verdict == VALID
    return found
