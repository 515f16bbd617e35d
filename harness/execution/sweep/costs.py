"""What a case will probably cost: a prior from a measured run, bettered by what cases cost here.

The prior is a power law of schema size and text length with a factor per family. What is learned
is the ratio of measured to prior, in three grains: all cases (another machine, other options),
those of the family, those of the family with schemas of about this size. Each grain begins at the
ratio of the one above it and moves away as cases are seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

SECONDS: Final = 3.79
"""Of a case with `SCHEMA_BYTES` and `TEXT_BYTES`, of a family of factor 1.

This and the other figures of the prior were fitted to a run of 300 cases of MaskBench by
``python -m benchmarks.scale RUN --prior``: three engines, one walk, 200 tokens per dispute.
"""

SCHEMA_BYTES: Final = 1024
TEXT_BYTES: Final = 128
SCHEMA_POWER: Final = 0.13
TEXT_POWER: Final = 0.58

FAMILIES: Final[Mapping[str, float]] = {
    "BFCL": 1.06,
    "Github_easy": 1.49,
    "Github_hard": 0.71,
    "Github_medium": 1.54,
    "Github_trivial": 0.86,
    "Github_ultra": 0.79,
    "Glaiveai2K": 1.61,
    "Handwritten": 0.54,
    "JME": 1.35,
    "JsonSchemaStore": 0.76,
    "Kubernetes": 1.41,
    "MCPspec": 1.08,
    "Snowplow": 1.77,
    "Synthesized": 0.28,
    "WashingtonPost": 1.25,
}
"""Factors of the families of MaskBench; any other has 1."""

TRUST: Final = 20
"""Cases after which a grain's own ratio counts as much as that of the grain above it.

Costs have a long tail: with a few cases the ratio is that of the one that was very long. On the
measured cases fewer than 20 made the estimates of other cases worse, and more changed little.
"""


@dataclass(frozen=True)
class CaseFacts:
    """What is known of a case before it is run.

    Attributes:
        ordinal: Its place in the run, from 0.
        id: Its id.
        family: Its family, or empty.
        schema_bytes: Length of the schema's text in bytes.
        text_bytes: Length of the longest text that is walked, in bytes; 0 where there is none.
    """

    ordinal: int
    id: str
    family: str
    schema_bytes: int
    text_bytes: int


def prior_seconds(facts: CaseFacts) -> float:
    """What the case would cost in the run that the prior was fitted to; above 0."""
    return (
        SECONDS
        * FAMILIES.get(facts.family, 1.0)
        * math.pow(max(facts.schema_bytes, 1) / SCHEMA_BYTES, SCHEMA_POWER)
        * math.pow(max(facts.text_bytes, 1) / TEXT_BYTES, TEXT_POWER)
    )


@dataclass
class _Seen:
    """Cases of one grain; whole nanoseconds, so that no order of learning changes a sum."""

    cases: int = 0
    measured_ns: int = 0
    prior_ns: int = 0

    def ratio(self, above: float) -> float:
        """Measured by prior, drawn to `above` as long as few cases were seen."""
        if not self.cases:
            return above
        own = self.measured_ns / self.prior_ns
        return (TRUST * above + self.cases * own) / (TRUST + self.cases)


@dataclass
class CostModel:
    """Expected seconds of cases. The same cases learned in any order give the same answers."""

    _seen: dict[tuple[str | int, ...], _Seen] = field(default_factory=dict)

    def expected(self, facts: CaseFacts) -> float:
        """Wall seconds of a lane for the case; above 0."""
        ratio = 1.0
        for grain in _grains(facts):
            seen = self._seen.get(grain)
            ratio = ratio if seen is None else seen.ratio(ratio)
        return prior_seconds(facts) * ratio

    def learn(self, facts: CaseFacts, seconds: float) -> None:
        """Take note that a case took `seconds` of a lane.

        Raises:
            ValueError: Not a time.
        """
        if not (math.isfinite(seconds) and seconds >= 0):
            raise ValueError(f"{facts.id}: {seconds} is no number of seconds")
        for grain in _grains(facts):
            seen = self._seen.setdefault(grain, _Seen())
            seen.cases += 1
            seen.measured_ns += max(1, round(seconds * 1e9))
            seen.prior_ns += max(1, round(prior_seconds(facts) * 1e9))


def _grains(facts: CaseFacts) -> Iterator[tuple[str | int, ...]]:
    """From coarse to fine; sizes of schemas are told apart by powers of four."""
    yield ()
    yield (facts.family,)
    yield (facts.family, facts.schema_bytes.bit_length() // 2)
