"""95% intervals of shares, and tests of pairs.

A few schemas hold most of the errors, and the tokens of one schema are no independent draws: what
a run samples is schemas. So cases are drawn with replacement, each with all that belongs to it, and
the interval is the middle 95% of what the resamples give (the percentile bootstrap: Efron and
Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13). A share of none of `n` cases gets
the rule of three instead, from 0 to 3/n (Hanley and Lippman-Hand, JAMA 249, 1983), a share of all
its mirror image. Cases that were written by hand were drawn from nothing: a share of them is a
plain fraction.

Two engines that were asked about the same things are compared thing by thing. The exact test of
McNemar (Psychometrika 12, 1947) asks how often a fair coin would divide those that only one of the
two fails on as unevenly. With several pairs Holm's correction (Scandinavian Journal of Statistics
6, 1979) keeps the chance of seeing any difference where there is none at 5%.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from harness.runs.directory import RunDirectory

RESAMPLES = 2_000
SEED = 0
BOOTSTRAP, RULE_OF_THREE, NONE = "bootstrap", "rule_of_three", "none"
LEVEL: Final = 0.05
"""The chance at which the tests may see a difference where there is none."""

NO_SAMPLE = (
    "No intervals and no tests: nothing says what these cases were drawn from (the embedded ones"
    " were written by hand), so that a share of them is no estimate of any other."
)
_DRAWN = ("maskbench", "jsonschemabench")
"""Data whose schemas were collected from where schemas are used."""


@dataclass(frozen=True)
class Interval:
    """A ratio with its 95% interval; None where there is nothing to divide by, or no interval.

    `method` is ``bootstrap``, ``rule_of_three`` or ``none``.
    """

    value: float | None
    low: float | None
    high: float | None
    method: str

    @property
    def in_brackets(self) -> str:
        """Its ends in percent, to be put after the ratio; empty where there is no interval."""
        if self.low is None or self.high is None:
            return ""
        return f" ({self.low:.1%} to {self.high:.1%})"

    def row(self) -> dict[str, Any]:
        """As JSON, to six digits."""
        ends = {"value": self.value, "low": self.low, "high": self.high}
        rounded = {name: one and six_digits(one) for name, one in ends.items()}
        return {**rounded, "interval": self.method}


_NOTHING = Interval(None, None, None, NONE)


def is_sample(run: RunDirectory) -> bool:
    """Whether the cases of a run are a sample of something, by the name of its data."""
    name = str(run.manifest["identity"].get("data", {}).get("name", ""))
    return name.partition(":")[0] in _DRAWN


def shares(hits: npt.NDArray[Any], *, sampled: bool = True) -> list[Interval]:
    """The share of cases with a hit, for each of k questions; intervals where they are `sampled`.

    `hits` has the shape ``(cases, k)``.
    """
    cases = len(hits)
    if not cases:
        return [_NOTHING] * hits.shape[1]
    found = [_share(hit, cases) for hit in hits.sum(axis=0).tolist()]
    return found if sampled else [replace(one, low=None, high=None, method=NONE) for one in found]


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


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p-value of McNemar's test, a tail of the binomial distribution."""
    many, few = only_first + only_second, min(only_first, only_second)
    binomial, tail = 1, 1
    for hit in range(few):
        binomial = binomial * (many - hit) // (hit + 1)  # comb(many, hit + 1): one by one is fast
        tail += binomial
    return min(1.0, float(2 * tail / (1 << many)))


def holm(values: Sequence[float]) -> list[float]:
    """P-values corrected for how many there are, in their order (Holm's step-down procedure)."""
    found = [0.0] * len(values)
    least = 0.0
    for rank, at in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        least = max(least, min(1.0, values[at] * (len(values) - rank)))
        found[at] = least
    return found


def paired(
    counts: Sequence[tuple[int, int, int, int]], *, sampled: bool = True
) -> list[dict[str, Any]]:
    """Pairs compared, as JSON; of each how many things there are, and both, one alone fail on.

    ``difference`` is that of the shares, ``low`` and ``high`` its interval by resampled things;
    ``p`` is McNemar's, ``p_holm`` corrected for as many pairs as have anything in common, ``apart``
    whether they can be told apart. What cannot be said, as where nothing is `sampled`, is None.
    """
    rows: list[dict[str, Any]] = []
    for many, both, first, second in counts:
        value = six_digits((first - second) / many) if many else None
        row = {"both": both, "only_first": first, "only_second": second, "difference": value}
        rows.append({**row, **dict.fromkeys(("low", "high", "p", "p_holm", "apart"))})
        if sampled and (first or second):  # resamples of things that are all alike are, too
            ends = mean_interval({1: first, -1: second, 0: many - first - second})
            rows[-1]["low"], rows[-1]["high"] = map(six_digits, ends)
    tested = [row for row, (many, *_) in zip(rows, counts, strict=True) if sampled and many]
    values = [mcnemar(row["only_first"], row["only_second"]) for row in tested]
    for row, p, corrected in zip(tested, values, holm(values), strict=True):
        row |= {"p": six_digits(p), "p_holm": six_digits(corrected), "apart": corrected < LEVEL}
    return rows


def mean_interval(times: dict[int, int]) -> tuple[float, float]:
    """The 95% interval of a mean of whole numbers, given how often each was found."""
    count = np.array(list(times.values()))
    drawn = np.random.default_rng(SEED).multinomial(count.sum(), count / count.sum(), RESAMPLES)
    low, high = np.percentile(drawn @ np.array(list(times)) / count.sum(), [2.5, 97.5])
    return float(low), float(high)


def six_digits(number: float) -> float:
    return float(f"{number:.6g}")
