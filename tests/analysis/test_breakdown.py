"""Verdicts by one column, counted by hand."""

import pytest

from harness.analysis.stored import stored_run
from harness.analysis.tally import crossed
from tests.books import Book, all_bugs, classes

DECLARED = {"order": ("departure", "x-order"), "said": ("warned", "x-warns")}


def by_hand():
    first = (
        Book("first", family="one", schema='{"$schema": "http://json-schema.org/draft-07/schema#"}')
        .compiled("compiled", "compiled", "compiled")
        .position(0, "inside string", canonical=3)
        .position(1, "end")
        .verdicts(0, "a", "false_acceptance", 2, keyword="enum", category="string", located=True)
        .verdicts(0, "b", "false_acceptance", 1, keyword="enum", category="string")
        .verdicts(1, "a", "false_acceptance", 1, keyword="enum", category="string")
        .verdicts(1, "a", "never_stops", 1, first=9, category="end")
        .verdicts(1, "a", "unresolved", 1, first=8, reason="crashed", keyword="enum")
    )
    second = (
        Book("second", family="two")
        .compiled("compiled", "compiled", "compiled")
        .position(0, "start of key")
        .verdicts(0, "a", "false_acceptance", 4, keyword="enum", category="number")
        .verdicts(0, "a", "false_rejection", 5, first=4, keyword="type", detail="order")
        .verdicts(0, "a", "false_acceptance", 3, first=9, keyword="format", detail="said")
        .instance(0, "invalid")
        .on_instance(0, "a", "false_acceptance", 3, keyword="enum", place="end")
    )
    return [first, second]


def rows(run, by, classify=None, **wanted):
    """Some rows as (grouping column, engine, tokens, instances, cases)."""
    found = crossed(stored_run(run, classify or classes(DECLARED)), by)
    picked = [row for row in found if all(row[name] == one for name, one in wanted.items())]
    names = (by, "engine", "tokens", "instances", "cases")
    return [tuple(row[name] for name in names) for row in picked]


class TestRows:
    def test_have_all_that_they_are_about(self, stored):
        found = crossed(stored_run(stored(*by_hand()), classes(DECLARED)), "keyword")
        about = {"engine": "a", "kind": "false_acceptance", "class": "bug"}
        counts = {"tokens": 7, "instances": 1, "samples": 0, "cases": 2}
        assert found[0] == {"keyword": "enum", **about, **counts}

    def test_the_most_cases_come_first(self, stored):
        cases = [one[-1] for one in rows(stored(*by_hand()), "keyword")]
        assert cases == sorted(cases, reverse=True)

    def test_leave_out_what_proves_nothing(self, stored):
        found = crossed(stored_run(stored(*by_hand()), all_bugs), "keyword")
        kinds = {"false_acceptance", "false_rejection", "never_stops"}
        assert {row["kind"] for row in found} == kinds
        assert sum(row["tokens"] for row in found) == 17
        assert sum(row["instances"] for row in found) == 1


class TestGroupings:
    @pytest.mark.parametrize(
        ("by", "wanted", "expected"),
        [
            (
                "category",
                {"engine": "a"},
                [" a 3 0 1", " a 0 1 1", "number a 4 0 1", "string a 3 0 1"],
            ),
            ("family", {"engine": "a"}, ["one a 3 0 1", "two a 4 1 1", "two a 3 0 1"]),
            ("family", {"engine": "b"}, ["one b 1 0 1"]),
        ],
    )
    def test_are_counted_apart(self, stored, by, wanted, expected):
        found = rows(stored(*by_hand()), by, kind="false_acceptance", **wanted)
        assert sorted(" ".join(map(str, one)) for one in found) == sorted(expected)

    def test_by_departure(self, stored):
        found = crossed(stored_run(stored(*by_hand()), classes(DECLARED)), "departure")
        of_class = {row["departure"]: row["class"] for row in found}
        assert of_class == {"": "bug", "x-order": "departure", "x-warns": "warned"}
        assert rows(stored(*by_hand()), "departure", departure="x-order") == [
            ("x-order", "a", 5, 0, 1)
        ]

    def test_by_place(self, stored):
        run = stored(*by_hand())
        assert sorted(rows(run, "place", all_bugs, engine="a", kind="false_acceptance")) == [
            ("end", "a", 1, 1, 2),
            ("inside string", "a", 2, 0, 1),
            ("start of key", "a", 7, 0, 1),
        ]


def test_effects_and_what_shows_them_are_groups(stored):
    book = Book("case").position(0).instance(0)
    book.verdicts(0, "a", "false_rejection", 2, effect="spelling", shown_by="rare")
    book.on_instance(0, "a", "false_rejection", effect="trap", shown_by="real")
    run = stored(book)
    for by, first, second in (("effect", "spelling", "trap"), ("shown_by", "rare", "real")):
        assert rows(run, by, all_bugs) == [(first, "a", 2, 0, 1), (second, "a", 0, 1, 1)]
