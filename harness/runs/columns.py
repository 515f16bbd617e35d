"""Columns of Arrow tables as whole numbers, so that numpy can count millions of rows.

Arrow's joins and filters on dictionary columns are slow, and the dictionaries of two tables number
the same word differently. Here a column becomes codes and what they stand for, and rows of two
tables are matched by their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from harness.runs.tables import Words

Ints = npt.NDArray[np.int64]

_LIMIT = 1 << 62
"""Combined keys stay below this."""


def words(column: pa.ChunkedArray) -> Words:
    """A column of strings, of a dictionary or plain; null is the empty string."""
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    column = column.unify_dictionaries()
    values = tuple(column.chunk(0).dictionary.to_pylist()) if column.num_chunks else ()
    parts = [chunk.indices.fill_null(-1).to_numpy() for chunk in column.chunks]
    codes = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)
    if len(codes) and codes.min() < 0:
        values = values if "" in values else (*values, "")
        codes = np.where(codes < 0, values.index(""), codes).astype(codes.dtype)
    return Words(codes, values)


def numbers(column: pa.ChunkedArray, missing: int | bool = 0) -> npt.NDArray[Any]:
    """A column of integers or booleans, null being `missing`."""
    if column.null_count:
        column = column.fill_null(missing)
    return np.asarray(column.to_numpy())


def translated(column: Words, order: Mapping[Any, int]) -> npt.NDArray[np.int32]:
    """The rows in another numbering, shape ``(n,)``; -1 for values that are not in it."""
    table = np.fromiter((order.get(one, -1) for one in column.words), np.int32)
    return np.asarray(table[column.codes])


def matching(rows: Sequence[npt.NDArray[Any]], among: Sequence[npt.NDArray[Any]]) -> Ints:
    """For each row the first equal one of another table, -1 without any, shape ``(n,)``.

    Both are given as columns of integers.
    """
    if not len(among[0]) or not len(rows[0]):
        return np.full(len(rows[0]), -1, dtype=np.int64)
    keys, others = _joint_keys(rows, among)
    # the rows of one position stand together: look each up once
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    times = np.diff(np.append(starts, len(keys)))
    keys = keys[starts]
    order = np.argsort(others, kind="stable")
    found = order[np.minimum(np.searchsorted(others, keys, sorter=order), len(others) - 1)]
    return np.repeat(np.where(others[found] == keys, found, -1), times)


def _joint_keys(
    rows: Sequence[npt.NDArray[Any]], among: Sequence[npt.NDArray[Any]]
) -> tuple[Ints, Ints]:
    """One number per row on both sides, equal exactly where all columns are."""
    left = right = np.zeros(1, dtype=np.int64)
    size = 1
    for one, other in zip(rows, among, strict=True):
        low = min(int(one.min()), int(other.min()))
        width = max(int(one.max()), int(other.max())) - low + 1
        size *= width
        if size >= _LIMIT:
            raise OverflowError("the columns to match hold numbers that are too large")
        left = left * width + (one - low)
        right = right * width + (other - low)
    return left, right
