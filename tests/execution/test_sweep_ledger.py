"""Whatever lanes do, every case is stored once, or given up after it took down three of them."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.execution.lanes import MAX_DEATHS
from harness.execution.sweep.ledger import Claim, Ledger
from harness.execution.sweep.packing import CaseFacts


def facts(count: int) -> list[CaseFacts]:
    return [CaseFacts(number, f"case-{number}", "f", 1000, 40) for number in range(count)]


def nothing_stored(ordinal: int) -> bool:
    return False


def claimed(ledger: Ledger, lane: str) -> tuple[int, ...]:
    claim = ledger.claim(lane)
    assert claim is not None
    return claim.ordinals


class World:
    """Lanes that take, store and die at random, some cases being deadly."""

    def __init__(self, count: int, deadly: set[int], seed: int) -> None:
        self.random = random.Random(seed)
        self.ledger = Ledger(facts(count), 3)
        self.deadly = deadly
        self.lanes: dict[str, list[int]] = {}
        self.started = 0
        self.ran: list[int] = []
        self.given_up: list[int] = []
        self.innocent_alone_deaths = 0

    def run(self) -> None:
        while self.ledger.left:
            while len(self.lanes) < 3:
                self.started += 1
                self.lanes[f"lane-{self.started}"] = []
            name = self.random.choice(sorted(self.lanes))
            self.step(name, self.lanes[name])
            assert self.started < 1000

    def step(self, name: str, todo: list[int]) -> None:
        if not todo:
            claim = self.ledger.claim(name)
            if claim is not None:
                todo.extend(claim.ordinals)
        elif self.random.random() < 0.05:
            self.die(name, by_itself=False)
        elif todo[0] in self.deadly:
            self.die(name, by_itself=True)
        else:
            ordinal = todo.pop(0)
            self.ran.append(ordinal)
            told = self.random.random() < 0.9
            if told:
                assert self.ledger.stored(name, ordinal, 1.0)
            else:
                self.die(name, by_itself=False)

    def die(self, name: str, *, by_itself: bool) -> None:
        del self.lanes[name]
        there = set(self.ran)
        _, given_up = self.ledger.died(name, there.__contains__, by_itself=by_itself)
        self.given_up += given_up


@given(
    st.integers(min_value=1, max_value=40),
    st.sets(st.integers(min_value=0, max_value=39), max_size=3),
    st.integers(),
)
def test_nothing_is_lost_and_nothing_is_doubled(count, deadly, seed):
    deadly = {one for one in deadly if one < count}
    world = World(count, deadly, seed)
    world.run()
    assert sorted(world.ran) == sorted(set(range(count)) - deadly)
    assert sorted(world.given_up) == sorted(deadly)


class TestDeaths:
    def test_the_first_cases_of_a_claim_are_suspects_and_the_rest_is_not(self):
        ledger = Ledger(facts(40), 1, at_once=2)
        unit = claimed(ledger, "a")
        assert len(unit) > 3
        ledger.died("a", nothing_stored)
        assert set(ledger.deaths) == set(unit[:2])

    def test_a_suspect_is_run_alone(self):
        ledger = Ledger(facts(40), 2, at_once=2)
        claimed(ledger, "busy")
        unit = claimed(ledger, "a")
        ledger.died("a", nothing_stored)
        assert ledger.claim("busy") is None, "it has other cases in hand"
        assert ledger.claim("b") == Claim((unit[0],), alone=True)

    def test_neighbours_of_a_deadly_case_are_not_given_up(self):
        ledger = Ledger(facts(40), 1, at_once=2)
        deadly, neighbour = claimed(ledger, "a")[:2]
        ledger.died("a", nothing_stored)
        given_up = []
        for name in ("b", "c", "d", "e"):
            claim = ledger.claim(name)
            if claim.ordinals == (deadly,):
                given_up += ledger.died(name, nothing_stored)[1]
            elif claim.ordinals == (neighbour,):
                ledger.stored(name, neighbour, 1.0)
        assert given_up == [deadly]
        assert ledger.deaths == {deadly: MAX_DEATHS, neighbour: 1}

    def test_a_node_s_death_is_nobody_s_fault(self):
        ledger = Ledger(facts(3), 1)
        for number in range(2 * MAX_DEATHS):
            claimed(ledger, f"lane-{number}")
            assert ledger.died(f"lane-{number}", nothing_stored, by_itself=False) == ([], [])
        assert ledger.deaths == {}
        assert ledger.left == 3

    def test_what_was_stored_and_not_told_is_not_run_again(self):
        ledger = Ledger(facts(1), 1)
        (ordinal,) = claimed(ledger, "a")
        assert ledger.died("a", {ordinal}.__contains__) == ([ordinal], [])
        assert ledger.left == 0


class TestClaims:
    def test_what_a_dead_lane_says_later_is_no_news(self):
        ledger = Ledger(facts(1), 1)
        (ordinal,) = claimed(ledger, "a")
        ledger.died("a", nothing_stored, by_itself=False)
        assert not ledger.stored("a", ordinal, 1.0)
        assert claimed(ledger, "b") == (ordinal,)
        assert ledger.stored("b", ordinal, 1.0)
        assert not ledger.stored("b", ordinal, 1.0)

    @pytest.mark.parametrize("count", [0, 1, 17])
    def test_all_cases_are_claimed_once(self, count):
        ledger = Ledger(facts(count), 3)
        found = []
        while (claim := ledger.claim("a")) is not None:
            found += claim.ordinals
        assert sorted(found) == list(range(count))

    def test_costs_are_learned(self):
        """Cases of a family that turned out slow are taken first from then on."""
        both = [CaseFacts(n, f"{n}", "slow" if n % 2 else "fast", 1000, 40) for n in range(200)]
        ledger = Ledger(both, 2)
        ran = []
        for _ in range(40):
            for ordinal in claimed(ledger, "a"):
                ran.append(ordinal)
                ledger.stored("a", ordinal, 50.0 if ordinal % 2 else 0.1)
        assert {ordinal % 2 for ordinal in ran[:6]} == {0, 1}
        assert {ordinal % 2 for ordinal in ran[-20:]} == {1}
        assert len(ran) < 100, "there are slow ones left"
