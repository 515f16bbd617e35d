"""Intervals and tests of pairs: they hold what they promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.statistics import holm, mcnemar, mean_interval, paired, shares


def share(*hits):
    (found,) = shares(np.array(hits, dtype=np.bool_).reshape(-1, 1))
    return found


class TestShares:
    def test_of_no_cases_there_is_none_and_digits_are_six(self):
        assert share().row() == {"value": None, "low": None, "high": None, "interval": "none"}
        assert share(True, False, False).row()["value"] == 0.333333

    @pytest.mark.parametrize(("cases", "most"), [(300, 0.01), (30, 0.1), (3, 1), (1, 1)])
    def test_none_of_n_cases_may_be_three_in_n(self, cases, most):
        found = share(*[False] * cases)
        assert (found.value, found.low, found.method) == (0, 0, "rule_of_three")
        assert found.high == pytest.approx(most)

    def test_all_of_n_cases_may_be_all_but_three_in_n(self):
        found = share(*[True] * 30)
        assert (found.value, found.high, found.method) == (1, 1, "rule_of_three")
        assert found.low == pytest.approx(0.9)

    @given(st.lists(st.booleans(), min_size=1, max_size=50))
    def test_lie_within_their_interval_and_between_nothing_and_all(self, hits):
        found = share(*hits)
        assert 0 <= found.low <= found.value <= found.high <= 1
        assert found.low < found.high

    @pytest.mark.parametrize(("cases", "truth"), [(300, 0.1), (300, 0.6), (60, 0.3)])
    def test_cover_the_truth(self, cases, truth):
        random = np.random.default_rng(3)
        drawn = [share(*(random.random(cases) < truth)) for _ in range(200)]
        assert sum(one.low <= truth <= one.high for one in drawn) >= 180


FEW = st.integers(0, 60)


class TestMcNemar:
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

    @given(st.lists(st.floats(0, 1), max_size=9))
    def test_never_lowers_a_value_or_turns_two_around(self, values):
        found = holm(values)
        assert all(one <= new <= 1 for one, new in zip(values, found, strict=True))
        order = sorted(range(len(values)), key=values.__getitem__)
        assert [found[at] for at in order] == sorted(found)


def test_the_interval_of_a_difference_is_narrower_than_those_of_its_shares():
    """Both err in half of the schemas, the second in a few less of the same ones."""
    (row,) = paired([(200, 96, 4, 0)])
    assert 0 <= row["low"] < row["difference"] == 0.02 < row["high"] < 0.05


def test_the_interval_of_a_mean_holds_it_and_is_that_of_the_normal_distribution():
    times = {-2: 30, 0: 100, 1: 70}
    numbers = np.repeat(list(times), list(times.values()))
    half = 1.96 * numbers.std() / len(numbers) ** 0.5
    low, high = mean_interval(times)
    assert low == pytest.approx(numbers.mean() - half, abs=0.02)
    assert high == pytest.approx(numbers.mean() + half, abs=0.02)


def test_what_is_drawn_is_the_same_each_time():
    assert mean_interval({0: 50, 1: 50}) == mean_interval({0: 50, 1: 50})
