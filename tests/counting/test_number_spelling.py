"""Groups of verdicts by how the number in question is spelt."""

from __future__ import annotations

import pytest

from harness.report.breakdown import breakdown
from tests.books import all_bugs
from tests.replaying import Book, stored

DRAFT_04 = "http://json-schema.org/draft-04/schema#"


def grouped(tmp_path, number, kind, *, draft="", type_="integer", **row):
    """The group of one verdict about the number of `{"a": number}`."""
    schema = {"properties": {"a": {"type": type_}}, **({"$schema": draft} if draft else {})}
    book = Book("one", schema, {"a": 1})
    before, text = b'{"a": ', number.encode()
    completion = book.completion(text[1:] + b"}")
    where = {"schema_pointer": "/properties/a/type", "instance_pointer": "/a", "keyword": "type"}
    where |= {"category": "number", **row}
    book.verdict(kind, "one:A", before, text[:1], completion, "one:A", **where)
    (found,) = breakdown(stored(tmp_path, [book], ("one:A",)), "number", all_bugs)["rows"]
    return found["number"]


@pytest.mark.parametrize(
    ("number", "group"),
    [
        ("-0", "-0"),
        ("-0.0e3", "-0"),
        ("9007199254740992", ""),
        ("9007199254740993", "beyond 2^53"),
        ("-9007199254740993", "beyond 2^53"),
        ("123456789012345678901", "beyond 2^53"),
        ("1.0", "1.0 as an integer"),
        ("1.5e1", "1.0 as an integer"),
        ("120e-1", "1.0 as an integer"),
        ("1.5", ""),
        ("10", ""),
    ],
)
def test_is_that_of_the_number_in_the_text(tmp_path, number, group):
    assert grouped(tmp_path, number, "false_rejection", detail="integer") == group


def test_tells_draft_04_apart(tmp_path):
    found = grouped(tmp_path, "1.0", "false_acceptance", draft=DRAFT_04)
    assert found == "1.0 as an integer, draft-04"


def test_an_integer_must_be_what_is_asked_for(tmp_path):
    assert grouped(tmp_path, "1.0", "false_acceptance", draft=DRAFT_04, type_="string") == ""


def test_the_number_must_be_what_the_verdict_is_about(tmp_path):
    assert grouped(tmp_path, "-0", "false_rejection", category="structural") == ""
    (tmp_path / "other").mkdir()
    assert grouped(tmp_path / "other", "-0", "false_acceptance", instance_pointer="") == ""
