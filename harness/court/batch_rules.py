"""Rules about masks as servers have them written: rows of a batch, several threads."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from harness.court.trial import (
    Offered,
    Rule,
    Subject,
    Tokens,
    TrialPlace,
    empty_rows,
    nothing_more,
    untouched,
)
from harness.protocol import Library, LibraryCalls, Masks

_ROWS = 6
_REPEATED = 4
"""How often masks are written on several threads in one trial."""


def _any_row(_subject: Subject, _place: TrialPlace) -> Offered:
    return Offered([(0,), (1,), (_ROWS - 1,)])


def _row(subject: Subject, consumed: Tokens, tokens: Tokens) -> str | None:
    """`tokens` holds the number of the row."""
    calls, rows = subject.at(consumed), empty_rows(subject, _ROWS)
    assert calls.fill_row is not None
    calls.fill_row(rows, tokens[0])
    return _complaint(subject, rows, {tokens[0]: consumed})


def _several(consumed: Tokens) -> dict[int, Tokens]:
    """Where several matchers stand, by the row of each."""
    middle = consumed[: len(consumed) // 2]
    return {4: consumed, 0: (), 2: middle, 5: consumed}


def _rows_at_once(subject: Subject, consumed: Tokens, _tokens: Tokens) -> str | None:
    places = _several(consumed)
    matchers = [subject.at(way) for way in places.values()]
    fill_rows = matchers[0].fill_rows
    assert fill_rows is not None
    for _ in range(_REPEATED):
        rows = empty_rows(subject, _ROWS)
        fill_rows(matchers, list(places), rows)
        if told := _complaint(subject, rows, places):
            return told
    return _moved(subject, matchers, list(places.values()))


def _threads(subject: Subject, consumed: Tokens, _tokens: Tokens) -> str | None:
    places = _several(consumed)
    matchers = [subject.at(way) for way in places.values()]
    with ThreadPoolExecutor(len(matchers)) as pool:
        for _ in range(_REPEATED):
            rows = np.zeros((_ROWS, subject.vocabulary.words), dtype=np.uint32)
            written = [
                pool.submit(calls.mask, rows[row])
                for row, calls in zip(places, matchers, strict=True)
            ]
            for one in written:
                one.result()
            for row, way in places.items():
                if told := subject.differ(rows[row], subject.mask_at(way)):
                    return told
    return _moved(subject, matchers, list(places.values()))


def _complaint(subject: Subject, rows: Masks, places: dict[int, Tokens]) -> str | None:
    """A complaint unless each row holds the mask of its place, and the others are untouched."""
    for row, written in enumerate(rows):
        if row not in places:
            if not untouched(written):
                return f"row {row} was written to, and rows {sorted(places)} were asked for"
        elif told := subject.differ(written, subject.mask_at(places[row])):
            return f"row {row}: {told}"
    return None


def _moved(
    subject: Subject, matchers: Sequence[LibraryCalls], routes: Sequence[Tokens]
) -> str | None:
    for calls, way in zip(matchers, routes, strict=True):
        if told := subject.differ(subject.mask(calls), subject.mask_at(way)):
            return f"moved by writing its mask: {told}"
    return None


def _is_the_library(library: Library) -> str:
    return "no calls of the library's own" if library.by_adapter else ""


BATCH_RULES = (
    Rule(
        "row",
        "a mask is written to the row that was asked for, whole, and to no other",
        ("fill_row",),
        _any_row,
        _row,
    ),
    Rule(
        "rows_at_once",
        "masks of several matchers are written to the rows that were asked for, on any thread",
        ("fill_rows",),
        nothing_more,
        _rows_at_once,
    ),
    Rule(
        "threads",
        "matchers of one schema may be asked for masks on several threads at a time",
        (),
        nothing_more,
        _threads,
        _is_the_library,
    ),
)
