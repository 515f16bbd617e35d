"""Columns as numbers: words keep their rows, and rows of two tables find each other."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.runs.columns import (
    matching,
    numbers,
    translated,
    words,
)

texts = st.lists(st.one_of(st.none(), st.sampled_from(["", "a", "b", "c"])), max_size=12)


def decoded(column):
    return column.tolist()


class TestWords:
    @given(st.lists(texts, max_size=4), st.booleans())
    def test_are_those_of_the_column_in_its_order_whatever_its_parts(self, parts, plain):
        """Each part of a dictionary column has a dictionary of its own."""
        arrays = [pa.array(part, pa.string()) for part in parts]
        kind = pa.string() if plain else pa.dictionary(pa.int32(), pa.string())
        if not plain:
            arrays = [one.dictionary_encode() for one in arrays]
        column = words(pa.chunked_array(arrays, kind))
        assert decoded(column) == [one or "" for part in parts for one in part]
        assert len(set(column.words)) == len(column.words)

    def test_are_found_again(self):
        column = words(pa.chunked_array([["a", "b", "a", None]]))
        assert column.equal("a").tolist() == [True, False, True, False]
        assert column.equal("a", "").tolist() == [True, False, True, True]
        assert column.equal("z").tolist() == [False] * 4

    def test_are_put_into_another_order(self):
        column = words(pa.chunked_array([["b", "a", "odd"]]))
        assert translated(column, {"a": 0, "b": 1}).tolist() == [1, 0, -1]

    def test_of_an_empty_column_there_are_none(self):
        column = words(pa.chunked_array([], pa.string()))
        assert not len(column.equal("a"))
        assert not len(translated(column, {"a": 0}))


class TestNumbers:
    def test_that_are_missing_are_replaced(self):
        assert numbers(pa.chunked_array([[1, None]]), -1).tolist() == [1, -1]
        assert numbers(pa.chunked_array([[True, None]]), missing=False).tolist() == [True, False]


rows = st.lists(st.tuples(st.integers(-2, 3), st.integers(0, 4)), max_size=15)


class TestMatching:
    @given(rows, rows)
    def test_finds_the_first_equal_row(self, left, right):
        found = matching(columns_of(left), columns_of(right))
        assert found.tolist() == [right.index(one) if one in right else -1 for one in left]

    def test_refuses_numbers_that_it_would_confuse(self):
        large = [np.array([0, 2**40]), np.array([0, 2**40])]
        with pytest.raises(OverflowError):
            matching(large, large)


def columns_of(rows):
    return [np.array([one[at] for one in rows], dtype=np.int32) for at in (0, 1)]
