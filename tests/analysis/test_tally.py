"""Every number of a summary, counted by hand."""

import copy
import functools
import json

import pytest

from harness.analysis import tally
from harness.verdict_kinds import COUNTED
from tests.books import Book, all_bugs, classes
from tests.inprocess import case, make_run
from tests.miniatures import AcceptsExtra, Enumerator, ForbidsOne

A, B, C = 1, 2, 4


def summary(run, classify=all_bugs):
    return copy.deepcopy(_summary(run, classify))


_summary = functools.cache(tally.summary)


def by_hand():
    first = (
        Book("first")
        .compiled("compiled", "compiled", "compiled")
        .position(0)
        .position(1, "inside string")
        .position(2, "end")
        .dispute(0, A | B, C, tokens=7)
        .dispute(1, A, B | C, tokens=4)
        .dispute(1, A | C, B, tokens=1, number=1)
        .verdicts(0, "c", "false_rejection", 4)
        .verdicts(0, "a", "false_acceptance", 2, first=4, keyword="enum")
        .verdicts(0, "b", "false_acceptance", 1, first=4, keyword="enum")
        .verdicts(0, "b", "contested", 1, first=5, reason="duplicate_keys")
        .verdicts(0, "a", "unresolved", 1, first=6, reason="too_long")
        .verdicts(1, "b", "false_rejection", 3)
        .verdicts(1, "c", "false_rejection", 3)
        .verdicts(1, "a", "false_acceptance", 1, first=3, keyword="pattern")
        .verdicts(1, "a", "unresolved", 1, number=1, reason="crashed")
        .engine("a", "crashed", "resolve")
    )
    second = (
        Book("second")
        .compiled("compiled", "compiled", "refused")
        .position(0, judged=A | B)
        .dispute(0, A, B, tokens=2)
        .verdicts(0, "a", "false_acceptance", 2, keyword="enum")
        .position(0, "inside string", judged=A | B, walk=1)
        .engine("b", "timed_out", "walk")
        .engine("b", "crashed", "resolve")
    )
    refused = Book("third", "not_compared", "not_compiled_by_all")
    refused.compiled("compiled", "out_of_memory", "timed_out")
    bad = Book("fourth", "set_aside", "reference_invalid").compiled(*["compiled"] * 3)
    worse = Book("fifth", "set_aside", "reference_invalid").compiled("crashed", *["compiled"] * 2)
    broken = Book("sixth", "harness_error")
    return [first, second, refused, bad, worse, broken, Book("seventh", "lane_died")]


def compile_counts(*counts):
    words = ("compiled", "refused", "crashed", "timed_out", "out_of_memory")
    return dict(zip(words, counts, strict=True))


def counts(tokens, positions, cases):
    return {"tokens": tokens, "positions": positions, "cases": cases}


REFERENCES = {"walks": 2, "broke_off": 0, "bytes": 0, "of": 0}
"""Of two cases with a reference each, of no bytes."""

NEW = (*(*COUNTED, "other_kinds", "by_class", "instances", "samples", "timings"), "adapter_faults")


def old(engine):
    """What a summary says of an engine without what the tests further below are about."""
    return {key: value for key, value in engine.items() if key not in NEW}


