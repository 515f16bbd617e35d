"""Departures: which verdicts are about deviations that an engine declares, by a public source.

The catalogue is ``datasets/departures.toml``. An entry names the engine, its versions, the
behaviour (see `harness.classification.behaviours`), what it departs from, the source that declares
it and of which kind that is, and rules over a verdict's stored evidence. A verdict that an entry's
rule fits has the entry's class, ``departure`` or ``warned`` (the engine itself warned, in what it
printed when it compiled the schema, that it ignores the keyword); every other proven verdict is a
``bug``. Where several entries fit, the first one counts. A class is never stored: it is computed
whenever a run is read, with whatever catalogue is given.

A rule (a table ``when``; of several one must fit) is a set of conditions that must all hold; a list
holds where one of its members does. The conditions:

- ``evidence``, ``kind``, ``category``, ``detail``, ``place``, ``keyword``: words of the tables.
- ``token``: regular expressions for the token's bytes from the one on that the engine refuses (or
  with which an accepted instance became invalid; the whole token where it is not known), each read
  as one character (Latin-1); all of it must match, as with ``before`` and ``schema_pointer``. Of
  this byte are place, category, detail and keyword, too.
- ``before``: the same for the last 32 bytes that were written before it.
- ``special``: whether the token is a reserved one.
- ``forced``: whether the engine's mask held exactly one token where the verdict's token begins the
  text of the reference, which the engine went on to accept. Never true of instances.
- ``trailing_space``: whether the byte is whitespace behind the whole value.
- ``object``: what is true of the object that a key or a comma comes in: see
  `harness.classification.written_text.OBJECTS`.
- ``can_wait``: whether the byte is one of a key and goes on only to declared members that are not
  required, while the object lacks one that is.
- ``schema_pointer``: regular expressions for the pointer.
- ``format``, ``schema_type``: values of ``format`` and ``type`` in the subschema at the pointer.
- ``schema_has``: keywords that stand there.
- ``schema_pattern``: regular expressions for its ``pattern``.
- ``multiple_of``: what is true of its ``multipleOf``: see `MULTIPLES`.
- ``only_through``: the subschema applies only by way of ``allOf`` (with two or more members) or of
  a ``reference`` that is not of the form ``#`` or ``#/…``.
- ``references``: at least so many references lie on every way to the instance pointer.
- ``warning``: ids of `harness.classification.engine_warnings`, one of which the engine printed when
  it compiled the schema. By ``keyword`` or ``only_through`` the rule must name nothing but what
  these are about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from harness.classification.behaviours import SOURCE_KINDS, Behaviour, read_behaviours
from harness.classification.engine_warnings import EngineWarning, read_warnings
from harness.classification.verdict_rows import MULTIPLES, VerdictRows
from harness.classification.written_text import OBJECTS
from harness.directories import data_path
from harness.engines.specs import engine_tables
from harness.errors import InputError, nearest
from harness.explain.attribution import CATEGORIES
from harness.inputs.toml_tables import by_id, read_tables
from harness.inputs.vocabulary import Vocabulary
from harness.runs.directory import RunDirectory
from harness.runs.reader import RowNumbers
from harness.runs.tables import VERDICT_TABLES
from harness.verdict_kinds import CLASSES, DEPARTURE, ERRORS, OPEN, WALK, WARNED

PLACES: Final = (
    *("start of value", "start of key", "behind key", "behind value", "end"),
    *("inside key", "inside string", "inside literal", "inside escape", "inside number"),
)
"""The words of `harness.jsontext.lexer`."""

_TEXTS = ("id", "behaviour", "class", "engine", "versions", "from", "source_kind", "source", "says")
_ENTRY = frozenset({*_TEXTS, "when"})
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SOURCE = re.compile(r"https://[^\s/]+\.[^\s/]+/\S+")
_TOO_LITTLE = frozenset({"kind", "evidence"})
"""Conditions that do not make a rule by themselves: they only repeat the verdict."""

ANY: Final = "*"
"""Stands for every engine: of what the specification itself leaves to them."""

_THROUGH: Final = {"allOf": "allOf", "reference": "$ref"}
"""What ``only_through`` may ask, and the keyword that such a rule excuses."""

OptionValue = str | bool | int


@dataclass(frozen=True)
class Departure:
    """One entry of the catalogue.

    Attributes:
        behaviour: What the engine does that it is about: the id of a behaviour.
        class_: ``departure`` or ``warned``.
        engine: The distribution whose version counts, such as ``outlines-core``, or `ANY`.
        options: Sets of options of which the engine must have one; empty for any.
        source_kind: What kind of source declares it; see `SOURCE_KINDS`.
        when: The rules: conditions by name, in the order in which they are tried.
    """

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

    def __len__(self) -> int:
        return len(self.departures)


def load_catalogue(path: Path | None = None) -> Catalogue:
    """The catalogue in a file; None is the one that comes with maskcourt.

    Behaviours and warnings of one's own may stand beside the departures in the file, as tables
    ``[[behaviour]]`` and ``[[warning]]``; those that come with maskcourt are known as well.

    Raises:
        InputError: The file cannot be read, or an entry is not as it must be.
    """
    file = data_path("departures.toml") if path is None else path
    tables = read_tables(file, "departure", "behaviour", "warning")
    behaviours = load_behaviours() | read_behaviours(tables["behaviour"], file)
    warnings = load_warnings() | read_warnings(tables["warning"], file)

    def entry(table: Any, where: str) -> Departure:
        return _EntryReader(table, where, behaviours, warnings).departure()

    found = by_id(tables["departure"], entry, "entry", file)
    return Catalogue(tuple(found.values()), behaviours, warnings)


def load_behaviours() -> dict[str, Behaviour]:
    """The behaviours that come with maskcourt, by id; each engine's table says which it has.

    Raises:
        InputError: The files cannot be read.
    """
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


def load_warnings() -> dict[str, EngineWarning]:
    """The warnings that come with maskcourt, by id; they stand in the engines' tables.

    Raises:
        InputError: One is not as it must be.
    """
    tables = [
        {"engine": engine["distribution"], **table}
        for engine in engine_tables().values()
        for table in engine.get("warning", ())
    ]
    return read_warnings(tables, data_path("engines.toml"))


def classify(
    catalogue: Catalogue,
    run: RunDirectory,
    evidence: str = WALK,
    vocabulary: Vocabulary | None = None,
) -> pa.Table:
    """The class of each verdict in a table of a run.

    Args:
        evidence: ``walk`` for the table `verdicts`, ``instance`` or ``sample`` for
            `instance_verdicts` or `sample_verdicts`.

    Returns:
        One row per verdict, in order: ``class`` (bug, warned, departure, or empty for those that
        prove nothing) and ``departure`` (the entry's id, or empty), both dictionaries.

    Raises:
        RunDirectoryError: The run is damaged.
        UsageError: The vocabulary is not the run's.
    """
    stored = VerdictRows(run, evidence, vocabulary)
    kinds, engines = stored.words("kind"), stored.words("engine")
    proven = ~kinds.equal(*OPEN)
    entry = np.full(stored.size, -1, dtype=np.int32)
    for engine, described in run.manifest["identity"]["engines"].items():
        mine = np.flatnonzero(proven & engines.equal(engine))
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


class _EntryReader:
    """Reads one entry strictly.

    Args:
        where: What to call it in a message until its id is known.
    """

    def __init__(
        self,
        entry: Any,
        where: str,
        behaviours: Mapping[str, Behaviour],
        warnings: Mapping[str, EngineWarning],
    ) -> None:
        if not isinstance(entry, dict):
            raise InputError(f"{where} is no table")
        self._entry, self._behaviours, self._warnings = entry, behaviours, warnings
        known = entry.get("id")
        self._where = f"{where} ({known})" if isinstance(known, str) else where

    def departure(self) -> Departure:
        """The entry.

        Raises:
            InputError: It is not as it must be.
        """
        given = self._entry.keys()
        if missing := sorted(_ENTRY - given):
            raise self._wrong(f"lacks {', '.join(missing)}")
        if odd := sorted(given - _ENTRY - {"options"}):
            raise self._wrong(f"has an unknown key {odd[0]!r}", nearest(odd[0], _ENTRY))
        if not _ID.fullmatch(self._text("id")):
            raise self._wrong("has an id that is not of lower-case words joined by hyphens")
        if self._text("class") not in (WARNED, DEPARTURE):
            raise self._wrong(f"has the class {self._text('class')!r}", "departure or warned")
        if self._text("behaviour") not in self._behaviours:
            raise self._unknown("behaviour", self._behaviours)
        if self._text("source_kind") not in SOURCE_KINDS:
            raise self._unknown("source_kind", SOURCE_KINDS)
        if (self._text("class") == WARNED) != (self._text("source_kind") == "warning"):
            raise self._wrong("is warned without the engine's warning, or declared by a warning")
        if (self._text("engine") == ANY) != (self._text("source_kind") == "specification"):
            raise self._wrong("is of one engine by the specification, or of all by another source")
        if not _SOURCE.fullmatch(self._text("source")):
            raise self._wrong("names no public source", "give the https URL that declares it")
        return Departure(
            self._text("id"),
            self._text("behaviour"),
            self._text("class"),
            self._text("engine"),
            self._versions(),
            self._options(),
            self._text("from"),
            self._text("source_kind"),
            self._text("source"),
            self._text("says"),
            self._rules(),
        )

    def _text(self, key: str) -> str:
        value = self._entry[key]
        if not isinstance(value, str) or not value.strip():
            raise self._wrong(f"needs a text as {key!r}")
        return value

    def _versions(self) -> SpecifierSet:
        try:
            return SpecifierSet(self._text("versions"))
        except InvalidSpecifier as error:
            raise self._wrong(f"has bad versions: {error}") from error

    def _options(self) -> tuple[Mapping[str, OptionValue], ...]:
        options = self._entry.get("options", [])
        if not isinstance(options, list) or not all(
            isinstance(one, dict) and one and all(isinstance(v, OptionValue) for v in one.values())
            for one in options
        ):
            raise self._wrong("has bad options", "give a list of tables, as {config = 'spec'}")
        return tuple(options)

    def _rules(self) -> tuple[Mapping[str, Any], ...]:
        rules = self._entry["when"]
        if not isinstance(rules, list) or not rules:
            raise self._wrong("has no rule", "give one or more tables [[departure.when]]")
        return tuple(self._rule(rule) for rule in rules)

    def _rule(self, rule: Any) -> Mapping[str, Any]:
        if not isinstance(rule, dict) or "kind" not in rule or rule.keys() <= _TOO_LITTLE:
            raise self._wrong("has a rule of too little", "a rule needs kind and more conditions")
        if self._entry["class"] == WARNED and "warning" not in rule:
            raise self._wrong("is of class warned, but a rule does not name the warning")
        for condition in rule:
            if condition not in _CONDITIONS:
                hint = nearest(condition, _CONDITIONS)
                raise self._wrong(f"has an unknown condition {condition!r}", hint)
        out = {}
        for condition, read in _CONDITIONS.items():
            if condition in rule:
                try:
                    out[condition] = read(rule[condition])
                except ValueError as error:
                    raise self._wrong(f"has a bad {condition!r}: {error}") from error
        if "warning" in out:
            out["warning"] = tuple(self._warning(out, one).text for one in out["warning"])
        return out

    def _warning(self, rule: Mapping[str, Any], name: str) -> EngineWarning:
        """A warning that a rule names: the engine's, and about all that the rule excuses."""
        if name not in self._warnings:
            raise self._wrong(f"names an unknown warning {name!r}", nearest(name, self._warnings))
        warning = self._warnings[name]
        about = rule.get("keyword") or [_THROUGH[one] for one in rule.get("only_through", ())]
        if warning.engine != self._entry["engine"] or not about:
            raise self._wrong(f"has a rule that {name!r} is not about", "name its keyword")
        if odd := sorted(set(about) - warning.keywords):
            raise self._wrong(f"excuses {odd[0]!r}, which {name!r} is not about")
        return warning

    def _unknown(self, key: str, known: Iterable[str]) -> InputError:
        return self._wrong(
            f"has an unknown {key} {self._text(key)!r}", nearest(self._text(key), known)
        )

    def _wrong(self, what: str, hint: str | None = None) -> InputError:
        return InputError(f"{self._where} {what}", hint)


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise ValueError("it must be a list of texts, with at least one")


def _one_of(known: Sequence[str]) -> Callable[[Any], tuple[str, ...]]:
    def read(value: Any) -> tuple[str, ...]:
        for one in _texts(value):
            if one not in known:
                raise ValueError(f"{one!r} is not one of {', '.join(known)}")
        return _texts(value)

    return read


def _expressions(value: Any) -> tuple[re.Pattern[str], ...]:
    try:
        return tuple(re.compile(one, re.DOTALL) for one in _texts(value))
    except re.error as error:
        raise ValueError(f"{error.pattern!r} is no regular expression: {error}") from error


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError("it must be true or false")


def _count(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise ValueError("it must be a positive number")


_CONDITIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "evidence": _one_of(tuple(VERDICT_TABLES)),
    "kind": _one_of(ERRORS),
    "category": _one_of(CATEGORIES),
    "detail": _texts,
    "keyword": _texts,
    "place": _one_of(PLACES),
    "special": _flag,
    "schema_pointer": _expressions,
    "token": _expressions,
    "warning": _texts,
    "format": _texts,
    "schema_type": _texts,
    "schema_has": _texts,
    "schema_pattern": _expressions,
    "multiple_of": _one_of(MULTIPLES),
    "only_through": _one_of(tuple(_THROUGH)),
    "before": _expressions,
    "forced": _flag,
    "object": _one_of(OBJECTS),
    "trailing_space": _flag,
    "references": _count,
    "can_wait": _flag,
}
"""The conditions and how their values are read, the quickest to answer first."""
