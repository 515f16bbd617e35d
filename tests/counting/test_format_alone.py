"""What rests on `format` alone: judged by the text, not by the keyword that is named first."""

from __future__ import annotations

import pytest

from harness.counting import format_alone
from harness.counting.format_alone import rests_on_format
from harness.report.breakdown import breakdown
from harness.report.tally import summary
from tests.books import all_bugs
from tests.inprocess import InProcessJudge
from tests.replaying import stored
from tests.reporting import ENGINES, Page


@pytest.fixture(autouse=True)
def _in_process(monkeypatch):
    monkeypatch.setattr(format_alone, "Judge", lambda _, formats: InProcessJudge(formats=formats))


def accepting(name, schema, *ends, keyword="format"):
    """Texts that end so behind `"1`, all let through; of each the keyword that is named first."""
    draft = {"$schema": "http://json-schema.org/draft-07/schema#"}
    book = Page("family", name, {**draft, **schema}, "1")
    for end in ends:
        completion = book.completion(end[1:] + b'"')
        book.verdict("false_acceptance", "one:A", b'"1', end[:1], completion, keyword=keyword)
    return book


@pytest.mark.parametrize(
    ("schema", "keyword", "found"),
    [
        ({"format": "date", "maxLength": 2}, "format", [True, False]),
        ({"anyOf": [{"format": "date"}, {"type": "null"}]}, "anyOf", [True, True]),
        ({"anyOf": [{"maxLength": 1}, {"type": "null"}]}, "anyOf", [False, False]),
        ({"if": {"format": "date"}, "else": False}, "false", [True, True]),
        ({"not": {"format": "date"}}, "not", [False, False]),
    ],
)
def test_is_what_would_be_valid_without_it(tmp_path, schema, keyword, found):
    """Of the texts "12" and "123"."""
    book = accepting("one", schema, b"2", b"23", keyword=keyword)
    run = stored(tmp_path, [book], ENGINES)
    assert rests_on_format(run, "walk").tolist() == found


def test_is_counted_in_the_tables(tmp_path):
    """In the first schema it is all that is wrong."""
    alone = accepting("alone", {"format": "date"}, b"2", b"3")
    both = accepting("both", {"format": "date", "maxLength": 2}, b"2", b"23")
    run = stored(tmp_path, [alone, both], ENGINES)
    found = summary(run, all_bugs)
    assert found["engines"]["one:A"]["false_acceptances"]["by_format"] == 3
    engine = found["engines"]["one:A"]
    assert engine["severity"]["false_acceptance"]["by_format"] == 3
    assert engine["per_million"]["false_acceptance"]["by_format"] == 3
    accepting_pairs = [row for row in found["pairs"] if row["kind"] == "false_acceptance"]
    worse = {
        row["counted"]: row["only_first"] for row in accepting_pairs if row["first"] == "one:A"
    }
    assert worse == {"met": 2, "met_without_format": 1, "all": 2}
    rows = breakdown(run, "case", all_bugs)["rows"]
    assert [(row["case"], row["tokens"], row["by_format"]) for row in rows] == [
        ("alone", 2, 2),
        ("both", 2, 1),
    ]
    assert found["matrix"]["one:A"]["accepts"]["sentence"].startswith(
        "Lets invalid output through in 2 of 2 schemas, in 1 by format alone"
    )


def test_asks_about_instances_too(tmp_path):
    book = accepting("one", {"format": "date", "maxLength": 2}, b"2")
    for text in (b'"12"', b'"123"'):
        number = book.instance(text)
        about = {"engine": "one:A", "instance": number, "consumed": 4, "token": -1}
        book._add("instance_verdicts", kind="false_acceptance", keyword="format", **about)
    run = stored(tmp_path, [book], ENGINES)
    assert rests_on_format(run, "walk").tolist() == [True]
    assert rests_on_format(run, "instance").tolist() == [True, False]
    counted = summary(run, all_bugs)["engines"]["one:A"]
    assert (counted["false_acceptances"]["by_format"], counted["instances"]["by_format"]) == (1, 1)
