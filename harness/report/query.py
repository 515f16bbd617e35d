"""SQL over the tables of one or many runs, through DuckDB, and nothing else within its reach.

Each table is a view with two leading columns: ``run``, the run's name, and ``row``, the row's
number in its table. The tables of verdicts have ``class`` and ``departure`` besides, computed when
a query asks for them. Two small tables say what the runs are: ``runs`` (run, path, started,
commit, seed, cap, vocabulary, finished) and ``run_engines`` (run, number, engine, version,
options): engine ``number`` is the bit of `judged`, `accepters` and `rejecters`.

A query is one statement that reads. DuckDB gets no access to files but those of the runs, none to
the network, loads no extension, and cannot change its own settings.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from harness.analysis.stored import Classify, by_catalogue
from harness.errors import UsageError
from harness.runs.directory import ROW, RunDirectory
from harness.runs.tables import EVIDENCE_OF, SCHEMAS

RUN = "run"
"""The column that leads every view: the name of the run."""

SECONDS = 60.0

_AT_ONCE = 4096
"""Rows that are fetched at a time."""


@dataclass(frozen=True)
class QueryResult:
    """An answer; its rows can be gone through once."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


def query(
    runs: Sequence[RunDirectory], sql: str, rule: Classify = by_catalogue, seconds: float = SECONDS
) -> QueryResult:
    """Ask one question of some runs.

    Runs that are not finished are held in memory. `sql` is one statement that reads, in DuckDB's
    dialect, for whose answer it may take some `seconds`; `rule` gives verdicts their classes.

    Raises:
        UsageError: DuckDB refuses the statement, or takes longer.
    """
    connection = duckdb.connect(":memory:", config=_SETTINGS)
    views = _Views(connection, runs, functools.cache(rule), sql)
    try:
        views.make()
        # leave nothing within reach but the runs' own tables
        files = [str(run.path.resolve() / f"{table}.parquet") for run in runs for table in SCHEMAS]
        connection.execute("SET allowed_paths = $files", {"files": files})
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        with views.limited(seconds):
            result = connection.execute(sql)
            columns = tuple(column[0] for column in result.description)
    except BaseException:
        connection.close()
        raise

    def rows() -> Iterator[tuple[Any, ...]]:
        with contextlib.closing(connection):
            some: Sequence[Any] = [()]
            while some:
                with views.limited(seconds):
                    some = result.fetchmany(_AT_ONCE)
                yield from some

    return QueryResult(columns, rows())


def run_names(runs: Sequence[RunDirectory]) -> list[str]:
    """What the runs are called: the shortest ends of their paths that tell them apart."""
    paths = [run.path.resolve() for run in runs]
    if len(set(paths)) < len(paths):
        raise UsageError("a run is named twice", "give each run once")
    depth = 1
    while len({one.parts[-depth:] for one in paths}) < len(paths):
        depth += 1
    return ["/".join(one.parts[-depth:]) for one in paths]


_SETTINGS: Mapping[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,  # names of Python variables are no tables
}


