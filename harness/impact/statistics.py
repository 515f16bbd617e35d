"""Which engine costs a model more, as far as paired answers can tell.

All engines answer the same items, so they are compared item by item (`harness.counting.paired`):
what is hard for the model is hard under every engine, and says nothing of the engines. Generation
without an engine is one more name among the results, and compared like the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from harness.counting.intervals import SEED, Interval, shares
from harness.counting.paired import LEVEL, difference, holm, mcnemar, mean_interval

Results = Mapping[str, Mapping[str, bool]]
"""Per engine and item id, whether the answer is right."""

PLACEMENTS: Final = ("R00", "R01", "R10", "R11")
"""Where the instruction stands; the first digit is the prompt, the second the key."""

CONTRASTS: Final[Mapping[str, Mapping[str, int]]] = {
    "key": {"R01": 1, "R00": -1},
    "prompt": {"R10": 1, "R00": -1},
    "both": {"R11": 1, "R00": -1},
    "interaction": {"R11": 1, "R10": -1, "R01": -1, "R00": 1},
}
"""What each effect adds and subtracts: the gains over no instruction, and how much more (or less)
than the sum of its two parts the instruction in both places brings."""


@dataclass(frozen=True)
class EngineAccuracy:
    """How many answers under one engine are right, with the interval of their share."""

    engine: str
    items: int
    correct: int
    share: Interval


@dataclass(frozen=True)
class EnginePair:
    """Two engines on the items that both answered.

    Attributes:
        first: One engine.
        second: The other.
        items: How many items both answered.
        both: How many answers of both are right.
        only_first: How many of the first alone.
        only_second: How many of the second alone.
        difference: Of the two accuracies, positive where the first is better; None without items.
        low: The lower end of its 95% interval; None where no item divides the two.
        high: The upper end.
        p: Of McNemar's exact test; None without items.
        p_holm: Corrected for the number of pairs.
    """

    first: str
    second: str
    items: int
    both: int
    only_first: int
    only_second: int
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None

    @property
    def better(self) -> str | None:
        """The engine that is better, None where they cannot be told apart."""
        if self.p_holm is None or self.p_holm >= LEVEL:
            return None
        return self.first if self.only_first > self.only_second else self.second

    @property
    def verdict(self) -> str:
        """Who is better, in words."""
        if not self.items:
            return f"{self.first} and {self.second} answered no item in common"
        told = f"({self.items:,} items, p = {self.p_holm:.2g})"
        if self.better is None:
            return f"cannot tell {self.first} and {self.second} apart {told}"
        other = self.second if self.better == self.first else self.first
        return f"{self.better} is better than {other} {told}"


@dataclass(frozen=True)
class PlacementEffect:
    """What an instruction in one place or another does to the accuracy.

    Attributes:
        name: One of `CONTRASTS`.
        value: The effect, as a difference of accuracies.
        low: The lower end of its 95% interval; None where it is the same in every group.
        high: The upper end.
    """

    name: str
    value: float
    low: float | None
    high: float | None

    @property
    def verdict(self) -> str:
        """Its direction in words: ``raises``, ``lowers`` or ``cannot tell``."""
        if self.low is not None and self.low > 0:
            return "raises"
        return "lowers" if self.high is not None and self.high < 0 else "cannot tell"


@dataclass(frozen=True)
class PlacementEffects:
    """One engine's answers under the four placements of an instruction.

    Attributes:
        groups: How many questions were answered under all four; the others do not count.
        accuracy: By placement.
        effects: In the order of `CONTRASTS`.
    """

    groups: int
    accuracy: Mapping[str, Interval]
    effects: tuple[PlacementEffect, ...]


def accuracies(results: Results) -> tuple[EngineAccuracy, ...]:
    """How often each engine's answers are right, each on all items that it answered."""
    return tuple(
        EngineAccuracy(engine, len(answers), sum(answers.values()), _share(list(answers.values())))
        for engine, answers in results.items()
    )


def compared(results: Results, *, seed: int = SEED) -> tuple[EnginePair, ...]:
    """All pairs of engines, in the order of `results`; pairs without a common item count for none.

    Args:
        results: Per engine and item id, whether the answer is right.
        seed: Of the bootstrap.
    """
    pairs = [_counted(results, *one) for one in combinations(results, 2)]
    tests = {at: mcnemar(*only) for at, (*_, items, _, only) in enumerate(pairs) if items}
    corrected = dict(zip(tests, holm(list(tests.values())), strict=True))
    found = []
    for at, (first, second, items, both, only) in enumerate(pairs):
        low, high = difference(*only, items, seed) if any(only) else (None, None)
        value = (only[0] - only[1]) / items if items else None
        told = (value, low, high, tests.get(at), corrected.get(at))
        found.append(EnginePair(first, second, items, both, *only, *told))
    return tuple(found)


def placement_effects(answers: Mapping[str, bool], *, seed: int = SEED) -> PlacementEffects | None:
    """What the placements of an instruction do, on questions answered under all four.

    Args:
        answers: Whether the answer is right, by the item's id ``<group>/R00`` and so on.
        seed: Of the bootstrap, which draws questions with their four answers.

    Returns:
        None where no question has all four answers.
    """
    groups = dict.fromkeys(one.rpartition("/")[0] for one in answers)
    ids = [[f"{group}/{one}" for one in PLACEMENTS] for group in groups]
    rows = [[answers[one] for one in four] for four in ids if all(one in answers for one in four)]
    if not rows:
        return None
    columns = dict(zip(PLACEMENTS, zip(*rows, strict=True), strict=True))
    accuracy = {one: _share(list(column)) for one, column in columns.items()}
    effects = []
    for name, signs in CONTRASTS.items():
        values = [
            sum(signs.get(p, 0) * hit for p, hit in zip(PLACEMENTS, r, strict=True)) for r in rows
        ]
        times = dict(sorted(Counter(values).items()))
        low, high = mean_interval(times, seed) if len(times) > 1 else (None, None)
        effects.append(PlacementEffect(name, sum(values) / len(values), low, high))
    return PlacementEffects(len(rows), accuracy, tuple(effects))


def _share(hits: list[bool]) -> Interval:
    return shares(np.array(hits, dtype=np.bool_).reshape(-1, 1))[0]


def _counted(
    results: Results, first: str, second: str
) -> tuple[str, str, int, int, tuple[int, int]]:
    """A pair with its common items, those right under both, and under one alone."""
    one, other = results[first], results[second]
    common = one.keys() & other.keys()
    times = Counter((one[item], other[item]) for item in common)
    only = times[True, False], times[False, True]
    return first, second, len(common), times[True, True], only
