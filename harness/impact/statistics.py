"""Which engine costs a model more, as far as paired answers can tell.

All engines answer the same items, so they are compared item by item
(`harness.analysis.statistics`): what is hard for the model is hard under every engine, and says
nothing of the engines. Generation without an engine is one more name among the results, and
compared like the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from harness.analysis.statistics import LEVEL, SEED, Interval, mean_interval, paired, shares

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
class EnginePair:
    """Two engines on the items that both answered; what cannot be said without items is None.

    The difference is that of the accuracies, positive where the first is better, with its 95%
    interval; `p` is that of McNemar's exact test, `p_holm` corrected for the number of pairs.
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
        base = f"({self.items:,} items, p = {self.p_holm:.2g})"
        if self.better is None:
            return f"cannot tell {self.first} and {self.second} apart {base}"
        other = self.second if self.better == self.first else self.first
        return f"{self.better} is better than {other} {base}"


@dataclass(frozen=True)
class PlacementEffect:
    """One of `CONTRASTS` as a difference of accuracies, with its 95% interval.

    The ends are None where it is the same in every group.
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
    """One engine's answers to the `groups` questions answered under all four placements."""

    groups: int
    accuracy: Mapping[str, Interval]
    effects: tuple[PlacementEffect, ...]


def share(hits: Iterable[bool]) -> Interval:
    """The share of right answers with its interval."""
    return shares(np.array(list(hits), dtype=np.bool_).reshape(-1, 1))[0]


def compared(results: Results, *, seed: int = SEED) -> tuple[EnginePair, ...]:
    """All pairs of engines, in the order of `results`; `seed` is that of the bootstrap.

    Pairs without a common item count for none.
    """
    counted = [
        Counter((left[item], right[item]) for item in left.keys() & right.keys())
        for left, right in combinations(results.values(), 2)
    ]
    counts = [
        (times.total(), times[True, True], times[True, False], times[False, True])
        for times in counted
    ]
    rows = paired(counts, seed=seed)
    return tuple(
        EnginePair(*names, items, *list(row.values())[:-1])
        for names, (items, *_), row in zip(combinations(results, 2), counts, rows, strict=True)
    )


def placement_effects(answers: Mapping[str, bool], *, seed: int = SEED) -> PlacementEffects | None:
    """What the placements of an instruction do, on questions answered under all four.

    `answers` says whether the answer is right, by the item's id ``<group>/R00`` and so on; the
    bootstrap draws questions with their four answers. None where no question has all four.
    """
    groups = dict.fromkeys(item.rpartition("/")[0] for item in answers)
    ids = [[f"{group}/{place}" for place in PLACEMENTS] for group in groups]
    rows = [[answers[item] for item in four] for four in ids if answers.keys() >= set(four)]
    if not rows:
        return None
    columns = dict(zip(PLACEMENTS, zip(*rows, strict=True), strict=True))
    effects = []
    for name, signs in CONTRASTS.items():
        factors = [signs.get(place, 0) for place in PLACEMENTS]
        values = [sum(map(int.__mul__, factors, row)) for row in rows]
        times = dict(sorted(Counter(values).items()))
        low, high = mean_interval(times, seed) if len(times) > 1 else (None, None)
        effects.append(PlacementEffect(name, sum(values) / len(values), low, high))
    accuracy = {place: share(column) for place, column in columns.items()}
    return PlacementEffects(len(rows), accuracy, tuple(effects))
