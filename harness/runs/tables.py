"""The tables of a run: their columns, and the rows that one case contributes.

Engines are stored by name. `judged`, `accepters`, `rejecters` and `writers` are sets of engines as
bit masks in the order of the run's engine list. `generated` says of a case that its references were
made of the schema; instances that were have this label. Everything but `timings` and `costs` is the
same in every run with the same seed, engines and cases.

`verdicts` is what walks prove, `instance_verdicts` what instances prove, own and made ones,
`sample_verdicts` what texts prove that engines wrote themselves. In all of them, `keyword` and the
pointers say what a false acceptance breaks, and for a false rejection what was in force at the
place; `category` is the kind of token, `detail` what else a rule of the catalogue of departures may
ask for (`harness.explain.attribution`); `located` says of a false acceptance whether the error
lies at the token itself (`harness.explain.error_location`); `jsonschema` and `jsonschema_rs`
are ``valid``, ``invalid`` or empty; `effect` says what an error costs a user, `spelling` is the
text of the same value that the engine takes, and `spellings_asked` how many usual ones it does not
(`harness.comparison.effects`); `shown_by` whether a real, a plain or a rare value shows the effect
(`harness.comparison.text_facts`).

Where an engine was asked which byte of a token it refuses, all that is said of the place is said of
this byte: `refused_at` is how many bytes of the token go before it (the token's length where the
engine refuses only the token as a whole, -1 where it was not asked). Where the mask holds one token
alone, the byte is the first that differs from what is forced (`harness.engines.text_probe`).
`offset` is the same for instances and samples: how many bytes of the text go before the one that is
refused, or with which what is accepted became invalid (-1 where that is not known).

A row of `samples` is a text as it is fed. Its `label` is ``shared`` where every engine is fed with
it, and ``own`` where only its writer is, in the tokens in which it wrote it: that is so where it is
not valid and its writer refuses it in the others, and where it has no end.
`outcome` says how it came to its end (`harness.completion.rollout.ROLLOUT_OUTCOMES`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from harness.optional import without_pandas
from harness.verdict_kinds import EFFECTS, INSTANCE, KINDS, SAMPLE, SHOWN_BY, WALK

with without_pandas():
    pa.array([])  # the first alone looks for it

_NAME = pa.dictionary(pa.int32(), pa.string())

_TYPES: Mapping[str, pa.DataType] = {
    column: kind
    for kind, columns in (
        (_NAME, "case engine kind reason keyword schema_pointer instance_pointer category detail"),
        (_NAME, "jsonschema jsonschema_rs label verdict place accepter origin"),
        (_NAME, "outcome stage effect shown_by"),
        (pa.string(), "family status message signal output"),
        (pa.large_string(), "schema"),
        (pa.binary(), "text spelling"),
        (pa.bool_(), "generated located"),
        (pa.uint32(), "judged accepters rejecters writers"),
        (pa.int32(), "walks positions walk position offset token canonical dispute"),
        (pa.int32(), "disputed_tokens drawn completion refused_at consumed instance"),
        (pa.int32(), "sample allowed spellings_asked"),
        (pa.int64(), "mask_ns consume_ns"),
        (pa.float64(), "seconds"),
        (pa.list_(pa.int32()), "tokens"),
        (pa.list_(pa.binary()), "references"),
    )
    for column in columns.split()
}
"""The type of a column, the same in all tables but for what `_schema` is given besides."""


def _schema(columns: str, **other: pa.DataType) -> pa.Schema:
    return pa.schema([(name, other.get(name, _TYPES[name])) for name in columns.split()])


_PLACE = "case walk position"
_ATTRIBUTION = (
    "keyword schema_pointer instance_pointer category detail located jsonschema jsonschema_rs"
    " effect spelling spellings_asked shown_by"
)
_FED = "label text tokens canonical verdict reason"
_ABOUT_TEXT = f"engine kind reason consumed token offset place {_ATTRIBUTION}"

SCHEMAS: Mapping[str, pa.Schema] = {
    "cases": _schema(
        "case family status reason message schema references generated judged walks positions"
        " disputed_tokens",
        case=pa.string(),
        reason=pa.string(),
        disputed_tokens=pa.int64(),
    ),
    "engines": _schema(
        "case engine stage walk position outcome signal message output",
        stage=pa.string(),
        outcome=pa.string(),
    ),
    "positions": _schema(f"{_PLACE} offset token canonical place judged disputed_tokens"),
    "disputes": _schema(f"{_PLACE} dispute accepters rejecters tokens drawn", tokens=pa.int32()),
    "completions": _schema("case completion origin text tokens"),
    "verdicts": _schema(
        f"{_PLACE} dispute token refused_at place engine kind reason accepter"
        f" completion {_ATTRIBUTION}"
    ),
    "instances": _schema(f"case instance {_FED}", canonical=pa.bool_()),
    "instance_verdicts": _schema(f"case instance {_ABOUT_TEXT}"),
    "samples": _schema(f"case sample writers outcome {_FED}", canonical=pa.bool_()),
    "sample_verdicts": _schema(f"case sample {_ABOUT_TEXT}"),
    "masks": _schema(f"{_PLACE} engine allowed"),
    "timings": _schema(f"{_PLACE} engine mask_ns consume_ns"),
    "costs": _schema("case stage engine seconds"),
}

GAPS = ("located",)
"""Columns in which a value may be missing; in all others, none is."""

KNOWN: Mapping[str, Collection[str]] = {"kind": KINDS, "effect": EFFECTS, "shown_by": SHOWN_BY}
"""The words of some columns; in each, the empty one besides."""

MOST: Mapping[str, int] = {
    "walk": 1 << 16,
    **dict.fromkeys(("position", "instance", "sample"), 1 << 24),
}
"""Numbers of some columns are less; -1, which stands for none, is the least in all."""

VERDICT_TABLES: Mapping[str, str] = {
    WALK: "verdicts",
    INSTANCE: "instance_verdicts",
    SAMPLE: "sample_verdicts",
}
"""The table of verdicts of each kind of evidence."""
TEXT_TABLES: Mapping[str, str] = {INSTANCE: "instances", SAMPLE: "samples"}
"""Where evidence is texts that are fed to engines, their table; the kind is its numbers' column."""
EVIDENCE_OF: Mapping[str, str] = {table: one for one, table in VERDICT_TABLES.items()}
"""The kind of evidence of each table of verdicts."""

