"""Departures: which verdicts are about deviations that an engine declares, by a public source.

The catalogue is ``datasets/departures.toml``. An entry names the engine, its versions, the
behaviour (an entry of ``datasets/behaviours.toml``, looked for in every engine), what it departs
from, the source that declares it and of which kind that is, and rules over a verdict's stored
evidence. A verdict that an entry's rule fits has the entry's class, ``departure`` or ``warned``
(the engine itself warned, in what it printed when it compiled the schema, that it ignores the
keyword); every other proven verdict is a ``bug``. Where several entries fit, the first one counts.
A class is never stored: it is computed whenever a run is read, with whatever catalogue is given.
Entries on a behaviour that is about spellings are for the spelling profile, and their rules about
traps: a verdict whose effect is a spelling has no departure.
`docs/departures.md` explains the rules and their conditions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import numpy as np
import pyarrow as pa
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from harness.classification.verdict_rows import MULTIPLES, VerdictRows
from harness.directories import data_path
from harness.engines.specs import engine_tables
from harness.errors import InputError, nearest
from harness.explain.attribution import CATEGORIES
from harness.inputs.toml_tables import by_id, read_tables
from harness.inputs.vocabulary import Vocabulary
from harness.runs.directory import RowNumbers, RunDirectory
from harness.verdict_kinds import CLASSES, DEPARTURE, ERRORS, OPEN, SPELLING, TRAP, WALK, WARNED

ENGINES: Final = tuple(
    table["distribution"] for table in engine_tables().values() if "distribution" in table
)
"""The distributions in which every behaviour is looked for."""

SOURCE_KINDS: Final = (
    *("documentation", "readme", "changelog", "maintainer", "source_constant", "source_comment"),
    *("source_test", "warning", "specification"),
)
"""What declares a behaviour; ``docs/departures.md`` explains each."""

NO_SOURCE: Final = ("nothing_found", "expression", "own_tests", "own_documentation")
"""Why a behaviour is not declared; likewise."""

PLACES: Final = (
    *("start of value", "start of key", "after key", "after value", "end"),
    *("inside key", "inside string", "inside literal", "inside escape", "inside number"),
)
"""The words of `harness.jsontext.lexer`."""

ANY: Final = "*"
"""Stands for every engine: of what the specification itself leaves to them."""

_THROUGH: Final = {"allOf": "allOf", "reference": "$ref"}
"""What ``only_through`` may ask, and the keyword that such a rule excuses."""

_PLACEHOLDER = re.compile(r"\{(?:keyword|format|pattern)\}")

OptionValue = str | bool | int


@dataclass(frozen=True)
class Behaviour:
    """What engines do otherwise than the specifications; looked for in all engines.

    `bug` has the engines that have it without a source that declares it, each with the reason: one
    of `NO_SOURCE`, or of `SOURCE_KINDS` where a source is held not to suffice. A `text` shows it
    under `schema`: it is valid and refused, or invalid and let through. An engine has it with its
    `options`, where it has not by default, or by a more general behaviour that it is `part_of`. It
    may be about a `spelling` of values.
    """

    id: str
    about: str
    spelling: bool = False
    bug: Mapping[str, str] = field(default_factory=dict)
    schema: str = ""
    text: str = ""
    valid: bool = True
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    part_of: str = ""


@dataclass(frozen=True)
class EngineWarning:
    """What an engine can print about a schema. Rules of class ``warned`` name these.

    `text` is a regular expression for it, in which ``{keyword}``, ``{format}`` and ``{pattern}``
    stand for those of a verdict; `keyword` has the keywords that it is about; the installed version
    `prints` it about `schema`, or `silent` says why about none.
    """

    id: str
    engine: str
    text: str
    keyword: Sequence[str]
    prints: str
    source: str
    schema: str = ""
    silent: str = ""

    def recognises(self, line: str) -> bool:
        """Whether a printed line is this warning, whichever schema it is about."""
        return re.search(_PLACEHOLDER.sub(".*", self.text), line) is not None


@dataclass(frozen=True)
class Departure:
    """One entry of the catalogue; of its sets of options the engine must have one, if any."""

    id: str
    behaviour: str
    class_: str
    engine: str
    versions: SpecifierSet
    options: tuple[Mapping[str, OptionValue], ...]
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
    warnings: Mapping[str, EngineWarning] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Departure]:
        return iter(self.departures)


@cache
def load_catalogue(path: Path | None = None) -> Catalogue:
    """The catalogue in a file, read once; None is the one that comes with maskcourt.

    Behaviours and warnings of one's own may stand beside the departures in the file, as tables
    ``[[behaviour]]`` and ``[[warning]]``; those that come with maskcourt are known as well.

    Raises:
        InputError: The file cannot be read, or an entry is not as it must be.
    """
    file = data_path("departures.toml") if path is None else path
    tables = read_tables(file, "departure", "behaviour", "warning")
    behaviours = {**load_behaviours(), **read_behaviours(tables["behaviour"], file)}
    warnings = {**load_warnings(), **read_warnings(tables["warning"], file)}
    found = by_id(
        tables["departure"],
        lambda table, where: _departure(table, where, behaviours, warnings),
        "entry",
        file,
    )
    return Catalogue(tuple(found.values()), behaviours, warnings)


@cache
def load_behaviours() -> Mapping[str, Behaviour]:
    """The behaviours that come with maskcourt, by id; each engine's table says which it has."""
    file = data_path("behaviours.toml")
    tables = read_tables(file, "behaviour")["behaviour"]
    known = {table.get("id"): table for table in tables}
    for name, engine in engine_tables().items():
        for here, there in (("undeclared", "bug"), ("options", "options")):
            for behaviour, value in engine.get(here, {}).items():
                if behaviour not in known:
                    raise InputError(f"engines.toml: {name} has no behaviour {behaviour!r}")
                known[behaviour].setdefault(there, {})[engine["distribution"]] = value
    return read_behaviours(tables, file)


