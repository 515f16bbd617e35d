"""The tables of a run in a database in memory, which every count asks in SQL.

``sql/tables.sql`` says what each table has. Engines are numbers in the order of the run, -1 for
none; cases are their rows. Words are of one enumeration: millions of verdicts take little room.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from harness.errors import RunDirectoryError
from harness.optional import without_pandas
from harness.replay.witness_reader import every
from harness.runs.directory import RunDirectory
from harness.runs.tables import GENERATED, SCHEMAS, TEXT_TABLES, VERDICT_TABLES
from harness.verdict_kinds import FORMAT_ONLY, INSTANCE, SAMPLE, SHOWN_BY, WALK
from harness.workers.outcomes import EXCLUDING

Classify = Callable[[RunDirectory, str], pa.Table]
"""Gives the class of each verdict of one kind of evidence: columns `class` and `departure`."""

WORST_FIRST: Final = SHOWN_BY
"""Severities of leaks, losses and traps; of a schema's errors the first of these counts."""
IN_FULL: Final[Mapping[str, str]] = {
    "real": "with a value of the data set",
    "plain": "with an everyday value",
    "rare": "with unusual values alone",
}
"""As sentences name them."""

_ALL: Final = 0xFFFFFFFF
_WORDS: Final = (
    *("kind", "reason", "keyword", "category", "detail", "place", "jsonschema", "jsonschema_rs"),
    *("class", "departure", "schema_pointer", "instance_pointer"),
    "effect",
)


@functools.lru_cache(maxsize=4)
def by_catalogue(run: RunDirectory, evidence: str) -> pa.Table:
    """The classes that the catalogue of departures gives to the verdicts of a run."""
    from harness.classification.departures import classify

    return classify(run, evidence)


