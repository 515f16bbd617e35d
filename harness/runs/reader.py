"""Read a run's tables in batches and case by case, only some columns, never a whole table.

All tables of a run have their cases in the same order, so several can be gone through side by
side: one case of each is in memory at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from harness.runs.checks import check_rows
from harness.runs.directory import RunDirectory, opened
from harness.runs.tables import Rows

ROW = "row"
"""The column that `RunReader.batches` puts before the others: the number of a row in its table."""
_ROWS = 1 << 15
"""Rows in a batch."""

RowNumbers = npt.NDArray[np.int64]
"""Rows of a table, ascending."""


class UnstoredCase(RunDirectory):
    """The rows of one case, read as a run of this case alone before they are in any file."""

    def __init__(self, rows: Rows, manifest: Mapping[str, Any]) -> None:
        super().__init__(Path(), manifest)
        self._rows = rows

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """See `RunDirectory.table`."""
        table = self._rows.table(name)
        return table if columns is None else table.select(list(columns))


class RunReader:
    """The tables of one run."""

    def __init__(self, run: RunDirectory) -> None:
        self.run = run

    def batches(
        self, table: str, columns: Sequence[str], wanted: RowNumbers | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a table in their order, with their numbers in the column `ROW`.

        Those `wanted` or all; groups of rows without any of them are not read, and batches without
        any are left out.

        Raises:
            RunDirectoryError: A file is missing, cut or altered.
        """
        if isinstance(self.run, UnstoredCase):
            for batch in self.run.table(table, columns).combine_chunks().to_batches():
                yield from _chosen(batch, wanted, 0)
            return
        first, bounds = 0, self.run.bounds(table)
        for file in self.run.files(table):
            with opened(file, memory_map=True) as source:
                for batch in _of_file(source, columns, wanted, first):
                    check_rows(file, batch, bounds)
                    yield batch
                first += source.metadata.num_rows

    @cached_property
    def order(self) -> dict[str, int]:
        """The cases, with their places in the order of the run."""
        found = (batch["case"].to_pylist() for batch in self.batches("cases", ["case"]))
        return {case: place for place, case in enumerate(itertools.chain.from_iterable(found))}


CaseTable = tuple[str, pa.Table]
"""A case and its rows in one table."""


def by_case(parts: Iterable[pa.RecordBatch]) -> Iterator[CaseTable]:
    """What `RunReader.batches` gave, which must have a column ``case``, put together by case."""
    split = itertools.chain.from_iterable(map(_split, parts))
    for case, batches in itertools.groupby(split, key=lambda part: part[0]):
        yield case, pa.Table.from_batches([batch for _, batch in batches])


class TableCursor:
    """One table, gone through once, in the order of the cases."""

    def __init__(self, reader: RunReader, table: str, columns: Sequence[str]) -> None:
        self._order = reader.order
        self._parts = by_case(reader.batches(table, ["case", *columns]))
        self._current: CaseTable | None = next(self._parts, None)

    def of(self, case: str) -> pa.Table | None:
        """The rows of a case; None without any. It must not come before the last one asked for."""
        place = self._order[case]
        while self._current is not None and self._order.get(self._current[0], -1) < place:
            self._current = next(self._parts, None)
        name, rows = self._current or ("", None)
        return rows if name == case else None


def _of_file(
    source: pq.ParquetFile, columns: Sequence[str], wanted: RowNumbers | None, first: int
) -> Iterator[pa.RecordBatch]:
    for group in range(source.num_row_groups):
        size = source.metadata.row_group(group).num_rows
        if wanted is None or _within(wanted, first, first + size).size:
            some = {"row_groups": [group], "columns": list(columns), "use_threads": size > _ROWS}
            for number, batch in enumerate(source.iter_batches(_ROWS, **some)):
                yield from _chosen(batch, wanted, first + number * _ROWS)
        first += size


def _chosen(
    batch: pa.RecordBatch, wanted: RowNumbers | None, first: int
) -> Iterator[pa.RecordBatch]:
    numbers = np.arange(first, first + batch.num_rows)
    if wanted is not None:
        numbers = _within(wanted, first, first + batch.num_rows)
        if not numbers.size:
            return
        batch = batch.take(pa.array(numbers - first))
    names = [ROW, *batch.schema.names]
    yield pa.RecordBatch.from_arrays([pa.array(numbers), *batch.columns], names)


def _within(wanted: RowNumbers, start: int, stop: int) -> RowNumbers:
    low, high = np.searchsorted(wanted, [start, stop])
    return wanted[low:high]


def _split(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """A batch cut where the case changes."""
    column = batch.column("case")
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes = column.indices.to_numpy(zero_copy_only=False)
    starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    for start, stop in itertools.pairwise(starts):
        if stop > start:
            yield column.dictionary[int(codes[start])].as_py(), batch.slice(start, stop - start)
