"""Headline rates of an engine's bugs: in how many schemas, and how often per decision.

Raw counts of tokens are dominated by a few schemas in which one error shows at a hundred thousand
tokens. A tally leads with a share that is not, and with a rate whose interval says how far it is:

the share of schemas with a bug
    of the cases in which the engine was judged at a position of a walk, those with at least one
    proven bug, of a walk, an instance or a sample; by the worst of them, and without those in which
    one single token is wrong (`harness.counting.schema_bugs`);
bugs per million mask decisions
    a mask decision is one bit of the engine's mask at one position of a walk at which it was
    judged, so that there are as many as positions times ids of the vocabulary. Where a run was
    capped, the sample of a dispute stands for the whole dispute (`harness.report.estimates`): an
    engine whose errors show at many tokens at once would seem better otherwise.

Both count the same kinds, those in which a bit of a mask is wrong: to let the end through too early
is a false acceptance of the end, to forbid it a false rejection. What lies beyond single bits (dead
ends, masks that lie) is counted under its name, as ``other``; so is what the specifications allow
(`harness.verdict_kinds.LEGAL`), which makes no schema bad.

Warnings and departures are no bugs and count in neither. What is not proven counts as decided
rightly: the share is a lower bound, and so is the rate of a run without a cap; that of a capped run
is an estimate of one. How far a number is from that of all schemas is said where the cases are a
sample of any (`harness.counting.intervals.is_sample`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.counting.counts import Counts, StoredRun
from harness.counting.intervals import is_sample, ratios, shares
from harness.counting.schema_bugs import SchemaBugs
from harness.verdict_kinds import (
    ACCEPTANCES,
    BEYOND_BITS,
    LEGAL,
    MAIN_KINDS,
    REJECTIONS,
    WRONG_BITS,
)

KINDS_OF = {
    "any": WRONG_BITS,
    **dict(zip(MAIN_KINDS.values(), (ACCEPTANCES, REJECTIONS), strict=True)),
}
"""What shares, rates and comparisons count, by the names under which they do."""

_BEYOND = {"other": tuple(kind for kind in BEYOND_BITS if kind not in LEGAL)}
_MILLION = 1_000_000


def judged_positions(stored: StoredRun, *engines: int) -> npt.NDArray[np.int64]:
    """At how many positions of each case engines were judged together, shape ``(cases,)``."""
    at, together = stored.positions, np.uint32(sum(1 << engine for engine in engines))
    return np.bincount(at.case[at.judged & together == together], minlength=len(stored.cases))


def share_with_bug(bugs: SchemaBugs, engine: int) -> dict[str, Any]:
    """The share of schemas with a bug of one engine, by kind, as JSON.

    Each of `KINDS_OF` and ``other`` has ``cases``, ``of`` (cases), ``value``, of its 95% interval
    ``low``, ``high`` and ``interval``, the method; ``severity`` (the cases by their worst bug),
    ``by_format`` (those in which all bugs rest on ``format`` alone), ``among_engines`` (those with
    a bug to which not the challenger alone led), ``several_tokens`` (those with more than one wrong
    token) and ``lone_token`` (`SchemaBugs.lone_token`).
    """
    judged = judged_positions(bugs.stored, engine) > 0
    kinds = {**KINDS_OF, **_BEYOND}
    flags = [bugs.of(engine, one) for one in kinds.values()]
    among = [bugs.of(engine, one, among_engines=True) for one in kinds.values()]
    hits = np.column_stack([one.any for one in flags])[judged]
    found = shares(hits, sampled=is_sample(bugs.stored.run))
    return {
        name: {
            "cases": int(column.sum()),
            "of": len(hits),
            **interval.scaled(1),
            "severity": one.by_severity(judged),
            "by_format": int(np.count_nonzero(one.by_format & judged)),
            "among_engines": int(np.count_nonzero(others.any & judged)),
            "several_tokens": int(np.count_nonzero(one.any & (one.lone < 0) & judged)),
            "lone_token": bugs.lone_token(one, judged),
        }
        for name, column, interval, one, others in zip(
            kinds, hits.T, found, flags, among, strict=True
        )
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

    Each of `KINDS_OF` has ``bugs`` (proven), ``scaled`` (those, scaled to all disputed tokens where
    the run was capped), ``by_format`` (of the scaled, those that rest on ``format`` alone),
    ``decisions``, ``value``, and of its 95% interval ``low``, ``high`` and
    ``interval``, the method. `decisions` and what follows from it are None where the run does not
    say how large its vocabulary is.
    """
    positions = judged_positions(stored, engine)
    judged = positions > 0
    size = stored.size
    kinds = [bugs.where(kind=kinds) for kinds in KINDS_OF.values()]
    wrong = np.column_stack([scaled(one) for one in kinds])[judged]
    decisions = None if size is None else int(positions.sum()) * size
    found = ratios(wrong, positions[judged] * (size or 1), sampled=is_sample(stored.run))
    nothing = {"value": None, "low": None, "high": None, "interval": "none"}
    return {
        name: {
            "bugs": int(one.tokens.sum()),
            "scaled": round(float(column.sum())),
            "by_format": round(float(scaled(one.where(by_format=True)).sum())),
            "decisions": decisions,
            **(nothing if size is None else ratio.scaled(_MILLION)),
        }
        for name, one, column, ratio in zip(KINDS_OF, kinds, wrong.T, found, strict=True)
    }
