"""What a stored case adds to the standing, and how it is told where output is no terminal."""

from __future__ import annotations

import pytest

from harness.execution import progress as module
from harness.execution.lanes import CaseDone, CaseNews, case_news
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
AT = {"keyword": "minimum", "schema_pointer": "/properties/a/minimum"}


def news(book: Book, *, with_example: bool = True) -> CaseNews:
    return case_news(book.rows, ENGINES, VOCABULARY, with_example=with_example)


def wrong(effect: str = "invalid_value") -> Book:
    """A case with one verdict about `a`, at the token for the 1 of `TEXT`."""
    kind = "false_acceptance" if effect == "invalid_value" else "false_rejection"
    book = Book("family/case")
    book.rows.replace("cases", references=[[TEXT]])
    book.compiled("compiled", "refused", "compiled").position(6)
    book.verdicts(6, "a", kind, 1, first=TEXT[6], **AT, effect=effect, spellings_asked=9)
    book.rows.replace("verdicts", completion=[0])
    book.rows.add("completions", case=book.name, completion=0, origin="", text=b"}", tokens=[1])
    return book


@pytest.mark.parametrize("effect", ["invalid_value", "lost_value", "trap"])
def test_what_costs_a_value_is_counted_and_put_in_words(effect):
    found = news(wrong(effect))
    assert found.effects == {"a": {effect}}
    assert found.compiled == {"a": "compiled", "b": "refused", "c": "compiled"}
    where = "  case family/case, minimum at /properties/a/minimum"
    assert found.example[1:3] == [where, '    {"a": »1}']
    assert news(wrong(effect), with_example=False).example == ()


@pytest.mark.parametrize("effect", ["spelling", "format_only", "unclear", ""])
def test_other_effects_are_no_news(effect):
    assert (news(wrong(effect)).effects, news(wrong(effect)).example) == ({}, ())


def test_what_only_a_rare_value_shows_is_no_news():
    book = wrong("lost_value")
    book.rows.replace("verdicts", shown_by=["rare"])
    assert (news(book).effects, news(book).example) == ({}, ())


def test_a_case_without_verdicts_has_no_news_of_errors():
    found = news(Book("case").compiled("compiled", "compiled", "compiled"))
    assert (found.effects, found.example) == ({}, ())


def test_the_worst_is_told_whatever_shows_it():
    """The instance is told, which shows a leak, though the walk's text is shorter."""
    book = wrong("trap").instance(4)
    book.rows.replace("instances", text=[b'{"a": 1, "b": 2}'])
    book.on_instance(4, "c", "false_acceptance", offset=6, effect="invalid_value", **AT)
    first, _, text, *_ = news(book).example
    assert (first, text) == ("c 3.0 lets an invalid value through", '    {"a": »1, "b": 2}')


@pytest.fixture
def told(capsys):
    """What is told of cases, one after another."""

    def tell(*books: Book) -> list[str]:
        with RunProgress(len(books) + 1) as progress:
            vocabulary = {"name": "bytes", "size": 256}
            progress.compares({"engines": ENGINES, "vocabulary": vocabulary}, {"family": 2})
            for ordinal, book in enumerate(books):
                progress.case_stored(CaseDone(ordinal, book.name, "walked", 1, 1, news(book)))
        return capsys.readouterr().err.splitlines()

    return tell


def test_what_is_compared_is_said_first(told):
    lines = told(Book("only"))
    assert lines[1] == "engine a 1.0 (strict=true)"
    assert lines[4:6] == ["2 cases: 2 family", "vocabulary bytes, 256 tokens"]


@pytest.mark.parametrize(
    ("effect", "what", "after"),
    [
        (
            "invalid_value",
            "lets an invalid value through",
            ["allows this text to its end; the error comes after ».", "it invalid (minimum)."],
        ),
        (
            "lost_value",
            "cannot write a valid value",
            ["takes none of 9 spellings of this value.", "both call it valid."],
        ),
    ],
)
def test_the_first_error_is_told_once_with_its_text_and_what_is_said_of_it(
    told, effect, what, after
):
    lines = told(Book("fine"), wrong(effect), wrong(effect))
    (first,) = (line for line in lines if line.startswith("first proven error"))
    assert first.endswith(f": a 1.0 {what}")
    others = [line for line in lines[lines.index(first) + 1 :] if line.startswith("  ")]
    assert '    {"a": »1}' in others[:2]
    assert all(any(one.endswith(line) for one in others) for line in after)


def test_the_standing_counts_schemas(told, monkeypatch):
    monkeypatch.setattr(module, "STANDING_EVERY", 0)
    monkeypatch.setattr(RunProgress, "is_due", lambda _: True)
    lines = told(wrong(), wrong("trap"))
    standings = [line for line in lines if line.startswith("  a: ")]
    assert standings[-1] == "  a: compiled 2 of 2, judged 2, leaks 1, loses 0, traps 1"