GENERATED = "generated"
"""The label of an instance that was made of the schema, and claims nothing; also the stage of an
engine that fails over such instances."""


def is_mislabelled(label: str, verdict: str) -> bool:
    """Whether both validators say the opposite of the label of an instance."""
    return {label, verdict} == {"valid", "invalid"}


def named_engines(bits: int, engines: Iterable[str]) -> list[str]:
    """The engines of a stored set, in the order of the run."""
    return [name for bit, name in enumerate(engines) if bits >> bit & 1]


@dataclass(frozen=True)
class Words:
    """A column of words: row ``i`` holds ``words[codes[i]]``; a word may stand there twice."""

    codes: npt.NDArray[Any]
    """Shape ``(n,)``, any signed integer type."""
    words: Sequence[str]

    def __getitem__(self, rows: npt.NDArray[Any]) -> Words:
        """Some of the rows, by number or by a mask."""
        return Words(self.codes[rows], self.words)

    def equal(self, *words: str) -> npt.NDArray[np.bool_]:
        """Which rows hold one of `words`, shape ``(n,)``."""
        wanted = np.fromiter((one in words for one in self.words), bool, len(self.words))
        return np.asarray(wanted[self.codes])

    def __len__(self) -> int:
        return len(self.codes)

    def tolist(self) -> list[str]:
        return [self.words[code] for code in self.codes.tolist()]