class TestSummary:
    def test_of_the_run(self, stored):
        found = summary(stored(*by_hand()))
        engines, matrix, _ = (found.pop(name) for name in ("engines", "matrix", "pairs"))
        assert list(engines) == list(matrix) == ["a", "b", "c"]
        assert found == {
            "equal_schemas": [],
            "cases": 7,
            "walked": 2,
            "set_aside": {"reference_invalid": 2},
            "not_compared": {"not_compiled_by_all": 1},
            "mislabelled": {"instances": 0, "cases": 0},
            "generated": {"instances": 0, "cases": 0},
            "harness_errors": 2,
            "positions": 5,
            "disputed_tokens": 14,
            "resolved_tokens": 14,
            "capped": False,
            "seconds": 2.5,
            "formats": "assertion",
            "finished": True,
            "sampled": True,
        }

    def test_of_the_first_engine(self, stored):
        assert old(summary(stored(*by_hand()))["engines"]["a"]) == {
            "version": "1.0",
            "options": {"x": True},
            "backends": {},
            "compile": compile_counts(4, 0, 1, 0, 0),
            "judged": {"cases": 2, "positions": 5, **REFERENCES},
            "false_acceptances": {**counts(5, 3, 2), "located": 0, "by_format": 0},
            "false_rejections": counts(0, 0, 0),
            "unresolved": {"crashed": 1, "too_long": 1},
            "contested": 0,
            "contested_by": {},
            "failures": {"resolve_crashed": 1},
        }

    def test_of_the_others(self, stored):
        engines = summary(stored(*by_hand()))["engines"]
        contested = {"contested": 1, "contested_by": {"duplicate_keys": 1}}
        failures = {"failures": {"resolve_crashed": 1, "walk_timed_out": 1}}
        assert engines["b"].items() >= {**contested, **failures}.items()
        found = engines["c"]
        assert found["compile"] == compile_counts(3, 1, 0, 1, 0)
        assert found["judged"] == {"cases": 1, "positions": 3, **REFERENCES, "walks": 1}
        assert found["false_rejections"] == counts(7, 2, 1)

    def test_counts_apart_what_rests_on_format_and_wrong_labels(self, stored):
        book = Book("case").compiled("compiled", "compiled", "compiled").position(0)
        book.dispute(0, A, B, tokens=7).verdicts(
            0, "a", "false_acceptance", 2, effect="format_only"
        )
        book.verdicts(0, "a", "false_acceptance", 1, first=2, keyword="enum")
        book.verdicts(0, "b", "false_rejection", 3, first=3, keyword="format")
        book.instance(0, "invalid").on_instance(0, "a", "false_acceptance", effect="format_only")
        book.instance(1, "invalid", label="valid").instance(2, "contested", label="valid")
        found = summary(stored(book))
        of = found["engines"]
        units = ("false_acceptances", "instances")
        assert [[of[name][unit]["by_format"] for unit in units] for name in "ab"] == [
            [2, 1],
            [0, 0],
        ]
        assert found["mislabelled"] == {"instances": 1, "cases": 1}

    @pytest.mark.parametrize("finish", [True, False])
    def test_of_nothing(self, stored, finish):
        found = summary(stored(finish=finish))
        assert (found["cases"], found["positions"], found["disputed_tokens"]) == (0, 0, 0)
        none = {"located": 0, "by_format": 0}
        assert found["engines"]["a"]["false_acceptances"] == {**counts(0, 0, 0), **none}

    def test_is_json(self, stored):
        found = summary(stored(*by_hand()))
        assert json.loads(json.dumps(found)) == found

    def test_two_walks_at_one_number_are_two_positions(self, stored):
        book = Book("case").position(3).position(3, walk=1)
        book.verdicts(3, "a", "false_rejection").verdicts(3, "a", "false_rejection", walk=1)
        found = summary(stored(book))["engines"]["a"]
        assert found["false_rejections"] == counts(2, 2, 1)

    def test_what_engines_did_in_a_real_case(self, stored):
        """Two liars beside an honest engine, from their masks to the counts."""
        schema = {"const": [1, 2], "x-extra": ["[1, 3]"], "x-forbidden": [["[1, ", "2"]]}
        engines = [Enumerator, AcceptsExtra, ForbidsOne]
        book = Book("case")
        book.rows = make_run(engines).run(case(schema, [1, 2]))
        names = {kind.__name__: {} for kind in engines}
        found = summary(stored(book, engines=names))["engines"]
        assert {
            name: (one["false_acceptances"]["tokens"], one["false_rejections"]["tokens"])
            for name, one in found.items()
        } == {"Enumerator": (0, 0), "AcceptsExtra": (1, 0), "ForbidsOne": (0, 1)}
        assert all(one["contested"] == 0 and not one["unresolved"] for one in found.values())


class TestClasses:
    """Bugs beside what the engine warned of and what it declares."""

    def book(self):
        return (
            Book("case")
            .compiled("compiled", "compiled", "compiled")
            .position(0, "inside string")
            .verdicts(0, "a", "false_acceptance", 4, keyword="enum")
            .verdicts(0, "a", "false_acceptance", 2, first=4, keyword="format", detail="said")
            .verdicts(0, "a", "false_rejection", 3, first=6, detail="declared")
            .verdicts(0, "a", "contested", 1, first=9, detail="declared")
        )

    def found(self, stored):
        classify = classes({"said": ("warned", "x-warns"), "declared": ("departure", "x-order")})
        return summary(stored(self.book()), classify)["engines"]

    def test_are_counted_side_by_side(self, stored):
        found = self.found(stored)["a"]
        assert found["false_acceptances"]["tokens"] == 6, "all that is proven"
        assert found["by_class"]["false_acceptance"] == {"bug": 4, "warned": 2, "departure": 0}
        assert found["by_class"]["false_rejection"] == {"bug": 0, "warned": 0, "departure": 3}


