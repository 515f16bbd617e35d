"""How much of everything is measured: the full benchmark, and the quick one."""

from __future__ import annotations

from dataclasses import dataclass

PARTS = ("resolving", "variety", "disputed", "length", "vocabulary", "lanes")
"""What can be measured, in this order."""


@dataclass(frozen=True)
class Plan:
    """The extent of one run of the benchmark.

    Attributes:
        name: ``full`` or ``quick``.
        repetitions: Of headline figures.
        whole_cases: Cases with whole-vocabulary disputes; None means all that are listed.
        positions: Whole-vocabulary positions resolved of each.
        cap: Disputed tokens resolved per dispute there; None is exact.
        sample: Tokens per dispute that `rollout` resolves at the same positions.
        timed_cap: Tokens per dispute that are resolved at most to time engine calls.
        variety_cases: Cases of all kinds; None means all that are listed.
        variety_cap: Disputed tokens resolved per dispute there.
        caps: The numbers of disputed tokens per position over which time is followed.
        lengths: Likewise, tokens of a reference.
        length_positions: Positions resolved of each such reference, evenly spread.
        sizes: Likewise, ids of the vocabulary; 0 is the vocabulary as it is.
        lanes: Likewise, lanes.
        whole: From this share of the vocabulary on, a dispute counts as one over all of it.
        lane_seconds: What one lane is to work at least, by the times of ``variety``.
    """

    name: str
    repetitions: int = 3
    whole_cases: int | None = None
    positions: int = 1
    cap: int | None = None
    sample: int = 100
    timed_cap: int = 20_000
    variety_cases: int | None = None
    variety_cap: int = 100
    caps: tuple[int, ...] = (10, 100, 1_000, 10_000, 150_000)
    lengths: tuple[int, ...] = (10, 50, 200, 1_000, 5_000)
    length_positions: int = 50
    sizes: tuple[int, ...] = (5_000, 32_000, 0, 262_144)
    lanes: tuple[int, ...] = (1, 2)
    whole: float = 0.5
    lane_seconds: float = 40.0


FULL = Plan("full")

QUICK = Plan(
    "quick",
    whole_cases=2,
    cap=8_000,
    sample=20,
    timed_cap=4_000,
    variety_cases=4,
    caps=(10, 100, 1_000, 10_000),
    lengths=(10, 50, 200),
    length_positions=20,
    lane_seconds=4.0,
)
