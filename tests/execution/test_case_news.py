"""What a stored case adds to the standing, and how it is told where output is no terminal."""

from __future__ import annotations

import pytest

from harness.classification.departures import load_catalogue
from harness.execution import case_news as module
from harness.execution.case_news import CaseNews, case_news
from harness.execution.lanes import CaseDone
from harness.execution.progress import RunProgress
from harness.inputs.vocabulary import byte_vocabulary
from tests.books import Book

VOCABULARY = byte_vocabulary([])
TEXT = b'{"a": 1}'
ENGINES = {
    "a": {"version": "1.0", "packages": {}, "options": {"strict": True}},
    "b": {"version": "2.0", "packages": {}, "options": {}},
    "c": {"version": "3.0", "packages": {}, "options": {}},
}
DECLARED = """
[[departure]]
id = "bounds"
behaviour = "text-without-end"
class = "departure"
engine = "*"
versions = ">=0"
from = "JSON Schema, minimum"
source_kind = "specification"
source = "https://example.org/bounds"
says = "Bounds are left out."
[[departure.when]]
kind = ["false_acceptance"]
keyword = ["minimum"]
"""


def news(book: Book, *, with_example: bool = True) -> CaseNews:
    return case_news(book.rows, ENGINES, VOCABULARY, with_example=with_example)


def wrong(kind: str = "false_acceptance", accepter: str = "a") -> Book:
    """A case with one verdict about `a`, at the token for the 1 of `TEXT`."""
    book = Book("family/case", schema='{"properties": {"a": {"minimum": 2}}}')
    book.rows.replace("cases", references=[[TEXT]])
    book.compiled("compiled", "refused", "compiled").position(6)
    at = {"keyword": "minimum", "schema_pointer": "/properties/a/minimum", "located": True}
    book.verdicts(6, "a", kind, 1, first=TEXT[6], **at)
    book.rows.replace("verdicts", completion=[0], accepter=[accepter])
    book.rows.add("completions", case=book.name, completion=0, origin="", text=b"}", tokens=[1])
    return book


def test_a_bug_is_counted_and_put_in_words():
    found = news(wrong())
    assert found.bugs == {"a": {"false_acceptance": 1}}
    assert found.compiled == {"a": "compiled", "b": "refused", "c": "compiled"}
    assert found.example[1:3] == ['  case family/case, schema: "minimum": 2', '    {"a": »1«}']


def test_what_an_engine_declares_is_never_told_as_an_error(tmp_path, monkeypatch):
    catalogue = tmp_path / "declared.toml"
    catalogue.write_text(DECLARED)
    monkeypatch.setattr(module, "_catalogue", lambda: load_catalogue(catalogue))
    found = news(wrong())
    assert (found.bugs, found.example) == ({}, ())
    assert news(wrong("false_rejection", "c")).example


def test_a_case_without_verdicts_has_no_news_of_errors():
    found = news(Book("case").compiled("compiled", "compiled", "compiled"))
    assert (found.bugs, found.example) == ({}, ())


@pytest.fixture
def told(capsys):
    """What is told of cases, one after another."""

    def tell(*books: Book) -> list[str]:
        with RunProgress(len(books)) as progress:
            vocabulary = {"name": "bytes", "size": 256}
            progress.compares({"engines": ENGINES, "vocabulary": vocabulary}, {"family": 2})
            for ordinal, book in enumerate(books):
                progress.case_stored(CaseDone(ordinal, book.name, "walked", 1, 1, news(book)))
        return capsys.readouterr().err.splitlines()

    return tell


def test_what_is_compared_is_said_first(told):
    lines = told(Book("one"), Book("two"))
    assert lines[1] == "engine a 1.0 (strict=true)"
    assert lines[4:6] == ["2 cases: 2 family", "vocabulary bytes, 256 tokens"]


@pytest.mark.parametrize(
    ("kind", "accepter", "what", "behind"),
    [
        (
            "false_acceptance",
            "a",
            "lets invalid output through",
            ["The disputed token is between » and «.", "both call it invalid (minimum)."],
        ),
        (
            "false_rejection",
            "c",
            "forbids valid output",
            ["forbids the token between » and «,", "c allows this text to its end."],
        ),
    ],
)
def test_the_first_error_is_told_once_with_its_text_and_what_is_said_of_it(
    told, kind, accepter, what, behind
):
    lines = told(Book("fine"), wrong(kind, accepter), wrong(kind, accepter))
    (first,) = (line for line in lines if line.startswith("first proven error"))
    assert first.endswith(f": a 1.0 {what}")
    others = [line for line in lines[lines.index(first) + 1 :] if line.startswith("  ")]
    assert '    {"a": »1«}' in others[:2]
    assert all(any(one.endswith(line) for one in others) for line in behind)
