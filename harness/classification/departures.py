"""Departures: which verdicts are about deviations that an engine declares, by a public source.

The catalogue is ``datasets/departures.toml``; `docs/departures.md` explains its rules. A verdict
that an entry's rule fits has the entry's class, ``departure`` or ``warned``; every other proven
verdict is a ``bug``. Where several entries fit, the first one counts; where only a spelling is
lost, none does. A class is never stored: it is computed whenever a run is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
from packaging.specifiers import SpecifierSet

from harness.classification.verdict_rows import NAMED, VerdictRows
from harness.directories import read_toml
from harness.engines.specs import engine_tables
from harness.inputs.vocabulary import Vocabulary
from harness.runs.directory import RowNumbers, RunDirectory
from harness.verdict_kinds import CLASSES, OPEN, SPELLING, WALK

ANY: Final = "*"
"""Stands for every engine: of what the specification itself leaves to them."""


@dataclass(frozen=True)
class Behaviour:
    """What engines do otherwise than the specifications; looked for in all engines.

    A `text` shows it under `schema`: it is valid and refused, or invalid and let through. An engine
    may have it by a more general behaviour that it is `part_of`; it may be about a `spelling` of
    values. Engines' tables say which have it undeclared, and with which options.
    """

    id: str
    about: str
    spelling: bool = False
    schema: str = ""
    text: str = ""
    valid: bool = True
    part_of: str = ""


@dataclass(frozen=True)
class Departure:
    """One entry of the catalogue; of its sets of options the engine must have one, if any."""

    id: str
    behaviour: str
    class_: str
    engine: str
    versions: SpecifierSet
    options: tuple[Mapping[str, str | bool | int], ...]
    from_: str
    source_kind: str
    source: str
    says: str
    when: tuple[Mapping[str, Any], ...]

    def concerns(self, described: Mapping[str, Any]) -> bool:
        """Whether it is about an engine, as a run's manifest describes it."""
        packages = described.get("packages", {})
        version = described.get("version") if self.engine == ANY else packages.get(self.engine)
        if version is None or not self.versions.contains(version, prereleases=True):
            return False
        has = described.get("options", {})
        return not self.options or any(
            all(has.get(name) == value for name, value in one.items()) for one in self.options
        )


@dataclass(frozen=True)
class Catalogue:
    """The departures, in the order in which they are tried, and what they refer to by id."""

    departures: tuple[Departure, ...]
    behaviours: Mapping[str, Behaviour] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Departure]:
        return iter(self.departures)


@cache
def load_catalogue() -> Catalogue:
    """The catalogue that comes with maskcourt, whose tests hold it to its form."""
    warnings = load_warnings()
    tables = read_toml("departures.toml")["departure"]
    departures = tuple(_departure(table, warnings) for table in tables)
    return Catalogue(departures, load_behaviours())


@cache
def load_behaviours() -> Mapping[str, Behaviour]:
    return {table["id"]: Behaviour(**table) for table in read_toml("behaviours.toml")["behaviour"]}


@cache
def load_warnings() -> Mapping[str, str]:
    """What engines can print about schemas, by the id that rules of class ``warned`` name.

    A regular expression, in which ``{keyword}``, ``{format}`` and ``{pattern}`` stand for those of
    a verdict; the engines' tables say more of each.
    """
    listed = (table for one in engine_tables().values() for table in one.get("warning", ()))
    return {table["id"]: table["text"] for table in listed}


def is_printed(warning: str, line: str) -> bool:
    """Whether a printed line is the warning of this text, whichever schema it is about."""
    return re.search(NAMED.sub(".*", warning), line) is not None


def classify(
    run: RunDirectory,
    evidence: str = WALK,
    vocabulary: Vocabulary | None = None,
    catalogue: Catalogue | None = None,
) -> pa.Table:
    """The class of each verdict in a table of a run.

    Returns:
        One row per verdict, in order: ``class`` (bug, warned, departure, or empty for those that
        prove nothing) and ``departure`` (the entry's id, or empty), both dictionaries.

    Raises:
        RunDirectoryError: The run is damaged.
        UsageError: The vocabulary is not the run's.
    """
    catalogue = catalogue or load_catalogue()
    stored = VerdictRows(run, evidence, vocabulary)
    engines, proven = stored.words("engine"), ~stored.words("kind").equal(*OPEN)
    asked = proven & ~stored.words("effect").equal(SPELLING)
    entry = np.full(stored.size, -1, dtype=np.int32)
    for engine, described in run.manifest["identity"]["engines"].items():
        mine = np.flatnonzero(asked & engines.equal(engine))
        for part, rows in stored.by_backend(mine, engine, described):
            left = rows
            for number, one in enumerate(catalogue):
                if not len(left):
                    break
                if one.concerns(part):
                    fits = _fits(one, stored, left, engine)
                    entry[left[fits]] = number
                    left = left[~fits]
    classes = ["", *CLASSES]
    of_entry = [classes.index(one.class_) for one in catalogue]
    of_row = np.where(proven, np.array([*of_entry, 1], dtype=np.int32)[entry], 0)
    ids = ["", *(one.id for one in catalogue)]
    return pa.table({"class": _words(of_row, classes), "departure": _words(entry + 1, ids)})


def _fits(
    one: Departure, stored: VerdictRows, rows: RowNumbers, engine: str
) -> np.ndarray[Any, Any]:
    """Which of some rows one of an entry's rules fits."""
    out = np.zeros(len(rows), dtype=np.bool_)
    for rule in one.when:
        left = np.flatnonzero(~out)
        for condition, wanted in rule.items():
            if not len(left):
                break
            left = left[stored.holds(condition, wanted, rows[left], engine)]
        out[left] = True
    return out


def _words(codes: Any, values: Sequence[str]) -> pa.DictionaryArray:
    words = pa.array(values, pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), words)


_CONDITIONS: Final = (
    *("kind", "effect", "category", "detail", "keyword", "place", "token", "warning", "format"),
    *("schema_type", "schema_has", "schema_pattern", "multiple_of", "only_through", "before"),
    *("references", "free_depth", "beside_reference", "undeclared"),
)
"""The conditions, the quickest to answer first."""


def _departure(table: dict[str, Any], warnings: Mapping[str, str]) -> Departure:
    class_, from_, versions = table.pop("class"), table.pop("from"), table.pop("versions")
    return Departure(
        class_=class_,
        from_=from_,
        versions=SpecifierSet(versions),
        options=tuple(table.pop("options", ())),
        when=tuple(_rule(rule, warnings) for rule in table.pop("when", ())),
        **table,
    )


def _rule(rule: Mapping[str, Any], warnings: Mapping[str, str]) -> Mapping[str, Any]:
    out = {name: rule[name] for name in sorted(rule, key=_CONDITIONS.index)}
    for name in out.keys() & {"token", "before", "schema_pattern"}:
        out[name] = tuple(re.compile(one, re.DOTALL) for one in out[name])
    if "warning" in out:
        out["warning"] = tuple(warnings[name] for name in out["warning"])
    return out
