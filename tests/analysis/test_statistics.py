"""Intervals, tests of pairs and estimates: they hold what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.statistics import (
    estimate,
    holm,
    mcnemar,
    mean_interval,
    paired,
    ratios,
    shares,
)


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


def test_the_seed_decides_what_is_drawn():
    assert mean_interval({0: 50, 1: 50}, 1) == mean_interval({0: 50, 1: 50}, 1)
    assert mean_interval({0: 500, 1: 501}, 1) != mean_interval({0: 500, 1: 501}, 2)


def estimated(disputes, hits):
    """Of disputes as (tokens, drawn, census) and hits as (by right, sampled)."""
    columns = np.array(disputes, dtype=np.int64).reshape(-1, 3).T
    found = np.array(hits, dtype=np.int64).reshape(-1, 2)
    return estimate(*columns, int(found[:, 0].sum()), found[:, 1])


@st.composite
def resolved(draw):
    """Disputes and how many of their resolved tokens were found wrong."""
    disputes, hits = [], []
    for _ in range(draw(st.integers(0, 6))):
        tokens = draw(st.integers(1, 200))
        whole = draw(st.booleans())
        drawn = tokens if whole else draw(st.integers(0, tokens))
        whole = drawn == tokens
        census = tokens if whole else draw(st.integers(0, drawn))
        disputes.append((tokens, drawn, census))
        sampled = draw(st.integers(0, drawn - census))
        hits.append((draw(st.integers(0, census)), sampled))
    return disputes, hits


class TestEstimates:
    @given(resolved())
    def test_lie_between_what_is_proven_and_what_is_possible(self, situation):
        disputes, hits = situation
        found = estimated(disputes, hits)
        proven = sum(map(sum, hits))
        open_ = sum(tokens - drawn for tokens, drawn, _ in disputes)
        assert proven <= found.low <= found.high <= proven + open_
        assert found.low <= found.tokens + 1e-9
        assert found.tokens <= found.high + 1e-9

    def test_know_that_half_of_all_tokens_say_more_than_as_many_of_a_million(self):
        """Samples without replacement: the width shrinks by the root of what is left over."""

        def width(tokens):
            found = estimated([(tokens, 50, 0)], [(0, 10)])
            return (found.high - found.low) / tokens

        assert width(100) == pytest.approx(width(1_000_000) * (50 / 99) ** 0.5, rel=1e-3)

    @pytest.mark.parametrize(
        ("sizes", "shares", "cap"),
        [
            ([1000], [0.3], 50),
            ([1000], [0.02], 50),
            ([150_000], [0.001], 200),
            ([150_000, 300, 40], [0.9, 0.5, 0.1], 100),
            ([60] * 30, [0.1, 0.5, 0.95] * 10, 8),
            ([500] * 12, [0.0, 1.0, 0.5] * 4, 20),
            ([12, 30, 800], [0.0, 0.0, 0.0], 10),
        ],
        ids=["one", "rare", "very rare", "mixed", "many small", "extremes", "none wrong"],
    )
    def test_intervals_cover_the_truth(self, sizes, shares, cap):
        """Seeded samples of known populations: 95% intervals hold the truth in over 92% of them."""
        random = np.random.default_rng(20)
        wrong = [round(size * share) for size, share in zip(sizes, shares, strict=True)]
        disputes = [(size, min(size, cap), size if size <= cap else 0) for size in sizes]
        covered = 0
        trials = 400
        for _ in range(trials):
            hits = [
                (many, 0)
                if size <= cap
                else (0, int(random.hypergeometric(many, size - many, cap)))
                for size, many in zip(sizes, wrong, strict=True)
            ]
            found = estimated(disputes, hits)
            covered += found.low <= sum(wrong) <= found.high
        assert covered >= 0.92 * trials
