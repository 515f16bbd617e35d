"""Engines in pairs: what is tested, and how it is told."""

from __future__ import annotations

import pytest

from harness.analysis.tally import summary
from tests import books
from tests.books import A, B, Book, all_bugs


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
