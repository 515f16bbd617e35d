"""A run in a database: how severe errors are, how far walks went, which runs are refused."""

from __future__ import annotations

import pytest

from harness.analysis.rates import walked_bytes
from harness.analysis.stored import StoredRun
from harness.errors import RunDirectoryError
from harness.inputs.vocabulary_readers import open_vocabulary
from tests import books
from tests.books import A, B, Book, all_bugs


@pytest.fixture
def severities(tmp_path):
    """By token, how severe it is to forbid it; `canonical` is what a valid text goes on with."""

    def of(*tokens, size=10_000, canonical=-1, category=""):
        book = Book("case").position(0, canonical=canonical)
        for token in tokens:
            book.verdicts(0, "a", "false_rejection", first=token, category=category)
        stored = StoredRun(
            books.store(tmp_path / "run", book, vocabulary=size and {"size": size}), all_bugs
        )
        rows = stored.rows("SELECT token, severity FROM verdicts")
        return {row["token"]: row["severity"] for row in rows}

    return of


def test_the_first_fifth_of_the_ids_is_common(severities):
    found = severities(0, 1999, 2000, 9999)
    assert found == {0: "common", 1999: "common", 2000: "rare", 9999: "rare"}


@pytest.mark.parametrize("name", ["qwen2.5", "bytes"])
def test_of_single_bytes_those_that_are_written_are_common(severities, name):
    """In the vocabularies that come with the project; bytes of one have the order of GPT-2's."""
    vocabulary = open_vocabulary(name, None)
    token_of = {vocabulary[token]: token for token in range(256)}
    words = {b'"': "common", b" ": "common", b"\n": "common", b"\t": "common"}
    words |= dict.fromkeys((b"\x7f", b"\x00", b"\xc3", b"\xff"), "rare")
    found = severities(*(token_of[byte] for byte in words), size=vocabulary.size)
    assert {byte: found[token_of[byte]] for byte in words} == words


def test_large_vocabularies_do_not_overflow(severities):
    assert severities(2**31 - 2, size=2**31 - 1) == {2**31 - 2: "rare"}


def test_the_end_is_common_whatever_its_id(severities):
    assert severities(9999, category="end") == {9999: "common"}


@pytest.mark.parametrize("size", [10_000, None])
def test_the_canonical_token_is_on_path_whatever_its_rank(severities, size):
    assert severities(9999, canonical=9999, size=size) == {9999: "on_path"}


@pytest.mark.parametrize(("token", "size"), [(5, None), (-1, 10_000)])
def test_without_a_size_or_a_token_there_is_no_rank(severities, token, size):
    assert severities(token, size=size) == {token: "unranked"}


def test_a_walk_that_broke_off_counts_as_far_as_it_came(tmp_path):
    """The place of each position is its number of bytes; c is judged on nothing at all."""
    whole = Book("whole", reference=b"[12]").position(0, judged=A | B).position(4, judged=A | B)
    cut = Book("cut", reference=b"123456").position(0, judged=A | B).position(2, judged=A)
    not_begun = Book("not begun", status="set_aside", reference=b"12")
    run = books.store(tmp_path / "run", whole, cut, not_begun)
    assert [tuple(one.values()) for one in walked_bytes(StoredRun(run, all_bugs))] == [
        (2, 1, 4 + 2, 4 + 6),
        (2, 1, 4 + 0, 4 + 6),
        (0, 0, 0, 0),
    ]


def test_verdicts_about_an_unknown_case_are_refused(tmp_path):
    book = Book("case").position(0).verdicts(0, "a", "false_rejection")
    book.rows.replace("cases", case=["another"])
    stored = StoredRun(books.store(tmp_path / "run", book), all_bugs)
    with pytest.raises(RunDirectoryError):
        stored.rows("SELECT 1")
