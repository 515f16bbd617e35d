"""Estimates of what a cap left out: they hold what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.statistics import DisputeSizes, Estimate, estimate


def estimated(disputes, hits):
    """Of disputes as (tokens, drawn, census) and hits as (by right, sampled)."""
    columns = np.array(disputes, dtype=np.int64).reshape(-1, 3).T
    found = np.array(hits, dtype=np.int64).reshape(-1, 2)
    return estimate(DisputeSizes(*columns), int(found[:, 0].sum()), found[:, 1])


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
    def test_of_no_disputes(self):
        assert estimated([], []) == Estimate(0, 0, 0)

    def test_are_exact_where_nothing_was_capped(self):
        assert estimated([(5, 5, 5), (9, 9, 9)], [(3, 0), (9, 0)]) == Estimate(12, 12, 12)

    @given(resolved())
    def test_lie_between_what_is_proven_and_what_is_possible(self, situation):
        disputes, hits = situation
        found = estimated(disputes, hits)
        proven = sum(map(sum, hits))
        open_ = sum(tokens - drawn for tokens, drawn, _ in disputes)
        assert proven <= found.low <= found.high <= proven + open_
        assert found.low <= found.tokens + 1e-9
        assert found.tokens <= found.high + 1e-9

    def test_get_narrower_with_the_sample(self):
        widths = []
        for drawn in (10, 50, 250, 900):
            found = estimated([(1000, drawn, 0)], [(0, drawn // 5)])
            assert found.tokens == 200
            widths.append(found.high - found.low)
        assert widths == sorted(widths, reverse=True)

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
