"""Who has which case: claimed once, given back when a lane dies, given up after three deaths.

Nothing here knows of Ray or of time. A lane takes units of cases. When it dies, the cases that it
may have been running are suspects: the first ones of its claim that are not stored. A suspect is
run alone from then on, so that its next deaths are its own; the rest of the claim goes back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from harness.execution.lanes import MAX_DEATHS
from harness.execution.sweep.packing import CaseFacts, CostModel, Unit, pack

REPACK = 4
"""Units are packed anew when so many cases per lane were learned from since the last time."""


@dataclass(frozen=True)
class Claim:
    """Cases for one lane.

    Attributes:
        ordinals: In the order in which they are to be run.
        alone: A suspect: nothing else may be in hand while it runs.
    """

    ordinals: tuple[int, ...]
    alone: bool = False


class Ledger:
    """The cases of a sweep, and who has them.

    Args:
        facts: The cases.
        lanes: How many lanes will take them.
        at_once: How many cases a lane may have in hand: the one that is walked, and those whose
            schemas are compiled ahead.
    """

    def __init__(self, facts: Iterable[CaseFacts], lanes: int, at_once: int = 1) -> None:
        self.facts = {one.ordinal: one for one in facts}
        self.deaths: dict[int, int] = {}
        self._lanes = lanes
        self._at_once = at_once
        self._costs = CostModel()
        self._left = set(self.facts)
        self._claimed: dict[str, list[int]] = {}
        self._suspects: deque[int] = deque()
        self._units: deque[Unit] = deque(pack(self.facts.values(), lanes, self._costs))
        self._learned = 0

    @property
    def left(self) -> int:
        """Cases that are neither stored nor given up."""
        return len(self._left)

    def claim(self, lane: str) -> Claim | None:
        """Cases for a lane; None when there are none, or when it must finish what it has first."""
        if self._suspects:
            if self._claimed.get(lane):
                return None
            claim = Claim((self._suspects.popleft(),), alone=True)
        elif self._units:
            claim = Claim(self._units.popleft().ordinals)
        else:
            return None
        self._claimed.setdefault(lane, []).extend(claim.ordinals)
        return claim

    def stored(self, lane: str, ordinal: int, seconds: float) -> bool:
        """A lane has stored a case, in so many seconds; whether that is news."""
        claimed = self._claimed.get(lane, [])
        if ordinal not in claimed:
            return False
        claimed.remove(ordinal)
        self._left.discard(ordinal)
        self._costs.learn(self.facts[ordinal], seconds)
        self._learned += 1
        if self._learned >= REPACK * self._lanes:
            self._pack()
        return True

    def died(
        self, lane: str, is_stored: Callable[[int], bool], *, by_itself: bool = True
    ) -> tuple[list[int], list[int]]:
        """A lane is no more.

        Args:
            lane: Its name.
            is_stored: Whether a case is there, although the lane did not say so.
            by_itself: Not because of its machine: then its cases are suspects.

        Returns:
            stored: Cases that are there after all.
            given_up: Cases that took down a lane for the last time; to be recorded as that.
        """
        claimed = self._claimed.pop(lane, [])
        stored = [ordinal for ordinal in claimed if is_stored(ordinal)]
        self._left.difference_update(stored)
        open_ = [ordinal for ordinal in claimed if ordinal not in set(stored)]
        suspects = open_[: self._at_once] if by_itself else []
        given_up = []
        for ordinal in suspects:
            self.deaths[ordinal] = self.deaths.get(ordinal, 0) + 1
            if self.deaths[ordinal] >= MAX_DEATHS:
                given_up.append(ordinal)
                self._left.discard(ordinal)
            else:
                self._suspects.append(ordinal)
        for ordinal in open_[len(suspects) :]:
            if ordinal in self.deaths:
                self._suspects.append(ordinal)
            else:
                expected = self._costs.expected(self.facts[ordinal])
                self._units.append(Unit((ordinal,), expected))
        self._pack()
        return stored, given_up

    def _pack(self) -> None:
        """Pack what no lane has, by what was learned since."""
        ordinals = [ordinal for unit in self._units for ordinal in unit.ordinals]
        facts = [self.facts[ordinal] for ordinal in ordinals]
        self._units = deque(pack(facts, self._lanes, self._costs))
        self._learned = 0
