"""What a stored case adds to the standing, and how it is told where output is no terminal."""

import pytest

from harness.engines.requests import EngineMetadata
from harness.execution import progress as module
from harness.execution.lanes import CaseDone, CaseNews, case_news
from harness.execution.progress import RunProgress
from tests.books import Book

TEXT = b'{"a": 1}'
ENGINES = {
    "a": {"version": "1.0", "packages": {}, "options": {"strict": True}},
    "b": {"version": "2.0", "packages": {}, "options": {}},
    "c": {"version": "3.0", "packages": {}, "options": {}},
}
COUNTS = {"tokens_asked": 0, "tokens_with_other_bytes": 0}
AT = {"keyword": "minimum", "schema_pointer": "/properties/a/minimum"}


def news(book: Book) -> CaseNews:
    engines = {name: EngineMetadata(**one, **COUNTS) for name, one in ENGINES.items()}
    return case_news(book.rows, engines)


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
    words = {
        "invalid_value": "lets an invalid value through",
        "lost_value": "cannot write a valid value",
        "trap": "leads to where a valid value cannot be written any more",
    }[effect]
    where = "case family/case, minimum at /properties/a/minimum"
    assert found.example == f"a 1.0 {words}: {where}"


@pytest.mark.parametrize("effect", ["spelling", "format_only", "unclear", ""])
def test_other_effects_are_no_news(effect):
    assert (news(wrong(effect)).effects, news(wrong(effect)).example) == ({}, "")


def test_what_only_a_rare_value_shows_is_no_news():
    book = wrong("lost_value")
    book.rows.replace("verdicts", shown_by=["rare"])
    assert (news(book).effects, news(book).example) == ({}, "")


def test_a_case_without_verdicts_has_no_news_of_errors():
    found = news(Book("case").compiled("compiled", "compiled", "compiled"))
    assert (found.effects, found.example) == ({}, "")


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


def test_the_first_error_is_told_once_and_the_worst_of_a_case(told):
    book = wrong("trap").instance(4)
    book.on_instance(4, "c", "false_acceptance", offset=6, effect="invalid_value", **AT)
    lines = told(Book("fine"), book, wrong("trap"))
    (at,) = (at for at, line in enumerate(lines) if line.startswith("first proven error"))
    told_of = " ".join(" ".join(lines[at : at + 2]).split())
    assert "s: c 3.0 lets an invalid value through: case family/case, minimum at" in told_of


def test_the_standing_counts_schemas(told, monkeypatch):
    monkeypatch.setattr(module, "STANDING_EVERY", 0)
    monkeypatch.setattr(RunProgress, "is_due", lambda _: True)
    lines = told(wrong(), wrong("trap"))
    standings = [line for line in lines if line.startswith("  a: ")]
    assert standings[-1] == "  a: compiled 2 of 2, judged 2, leaks 1, loses 0, traps 1"