@cache
def load_warnings() -> Mapping[str, EngineWarning]:
    """The warnings that come with maskcourt, by id; they stand in the engines' tables."""
    tables = [
        {"engine": engine["distribution"], **table}
        for engine in engine_tables().values()
        for table in engine.get("warning", ())
    ]
    return read_warnings(tables, data_path("engines.toml"))


def read_behaviours(tables: Iterable[Any], file: object) -> dict[str, Behaviour]:
    """The tables ``[[behaviour]]`` of a file, by id; `InputError` where one is not as it must."""
    return by_id(tables, _behaviour, "behaviour", file)


def read_warnings(tables: Iterable[Any], file: object) -> dict[str, EngineWarning]:
    """The tables ``[[warning]]`` of a file, by id; `InputError` where one is not as it must."""
    return by_id(tables, _warning, "warning", file)


def classify(
    catalogue: Catalogue,
    run: RunDirectory,
    evidence: str = WALK,
    vocabulary: Vocabulary | None = None,
) -> pa.Table:
    """The class of each verdict in a table of a run.

    Returns:
        One row per verdict, in order: ``class`` (bug, warned, departure, or empty for those that
        prove nothing) and ``departure`` (the entry's id, or empty), both dictionaries.

    Raises:
        RunDirectoryError: The run is damaged.
        UsageError: The vocabulary is not the run's.
    """
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
    return pa.DictionaryArray.from_arrays(
        pa.array(codes.astype(np.int32)), pa.array(values, pa.string())
    )


_TEXT: Final = {"type": "string", "pattern": r"\S"}
_TEXTS: Final = {"type": "array", "items": {"type": "string"}, "minItems": 1}
_FLAG: Final = {"type": "boolean"}
_EXPRESSIONS: Final = ("token", "before", "schema_pattern")


def _some_of(words: Iterable[str]) -> dict[str, Any]:
    return {"type": "array", "items": {"enum": list(words)}, "minItems": 1}


def _table(required: Mapping[str, Any], **others: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **others},
        "required": list(required),
        "additionalProperties": False,
    }


_CONDITIONS: Final[Mapping[str, Any]] = {
    "kind": _some_of(ERRORS),
    "effect": _some_of([TRAP]),
    "category": _some_of(CATEGORIES),
    "detail": _TEXTS,
    "keyword": _TEXTS,
    "place": _some_of(PLACES),
    "token": _TEXTS,
    "warning": _TEXTS,
    "format": _TEXTS,
    "schema_type": _TEXTS,
    "schema_has": _TEXTS,
    "schema_pattern": _TEXTS,
    "multiple_of": _some_of(MULTIPLES),
    "only_through": _some_of(_THROUGH),
    "before": _TEXTS,
    "references": {"type": "integer", "minimum": 1},
    "free_depth": {"type": "integer", "minimum": 1},
}
"""The conditions as JSON Schemas of their values, the quickest to answer first."""

_RULE: Final = {**_table({"kind": _CONDITIONS["kind"]}, **_CONDITIONS), "minProperties": 2}
"""The kind only repeats the verdict."""