class StoredRun:
    """A run to be asked in SQL; its tables are read when the first question is asked."""

    def __init__(self, run: RunDirectory, classify: Classify = by_catalogue) -> None:
        self.run = run
        self.classify = functools.cache(classify)
        self.engines: tuple[str, ...] = tuple(run.manifest["identity"]["engines"])

    @cached_property
    def cases(self) -> tuple[str, ...]:
        """The names of the cases, in the order of the run."""
        return tuple(self.run.table("cases", ["case"])["case"].to_pylist())

    def rows(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        """The rows that a statement gives, by the names of its columns; ``$1`` is a value."""
        database = self._database
        with without_pandas():
            found = database.execute(sql, list(values))
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def arrays(self, sql: str, *values: Any) -> dict[str, npt.NDArray[Any]]:
        """The columns that a question gives, numbers and truth values without gaps."""
        database = self._database
        with without_pandas():
            return dict(database.execute(sql, list(values)).fetchnumpy())

    def one(self, sql: str, *values: Any) -> dict[str, Any]:
        (row,) = self.rows(sql, *values)
        return row

    def judged_positions(self, *engines: int) -> npt.NDArray[Any]:
        """At how many positions of each case engines were judged together; ``(cases,)``."""
        together = sum(1 << engine for engine in engines)
        mine = (self._judged["judged"] & together) == together
        out = np.zeros(len(self.cases), dtype=np.int64)
        np.add.at(out, self._judged["case_row"][mine], self._judged["n"][mine])
        return out

    @cached_property
    def _judged(self) -> dict[str, npt.NDArray[Any]]:
        return self.arrays("SELECT case_row, judged, count(*) AS n FROM places GROUP BY ALL")

    def add_able(self) -> None:
        """Make the table ``able`` (evidence, row) of the verdicts that have a witness."""
        able = every(self.run)
        rows = [able.of(evidence) for evidence in VERDICT_TABLES]
        names = np.repeat(np.array(list(VERDICT_TABLES), dtype=object), [len(one) for one in rows])
        self._database.register("added", pa.table({"evidence": names, "row": np.concatenate(rows)}))
        self._database.execute("CREATE OR REPLACE TABLE able AS FROM added")

    @cached_property
    def _database(self) -> duckdb.DuckDBPyConnection:
        database, own = connected(), f"run{next(_NUMBERS)}"
        database.execute(f"ATTACH ':memory:' AS {own}; USE {own}")
        weakref.finalize(self, lambda: connected().execute(f"DETACH {own}"))
        tables = {
            "raw_cases": self._numbered("cases"),
            "raw_places": self._numbered("positions"),
            "raw_disputes": self._numbered("disputes"),
            "raw_engines": pa.table({"name": self.engines, "engine": range(len(self.engines))}),
            "engine_rows": self.run.table("engines", SCHEMAS["engines"].names),
        }
        for evidence, table in TEXT_TABLES.items():
            tables[f"raw_{evidence}_texts"] = self.run.table(table, SCHEMAS[table].names)
        words = {"", WALK, INSTANCE, SAMPLE, *_distinct(tables["raw_places"]["place"])}
        for evidence, table in VERDICT_TABLES.items():
            found = self._numbered(table)
            classes = self.classify(self.run, evidence)
            for name in ("class", "departure"):
                found = found.append_column(name, classes[name])
            tables[f"raw_{evidence}"] = found
            words |= {
                word
                for name in _WORDS
                if name in found.column_names
                for word in _distinct(found[name])
            }
        tables = {name: _without_nul(table) for name, table in tables.items()}
        tables["all_words"] = pa.table({"word": sorted({_shown_nul(word) for word in words})})
        for name, table in tables.items():
            database.register(name, table)
        database.execute("CREATE TYPE word AS ENUM (SELECT word FROM all_words)")
        database.execute(f"CREATE TYPE shown_by AS ENUM {(*WORST_FIRST, '')}")
        numbers = _place_number("p.walk", "p.position"), _place_number("d.walk", "d.position")
        database.execute(statement("tables", place=numbers[0], dispute=numbers[1]))
        for evidence in VERDICT_TABLES:
            database.execute(self._verdicts(evidence))
        excluding = ", ".join(f"'{one}'" for one in EXCLUDING)
        instances, samples = TEXT_TABLES[INSTANCE], TEXT_TABLES[SAMPLE]
        about = {"excluding": excluding, "instances": instances, "samples": samples}
        database.execute(statement("tested", generated=GENERATED, **about))
        (known,) = database.execute("SELECT count(*) FROM verdicts").fetchone() or (0,)
        if known < sum(tables[f"raw_{evidence}"].num_rows for evidence in VERDICT_TABLES):
            raise RunDirectoryError(f"{self.run.path} has verdicts about an unknown case")
        for name in tables:
            if name.startswith("raw_") and name != "raw_engines":
                database.unregister(name)
        return database

    def _numbered(self, name: str) -> pa.Table:
        table = self.run.table(name, SCHEMAS[name].names)
        return table.append_column("row", pa.array(np.arange(table.num_rows)))

    def _verdicts(self, evidence: str) -> str:
        """What adds the verdicts of one kind of evidence."""
        is_walk = evidence == WALK
        number, before = ("v.walk", "v.position") if is_walk else (f"v.{evidence}", "v.consumed")
        place_number = _place_number(number, before, 24 if is_walk else 16)
        if is_walk:
            begin, place = "CREATE TABLE verdicts AS", "p"
            joins = f"""LEFT JOIN places p ON p.spot = {place_number}
                LEFT JOIN disputes d ON d.spot = p.spot AND d.number = v.dispute"""
            rest = f"coalesce(p.judged, {_ALL})::UINTEGER AS judged, d.dispute_row"
        else:
            begin, place = "INSERT INTO verdicts", "v"
            joins = ""
            rest = f"{_ALL}::UINTEGER, NULL"
        words = ", ".join(
            f"coalesce({place if name == 'place' else 'v'}.{name}, '')::word AS {name}"
            for name in _WORDS
        )
        return f"""{begin} SELECT '{evidence}'::word AS evidence, v.row, c.case_row, c.family,
            {place_number} AS spot, {number} AS number,
            {before} AS before, coalesce(e.engine, -1)::TINYINT AS engine, v.token,
            coalesce(v.located, false) AS located, v.effect = '{FORMAT_ONLY}' AS by_format,
            coalesce(v.shown_by, '')::shown_by AS shown_by, {words}, {rest}
            FROM raw_{evidence} v JOIN cases c ON c.name = v.case
            LEFT JOIN raw_engines e ON e.name = v.engine {joins}"""


_NUMBERS = itertools.count()


def connected() -> duckdb.DuckDBPyConnection:
    """A connection to the one DuckDB of the process: to start one takes as long as small counts."""
    return _duckdb().cursor()


@functools.cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:", config={"preserve_insertion_order": False})


@functools.lru_cache(maxsize=1)
def stored_run(run: RunDirectory, classify: Classify = by_catalogue) -> StoredRun:
    """The same database for all who ask it of one run, one after the other, by the same rule."""
    return StoredRun(run, classify)


def statement(name: str, **words: str) -> str:
    """A text of ``sql/``, with some words put in."""
    text = Path(__file__).with_name("sql").joinpath(f"{name}.sql").read_text("utf-8")
    return text.format(**words) if words else text


def _place_number(number: str, before: str, bits: int = 24) -> str:
    """A number for a place in a case, as SQL; so many `bits` are for what comes `before`."""
    return (
        f"((c.case_row::UBIGINT << 40) | ((({number}) & {(1 << 40 - bits) - 1})::UBIGINT << {bits})"
        f" | (({before}) & {(1 << bits) - 1})::UBIGINT)"
    )


def _shown_nul(word: str) -> str:
    """A word as DuckDB can hold it in an enumeration, whose description ends at a NUL."""
    return word.replace("\0", "\u2400")


def _without_nul(table: pa.Table) -> pa.Table:
    """A table with the words of its dictionaries as `_shown_nul` gives them."""
    for at, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type) and any("\0" in one for one in _distinct(column)):
            words = [word if word is None else _shown_nul(word) for word in column.to_pylist()]
            table = table.set_column(at, table.field(at).name, pa.array(words).dictionary_encode())
    return table


def _distinct(column: pa.ChunkedArray) -> set[str]:
    """The words that occur in a column, or in its dictionaries."""
    found: set[str] = set()
    for chunk in column.chunks:
        plain = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk.unique()
        found.update(word for word in plain.to_pylist() if word is not None)
    return found