def _refused(error: Exception, sql: str) -> UsageError:
    """DuckDB's message without the drawing of where it happened."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    kept = [line for line in lines if not line.startswith(("LINE ", "^"))]
    bare = re.search(r"(?<![\"\w])case(?![\"\w])", sql, re.IGNORECASE)
    hint = 'case is a word of SQL: write the column as "case", in quotes' if bare else None
    return UsageError(f"the query failed: {' '.join(kept)}", hint)


class _Views:
    """The views of some runs in one connection.

    Of runs that are not finished only the tables that `sql` names are read.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        runs: Sequence[RunDirectory],
        rule: Classify,
        sql: str,
    ) -> None:
        self.connection, self.rule, self.sql = connection, rule, sql
        self.runs = dict(zip(run_names(runs), runs, strict=True))
        self.problem: Exception | None = None  # what went wrong while classes were computed
        self._lock = threading.Lock()  # DuckDB asks from several threads

    def make(self) -> None:
        """Make all views, for one statement that reads."""
        try:
            statements = self.connection.extract_statements(self.sql)
        except duckdb.Error as error:
            raise _refused(error, self.sql) from error
        read_only = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
        if len(statements) != 1 or statements[0].type not in read_only:
            raise UsageError("a query is one statement that reads", "begin it with SELECT")
        types = ["VARCHAR", "VARCHAR", "VARCHAR", "BIGINT"]
        name, how = "maskcourt_class_of", {"type": "arrow"}
        self.connection.create_function(name, self._class_of, types, "VARCHAR", **how)
        runs = [_about_run(*one) for one in self.runs.items()]
        self.connection.register("runs", pa.Table.from_pylist(runs, _RUNS))
        engines = [row for one in self.runs.items() for row in _about_engines(*one)]
        self.connection.register("run_engines", pa.Table.from_pylist(engines, _RUN_ENGINES))
        for table in SCHEMAS:
            parts = [self._part(number, run, table) for number, run in enumerate(self.runs)]
            body = " UNION ALL BY NAME ".join(parts)
            self.connection.execute(f"CREATE TEMP VIEW {table} AS {body}")

    @contextlib.contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """End what DuckDB does in here after some seconds; what it refuses is one clear line."""
        timer = threading.Timer(seconds, self.connection.interrupt)
        timer.start()
        try:
            yield
        except duckdb.InterruptException as error:
            message = f"the query was ended after {seconds:g} s"
            raise UsageError(message, "ask for less, or allow more: --time-limit") from error
        except duckdb.Error as error:  # what a run refuses stays as it is
            raise self.problem or _refused(error, self.sql) from error
        finally:
            timer.cancel()

    def _part(self, number: int, name: str, table: str) -> str:
        """The rows of one run in one table, as SQL."""
        run = self.runs[name]
        columns = f"{_text(name)} AS {RUN}"
        there = run.finished and table in run.manifest["tables"]
        if there:
            next(run.batches(table, SCHEMAS[table].names[:1]), None)  # verifies the file
            file = _text(str(run.path.resolve() / f"{table}.parquet"))
            source = f"read_parquet({file}, file_row_number = true)"
            columns += f", file_row_number AS {ROW}, * EXCLUDE (file_row_number)"
        else:
            source = f"part_{number}_{table}"
            rows = SCHEMAS[table].empty_table()
            if table in self.sql.lower() and not run.finished:
                rows = run.table(table)
            numbers = pa.array(range(rows.num_rows), pa.int64())
            self.connection.register(source, rows.add_column(0, ROW, numbers))
            columns += f", {ROW}, * EXCLUDE ({ROW})"
        if table in EVIDENCE_OF:
            columns += "".join(
                f", maskcourt_class_of({_text(table)}, '{one}', {_text(name)}, {ROW}) AS {one}"
                for one in ("class", "departure")
            )
        return f"SELECT {columns} FROM {source}"  # noqa: S608 - names of ours, and quoted paths

    def _class_of(
        self, tables: pa.Array, columns: pa.Array, names: pa.Array, rows: pa.Array
    ) -> pa.Array:
        """The classes of some rows, which all are of one run."""
        table, column, name = (one[0].as_py() for one in (tables, columns, names))
        try:
            with self._lock:
                found = self.rule(self.runs[name], EVIDENCE_OF[table])[column]
            return found.take(rows).cast(pa.string()).combine_chunks()
        except Exception as error:
            self.problem = error
            raise


_RUNS = pa.schema(
    [(name, pa.string()) for name in (RUN, "path", "started", "commit")]
    + [("seed", pa.int64()), ("cap", pa.int64()), ("vocabulary", pa.string())]
    + [("finished", pa.bool_())]
)
_RUN_ENGINES = pa.schema(
    [(RUN, pa.string()), ("number", pa.int32())]
    + [(name, pa.string()) for name in ("engine", "version", "options")]
)


def _about_run(name: str, run: RunDirectory) -> dict[str, Any]:
    identity = run.manifest["identity"]
    rules = identity.get("rules", {})
    seed = rules.get("seed")
    return {
        RUN: name,
        "path": str(run.path),
        "cap": rules.get("cap"),
        "finished": run.finished,
        **{key: run.manifest.get(key) for key in ("started", "commit")},
        "seed": None if seed is None or abs(seed) >> 63 else seed,
        "vocabulary": identity.get("vocabulary", {}).get("name"),
    }


def _about_engines(name: str, run: RunDirectory) -> Iterator[dict[str, Any]]:
    for number, (engine, about) in enumerate(run.manifest["identity"]["engines"].items()):
        told = {"version": about.get("version"), "options": json.dumps(about.get("options", {}))}
        yield {RUN: name, "number": number, "engine": engine, **told}


def _text(value: str | Path) -> str:
    return "'" + str(value).replace("'", "''") + "'"