_SCHEMAS: Final = {
    "departure": _table(
        {
            "id": {"type": "string", "pattern": r"^[a-z0-9]+(-[a-z0-9]+)*$"},
            "class": {"enum": [WARNED, DEPARTURE]},
            **dict.fromkeys(("behaviour", "engine", "versions", "from", "says"), _TEXT),
            "source_kind": {"enum": list(SOURCE_KINDS)},
            "source": {"type": "string", "pattern": r"^https://[^\s/]+\.[^\s/]+/\S+$"},
        },
        options={"type": "array", "items": {"type": "object", "minProperties": 1}},
        when={"type": "array", "items": _RULE, "minItems": 1},
    ),
    "behaviour": _table(
        {"id": _TEXT, "about": _TEXT},
        bug={
            "propertyNames": {"enum": list(ENGINES)},
            "additionalProperties": {"enum": [*NO_SOURCE, *SOURCE_KINDS]},
        },
        schema=_TEXT,
        text={"type": "string"},
        part_of=_TEXT,
        spelling=_FLAG,
        valid=_FLAG,
        options={"type": "object"},
    ),
    "warning": {
        **_table(
            {
                **dict.fromkeys(("id", "engine", "text", "prints", "source"), _TEXT),
                "keyword": {"type": "array", "items": {"type": "string"}},
            },
            schema=_TEXT,
            silent=_TEXT,
        ),
        "oneOf": [{"required": ["schema"]}, {"required": ["silent"]}],
    },
}
_VALIDATORS: Final = {one: jsonschema_rs.Draft202012Validator(_SCHEMAS[one]) for one in _SCHEMAS}


def _checked(name: str, table: Any, where: str) -> str:
    """What to call an entry; `InputError` where it is not of the schema."""
    known = table.get("id") if isinstance(table, Mapping) else None
    where = f"{where} ({known})" if isinstance(known, str) else where
    with suppress(ValueError):  # of values that TOML has and JSON has not
        if _VALIDATORS[name].is_valid(table):
            return where
    from jsonschema import Draft202012Validator  # has better words, and takes long to import

    error = next(Draft202012Validator(_SCHEMAS[name]).iter_errors(table))
    raise InputError(f"{where}: {error.json_path}: {error.message[:300]}")


def _expression(where: str, text: str, flags: int = 0) -> re.Pattern[str]:
    try:
        return re.compile(text, flags)
    except re.error as error:
        raise InputError(f"{where}: {text!r} is no regular expression: {error}") from error


def _behaviour(table: Any, where: str) -> Behaviour:
    _checked("behaviour", table, where)
    return Behaviour(**table)


def _warning(table: Any, where: str) -> EngineWarning:
    where = _checked("warning", table, where)
    _expression(where, _PLACEHOLDER.sub("x", table["text"]))
    return EngineWarning(**table)


def _departure(
    table: Any,
    where: str,
    behaviours: Mapping[str, Behaviour],
    warnings: Mapping[str, EngineWarning],
) -> Departure:
    where = _checked("departure", table, where)
    if table["behaviour"] not in behaviours:
        hint = nearest(table["behaviour"], behaviours)
        raise InputError(f"{where}: unknown behaviour {table['behaviour']!r}", hint)
    traps = all("effect" in rule for rule in table.get("when", ()))
    if not (traps if behaviours[table["behaviour"]].spelling else "when" in table):
        raise InputError(f"{where} has rules about spellings, or none about values")
    if (table["class"] == WARNED) != (table["source_kind"] == "warning"):
        raise InputError(f"{where} is warned without the engine's warning, or declared by one")
    if (table["engine"] == ANY) != (table["source_kind"] == "specification"):
        raise InputError(f"{where} is of one engine by the specification, or of all by another")
    try:
        versions = SpecifierSet(table["versions"])
    except InvalidSpecifier as error:
        raise InputError(f"{where} has bad versions: {error}") from error
    words = {f"{name}_" if name in ("class", "from") else name: one for name, one in table.items()}
    when = tuple(_rule(table, rule, where, warnings) for rule in table.get("when", ()))
    options = tuple(table.get("options", ()))
    return Departure(**words | {"versions": versions, "options": options, "when": when})


def _rule(
    entry: Mapping[str, Any],
    rule: Mapping[str, Any],
    where: str,
    warnings: Mapping[str, EngineWarning],
) -> Mapping[str, Any]:
    """A rule as it is tried; where it names warnings, these are about all that it excuses."""
    if entry["class"] == WARNED and "warning" not in rule:
        raise InputError(f"{where} is of class warned, but a rule does not name the warning")
    out = {name: rule[name] for name in _CONDITIONS if name in rule}
    for name in _EXPRESSIONS:
        if name in out:
            out[name] = tuple(_expression(where, one, re.DOTALL) for one in out[name])
    for name in out.get("warning", ()):
        if name not in warnings:
            hint = nearest(name, warnings)
            raise InputError(f"{where} names an unknown warning {name!r}", hint)
        about = rule.get("keyword") or [_THROUGH[one] for one in rule.get("only_through", ())]
        if warnings[name].engine != entry["engine"] or not about:
            raise InputError(f"{where} has a rule that {name!r} is not about", "name its keyword")
        if odd := sorted(set(about) - set(warnings[name].keyword)):
            raise InputError(f"{where} excuses {odd[0]!r}, which {name!r} is not about")
    if "warning" in out:
        out["warning"] = tuple(warnings[name].text for name in out["warning"])
    return out
