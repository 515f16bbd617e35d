"""The tables of a run in a database in memory, which every count asks in SQL.

`StoredRun` has these tables. Engines are numbers in the order of the run, -1 for none; cases are
their rows. Words are of one enumeration, so that millions of verdicts take little room.

``cases``
    case_row and the stored columns that are asked for, ``case`` under the name of ``name``.
``places``
    spot (a number for it), case_row, walk, number, offset, judged, place.
``disputes``
    dispute_row, spot, case_row, number, accepters, rejecters, tokens, drawn.
``engines``
    case_row, engine, and what became of it there.
``texts``
    evidence, case_row, number, label, verdict, writers: whole texts that were fed.
``tested``
    engine, evidence, case_row, number, verdict: the texts that an engine was tested with. These are
    all of the cases that it compiled, unless it failed at that, a verdict says that nothing could
    be concluded, or the text is fed to its writer alone.
``verdicts``
    The stored columns of all kinds of evidence, and: evidence, row (in its own table), case_row,
    family, spot (a number for the position, or the place in a text), number (of the walk or text),
    before (how many tokens were consumed), class and departure, shown_by (as an enumeration that
    orders: the worst first, those that show no effect last), by_format (false acceptances that rest
    on ``format`` alone), judged (the engines judged there, as bits: all for texts), dispute_row.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from harness.errors import RunDirectoryError
from harness.inputs.vocabulary import Vocabulary
from harness.optional import without_pandas
from harness.replay.witness_reader import every
from harness.runs.directory import RunDirectory
from harness.runs.made_with import vocabulary_at_hand
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


def by_catalogue(run: RunDirectory, evidence: str) -> pa.Table:
    """The classes that the catalogue of departures gives to the verdicts of a run."""
    from harness.classification import departures

    return departures.classify(departures.load_catalogue(), run, evidence)


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

    @cached_property
    def vocabulary(self) -> Vocabulary | None:
        """The vocabulary of the run, if it is at hand: reading a run asks no network."""
        return vocabulary_at_hand(self.run)

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
        """The single row that a question gives."""
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
        database.execute(_TABLES)
        for evidence in VERDICT_TABLES:
            database.execute(self._verdicts(evidence))
        database.execute(_TESTED)
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


def _place_number(number: str, before: str, bits: int = 24) -> str:
    """A number for a place in a case, as SQL; so many `bits` are for what comes `before`."""
    return (
        f"((c.case_row::UBIGINT << 40) | ((({number}) & {(1 << 40 - bits) - 1})::UBIGINT << {bits})"
        f" | (({before}) & {(1 << bits) - 1})::UBIGINT)"
    )


_TABLES = f"""
CREATE TABLE cases AS SELECT row::INTEGER AS case_row, "case" AS name, family, status, reason,
    generated, walks, positions, disputed_tokens, schema, "references" FROM raw_cases;
CREATE TABLE places AS SELECT {_place_number("p.walk", "p.position")} AS spot,
    c.case_row, p.walk, p.position AS number, p.offset, p.judged, p.place
    FROM raw_places p JOIN cases c ON c.name = p.case;
CREATE TABLE disputes AS SELECT d.row::INTEGER AS dispute_row,
    {_place_number("d.walk", "d.position")} AS spot, c.case_row, d.dispute AS number,
    accepters, rejecters, tokens, drawn
    FROM raw_disputes d JOIN cases c ON c.name = d.case;
CREATE TABLE engines AS SELECT c.case_row, e.engine, r.stage, r.outcome, r.message, r.output
    FROM engine_rows r JOIN cases c ON c.name = r.case JOIN raw_engines e ON e.name = r.engine;
CREATE TABLE texts AS SELECT '{INSTANCE}' AS evidence, c.case_row, t.instance AS number, t.label,
    t.verdict, NULL::UINTEGER AS writers
    FROM raw_{INSTANCE}_texts t JOIN cases c ON c.name = t.case;
INSERT INTO texts SELECT '{SAMPLE}', c.case_row, t.sample, t.label, t.verdict, t.writers
    FROM raw_{SAMPLE}_texts t JOIN cases c ON c.name = t.case;
"""


_EXCLUDING = ", ".join(f"'{one}'" for one in EXCLUDING)
_TESTED = f"""
CREATE VIEW tested AS SELECT e.engine, t.evidence, t.case_row, t.number, t.verdict
FROM texts t JOIN (
    SELECT case_row, engine, bool_or(stage = '{GENERATED}') AS failed_at_generated,
        bool_or(stage = '{TEXT_TABLES[INSTANCE]}') AS failed_at_{INSTANCE},
        bool_or(stage = '{TEXT_TABLES[SAMPLE]}') AS failed_at_{SAMPLE}
    FROM engines GROUP BY ALL
    HAVING bool_or(stage = 'compile' AND outcome = 'compiled')
        AND NOT bool_or(outcome IN ({_EXCLUDING}))
) e USING (case_row)
ANTI JOIN (FROM verdicts WHERE kind = 'unresolved') v ON v.evidence = t.evidence
    AND v.case_row = t.case_row AND v.number = t.number AND v.engine = e.engine
WHERE NOT CASE t.evidence WHEN '{INSTANCE}' THEN failed_at_{INSTANCE} ELSE failed_at_{SAMPLE} END
    AND NOT (t.label = '{GENERATED}' AND e.failed_at_generated)
    AND (t.writers IS NULL OR t.label <> 'own' OR ((t.writers >> e.engine) & 1) = 1)"""


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
