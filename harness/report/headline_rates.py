"""How bad an engine's bugs are: in how many schemas, and how often per decision.

Raw counts of tokens are dominated by a few schemas in which one error shows at a hundred thousand
tokens. A tally leads with a share that is not, and with a rate whose interval says how far it is:

the share of schemas with a bug
    of the cases in which the engine was judged at a position of a walk, those with at least one
    proven bug, of a walk or an instance. With the common panel a case is walked where all
    engines can be compared, so that they are measured by the same schemas: one that compiles many
    others, on which nothing but instances can convict it, is no better for that. What the
    specifications allow (`harness.verdict_kinds.LEGAL`) is counted under its name, but makes no
    schema bad;
bugs per million mask decisions
    a mask decision is one bit of the engine's mask at one position of a walk at which it was
    judged, so that there are as many as positions times ids of the vocabulary. The bugs are the
    bits that a walk proves wrong (`harness.verdict_kinds.WRONG_BITS`). Where a run was capped, the
    sample of a dispute stands for the whole dispute (`harness.report.estimates`): an engine whose
    errors show at many tokens at once would seem better otherwise.

Warnings and departures are no bugs and count in neither. What is not proven counts as decided
rightly: the share is a lower bound, and so is the rate of a run without a cap; that of a capped run
is an estimate of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.report.counts import Counts, StoredRun
from harness.report.intervals import ratios, shares
from harness.verdict_kinds import ERRORS, LEGAL, MAIN_KINDS, WRONG_BITS

_BAD = tuple(kind for kind in ERRORS if kind not in LEGAL)
_MAIN = {kind: (kind,) for kind in MAIN_KINDS.values()}
_SHARES = {
    "any": _BAD,
    **_MAIN,
    "other": tuple(kind for kind in _BAD if kind not in _MAIN),
}
_RATES = {"any": WRONG_BITS, **_MAIN}
_MILLION = 1_000_000


def judged_positions(stored: StoredRun, engine: int) -> npt.NDArray[np.int64]:
    """At how many positions of each case an engine was judged, shape ``(cases,)``."""
    at = stored.positions
    mine = (at.judged >> np.uint32(engine)) & 1 == 1
    return np.bincount(at.case[mine], minlength=len(stored.cases))


def share_with_bug(stored: StoredRun, engine: int, bugs: Sequence[Counts]) -> dict[str, Any]:
    """The share of schemas with a bug, by kind, as JSON; `bugs` are the engine's, by evidence.

    Each of ``any``, ``false_acceptance``, ``false_rejection`` and ``other`` has ``cases``, ``of``
    (cases), ``value``, and of its 95% interval ``low``, ``high`` and ``interval``, the method.
    """
    many = len(stored.cases)
    judged = judged_positions(stored, engine) > 0
    hits = np.column_stack(
        [
            sum(one.where(kind=kinds).per_case(many) for one in bugs) > 0
            for kinds in _SHARES.values()
        ]
    )[judged]
    return {
        name: {"cases": int(column.sum()), "of": len(hits), **interval.scaled(1)}
        for name, column, interval in zip(_SHARES, hits.T, shares(hits), strict=True)
    }


def per_million(
    stored: StoredRun, engine: int, bugs: Counts, scaled: Callable[[Counts], npt.NDArray[Any]]
) -> dict[str, Any]:
    """Bugs per million mask decisions, by kind, as JSON.

    Args:
        stored: The run.
        engine: The number of the engine in it.
        bugs: The engine's, of walks.
        scaled: Gives how many tokens some verdicts stand for in each case, shape ``(cases,)``,
            whole numbers.

    Each of ``any``, ``false_acceptance`` and ``false_rejection`` has ``bugs`` (proven), ``scaled``
    (those, scaled to all disputed tokens where the run was capped), ``decisions``, ``value``, and
    of its 95% interval ``low``, ``high`` and ``interval``, the method. `decisions` and what follows
    from it are None where the run does not say how large its vocabulary is.
    """
    positions = judged_positions(stored, engine)
    judged = positions > 0
    size = stored.size
    kinds = [bugs.where(kind=kinds) for kinds in _RATES.values()]
    wrong = np.column_stack([scaled(one) for one in kinds])[judged]
    decisions = None if size is None else int(positions.sum()) * size
    found = ratios(wrong, positions[judged] * (size or 1))
    nothing = {"value": None, "low": None, "high": None, "interval": "none"}
    return {
        name: {
            "bugs": int(one.tokens.sum()),
            "scaled": round(float(column.sum())),
            "decisions": decisions,
            **(nothing if size is None else ratio.scaled(_MILLION)),
        }
        for name, one, column, ratio in zip(_RATES, kinds, wrong.T, found, strict=True)
    }
