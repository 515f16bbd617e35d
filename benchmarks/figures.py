"""Arithmetic of the benchmark: medians, spreads, rates. Knows nothing of how they were measured."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One figure, measured several times.

    Attributes:
        median: Of the repetitions.
        least: The lowest of them.
        most: The highest.
        values: All, in the order in which they were measured.
    """

    median: float
    least: float
    most: float
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Figure | None:
        """The figure behind repetitions; None where none of them could be taken."""
        known = [one for one in values if one is not None]
        if not known:
            return None
        return cls(statistics.median(known), min(known), max(known), tuple(known))

    @property
    def spread(self) -> float:
        """The distance between the extremes, as a share of the median."""
        return (self.most - self.least) / abs(self.median) if self.median else 0.0


def ratio(above: float | None, below: float | None) -> float | None:
    """`above` / `below`; None where either is missing or there is nothing to divide by."""
    if above is None or not below:
        return None
    return above / below


def geometric_mean(values: Sequence[float]) -> float | None:
    """The mean for ratios; None of nothing, or where one is not positive."""
    if not values or min(values) <= 0:
        return None
    return statistics.geometric_mean(values)
