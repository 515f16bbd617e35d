"""Engines in pairs: what is tested, and how it is told."""

import pytest

from harness.analysis.tally import summary
from tests import books
from tests.books import A, B, Book, all_bugs

pytestmark = pytest.mark.thorough

LOSS = {"effect": "lost_value", "shown_by": "plain"}


class TestPairs:
    def found(self, tmp_path, values="everyday", **run):
        """Engine a loses values in ten schemas, b in two of them; in one c is not judged.

        In the first five of them a real value is lost.
        """
        some = [Book(f"case {n}").position(0, judged=A | B if n == 0 else 7) for n in range(20)]
        for number, book in enumerate(some[:10]):
            loss = {**LOSS, "shown_by": "real" if number < 5 else "plain"}
            book.verdicts(0, "a", "false_rejection", **loss)
            book.verdicts(0, "a", "false_rejection", first=1, effect="spelling", shown_by="real")
            if number < 2:
                book.verdicts(0, "b", "false_rejection", **loss)
        for book in some:  # a rare value alone makes no schema one with a loss
            book.verdicts(0, "a", "false_rejection", first=2, **{**LOSS, "shown_by": "rare"})
        rows = summary(books.store(tmp_path / "run", *some, **run), all_bugs)["pairs"]
        assert [(row["counted"], row["values"]) for row in rows[::3]] == [
            *(("loss", "everyday"), ("loss", "real"), ("leak", "everyday"), ("leak", "real"))
        ]
        mine = [row for row in rows if (row["counted"], row["values"]) == ("loss", values)]
        return {(row["first"], row["second"]): row for row in mine}

    def test_on_the_schemas_on_which_both_were_judged(self, tmp_path):
        found = self.found(tmp_path)
        assert list(found) == [("a", "b"), ("a", "c"), ("b", "c")]
        assert [one["schemas"] for one in found.values()] == [20, 19, 19]
        one = found["a", "b"]
        assert (one["both"], one["only_first"], one["only_second"]) == (2, 8, 0)
        assert one["difference"] == 0.4
        assert 0.15 < one["low"] < 0.4 < one["high"] < 0.65
        assert one["p"] == pytest.approx(2 / 2**8, rel=1e-5)
        assert one["p_holm"] == pytest.approx(4 / 2**8, rel=1e-5), "corrected for their number"
        assert [one["apart"] for one in found.values()] == [True, True, False]

    def test_what_the_other_was_not_judged_on_does_not_count(self, tmp_path):
        """After the place where b gave up a errs in five schemas; before it b errs in two."""
        some = [Book(f"case {n}").position(0).position(1, judged=A | 4) for n in range(10)]
        for number, book in enumerate(some[:5]):
            book.verdicts(1, "a", "false_rejection", **LOSS)
            if number < 2:
                book.verdicts(0, "b", "false_rejection", **LOSS)
        one = summary(books.store(tmp_path / "run", *some), all_bugs)["pairs"][0]
        assert (one["first"], one["second"], one["counted"]) == ("a", "b", "loss")
        assert (one["schemas"], one["only_first"], one["only_second"]) == (10, 0, 2)

    def test_by_real_values_with_a_correction_for_as_many_pairs(self, tmp_path):
        found = self.found(tmp_path, "real")
        one = found["a", "b"]
        assert (one["both"], one["only_first"], one["only_second"]) == (2, 3, 0)
        assert (one["difference"], one["p"], one["p_holm"]) == (0.15, 0.25, 0.5)
        assert found["a", "c"]["only_first"] == 4  # in the first c was not judged

    def test_of_cases_that_are_no_sample_only_counts(self, tmp_path):
        one = self.found(tmp_path, data="embedded")["a", "b"]
        assert (one["only_first"], one["difference"]) == (8, 0.4)
        assert {one[name] for name in ("low", "high", "p", "p_holm", "apart")} == {None}
