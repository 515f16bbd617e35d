"""A run as pandas frames, each read when it is first asked for.

>>> run = harness.load_run("runs/one")
>>> run.bugs                                              # the few errors behind all verdicts
>>> run.tallies                                           # proven errors, counted
>>> run.verdicts                                          # every verdict, every column
>>> run.frame("verdicts", ["engine", "keyword"], {"kind": "false_acceptance", "class": "bug"})
>>> for some in run.batches("verdicts", ["engine", "token"]):   # never more than a batch

A frame's index, named ``row``, is the row's number in its table: what ``maskcourt replay RUN ROW``
takes. Columns of words are categoricals. Columns of truth are of pandas' ``boolean``, which knows
what is not known. `harness.runs.tables` describes the columns; the tables of verdicts have two
more, which are computed and not stored: ``class`` (``bug``, ``warned``, ``departure``, or empty for
what proves nothing) and ``departure`` (the entry of the catalogue, or empty).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from harness.analysis.breakdown import tallies
from harness.analysis.stored import Classify, by_catalogue, stored_run
from harness.errors import UsageError, nearest
from harness.optional import require
from harness.runs.directory import ROW, RunDirectory, open_run
from harness.runs.tables import EVIDENCE_OF, SCHEMAS, named_engines

if TYPE_CHECKING:
    import pandas as pd

CLASSES = ("class", "departure")
"""The columns of verdicts that are computed."""

Where = Mapping[str, Any]


def load_run(path: str | os.PathLike[str], *, trust: bool = False) -> Run:
    """A run directory, finished or not, to be read as frames.

    With `trust` a vocabulary that is not the embedded one may be opened or fetched, which classes
    may need.

    Raises:
        RunDirectoryError: There is no run, or its manifest cannot be read.
        UsageError: pandas is not installed.
    """
    require("pandas", "report", "frames")
    return Run(open_run(Path(path), trust=trust))


class Run:
    """The frames of one run.

    Each table is an attribute, read once and kept; `frame` and `batches` read chosen columns and
    rows anew and keep nothing. The columns ``class`` and ``departure`` are computed for the
    whole run once any of them is asked for, which takes some 200 bytes a verdict for a moment.
    `directory` is the run itself, on which `harness.report` works; the order of `engine_names` is
    that of the bits in `judged`, `accepters` and `rejecters`.
    """

    def __init__(self, directory: RunDirectory, rule: Classify = by_catalogue) -> None:
        self.directory, self.path, self.manifest = directory, directory.path, directory.manifest
        self.engine_names: tuple[str, ...] = tuple(self.manifest["identity"]["engines"])
        self._rule = functools.cache(rule)

    def __repr__(self) -> str:
        state = "finished" if self.directory.finished else "unfinished"
        return f"<{state} run {self.path} of {', '.join(self.engine_names)}>"

    def engine_set(self, bits: int) -> tuple[str, ...]:
        """The engines of a set that is stored as bits."""
        return tuple(named_engines(bits, self.engine_names))

    def __getattr__(self, name: str) -> pd.DataFrame:
        if name not in SCHEMAS:
            raise AttributeError(f"a run has no {name!r}")
        self.__dict__[name] = whole = self.frame(name)
        return whole

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *SCHEMAS]

    @cached_property
    def bugs(self) -> pd.DataFrame:
        """Bugs, as far as ``maskcourt bugs`` found them: see `harness.report.tables.BUG_COLUMNS`.

        Those that a model meets come first; no rows where nothing was searched for.
        """
        import pandas as pd

        from harness.bugs.listing import known_bugs
        from harness.classification.departures import load_catalogue
        from harness.report.tables import BUG_COLUMNS, bug_rows

        found = known_bugs(self.directory, load_catalogue(), self._rule)
        return pd.DataFrame(bug_rows(found), columns=list(BUG_COLUMNS))

    @cached_property
    def tallies(self) -> pd.DataFrame:
        """Verdicts counted by engine, evidence, kind and class: tokens, positions and cases."""
        import pandas as pd

        columns = ["engine", "evidence", "kind", "class", "tokens", "positions", "cases"]
        rows = tallies(stored_run(self.directory, self._rule))
        return pd.DataFrame(rows, columns=columns)

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """The tally's summary: see `harness.analysis.tally.summary`."""
        from harness.analysis.tally import summary

        return summary(self.directory, self._rule)

    def columns(self, table: str) -> tuple[str, ...]:
        """The columns of a table; a `UsageError` where there is no such table."""
        if table not in SCHEMAS:
            raise UsageError(f"a run has no table {table!r}", nearest(table, SCHEMAS))
        computed = CLASSES if table in EVIDENCE_OF else ()
        return (*SCHEMAS[table].names, *computed)

    def frame(
        self, table: str, columns: Sequence[str] | None = None, where: Where | None = None
    ) -> pd.DataFrame:
        """Chosen columns and rows of a table, in their order, numbered by the index.

        `where` has by column the value that rows must have there, or a collection of values, None
        standing for null; rows that fit nowhere are never held.

        Raises:
            UsageError: There is no such table or column, or a value cannot be in the column.
        """
        tables: list[pa.Table] = []
        for some in self._tables(table, columns, where):
            tables.append(some)
            if len(tables) >= _BATCHES:  # every batch brings dictionaries of its own
                tables = [_joined(tables)]
        return _pandas(_joined(tables))

    def batches(
        self, table: str, columns: Sequence[str] | None = None, where: Where | None = None
    ) -> Iterator[pd.DataFrame]:
        """As `frame`, in frames of up to some 30,000 rows; categories are those of the batch."""
        self._check(table, columns, where)
        return (_pandas(some) for some in self._tables(table, columns, where) if some.num_rows)

    def _check(
        self, table: str, columns: Sequence[str] | None, where: Where | None
    ) -> tuple[list[str], Where]:
        known = self.columns(table)
        wanted = list(known if columns is None else columns)
        for name in (*wanted, *(where or {})):
            if name not in known:
                raise UsageError(f"{table} has no column {name!r}", nearest(name, known))
        return wanted, where or {}

    def _tables(
        self, table: str, columns: Sequence[str] | None, where: Where | None
    ) -> Iterator[pa.Table]:
        """The wanted rows by batches, their numbers in the column `ROW`; first none at all."""
        wanted, conditions = self._check(table, columns, where)
        types = {one.name: one.type for one in SCHEMAS[table]} | dict.fromkeys(CLASSES, _WORDS)
        schema = pa.schema([(ROW, pa.int64()), *((one, types[one]) for one in wanted)])
        yield schema.empty_table()
        used = dict.fromkeys((*wanted, *conditions))
        read = [one for one in used if one not in CLASSES] or list(SCHEMAS[table].names[:1])
        for batch in self.directory.batches(table, read):
            some = pa.Table.from_batches([batch])
            if not used.keys().isdisjoint(CLASSES):
                classes = self._rule(self.directory, EVIDENCE_OF[table])
                part = classes.slice(batch.column(ROW)[0].as_py(), batch.num_rows)
                for name in CLASSES:
                    some = some.append_column(name, part[name])
            for name, values in conditions.items():
                some = some.filter(_fits(some, name, values))
            yield some.select(schema.names).cast(schema)


_BATCHES = 64
"""Batches that are held before their dictionaries are made one."""

_WORDS = pa.dictionary(pa.int32(), pa.string())


def _fits(some: pa.Table, name: str, values: Any) -> pa.ChunkedArray:
    """Which rows have one of the values in a column."""
    single = isinstance(values, str | bytes) or not isinstance(values, Collection)
    column = some[name]
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        wanted = pa.array([values] if single else list(values), type=column.type)
    except (pa.ArrowException, TypeError) as error:
        raise UsageError(f"the column {name!r} cannot hold {values!r}: {error}") from error
    return pc.is_in(column, value_set=wanted)


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _pandas(some: pa.Table) -> pd.DataFrame:
    import pandas as pd

    kinds = {pa.bool_(): pd.BooleanDtype()}
    found: pd.DataFrame = some.to_pandas(types_mapper=kinds.get, self_destruct=True)
    return found.set_index(ROW)
