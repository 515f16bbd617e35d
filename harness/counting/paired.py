"""Paired results: McNemar's test, Holm's correction, and intervals of what pairs differ by.

Two engines that were asked about the same things are compared thing by thing. The exact test of
McNemar (Psychometrika 12, 1947) asks how often a fair coin would divide those that only one of the
two fails on as unevenly as that. The difference of the two shares has an interval of its own, the
paired bootstrap: things are drawn with the results of both. With several pairs some would seem to
differ by chance; Holm's correction (Scandinavian Journal of Statistics 6, 1979) keeps the chance of
any such error at 5%.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from harness.counting.intervals import RESAMPLES, SEED

LEVEL: Final = 0.05
"""The chance at which the tests may see a difference where there is none."""


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


def difference(
    only_first: int, only_second: int, schemas: int, seed: int = SEED
) -> tuple[float, float]:
    """The 95% interval of the difference of two paired shares, by resampled schemas."""
    rest = schemas - only_first - only_second
    return mean_interval({1: only_first, -1: only_second, 0: rest}, seed)


def mean_interval(times: dict[int, int], seed: int = SEED) -> tuple[float, float]:
    """The 95% interval of a mean of whole numbers, by the percentile bootstrap.

    Args:
        times: How often each number was found, at least one of them in all.
        seed: Of what is drawn.
    """
    count = np.array(list(times.values()))
    drawn = np.random.default_rng(seed).multinomial(count.sum(), count / count.sum(), RESAMPLES)
    low, high = np.percentile(drawn @ np.array(list(times)) / count.sum(), [2.5, 97.5])
    return float(low), float(high)
