"""95% intervals of shares and rates, resampled by case.

A few schemas hold most of the errors, and the tokens of one schema are no independent draws: what
a run samples is schemas. So cases are drawn with replacement, each with all that belongs to it, and
the interval is the middle 95% of what the resamples give (the percentile bootstrap: Efron and
Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13).

Resamples of cases that are all alike are all alike too, which says nothing. A share of none of `n`
cases gets the rule of three instead, from 0 to 3/n (Hanley and Lippman-Hand, JAMA 249, 1983), a
share of all cases its mirror image; a rate gets no interval then.

An interval speaks of what the cases were drawn from. Cases that were written by hand were drawn
from nothing: a share of them is a plain fraction. Nor do two intervals that overlap say that two
engines are alike: these are compared in pairs (`harness.counting.paired`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.runs.directory import RunDirectory

RESAMPLES = 2_000
SEED = 0
BOOTSTRAP, RULE_OF_THREE, NONE = "bootstrap", "rule_of_three", "none"

NO_SAMPLE = (
    "No intervals and no tests: nothing says what these cases were drawn from (the embedded ones"
    " were written by hand), so that a share of them is no estimate of any other."
)
_DRAWN = ("maskbench", "jsonschemabench")
"""Data whose schemas were collected from where schemas are used."""

_AT_ONCE = 4_000_000
"""Draws that are held in memory at a time."""


@dataclass(frozen=True)
class Interval:
    """A ratio with its 95% interval.

    Attributes:
        value: The ratio, None where there is nothing to divide by.
        low: Its lower end, None where there is no interval.
        high: Its upper end, likewise.
        method: ``bootstrap``, ``rule_of_three`` or ``none``.
    """

    value: float | None
    low: float | None
    high: float | None
    method: str

    @property
    def in_brackets(self) -> str:
        """Its ends in percent, to be put behind the ratio; empty where there is no interval."""
        if self.low is None or self.high is None:
            return ""
        return f" ({self.low:.1%} to {self.high:.1%})"

    def scaled(self, factor: float) -> dict[str, Any]:
        """As JSON, in units of 1/`factor`, to six digits."""
        ends = {"value": self.value, "low": self.low, "high": self.high}
        rounded = {
            name: None if one is None else float(f"{one * factor:.6g}")
            for name, one in ends.items()
        }
        return {**rounded, "interval": self.method}


def is_sample(run: RunDirectory) -> bool:
    """Whether the cases of a run are a sample of something, by the name of its data."""
    name = str(run.manifest["identity"].get("data", {}).get("name", ""))
    return name.partition(":")[0] in _DRAWN


def shares(hits: npt.NDArray[Any], *, sampled: bool = True) -> list[Interval]:
    """The share of cases with a hit.

    Args:
        hits: Whether each case is one, for several questions at a time, shape ``(cases, k)``.
        sampled: Whether the cases are a sample; without an interval otherwise.

    Returns:
        One interval for each question.
    """
    cases = len(hits)
    if not cases:
        return [_NOTHING] * hits.shape[1]
    found = [_share(hit, cases) for hit in hits.sum(axis=0).tolist()]
    return found if sampled else list(map(_plain, found))


def ratios(
    parts: npt.NDArray[Any], wholes: npt.NDArray[Any], *, sampled: bool = True
) -> list[Interval]:
    """The sum of some parts in the sum of the wholes they are parts of.

    Args:
        parts: Per case, for several questions at a time, shape ``(cases, k)``.
        wholes: Per case, positive, shape ``(cases,)``.
        sampled: As for `shares`.

    Returns:
        One interval for each question; the same numbers always give the same intervals.
    """
    if not len(wholes):
        return [_NOTHING] * parts.shape[1]
    columns = np.column_stack([parts, wholes]).astype(np.float64)
    totals = columns.sum(axis=0)
    values = totals[:-1] / totals[-1]
    sums = _resampled(columns)
    low, high = np.percentile(sums[:, :-1] / sums[:, -1:], [2.5, 97.5], axis=0)
    alike = (columns[:, :-1] * totals[-1] == totals[:-1] * columns[:, -1:]).all(axis=0)
    return [
        Interval(float(value), None, None, NONE)
        if same or not sampled
        else Interval(float(value), float(bottom), float(top), BOOTSTRAP)
        for value, bottom, top, same in zip(values, low, high, alike, strict=True)
    ]


_NOTHING = Interval(None, None, None, NONE)


def _plain(ratio: Interval) -> Interval:
    return replace(ratio, low=None, high=None, method=NONE)


def _share(hits: int, cases: int) -> Interval:
    """The interval of a share; of cases drawn with replacement, the hits are binomial."""
    room = min(1.0, 3 / cases)
    if not hits:
        return Interval(0.0, 0.0, room, RULE_OF_THREE)
    if hits == cases:
        return Interval(1.0, 1.0 - room, 1.0, RULE_OF_THREE)
    drawn = np.random.default_rng(SEED).binomial(cases, hits / cases, RESAMPLES)
    low, high = np.percentile(drawn / cases, [2.5, 97.5])
    return Interval(hits / cases, float(low), float(high), BOOTSTRAP)


def _resampled(columns: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The columns' sums over `RESAMPLES` samples of the rows, shape ``(RESAMPLES, k)``."""
    cases = len(columns)
    random = np.random.default_rng(SEED)
    step = max(1, _AT_ONCE // cases)
    sums = []
    for start in range(0, RESAMPLES, step):
        many = min(step, RESAMPLES - start)
        drawn = random.integers(cases, size=(many, cases))
        drawn += np.arange(many)[:, None] * cases
        times = np.bincount(drawn.ravel(), minlength=many * cases).reshape(many, cases)
        sums.append(times @ columns)  # whole numbers: exact in any order of summing
    return np.concatenate(sums)
