"""The leading figures of a summary: loss and leak; and the rate of wrong bits."""

import pytest

from harness.analysis import tally
from harness.verdict_kinds import COUNTED
from tests.books import Book, all_bugs, classes

A, B, C = 1, 2, 4


def summary(run):
    return tally.summary(run, all_bugs)


LOST = {"kind": "false_rejection", "effect": "lost_value"}
LEAKED = {"kind": "false_acceptance", "effect": "invalid_value"}


def rate(run, name, engine="a", rule=all_bugs):
    """In how many schemas, by a real value, of how many, and declared only."""
    found = tally.summary(run, rule)["engines"][engine][name]
    return tuple(found[key] for key in ("schemas", "real", "of", "declared"))


class TestLossAndLeak:
    def books(self):
        """Of ten cases a loses an everyday value in two, a real one in one of them, a rare one in
        another, and leaks in two others.

        What shows the first is not known, so it counts as rare.
        """
        some = [Book(f"case {n}").compiled(*["compiled"] * 3).position(0) for n in range(10)]
        for number, shown_by in enumerate(("", "plain", "plain")):
            some[number].verdicts(0, "a", **LOST, count=4, shown_by=shown_by)
        some[2].verdicts(0, "a", **LOST, first=9, shown_by="real")
        for number in (3, 4):
            some[number].verdicts(0, "a", **LEAKED, shown_by="plain", detail="declared")
        some[4].verdicts(0, "a", **LEAKED, first=9, shown_by="plain")
        some[5].verdicts(0, "a", "false_acceptance", effect="format_only", shown_by="plain")
        some[6].verdicts(0, "a", "false_rejection", effect="spelling", shown_by="real")
        return some

    def test_count_schemas_by_what_shows_them(self, stored):
        found = summary(stored(*self.books()))["engines"]["a"]
        loss = found["loss"]
        assert [loss[name] for name in ("schemas", "real", "plain", "rare", "of")] == [
            2,
            1,
            1,
            1,
            10,
        ]
        assert (loss["share"]["value"], loss["real_share"]["value"]) == (0.2, 0.1)
        assert 0 <= loss["share"]["low"] < 0.2 < loss["share"]["high"] < 1
        counted = {name: found[name]["schemas"] for name in COUNTED if found[name]["schemas"]}
        assert counted == {"loss": 2, "leak": 2, "format_only": 1, "spelling": 1}

    def test_no_loss_in_any_schema_is_no_certainty(self, stored):
        share = summary(stored(*self.books()))["engines"]["c"]["loss"]["share"]
        assert share == {"value": 0, "low": 0, "high": 0.3, "interval": "rule_of_three"}

    @pytest.mark.parametrize(
        "class_", ["departure", pytest.param("warned", marks=pytest.mark.thorough)]
    )
    def test_what_is_declared_counts_and_is_named(self, stored, class_):
        """In one of the two schemas another leak is not declared."""
        rule = classes({"declared": (class_, "x")})
        assert rate(stored(*self.books()), "leak", rule=rule) == (2, 0, 10, 1)

    def test_whole_texts_count_where_nothing_was_walked(self, stored):
        book = Book("apart", "not_compared", "not_compiled_by_all")
        book.compiled("compiled", "refused", "compiled").instance(0, "invalid")
        run = stored(book.on_instance(0, "a", **LEAKED, shown_by="real"))
        assert [rate(run, "leak", name)[:3] for name in "abc"] == [(1, 1, 1), (0, 0, 0), (0, 0, 1)]

    @pytest.mark.parametrize(
        "data",
        [
            "embedded",
            *(pytest.param(one, marks=pytest.mark.thorough) for one in ("quick", "jsonl:mine")),
        ],
    )
    def test_of_cases_that_are_no_sample_are_plain_fractions(self, stored, data):
        found = summary(stored(*self.books(), vocabulary={"size": 50}, data=data))
        assert not found["sampled"]
        for engine in found["engines"].values():
            ratio = engine["loss"]["share"]
            assert ratio["value"] is not None
            assert (ratio["low"], ratio["high"], ratio["interval"]) == (None, None, "none")
