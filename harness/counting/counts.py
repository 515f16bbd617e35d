"""Verdicts of a run folded into counts: how many tokens, at how many positions, in how many cases.

A run may hold ten million verdicts. They are read column by column, only those columns that a
question needs, and folded at once into one entry per position and combination of words; every
table that a report shows is counted from such entries.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from harness.counting.format_alone import rests_on_format
from harness.counting.number_spelling import number_spellings
from harness.counting.only_challenger import only_challenger
from harness.counting.severity import SEVERITIES, severities
from harness.runs.columns import (
    CodedColumn,
    Ints,
    distinct,
    folded,
    grouped,
    matching,
    numbers,
    ranged,
    translated,
    words,
)
from harness.runs.directory import RunDirectory
from harness.runs.tables import TEXT_TABLES, VERDICT_TABLES
from harness.verdict_kinds import REJECTIONS, WALK

Classify = Callable[[RunDirectory, str], pa.Table]
"""Gives the class of each verdict of one kind of evidence: columns `class` and `departure`."""


def by_catalogue(run: RunDirectory, evidence: str) -> pa.Table:
    """The classes that the catalogue of departures gives to the verdicts of a run."""
    from harness.classification import departures

    return departures.classify(departures.load_catalogue(), run, evidence)


_PLACE = ("case", "walk", "position")
_POSITION = {WALK: _PLACE, **{one: ("case", one, "consumed") for one in TEXT_TABLES}}
_WORDS = ("engine", "kind", "reason", "keyword", "category", "jsonschema", "jsonschema_rs")
_NUMBERS = ("always_resolved", "located", "dispute")


@dataclass(frozen=True)
class FoldedVerdicts:
    """The entries that `Counts` are picked from, by position, shape ``(n,)`` each.

    Attributes:
        columns: The words, by column.
        position: Where: the row of a walk's position, or a number for a place in a text.
        case: Which row of the table of cases.
        tokens: How many verdicts, or how many they stand for.
    """

    columns: Mapping[str, CodedColumn]
    position: Ints
    case: npt.NDArray[np.int32]
    tokens: npt.NDArray[Any]


@dataclass(frozen=True)
class Counts:
    """Some folded verdicts; an entry is one combination of words at one position.

    Attributes:
        folded: All of them.
        rows: The entries that these counts are of, ascending, shape ``(n,)``.
    """

    folded: FoldedVerdicts
    rows: Ints

    @classmethod
    def of(cls, folded: FoldedVerdicts) -> Counts:
        """All entries."""
        return cls(folded, np.arange(len(folded.tokens)))

    def column(self, name: str) -> CodedColumn:
        """The words of one column, shape ``(n,)``."""
        return self.folded.columns[name][self.rows]

    @property
    def tokens(self) -> npt.NDArray[Any]:
        """How many verdicts each entry stands for, shape ``(n,)``."""
        return self.folded.tokens[self.rows]

    @property
    def position(self) -> Ints:
        """Where each entry is, ascending, shape ``(n,)``."""
        return self.folded.position[self.rows]

    @property
    def case(self) -> npt.NDArray[np.int32]:
        """The row of each entry's case, shape ``(n,)``."""
        return self.folded.case[self.rows]

    def where(self, **wanted: object) -> Counts:
        """The entries with these words; a tuple of words stands for any of them."""
        rows = self.rows
        for name, one in wanted.items():
            column = self.folded.columns[name][rows]
            rows = rows[column.equal(*(one if isinstance(one, tuple) else (one,)))]
        return Counts(self.folded, rows)

    def having(self, **columns: CodedColumn) -> Counts:
        """The same entries with further columns, shape ``(n,)`` each."""
        names = self.folded.columns
        of_all = {name: self.column(name) for name in names}
        both = {**of_all, **columns}
        return Counts.of(FoldedVerdicts(both, self.position, self.case, self.tokens))

    def total(self) -> dict[str, int]:
        """Tokens, positions and cases of all entries together."""
        position = self.position
        return {
            "tokens": int(self.tokens.sum()),
            "positions": int(np.count_nonzero(position[1:] != position[:-1])) + bool(len(position)),
            "cases": int(np.count_nonzero(np.bincount(self.case))),
        }

    def tokens_by(self, name: str, order: Sequence[object]) -> dict[Any, int]:
        """Tokens for each of some words of a column, in their order."""
        column = self.column(name)
        counted = np.bincount(column.codes, self.tokens, max(1, len(column.values)))
        found = dict(zip(column.values, counted.astype(np.int64).tolist(), strict=False))
        return {one: found.get(one, 0) for one in order}

    def per_case(self, cases: int) -> Ints:
        """Tokens in each case, shape ``(cases,)``."""
        return np.bincount(self.case, self.tokens, cases).astype(np.int64)

    def grouped(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Tokens, positions and cases of each combination of words, most tokens first."""
        if not len(self.rows):
            return []
        columns = [self.column(name) for name in names]
        first, group = grouped(columns)
        many = len(first)
        units = {
            "tokens": np.rint(np.bincount(group, self.tokens, many)).astype(np.int64).tolist(),
            "positions": _distinct(group, self.position, many),
            "cases": _distinct(group, self.case, many),
        }
        picked = [[one.values[code] for code in one.codes[first].tolist()] for one in columns]
        keys = (*names, *units)
        values = zip(*picked, *units.values(), strict=True)
        rows = [dict(zip(keys, one, strict=True)) for one in values]
        return sorted(rows, key=lambda row: (-row["tokens"], *(str(row[one]) for one in names)))


def _distinct(group: Ints, things: npt.NDArray[Any], groups: int) -> list[int]:
    """How many different things each group has."""
    width = int(things.max()) + 1
    different = distinct(group * width + things)
    found: list[int] = np.bincount(different // width, minlength=groups).tolist()
    return found


@dataclass(frozen=True)
class Positions:
    """The positions of a run, shape ``(n,)`` each."""

    case: npt.NDArray[np.int32]
    walk: npt.NDArray[np.int32]
    number: npt.NDArray[np.int32]
    offset: npt.NDArray[np.int32]
    canonical: npt.NDArray[np.int32]
    judged: npt.NDArray[np.uint32]
    place: CodedColumn


class StoredRun:
    """A run as counts read it; what several of them need is read once."""

    def __init__(self, run: RunDirectory, classify: Classify) -> None:
        self.run = run
        self._classify = functools.cache(classify)
        self._only_challenger = functools.cache(functools.partial(only_challenger, run))
        self.engines: tuple[str, ...] = tuple(run.manifest["identity"]["engines"])

    @cached_property
    def cases(self) -> tuple[str, ...]:
        """The names of the cases, in the order of the run."""
        return tuple(self.run.table("cases", ["case"])["case"].to_pylist())

    @cached_property
    def case_rows(self) -> dict[str, int]:
        """The row of each case."""
        return {name: row for row, name in enumerate(self.cases)}

    @cached_property
    def size(self) -> int | None:
        """How many ids the vocabulary has; of a run that does not say, how many were compared."""
        identity = self.run.manifest["identity"]
        if (size := identity.get("vocabulary", {}).get("size")) is not None:
            return int(size)
        asked = [one.get("tokens_asked", 0) for one in identity["engines"].values()]
        return max(asked, default=0) or None

    @cached_property
    def positions(self) -> Positions:
        """Where the walks went."""
        names = [*_PLACE, "offset", "canonical", "judged", "place"]
        table = self.run.table("positions", names)
        return Positions(
            self.case_of(table["case"]),
            numbers(table["walk"]),
            numbers(table["position"]),
            numbers(table["offset"]),
            numbers(table["canonical"], -1),
            numbers(table["judged"]),
            words(table["place"]),
        )

    def case_of(self, column: pa.ChunkedArray) -> npt.NDArray[np.int32]:
        """The row of the case that each name in a column stands for."""
        return translated(words(column), self.case_rows)

    def classes(self, evidence: str) -> pa.Table:
        """What `classify` gives the verdicts of one kind of evidence, in the order of the table."""
        return self._classify(self.run, evidence)

    def severities(self, evidence: str) -> CodedColumn:
        """The severity of each verdict of one kind of evidence, in the order of the table."""
        return _Fold(self, evidence, ("severity",)).rows("severity")

    def by_format(self, evidence: str) -> npt.NDArray[np.bool_]:
        """Which verdicts rest on `format` alone, in the order of the table."""
        return rests_on_format(self.run, evidence)

    def only_challenger(self, evidence: str) -> npt.NDArray[np.bool_]:
        """Which verdicts the challenger alone led to, in the order of the table."""
        return self._only_challenger(evidence)

    def fold(self, evidence: str, names: Sequence[str]) -> Counts:
        """The verdicts of one kind of evidence, counted by some columns.

        Args:
            evidence: ``walk``, ``instance`` or ``sample``.
            names: Stored columns, and ``class``, ``departure``, ``place``, ``severity`` and
                ``by_format`` (`harness.counting.format_alone`), ``number``
                (`harness.counting.number_spelling`) and ``only_challenger``
                (`harness.counting.only_challenger`).
        """
        return _Fold(self, evidence, names).counts()


class _Fold:
    """The work of `StoredRun.fold`: rows of one table of verdicts, then their combinations."""

    def __init__(self, stored: StoredRun, evidence: str, names: Sequence[str]) -> None:
        self.stored = stored
        self.evidence = evidence
        self.names = names
        self.table = stored.run.table(VERDICT_TABLES[evidence], self._needed())
        self.case = stored.case_of(self.table["case"])

    def _needed(self) -> list[str]:
        """The columns of the table that the question needs."""
        read = {*_POSITION[self.evidence], *(set(self.names) & {*_WORDS, *_NUMBERS})}
        if "severity" in self.names:
            read |= {"token", "kind", "category"}
        if "place" in self.names and self.evidence != WALK:
            read.add("place")
        return sorted(read)

    def counts(self) -> Counts:
        """The folded rows."""
        position = self._positions()
        columns = {name: self._column(name, position) for name in self.names}
        first, tokens = folded([ranged(position), *columns.values()])
        picked = {name: column[first] for name, column in columns.items()}
        return Counts.of(FoldedVerdicts(picked, position[first], self.case[first], tokens))

    def rows(self, name: str) -> CodedColumn:
        """One column, unfolded."""
        return self._column(name, self._positions())

    def _positions(self) -> Ints:
        return self._walk_positions() if self.evidence == WALK else self._text_positions()

    def _walk_positions(self) -> Ints:
        """The row of each verdict's position; beyond the last row where it has none."""
        at, table = self.stored.positions, self.table
        keys = (self.case, numbers(table["walk"]), numbers(table["position"]))
        position = matching(keys, (at.case, at.walk, at.number))
        stray = np.flatnonzero(position < 0)
        if len(stray):
            _, group = grouped([ranged(key[stray]) for key in keys])
            position[stray] = len(at.case) + group
        return position

    def _text_positions(self) -> Ints:
        """A number for each place in a text that a verdict is about."""
        table = self.table
        keys = (self.case, numbers(table[self.evidence]), numbers(table["consumed"]))
        return grouped([ranged(key) for key in keys])[1]

    def _column(self, name: str, position: Ints) -> CodedColumn:
        if name in _WORDS:
            return words(self.table[name])
        if name in _NUMBERS:
            return ranged(numbers(self.table[name], missing=False))
        if name in ("class", "departure"):
            return words(self.stored.classes(self.evidence)[name])
        made: dict[str, Callable[[], CodedColumn]] = {
            "severity": lambda: CodedColumn(self._severity(position), SEVERITIES),
            "by_format": lambda: CodedColumn(self._by_format, (False, True)),
            "number": lambda: number_spellings(self.stored.run, self.evidence),
            "only_challenger": lambda: ranged(self.stored.only_challenger(self.evidence)),
        }
        if name in made:
            return made[name]()
        assert name == "place", name
        if self.evidence != WALK:
            return words(self.table["place"])
        place = self.stored.positions.place
        values = place.values if "" in place.values else (*place.values, "")
        codes = np.append(place.codes, values.index(""))
        return CodedColumn(codes[np.minimum(position, len(place.codes))], values)

    @property
    def _by_format(self) -> npt.NDArray[np.int8]:
        return self.stored.by_format(self.evidence).astype(np.int8)

    def _severity(self, position: Ints) -> npt.NDArray[np.int8]:
        token = numbers(self.table["token"], -1)
        refused = words(self.table["kind"]).equal(*REJECTIONS)
        ends = words(self.table["category"]).equal("end")
        if self.evidence == WALK:
            canonical = np.append(self.stored.positions.canonical, -1)
            there = canonical[np.minimum(position, len(canonical) - 1)] == token
        else:
            there = self._canonical_in_text(token)
        return severities(token, refused & there & (token >= 0), ends, self.stored.size)

    def _canonical_in_text(self, token: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Whether each token is the one that the text's canonical tokens have there."""
        names = ["case", self.evidence, "tokens", "canonical"]
        fed = self.stored.run.table(TEXT_TABLES[self.evidence], names)
        if not fed.num_rows:
            return np.zeros(len(token), dtype=np.bool_)
        consumed = numbers(self.table["consumed"], -1)
        rows = matching(
            (self.case, numbers(self.table[self.evidence])),
            (self.stored.case_of(fed["case"]), numbers(fed[self.evidence])),
        )
        lists = pa.concat_arrays(fed["tokens"].chunks)
        starts = lists.offsets.to_numpy()
        flat = np.append(lists.values.to_numpy(), -1)
        at = starts[rows] + consumed
        inside = (rows >= 0) & (consumed >= 0) & (at < starts[rows + 1])
        usual = numbers(fed["canonical"], missing=False)[rows]
        found: npt.NDArray[np.bool_] = inside & usual & (flat[np.where(inside, at, -1)] == token)
        return found