class TestOtherKinds:
    def test_are_counted_under_their_own_names(self, stored):
        book = Book("case").position(0).position(1)
        book.verdicts(0, "a", "never_stops").verdicts(1, "a", "mask_consume_mismatch", 2, number=-1)
        found = summary(stored(book))["engines"]["a"]
        assert found["other_kinds"] == {
            "never_stops": counts(1, 1, 1),
            "stops_too_early": counts(0, 0, 0),
            "dead_end": counts(0, 0, 0),
            "mask_consume_mismatch": counts(2, 1, 1),
            "unbounded_repetition": counts(0, 0, 0),
        }
        assert found["false_rejections"] == counts(0, 0, 0)

    def test_at_a_position_that_was_never_walked_are_counted_too(self, stored):
        book = Book("case").position(0).verdicts(0, "a", "false_rejection")
        book.verdicts(1, "a", "mask_consume_mismatch", number=-1).verdicts(
            2, "a", "mask_consume_mismatch", number=-1
        )
        found = summary(stored(book))["engines"]["a"]["other_kinds"]["mask_consume_mismatch"]
        assert found == counts(2, 2, 1)


class TestFaultsOfAdapters:
    def test_are_counted_apart_and_the_engine_was_not_tested_where_its_masks_are_unknown(
        self, stored
    ):
        books = [
            Book(name).compiled(*["compiled"] * 3).engine("a", what, "walk").instance(0)
            for name, what in (("x", "mask_changes"), ("y", "faster_way"), ("z", "faster_way"))
        ]
        found = summary(stored(*books))["engines"]["a"]
        assert found["adapter_faults"] == {"faster_way": 2, "mask_changes": 1}
        assert found["failures"] == {}
        assert found["instances"]["tested_valid"] == 2


class TestLocated:
    def test_are_the_false_acceptances_whose_error_lies_at_the_token(self, stored):
        book = Book("case").position(0)
        book.verdicts(0, "a", "false_acceptance", 2, located=True)
        book.verdicts(0, "a", "false_acceptance", 3, first=2, located=False)
        book.verdicts(0, "a", "false_rejection", 1, first=5, located=None)
        found = summary(stored(book))["engines"]["a"]
        assert found["false_acceptances"] == {**counts(5, 1, 1), "located": 2, "by_format": 0}
        assert "located" not in found["false_rejections"]


class TestInstances:
    def book(self):
        """Two valid instances and two invalid ones, one that is contested, one undecided."""
        book = Book("case").compiled("compiled", "compiled", "refused")
        for number, verdict in enumerate(
            ("valid", "valid", "invalid", "invalid", "contested", "undecided")
        ):
            book.instance(number, verdict)
        return (
            book.on_instance(1, "a", "false_rejection", consumed=1, token=2)
            .on_instance(2, "a", "false_acceptance", consumed=3, keyword="enum")
            .on_instance(3, "a", "false_acceptance", consumed=3, detail="declared")
            .on_instance(4, "a", "contested", reason="format")
            .on_instance(5, "a", "unresolved", reason="undecided")
            .on_instance(0, "b", "never_stops", consumed=2, token=3)
            .on_instance(1, "b", "unresolved", reason="unusual_tokenisation")
        )

    def found(self, stored, book=None):
        classify = classes({"declared": ("departure", "x")})
        engines = summary(stored(book or self.book()), classify)["engines"]
        return {name: one["instances"] for name, one in engines.items()}

    def test_are_tallied_on_their_own(self, stored):
        found = self.found(stored)["a"]
        expected = {"instances": 2, "cases": 1, "bug": 1, "warned": 0, "departure": 1}
        assert found["false_acceptances"] == expected
        assert found["false_rejections"]["instances"] == 1
        assert (found["tested_valid"], found["tested_invalid"], found["contested"]) == (2, 2, 1)

    def test_other_kinds_have_their_own_names(self, stored):
        found = self.found(stored)
        assert found["b"]["other_kinds"]["never_stops"]["instances"] == 1
        assert found["a"]["other_kinds"] == {}

    def test_what_proves_nothing_was_not_tested(self, stored):
        assert self.found(stored)["b"]["tested_valid"] == 1

    def test_who_did_not_compile_was_not_tested(self, stored):
        found = self.found(stored)["c"]
        assert (found["tested_valid"], found["tested_invalid"], found["contested"]) == (0, 0, 0)

    def test_who_failed_on_them_was_not_tested(self, stored):
        found = self.found(stored, self.book().engine("b", "crashed", "instances"))
        assert found["b"]["tested_valid"] == 0
        assert found["a"]["tested_valid"] == 2

    def test_who_failed_on_made_ones_was_tested_with_the_others(self, stored):
        book = (
            self.book().engine("a", "crashed", "generated").instance(6, "valid", label="generated")
        )
        found = self.found(stored, book.instance(7, "invalid", label="generated"))
        assert (found["a"]["tested_valid"], found["a"]["tested_invalid"]) == (2, 2)
        assert (found["b"]["tested_valid"], found["b"]["tested_invalid"]) == (2, 3)
