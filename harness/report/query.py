"""SQL over the tables of one or many runs, through DuckDB, and nothing else within its reach.

Each table has two leading columns: ``run``, the run's name, and ``row``, the row's number in its
table. The tables of verdicts have ``class`` and ``departure`` besides. Two small tables say what
the runs are: ``runs`` (run, path, started, commit, seed, cap, vocabulary, finished) and
``run_engines`` (run, number, engine, version, options): engine ``number`` is the bit of `judged`,
`accepters` and `rejecters`.

A query is one statement that reads. The tables that it names are held in memory. DuckDB gets no
access to files or to the network, loads no extension, and cannot change its own settings.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from harness.analysis.stored import Classify, by_catalogue
from harness.errors import UsageError
from harness.runs.directory import ROW, RunDirectory
from harness.runs.tables import EVIDENCE_OF, SCHEMAS

RUN = "run"
"""The column that leads every table: the name of the run."""

_AT_ONCE = 4096
"""Rows that are fetched at a time."""


@dataclass(frozen=True)
class QueryResult:
    """An answer; its rows can be gone through once."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


def query(runs: Sequence[RunDirectory], sql: str, rule: Classify = by_catalogue) -> QueryResult:
    """Ask one question of some runs.

    `sql` is one statement that reads, in DuckDB's dialect; `rule` gives verdicts their classes.

    Raises:
        UsageError: DuckDB refuses the statement.
    """
    named = dict(zip(run_names(runs), runs, strict=True))
    connection = duckdb.connect(":memory:", config=_SETTINGS)
    with _refusals(sql):
        statements = connection.extract_statements(sql)
        read_only = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
        if len(statements) != 1 or statements[0].type not in read_only:
            raise UsageError("a query is one statement that reads", "begin it with SELECT")
        about = [_about_run(*one) for one in named.items()]
        connection.register("runs", pa.Table.from_pylist(about, _RUNS))
        engines = [row for one in named.items() for row in _about_engines(*one)]
        connection.register("run_engines", pa.Table.from_pylist(engines, _RUN_ENGINES))
        for table in SCHEMAS:
            if table in sql.lower():
                parts = [_part(name, run, table, rule) for name, run in named.items()]
                connection.register(table, pa.concat_tables(parts, promote_options="permissive"))
        result = connection.execute(sql)
        columns = tuple(column[0] for column in result.description)

    def rows() -> Iterator[tuple[Any, ...]]:
        with contextlib.closing(connection), _refusals(sql):
            while some := result.fetchmany(_AT_ONCE):
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
    "enable_external_access": False,
    "lock_configuration": True,
    "python_enable_replacements": False,  # names of Python variables are no tables
}


@contextlib.contextmanager
def _refusals(sql: str) -> Iterator[None]:
    """What DuckDB refuses is one line, without the drawing of where it happened."""
    try:
        yield
    except duckdb.Error as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        kept = [line for line in lines if not line.startswith(("LINE ", "^"))]
        bare = re.search(r"(?<![\"\w])case(?![\"\w])", sql, re.IGNORECASE)
        hint = 'case is a word of SQL: write the column as "case", in quotes' if bare else None
        raise UsageError(f"the query failed: {' '.join(kept)}", hint) from error


def classified(run: RunDirectory, table: str, rule: Classify) -> pa.Table:
    """A table of a run; verdicts with the columns ``class`` and ``departure``."""
    rows = run.table(table)
    if table in EVIDENCE_OF:
        classes = rule(run, EVIDENCE_OF[table])
        for column in ("class", "departure"):
            rows = rows.append_column(column, classes[column].cast(_WORDS))
    return rows


def _part(name: str, run: RunDirectory, table: str, rule: Classify) -> pa.Table:
    """The rows of one run in one table, as a query sees them."""
    rows = classified(run, table, rule)
    numbers = pa.array(range(rows.num_rows), pa.int64())
    return rows.add_column(0, ROW, numbers).add_column(0, RUN, pa.array([name] * len(rows)))


_WORDS = pa.dictionary(pa.int32(), pa.string())
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
