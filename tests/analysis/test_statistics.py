"""Intervals resampled by case: what they cover, and where they say that they know nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.statistics import ratios, shares


def share(*hits):
    (found,) = shares(np.array(hits, dtype=np.bool_).reshape(-1, 1))
    return found


def ratio(parts, wholes):
    (found,) = ratios(np.array(parts).reshape(-1, 1), np.array(wholes))
    return found


class TestShares:
    def test_of_no_cases_there_is_none(self):
        found = share()
        assert (found.value, found.low, found.high, found.method) == (None, None, None, "none")

    @pytest.mark.parametrize(("cases", "most"), [(300, 0.01), (30, 0.1), (3, 1), (1, 1)])
    def test_none_of_n_cases_may_be_three_in_n(self, cases, most):
        found = share(*[False] * cases)
        assert (found.value, found.low, found.method) == (0, 0, "rule_of_three")
        assert found.high == pytest.approx(most)

    def test_all_of_n_cases_may_be_all_but_three_in_n(self):
        found = share(*[True] * 30)
        assert (found.value, found.high, found.method) == (1, 1, "rule_of_three")
        assert found.low == pytest.approx(0.9)

    def test_one_case_says_next_to_nothing(self):
        found = share(True)
        assert (found.value, found.low, found.high) == (1, 0, 1)

    def test_several_questions_are_answered_apart(self):
        hits = np.array([[True, False]] * 5 + [[False, False]] * 5)
        half, none = shares(hits)
        assert (half.value, none.value) == (0.5, 0)

    @given(st.lists(st.booleans(), min_size=1, max_size=50))
    def test_lie_within_their_interval_and_between_nothing_and_all(self, hits):
        found = share(*hits)
        assert 0 <= found.low <= found.value <= found.high <= 1
        assert found.low < found.high

    def test_of_many_cases_are_narrow(self):
        wide, narrow = (share(*[True, False] * many) for many in (10, 1000))
        assert narrow.high - narrow.low < (wide.high - wide.low) / 5

    @pytest.mark.parametrize(("cases", "truth"), [(300, 0.1), (300, 0.6), (60, 0.3)])
    def test_cover_the_truth(self, cases, truth):
        random = np.random.default_rng(3)
        drawn = [share(*(random.random(cases) < truth)) for _ in range(200)]
        assert sum(one.low <= truth <= one.high for one in drawn) >= 180


class TestRatios:
    def test_are_of_the_sums_not_the_mean_of_the_cases(self):
        assert ratio([1, 0], [1, 99]).value == 0.01

    def test_of_no_cases_there_is_none(self):
        assert ratio([], []).value is None

    @pytest.mark.parametrize("parts", [[0, 0, 0], [2, 2, 2]])
    def test_of_cases_that_are_all_alike_have_no_interval(self, parts):
        found = ratio(parts, [4, 4, 4])
        assert (found.low, found.high, found.method) == (None, None, "none")
        assert found.value == parts[0] / 4

    def test_one_schema_with_nearly_all_errors_makes_the_interval_wide(self):
        """The same errors in the same decisions, spread over all schemas or in one of them."""
        spread = ratio([10, 11] * 50, [1000] * 100)
        heaped = ratio([1050] + [0] * 99, [1000] * 100)
        assert spread.value == heaped.value
        assert heaped.high - heaped.low > 50 * (spread.high - spread.low)
        assert heaped.low == 0, "a third of all resamples are without it"

    def test_are_the_same_every_time(self):
        random = np.random.default_rng(5)
        parts, wholes = random.integers(0, 9, 500), random.integers(10, 90, 500)
        assert ratio(parts, wholes) == ratio(parts, wholes)

    @given(st.lists(st.tuples(st.integers(0, 20), st.integers(20, 60)), min_size=1, max_size=40))
    def test_of_parts_lie_between_the_least_and_the_most(self, cases):
        parts, wholes = zip(*cases, strict=True)
        found = ratio(parts, wholes)
        each = [part / whole for part, whole in cases]
        assert min(each) - 1e-9 <= found.value <= max(each) + 1e-9
        if found.method != "none":
            assert min(each) - 1e-9 <= found.low <= found.high <= max(each) + 1e-9

    def test_cover_the_truth(self):
        """Cases of very different sizes, the larger ones being worse."""
        random = np.random.default_rng(4)
        sizes = random.integers(10, 1000, 4000)
        errors = random.binomial(sizes, sizes / 5000)
        truth = errors.sum() / sizes.sum()
        covered = 0
        for _ in range(60):
            drawn = random.integers(4000, size=200)
            found = ratio(errors[drawn], sizes[drawn])
            covered += found.low <= truth <= found.high
        assert covered >= 52

    def test_more_resamples_than_fit_at_once_are_drawn_in_parts(self, monkeypatch):
        """Two orders of drawing differ; both must be of this many cases."""
        parts, wholes = [0, 1] * 50, [10] * 100
        whole = ratio(parts, wholes)
        monkeypatch.setattr("harness.analysis.statistics._AT_ONCE", 1000)
        in_parts = ratio(parts, wholes)
        assert in_parts.value == whole.value
        assert in_parts.low == pytest.approx(whole.low, rel=0.1)
        assert in_parts.high == pytest.approx(whole.high, rel=0.1)


class TestAsJson:
    def test_is_rounded_to_six_digits_in_the_unit_asked_for(self):
        assert ratio([1, 0], [3, 4]).scaled(1_000_000)["value"] == 142_857.0
        assert share(True, False, False).scaled(1)["value"] == 0.333333

    def test_keeps_what_is_not_known(self):
        assert share().scaled(100) == {"value": None, "low": None, "high": None, "interval": "none"}