class Rows:
    """The rows of one case, by table, as they were appended: in pieces, many rows at a time."""

    def __init__(self) -> None:
        self._pieces: dict[str, list[tuple[int, Mapping[str, Any]]]] = {
            name: [] for name in SCHEMAS
        }

    def add(self, table: str, **values: Any) -> None:
        """Append one row; every column must be given."""
        self.extend(table, 1, **{name: [value] for name, value in values.items()})

    def extend(self, table: str, count: int, **values: Any) -> None:
        """Append `count` rows; a column is an array, `Words` or a list, or one value for all.

        For truth values that may be missing, an array of int8: -1.
        """
        if odd := sorted(values.keys() ^ SCHEMAS[table].names):
            raise ValueError(f"row of table {table!r}: columns {odd} do not match")
        for name, value in values.items():
            if isinstance(value, np.ndarray | Words | list) and len(value) != count:
                message = f"column {name!r} of table {table!r}: {len(value)} of {count} rows"
                raise ValueError(message)
        self._pieces[table].append((count, values))

    def mark(self) -> Mapping[str, int]:
        """What is there now, for `back_to`."""
        return {table: len(pieces) for table, pieces in self._pieces.items()}

    def back_to(self, mark: Mapping[str, int]) -> None:
        """Take back what was appended after a mark."""
        for table, pieces in self._pieces.items():
            del pieces[mark[table] :]

    def count(self, table: str) -> int:
        return sum(count for count, _ in self._pieces[table])

    def table(self, name: str) -> pa.Table:
        schema = SCHEMAS[name]
        return pa.Table.from_arrays([self._array(name, one) for one in schema], schema=schema)

    def lists(self, table: str) -> dict[str, list[Any]]:
        """The columns of one table as lists, for few rows."""
        out: dict[str, list[Any]] = {}
        for column in SCHEMAS[table]:
            out[column.name] = every = self._values(table, column.name)
            if pa.types.is_boolean(column.type):
                out[column.name] = [None if x is None or x < 0 else bool(x) for x in every]
        return out

    def replace(self, table: str, **values: list[Any]) -> None:
        self._pieces[table] = [(self.count(table), {**self.lists(table), **values})]

    def _values(self, table: str, column: str) -> list[Any]:
        pieces = ((count, values[column]) for count, values in self._pieces[table])
        return [one for count, values in pieces for one in _listed(count, values)]

    def _array(self, table: str, column: pa.Field) -> pa.Array:
        pieces = [(count, values[column.name]) for count, values in self._pieces[table]]
        if pa.types.is_dictionary(column.type):
            return _words(pieces, column.type)
        if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
            return _numbers(pieces, column.type)
        return pa.array(self._values(table, column.name), column.type)


def _listed(count: int, values: Any) -> list[Any]:
    if isinstance(values, np.ndarray | Words):
        return list(values.tolist())
    return values if isinstance(values, list) else [values] * count


def _numbers(pieces: Sequence[tuple[int, Any]], kind: pa.DataType) -> pa.Array:
    """A column of whole numbers or truth values; of the latter, those below 0 are missing."""
    truth = pa.types.is_boolean(kind)
    every: npt.NDArray[Any] = np.empty(sum(count for count, _ in pieces), dtype=np.int64)
    at = 0
    for count, values in pieces:
        if truth and not isinstance(values, np.ndarray):
            every[at : at + count] = [-1 if one is None else one for one in _listed(count, values)]
        else:
            every[at : at + count] = values
        at += count
    return pa.array(every > 0, type=kind, mask=every < 0) if truth else pa.array(every).cast(kind)


def _words(pieces: Sequence[tuple[int, Any]], kind: pa.DataType) -> pa.Array:
    """A column of words, each of which is kept once, in the order in which they come."""
    numbers: dict[str, int] = {}
    codes = np.empty(sum(count for count, _ in pieces), dtype=np.int32)
    at = 0
    for count, values in pieces:
        if isinstance(values, Words):
            used, which = np.unique(values.codes, return_inverse=True)
            known = [numbers.setdefault(values.words[one], len(numbers)) for one in used.tolist()]
            codes[at : at + count] = np.array(known, dtype=np.int32)[which]
        elif isinstance(values, list):
            codes[at : at + count] = [numbers.setdefault(one, len(numbers)) for one in values]
        else:
            codes[at : at + count] = numbers.setdefault(values, len(numbers))
        at += count
    words = pa.array(list(numbers), type=kind.value_type)
    return pa.DictionaryArray.from_arrays(pa.array(codes), words)
