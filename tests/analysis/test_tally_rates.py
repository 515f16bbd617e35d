"""The two leading figures of a summary: the share of schemas with a bug, and the rate of wrong bits."""

from __future__ import annotations

import pytest

from harness.analysis import tally
from harness.verdict_kinds import ERRORS
from tests.books import Book, all_bugs

A, B, C = 1, 2, 4


def summary(run):
    return tally.summary(run, all_bugs)


class TestHowBad:
    def books(self):
        """Ten cases of two positions each; engine a errs in four of them."""
        found = []
        for number in range(10):
            book = Book(f"case {number}").compiled("compiled", "compiled", "compiled")
            book.position(0).position(1, judged=A | B)
            if number < 3:
                book.verdicts(1, "a", "false_acceptance", 5)
            if number in (2, 3):
                book.verdicts(0, "a", "false_rejection", 1, first=5)
            found.append(book)
        return found

    def test_the_share_of_schemas_with_a_bug(self, stored):
        found = summary(stored(*self.books()))["engines"]["a"]["share_with_bug"]
        assert {name: (one["cases"], one["of"], one["value"]) for name, one in found.items()} == {
            "any": (4, 10, 0.4),
            "false_acceptance": (3, 10, 0.3),
            "false_rejection": (2, 10, 0.2),
            "other": (0, 10, 0.0),
        }
        assert 0 < found["any"]["low"] < 0.4 < found["any"]["high"] < 1
        assert found["any"]["interval"] == "bootstrap"

    def test_no_bug_in_any_schema_is_no_certainty(self, stored):
        found = summary(stored(*self.books()))["engines"]["c"]["share_with_bug"]["any"]
        assert (found["value"], found["low"], found["high"]) == (0, 0, 0.3)
        assert found["interval"] == "rule_of_three"

    def test_bugs_per_million_mask_decisions(self, stored):
        run = stored(*self.books(), vocabulary={"size": 50})
        engines = summary(run)["engines"]
        found = engines["a"]["per_million"]
        assert (found["any"]["bugs"], found["any"]["decisions"]) == (17, 20 * 50)
        assert found["any"]["value"] == 17_000
        assert found["false_acceptance"]["value"] == 15_000
        assert found["any"]["low"] < 17_000 < found["any"]["high"]
        assert engines["c"]["per_million"]["any"]["decisions"] == 10 * 50, "judged at one of two"

    @pytest.mark.parametrize("data", ["embedded", "quick", "jsonl:mine"])
    def test_of_cases_that_are_no_sample_are_plain_fractions(self, stored, data):
        run = stored(*self.books(), vocabulary={"size": 50}, data=data)
        found = summary(run)
        assert not found["sampled"]
        for engine in found["engines"].values():
            for ratio in (engine["share_with_bug"]["any"], engine["per_million"]["any"]):
                assert ratio["value"] is not None
                assert (ratio["low"], ratio["high"], ratio["interval"]) == (None, None, "none")

    def test_share_and_rate_count_the_same_kinds(self, stored):
        """A kind is in both or in neither: one schema, one verdict of it each time."""
        for number, kind in enumerate(ERRORS):
            book = Book("case").position(0).verdicts(0, "a", kind, number=number)
            found = summary(stored(book, vocabulary={"size": 50}))["engines"]["a"]
            share, rate = found["share_with_bug"], found["per_million"]
            assert {one: share[one]["cases"] for one in rate} == {
                one: rate[one]["bugs"] for one in rate
            }, kind

    def test_the_end_let_through_too_early_or_forbidden_is_of_the_main_kinds(self, stored):
        for kind, main in (
            ("stops_too_early", "false_acceptance"),
            ("never_stops", "false_rejection"),
        ):
            run = stored(Book("case").position(0).verdicts(0, "a", kind))
            found = summary(run)["engines"]["a"]["share_with_bug"]
            assert [name for name, one in found.items() if one["cases"]] == ["any", main]

    def test_a_vocabulary_of_unknown_size_gives_no_rate(self, stored):
        found = summary(stored(*self.books()))["engines"]["a"]["per_million"]["any"]
        assert (found["bugs"], found["decisions"], found["value"]) == (17, None, None)

    def test_a_run_that_does_not_say_the_size_says_how_many_ids_it_compared(self, stored):
        engines = {name: {"tokens_asked": 40} for name in "abc"}
        found = summary(stored(*self.books(), engines=engines))["engines"]["a"]["per_million"]
        assert found["any"]["decisions"] == 20 * 40

    def test_what_the_specifications_allow_makes_no_schema_bad(self, stored):
        book = Book("case").position(0).verdicts(0, "a", "unbounded_repetition", number=-1)
        found = summary(stored(book))["engines"]["a"]
        assert found["other_kinds"]["unbounded_repetition"] == {
            "tokens": 1,
            "positions": 1,
            "cases": 1,
        }
        assert found["share_with_bug"]["any"]["cases"] == 0

    def test_bugs_that_instances_prove_count_in_schemas_that_were_walked(self, stored):
        book = Book("walked").compiled("compiled", "compiled", "compiled").position(0)
        book.instance(0, "invalid").on_instance(0, "a", "false_acceptance")
        engines = summary(stored(book))["engines"]
        assert [one["share_with_bug"]["any"]["cases"] for one in engines.values()] == [1, 0, 0]

    def test_all_engines_are_measured_by_the_schemas_that_were_walked(self, stored):
        """The last engine compiles less, which makes its bugs no larger a share."""
        walked = Book("walked").compiled("compiled", "compiled", "compiled").position(0)
        walked.verdicts(0, "a", "false_rejection", 1).verdicts(0, "c", "false_rejection", 1)
        books = [walked]
        for number in range(3):
            apart = Book(f"apart {number}", "not_compared", "not_compiled_by_all")
            apart.compiled("compiled", "compiled", "refused").instance(0, "invalid")
            books.append(apart.on_instance(0, "a", "false_acceptance"))
        engines = summary(stored(*books))["engines"]
        found = {name: one["share_with_bug"]["any"] for name, one in engines.items()}
        assert {name: (one["cases"], one["of"]) for name, one in found.items()} == {
            "a": (1, 1),
            "b": (0, 1),
            "c": (1, 1),
        }
        assert engines["a"]["instances"]["false_acceptances"]["cases"] == 3
