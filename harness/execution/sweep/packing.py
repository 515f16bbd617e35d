"""Cases packed into units of work, so that handing over is cheap and no straggler holds the end.

Long cases go first, one to a unit. Small ones share a unit, so that a unit is worth its hand-over.
A unit may hold no more than a fixed part of what would be left for each lane: units get smaller
as the work runs out (guided self-scheduling: Polychronopoulos and Kuck, IEEE Transactions on
Computers C-36, 1987), and the last ones are small enough to level out what the estimates missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from harness.execution.sweep.costs import CaseFacts, CostModel

__all__ = ["CaseFacts", "CostModel", "Unit", "pack"]

LEAST_SECONDS: Final = 0.5
"""Cases are added to a unit up to this even at the end: a hand-over costs some 10 ms."""

MOST_SECONDS: Final = 30.0
"""A unit of several cases is not longer: what a lane's death can take away, and when it is heard
of next."""

SHARE: Final = 4
"""A unit of several cases is at most this part of what is left per lane."""


@dataclass(frozen=True)
class Unit:
    """Cases that a lane takes together and runs in this order.

    Attributes:
        ordinals: Their places in the run; at least one.
        expected_seconds: Of all of them together.
    """

    ordinals: tuple[int, ...]
    expected_seconds: float


def pack(facts: Iterable[CaseFacts], lanes: int, costs: CostModel) -> list[Unit]:
    """Units that hold every case exactly once, in the order in which lanes are to take them.

    The same facts and costs give the same units, in whatever order the facts come. Units can be
    packed anew at any time from the cases that no lane has taken, with what was learned since.

    Args:
        facts: The cases that are to be run; their ordinals differ.
        lanes: How many lanes will take units; at least 1.
        costs: What cases are expected to cost.

    Raises:
        ValueError: No lane, or an ordinal that is there twice.
    """
    if lanes < 1:
        raise ValueError(f"{lanes} lanes run nothing")
    cases = [(costs.expected(one), one.ordinal) for one in facts]
    if len({ordinal for _, ordinal in cases}) < len(cases):
        raise ValueError("an ordinal is there twice")
    cases.sort(key=lambda case: (-case[0], case[1]))
    units = _fill(cases, lanes)
    return sorted(units, key=lambda unit: (-unit.expected_seconds, unit.ordinals))


def _fill(cases: Sequence[tuple[float, int]], lanes: int) -> list[Unit]:
    """Units from (seconds, ordinal), longest first, each as full as it may be."""
    units: list[Unit] = []
    left = sum(seconds for seconds, _ in cases)
    ordinals: list[int] = []
    filled = room = 0.0
    for seconds, ordinal in cases:
        if ordinals and filled + seconds > room:
            units.append(Unit(tuple(ordinals), filled))
            left -= filled
            ordinals, filled = [], 0.0
        if not ordinals:
            room = min(max(left / (SHARE * lanes), LEAST_SECONDS), MOST_SECONDS)
        ordinals.append(ordinal)
        filled += seconds
    if ordinals:
        units.append(Unit(tuple(ordinals), filled))
    return units
