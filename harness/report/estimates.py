"""Estimates for all disputed tokens of a run in which a cap left some of them unresolved.

Per dispute the sampled share is scaled to the dispute's size, tokens that are always resolved count
as they are, and the interval is the normal one for sampling without replacement, with one success
and one failure added (Agresti and Coull, The American Statistician 52, 1998) so that a sample
without any finding is not taken for certainty.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.counting.counts import Counts, StoredRun
from harness.runs.columns import Ints, matching, numbers
from harness.verdict_kinds import FALSE_ACCEPTANCE, FALSE_REJECTION

_Z95 = 1.959963984540054


@dataclass(frozen=True)
class Estimate:
    """An estimated number of tokens with its 95% interval."""

    tokens: float
    low: float
    high: float


@dataclass(frozen=True)
class DisputeSizes:
    """Disputes and how much of them was resolved, shape ``(n,)`` each.

    Attributes:
        tokens: The disputed tokens.
        drawn: Those that were resolved.
        census: Those of them that are resolved by right, whatever the cap; the rest is a sample.
    """

    tokens: npt.NDArray[Any]
    drawn: npt.NDArray[Any]
    census: npt.NDArray[Any]


def estimate(disputes: DisputeSizes, certain: int, sampled: npt.NDArray[Any]) -> Estimate:
    """How many verdicts of one kind about one engine resolving every disputed token would give.

    Args:
        disputes: Those that can give the engine such a verdict.
        certain: The verdicts about tokens that are resolved by right.
        sampled: Per dispute, those about tokens of the sample, shape ``(n,)``.
    """
    rest = (disputes.tokens - disputes.census).astype(np.float64)
    drawn = (disputes.drawn - disputes.census).astype(np.float64)
    open_ = drawn < rest
    found, rest, drawn = sampled[open_].astype(np.float64), rest[open_], drawn[open_]
    share = np.divide(found, drawn, out=np.zeros_like(found), where=drawn > 0)
    shrunk = (found + 1) / (drawn + 2)
    correction = (rest - drawn) / np.maximum(rest - 1, 1)
    variance = float(np.sum(rest**2 * correction * shrunk * (1 - shrunk) / np.maximum(drawn, 1)))
    # rows by right of capped disputes and all rows of whole ones are counted, not scaled
    value = certain + float(np.sum(rest * share))
    proven = certain + int(sampled.sum())
    ceiling = proven + float(np.sum(rest - drawn))
    half = _Z95 * sqrt(variance)
    return Estimate(value, max(proven, value - half), min(ceiling, value + half))


class Disputes:
    """The disputes of a run, to estimate from."""

    def __init__(self, stored: StoredRun) -> None:
        names = ["accepters", "rejecters", "tokens", "drawn", "census", "dispute"]
        table = stored.run.table("disputes", [*names, "case", "walk", "position"])
        self._sides = {
            FALSE_ACCEPTANCE.name: numbers(table["accepters"]),
            FALSE_REJECTION.name: numbers(table["rejecters"]),
        }
        self._of = DisputeSizes(*(numbers(table[name]) for name in ("tokens", "drawn", "census")))
        self._table = table
        self._stored = stored
        sides = self._sides.values()
        self._among_engines = np.all([bits != 0 for bits in sides], axis=0)

    @property
    def tokens(self) -> int:
        """How many tokens are disputed among engines."""
        return int(self._of.tokens[self._among_engines].sum())

    @property
    def resolved(self) -> int:
        """How many of them were resolved."""
        return int(self._of.drawn[self._among_engines].sum())

    @property
    def capped(self) -> bool:
        """Whether any was left out."""
        return bool((self._of.drawn < self._of.tokens).any())

    def rows_of(self, walk: Counts) -> Ints:
        """The dispute of each entry of `walk`, -1 for none; it has a column ``dispute``."""
        at, table = self._stored.positions, self._table
        case = self._stored.case_of(table["case"])
        keys = (case, numbers(table["walk"]), numbers(table["position"]))
        position = matching(keys, (at.case, at.walk, at.number))
        number = walk.column("dispute")
        dispute = np.asarray(number.values, dtype=np.int64)[number.codes]
        return matching((walk.position, dispute), (position, numbers(table["dispute"])))

    def estimate(self, mine: Counts, rows: Ints, engine: int, kind: str) -> dict[str, int]:
        """The estimate for one engine and kind, in whole tokens: ``tokens``, ``low``, ``high``.

        Args:
            mine: The engine's verdicts of that kind, with the column ``always_resolved``.
            rows: What `rows_of` says of them.
            engine: The number of the engine in the run.
            kind: ``false_acceptance`` or ``false_rejection``.
        """
        tokens = mine.tokens
        sampled = mine.column("always_resolved").equal(False) & (rows >= 0)
        certain = int(tokens[~sampled].sum())
        found = np.bincount(rows[sampled], tokens[sampled], len(self._of.tokens))
        concerning = (self._sides[kind] >> np.uint32(engine)) & 1 == 1
        of = self._of
        some = DisputeSizes(of.tokens[concerning], of.drawn[concerning], of.census[concerning])
        value = estimate(some, certain, found[concerning])
        return {"tokens": round(value.tokens), "low": round(value.low), "high": round(value.high)}

    def scaled(self, mine: Counts, rows: Ints) -> npt.NDArray[np.float64]:
        """How many verdicts each entry stands for if all disputed tokens were resolved.

        Summed over the entries of a kind this is the value of `estimate`. Verdicts that are not
        about a disputed token count as they are.

        Args:
            mine: Some verdicts of walks, with the column ``always_resolved``.
            rows: What `rows_of` says of them.

        Returns:
            Shape ``(n,)``, as the entries.
        """
        of = self._of
        sampled = mine.column("always_resolved").equal(False) & (rows >= 0)
        rest, drawn = of.tokens - of.census, of.drawn - of.census
        factor = np.divide(rest, drawn, out=np.ones(len(rest)), where=drawn > 0)
        found = mine.tokens.astype(np.float64)
        found[sampled] *= factor[rows[sampled]]
        return found
