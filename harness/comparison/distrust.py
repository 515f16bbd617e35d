"""What an engine says against itself, and the masks that verdicts rest on, asked for once more."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from harness.comparison.findings import Verdicts, charged
from harness.comparison.findings_store import ViolationWitness
from harness.comparison.walk import Position
from harness.engines.panel import Panel
from harness.engines.requests import AskAgain
from harness.protocol import allows
from harness.workers.outcomes import EXCLUDING, AdapterFault, Failure, MaskViolation


@dataclass(eq=False)
class Distrusted(Exception):
    """An engine or its adapter was found to contradict itself; `walk` is -1 for none."""

    engine: int
    failure: AdapterFault | MaskViolation
    stage: str
    walk: int
    position: int
    violation: ViolationWitness | None = None

    @classmethod
    def by(cls, violation: ViolationWitness, engine: int, walk: int, position: int) -> Distrusted:
        """Of one that consumes what its mask forbids, by itself or in a longer text only."""
        failure: AdapterFault | MaskViolation = MaskViolation("consumes what its own mask forbids")
        if not violation.consumes:
            detail = f"it takes {violation.tokens[-1]}, which is forbidden"
            failure = AdapterFault("faster_way", detail)
        return cls(engine, failure, "resolve", walk, position, violation)

    @property
    def excludes(self) -> bool:
        """Whether nothing that the engine says of the case proves anything."""
        return self.failure.status in EXCLUDING


def ask_again(panel: Panel, position: Position, verdicts: Verdicts) -> dict[int, Failure]:
    """The engines, of those proven to be wrong, that say otherwise when asked again, or fail."""
    asks = {}
    for row, tokens in charged(verdicts).items():
        allowed = np.array([allows(position.masks[row], token) for token in tokens.tolist()])
        asks[position.engines[row]] = AskAgain(tokens, allowed, at=position.number)
    return _failures(panel, asks)


def ask_for_nothing(
    panel: Panel, engines: Collection[int], tokens: Collection[int], number: int
) -> dict[int, Failure]:
    """The engines that do not still forbid tokens after so many, or fail."""
    some = np.array(list(tokens), dtype=np.int32)
    request = AskAgain(some, np.zeros(len(some), dtype=np.bool_), at=number)
    return _failures(panel, dict.fromkeys(engines, request))


def _failures(panel: Panel, asks: Mapping[int, AskAgain]) -> dict[int, Failure]:
    answers = panel.ask({engine: one for engine, one in asks.items() if panel.up(engine)})
    return {engine: one for engine, one in answers.items() if isinstance(one, Failure)}
