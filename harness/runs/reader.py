"""Read a run's tables case by case, only some columns, never a whole table.

All tables of a run have their cases in the same order, so several can be gone through side by
side: one case of each is in memory at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from harness.runs.directory import RowNumbers, RunDirectory, chosen
from harness.runs.tables import Rows


class UnstoredCase(RunDirectory):
    """The rows of one case, read as a run of this case alone before they are in any file."""

    def __init__(self, rows: Rows, manifest: Mapping[str, Any]) -> None:
        super().__init__(Path(), manifest)
        self._rows = rows

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        table = self._rows.table(name)
        return table if columns is None else table.select(list(columns))

    def batches(
        self, table: str, columns: Sequence[str], wanted: RowNumbers | None = None
    ) -> Iterator[pa.RecordBatch]:
        for batch in self.table(table, columns).combine_chunks().to_batches():
            yield from chosen(batch, wanted, 0)


CaseTable = tuple[str, pa.Table]


def by_case(parts: Iterable[pa.RecordBatch]) -> Iterator[CaseTable]:
    """What `RunDirectory.batches` gave, which must have a column ``case``, put together by case."""
    split = itertools.chain.from_iterable(map(_split, parts))
    for case, batches in itertools.groupby(split, key=lambda part: part[0]):
        yield case, pa.Table.from_batches([batch for _, batch in batches])


class TableCursor:
    """One table, gone through once, in the order of the cases."""

    def __init__(self, run: RunDirectory, table: str, columns: Sequence[str]) -> None:
        self._order = run.order
        self._parts = by_case(run.batches(table, ["case", *columns]))
        self._current: CaseTable | None = next(self._parts, None)

    def of(self, case: str) -> pa.Table | None:
        """The rows of a case; None without any. It must not come before the last one asked for."""
        place = self._order[case]
        while self._current is not None and self._order.get(self._current[0], -1) < place:
            self._current = next(self._parts, None)
        name, rows = self._current or ("", None)
        return rows if name == case else None


def _split(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    column = batch.column("case")
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes = column.indices.to_numpy(zero_copy_only=False)
    starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    for start, stop in itertools.pairwise(starts):
        if stop > start:
            yield column.dictionary[int(codes[start])].as_py(), batch.slice(start, stop - start)
