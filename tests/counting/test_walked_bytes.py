"""How far engines were walked along references."""

from __future__ import annotations

from dataclasses import astuple

from harness.counting.counts import StoredRun, by_catalogue
from harness.counting.walked_bytes import WalkedBytes
from tests import books
from tests.books import A, B, Book


def test_a_walk_that_broke_off_counts_as_far_as_it_came(tmp_path):
    """The place of each position is its number of bytes; c is judged on nothing at all."""
    whole = Book("whole", reference=b"[12]").position(0, judged=A | B).position(4, judged=A | B)
    cut = Book("cut", reference=b"123456").position(0, judged=A | B).position(2, judged=A)
    not_begun = Book("not begun", status="set_aside", reference=b"12")
    run = books.store(tmp_path / "run", whole, cut, not_begun)
    walked = WalkedBytes(StoredRun(run, by_catalogue))
    assert astuple(walked.of(0)) == (2, 1, 4 + 2, 4 + 6)
    assert astuple(walked.of(1)) == (2, 1, 4 + 0, 4 + 6)
    assert astuple(walked.of(2)) == (0, 0, 0, 0)
