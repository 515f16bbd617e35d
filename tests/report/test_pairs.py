"""Engines in pairs: the test, its correction and its interval, by numbers known elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report.pairs import difference, holm, mcnemar
from harness.report.tally import summary
from tests import books
from tests.books import A, B, Book, all_bugs

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


class TestCompared:
    def found(self, tmp_path, data="maskbench:some", kind="false_rejection", counted="all"):
        """Engine a errs in ten schemas, b in two of those; a third is not judged in one of them.

        A model meets only the first five of them.
        """
        some = [Book(f"case {n}").position(0, judged=A | B if n == 0 else 7) for n in range(20)]
        for number, book in enumerate(some[:10]):
            token = 300 if number < 5 else 900
            book.verdicts(0, "a", kind, first=token)
            if number < 2:
                book.verdicts(0, "b", kind, first=token)
        run = books.store(tmp_path / "run", *some, data=data, vocabulary={"size": 2000})
        rows = summary(run, all_bugs)["pairs"]
        assert [row["counted"] for row in rows] == ["met"] * 9 + ["all"] * 9
        mine = [row for row in rows if (row["kind"], row["counted"]) == (kind, counted)]
        return {(row["first"], row["second"]): row for row in mine}

    def test_on_the_schemas_on_which_both_were_judged(self, tmp_path):
        found = self.found(tmp_path)
        assert list(found) == [("a", "b"), ("a", "c"), ("b", "c")]
        assert [one["schemas"] for one in found.values()] == [20, 19, 19]
        one = found["a", "b"]
        assert (one["both"], one["only_first"], one["only_second"]) == (2, 8, 0)
        assert one["difference"] == 0.4
        assert 0.15 < one["low"] < 0.4 < one["high"] < 0.65

    def test_what_the_other_was_not_judged_on_does_not_count(self, tmp_path):
        """Behind the place where b gave up a errs in five schemas; before it b errs in two."""
        some = [Book(f"case {n}").position(0).position(1, judged=A | 4) for n in range(10)]
        for number, book in enumerate(some[:5]):
            book.verdicts(1, "a", "false_rejection", first=300)
            if number < 2:
                book.verdicts(0, "b", "false_rejection", first=300)
        run = books.store(tmp_path / "run", *some, vocabulary={"size": 2000})
        rows = summary(run, all_bugs)["pairs"]
        (one,) = (
            row
            for row in rows
            if (row["first"], row["second"]) == ("a", "b")
            and (row["kind"], row["counted"]) == ("false_rejection", "met")
        )
        assert (one["schemas"], one["only_first"], one["only_second"]) == (10, 0, 2)

    def test_by_what_a_model_meets(self, tmp_path):
        """The schemas that the matrix counts, and a correction for as many pairs."""
        found = self.found(tmp_path, counted="met")
        one = found["a", "b"]
        assert (one["both"], one["only_first"], one["only_second"]) == (2, 3, 0)
        assert (one["difference"], one["p"], one["p_holm"]) == (0.15, 0.25, 0.5)
        assert found["a", "c"]["only_first"] == 4  # in the first c was not judged

    def test_corrects_for_the_number_of_pairs(self, tmp_path):
        found = self.found(tmp_path)
        assert found["a", "b"]["p"] == pytest.approx(2 / 2**8, rel=1e-5)
        assert found["a", "b"]["p_holm"] == pytest.approx(4 / 2**8, rel=1e-5)
        assert [one["apart"] for one in found.values()] == [True, True, False]

    def test_of_cases_that_are_no_sample_only_counts(self, tmp_path):
        one = self.found(tmp_path, data="embedded")["a", "b"]
        assert (one["only_first"], one["difference"]) == (8, 0.4)
        assert {one[name] for name in ("low", "high", "p", "p_holm", "apart")} == {None}
