"""A run in a database: how far walks went, which runs are refused."""

import pytest

from harness.analysis.rates import walked_bytes
from harness.analysis.stored import StoredRun
from harness.errors import RunDirectoryError
from tests import books
from tests.books import A, B, Book, all_bugs


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
