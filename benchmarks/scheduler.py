"""A simulation of the scheduler: lanes that pull units of work from one driver, event by event.

What is simulated: nodes and lanes that start, a driver that hands out units one at a time, the way
of a unit to its lane, cases that take the time that they take, whatever was expected of them, and
lanes that die. What is not: the network, the disks, cores that lanes share. A case that a lane
finished stays finished when the lane dies; the case that died with it begins again when the lane
has started anew, and the rest of its unit follows.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from harness.execution.sweep.packing import CaseFacts, CostModel, Unit, pack

Plan = list[deque[tuple[int, ...]]]
"""Queues of units: one that all lanes pull from, or one for each lane."""

NO_FAILURES: Final = 0.0


@dataclass(frozen=True)
class Cluster:
    """What carries the lanes.

    Attributes:
        lanes: Lanes, on nodes of `lanes_per_node`.
        lanes_per_node: Lanes of one node.
        node_start: Seconds until a node can start lanes.
        lane_start: Seconds for a lane to start its engines, at first and after each death.
        hand_over: Seconds that a unit takes to its lane and its answer takes back.
        driver: Seconds of the driver for each unit; it serves one after another.
        failures: Deaths of one lane per hour of work.
    """

    lanes: int
    lanes_per_node: int = 32
    node_start: float = 60.0
    lane_start: float = 0.0
    hand_over: float = 0.01
    driver: float = 0.002
    failures: float = NO_FAILURES


@dataclass(frozen=True)
class Outcome:
    """What a simulated run took.

    Attributes:
        makespan: Seconds from the start until the last case is done.
        busy: Lane seconds spent on cases that were finished.
        lost: Lane seconds spent on cases that died with their lane.
        units: Hand-overs.
        deaths: Lanes that died.
        last_start: When the case began that ended last.
    """

    makespan: float
    busy: float
    lost: float
    units: int
    deaths: int
    last_start: float

    def efficiency(self, lanes: int) -> float:
        """The part of the lanes' time in which they worked on cases that were finished."""
        return self.busy / (self.makespan * lanes) if self.makespan else 1.0


def ideal(seconds: Sequence[float], lanes: int) -> float:
    """No schedule of these cases is shorter: the longest case, or an even share of all."""
    return max(sum(seconds) / lanes, max(seconds, default=0.0))


def pulled(units: Sequence[Unit]) -> Plan:
    """All lanes pull these units from one queue."""
    return [deque(unit.ordinals for unit in units)]


def one_by_one(cases: int) -> Plan:
    """All lanes pull single cases in the given order."""
    return [deque((ordinal,) for ordinal in range(cases))]


def divided(cases: int, lanes: int) -> Plan:
    """Each lane gets as many cases as any other, in the given order, and no more later."""
    bounds = [cases * lane // lanes for lane in range(lanes + 1)]
    return [
        deque([tuple(range(first, end))] if end > first else [])
        for first, end in itertools.pairwise(bounds)
    ]


def foreseen(facts: Sequence[CaseFacts], seconds: Sequence[float], lanes: int) -> list[Unit]:
    """Units packed by what the cases really cost: how far better estimates could get."""
    return pack(facts, lanes, _Oracle(seconds))


def simulate(seconds: Sequence[float], plan: Plan, cluster: Cluster, seed: int = 0) -> Outcome:
    """Run a plan to its end.

    Args:
        seconds: What each case really takes on a lane, by ordinal.
        plan: One queue, or as many as lanes; it is used up.
        cluster: What it runs on.
        seed: Of the deaths of lanes.

    Raises:
        ValueError: Neither one queue nor one for each lane.
    """
    if len(plan) not in {1, cluster.lanes}:
        raise ValueError(f"{len(plan)} queues for {cluster.lanes} lanes")
    return _Simulation(seconds, plan, cluster, random.Random(seed)).run()  # noqa: S311


class _Simulation:
    """Lanes as events: when each is free next."""

    def __init__(
        self, seconds: Sequence[float], plan: Plan, cluster: Cluster, deaths: random.Random
    ) -> None:
        self.seconds = seconds
        self.plan = plan
        self.cluster = cluster
        self.random = deaths
        self.driver_free = 0.0
        self.makespan = self.busy = self.lost = self.last_start = 0.0
        self.units = self.deaths = 0

    def run(self) -> Outcome:
        """Until all queues are empty and all lanes have finished."""
        cluster = self.cluster
        begin = cluster.node_start + cluster.lane_start
        lanes = [(begin, lane) for lane in range(cluster.lanes)]
        heapq.heapify(lanes)
        while lanes:
            now, lane = heapq.heappop(lanes)
            queue = self.plan[lane % len(self.plan)]
            if not queue:
                continue
            start = max(now, self.driver_free) + cluster.driver
            self.driver_free = start
            self.units += 1
            free = self._work(queue.popleft(), start + cluster.hand_over)
            heapq.heappush(lanes, (free, lane))
        return Outcome(
            self.makespan, self.busy, self.lost, self.units, self.deaths, self.last_start
        )

    def _work(self, unit: Sequence[int], now: float) -> float:
        """Run a unit from `now` on; when the lane asks for another."""
        life = self._life()
        for ordinal in unit:
            cost = self.seconds[ordinal]
            while cost > life:
                self.deaths += 1
                self.lost += life
                now += life + self.cluster.lane_start
                life = self._life()
            life -= cost
            self.busy += cost
            now += cost
            if now > self.makespan:
                self.makespan, self.last_start = now, now - cost
        return now

    def _life(self) -> float:
        """Seconds of work until the lane dies; deaths have no memory: each unit may draw anew."""
        rate = self.cluster.failures / 3600
        return self.random.expovariate(rate) if rate else float("inf")


class _Oracle(CostModel):
    """Costs that are known beforehand."""

    def __init__(self, seconds: Sequence[float]) -> None:
        super().__init__()
        self.seconds = seconds

    def expected(self, facts: CaseFacts) -> float:
        return self.seconds[facts.ordinal]
