"""Tests of paired results, by numbers known elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.statistics import difference, holm, mcnemar, mean_interval

FEW = st.integers(0, 60)


class TestMcNemar:
    @pytest.mark.parametrize(
        ("one", "other", "p"),
        [(0, 0, 1), (1, 0, 1), (5, 0, 0.0625), (6, 0, 0.03125), (9, 1, 0.021484375), (4, 4, 1)],
    )
    def test_is_twice_the_tail_of_a_fair_coin(self, one, other, p):
        assert mcnemar(one, other) == mcnemar(other, one) == pytest.approx(p)

    @given(FEW, FEW)
    def test_is_what_tossing_every_coin_gives(self, one, other):
        """The tail by its recursion, without binomial coefficients."""
        chances = np.array([1.0])
        for _ in range(one + other):
            chances = np.convolve(chances, [0.5, 0.5])
        tail = chances[: min(one, other) + 1].sum()
        assert mcnemar(one, other) == pytest.approx(min(1, 2 * tail))

    def test_of_thousands_of_schemas_is_a_number(self):
        assert 0 < mcnemar(5000, 4800) < 0.05 < mcnemar(5000, 4990)


class TestHolm:
    def test_multiplies_the_least_by_all_and_the_others_by_those_left(self):
        assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])

    def test_of_one_changes_nothing(self):
        assert holm([0.3]) == [0.3]

    @given(st.lists(st.floats(0, 1), max_size=9))
    def test_never_lowers_a_value_or_turns_two_around(self, values):
        found = holm(values)
        assert all(one <= new <= 1 for one, new in zip(values, found, strict=True))
        order = sorted(range(len(values)), key=values.__getitem__)
        assert [found[at] for at in order] == sorted(found)


def test_the_interval_of_a_difference_is_narrower_than_those_of_its_shares():
    """Both err in half of the schemas, the second in a few less of the same ones."""
    low, high = difference(only_first=4, only_second=0, schemas=200)
    assert 0 <= low < 0.02 < high < 0.05


def test_the_interval_of_a_mean_holds_it_and_is_that_of_the_normal_distribution():
    times = {-2: 30, 0: 100, 1: 70}
    numbers = np.repeat(list(times), list(times.values()))
    half = 1.96 * numbers.std() / len(numbers) ** 0.5
    low, high = mean_interval(times)
    assert low == pytest.approx(numbers.mean() - half, abs=0.02)
    assert high == pytest.approx(numbers.mean() + half, abs=0.02)


def test_the_seed_decides_what_is_drawn():
    assert mean_interval({0: 50, 1: 50}, 1) == mean_interval({0: 50, 1: 50}, 1)
    assert mean_interval({0: 500, 1: 501}, 1) != mean_interval({0: 500, 1: 501}, 2)
