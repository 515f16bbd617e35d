"""The tables of a run: their columns, and the rows that one case contributes.

Engines are stored by name. `judged`, `accepters` and `rejecters` are sets of engines as bit
masks in the order of the run's engine list. Everything but `timings` and `costs` is the same in
every run with the same seed, engines and cases.

`verdicts` is what walks prove, `instance_verdicts` what the cases' own instances prove. In both,
`keyword` and the pointers say what a false acceptance breaks, and for a false rejection what was in
force at the place; `category` is the kind of token, `detail` what else a rule of the catalogue of
departures may ask for (`harness.why.attribution`); `located` says of a false acceptance whether the
error lies at the token itself (`harness.why.locate`); `jsonschema` and `jsonschema_rs` are
``valid``, ``invalid`` or empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

_NAME = pa.dictionary(pa.int32(), pa.string())

_PLACE = [("case", _NAME), ("walk", pa.int32()), ("position", pa.int32())]

_WHY = [
    ("keyword", _NAME),
    ("schema_pointer", _NAME),
    ("instance_pointer", _NAME),
    ("category", _NAME),
    ("detail", _NAME),
    ("located", pa.bool_()),
    ("jsonschema", _NAME),
    ("jsonschema_rs", _NAME),
]

SCHEMAS: Mapping[str, pa.Schema] = {
    "cases": pa.schema(
        [
            ("case", pa.string()),
            ("family", pa.string()),
            ("status", pa.string()),
            ("reason", pa.string()),
            ("message", pa.string()),
            ("schema", pa.large_string()),
            ("references", pa.list_(pa.binary())),
            ("judged", pa.uint32()),
            ("walks", pa.int32()),
            ("positions", pa.int32()),
            ("disputed_tokens", pa.int64()),
        ]
    ),
    "engines": pa.schema(
        [
            ("case", _NAME),
            ("engine", _NAME),
            ("stage", pa.string()),
            ("walk", pa.int32()),
            ("position", pa.int32()),
            ("outcome", pa.string()),
            ("signal", pa.string()),
            ("message", pa.string()),
            ("output", pa.string()),
        ]
    ),
    "positions": pa.schema(
        [
            *_PLACE,
            ("offset", pa.int32()),
            ("token", pa.int32()),
            ("canonical", pa.int32()),
            ("place", _NAME),
            ("judged", pa.uint32()),
            ("disputed_tokens", pa.int32()),
        ]
    ),
    "disputes": pa.schema(
        [
            *_PLACE,
            ("dispute", pa.int32()),
            ("accepters", pa.uint32()),
            ("rejecters", pa.uint32()),
            ("tokens", pa.int32()),
            ("drawn", pa.int32()),
            ("census", pa.int32()),
        ]
    ),
    "completions": pa.schema(
        [
            ("case", _NAME),
            ("completion", pa.int32()),
            ("origin", _NAME),
            ("text", pa.binary()),
            ("tokens", pa.list_(pa.int32())),
        ]
    ),
    "verdicts": pa.schema(
        [
            *_PLACE,
            ("dispute", pa.int32()),
            ("token", pa.int32()),
            ("by_right", pa.bool_()),
            ("engine", _NAME),
            ("kind", _NAME),
            ("reason", _NAME),
            ("accepter", _NAME),
            ("completion", pa.int32()),
            *_WHY,
        ]
    ),
    "instances": pa.schema(
        [
            ("case", _NAME),
            ("instance", pa.int32()),
            ("label", _NAME),
            ("text", pa.binary()),
            ("tokens", pa.list_(pa.int32())),
            ("canonical", pa.bool_()),
            ("verdict", _NAME),
            ("reason", _NAME),
        ]
    ),
    "instance_verdicts": pa.schema(
        [
            ("case", _NAME),
            ("instance", pa.int32()),
            ("engine", _NAME),
            ("kind", _NAME),
            ("reason", _NAME),
            ("consumed", pa.int32()),
            ("token", pa.int32()),
            ("place", _NAME),
            *_WHY,
        ]
    ),
    "masks": pa.schema([*_PLACE, ("engine", _NAME), ("allowed", pa.int32())]),
    "timings": pa.schema(
        [*_PLACE, ("engine", _NAME), ("mask_ns", pa.int64()), ("consume_ns", pa.int64())]
    ),
    "costs": pa.schema(
        [("case", _NAME), ("stage", _NAME), ("engine", _NAME), ("seconds", pa.float64())]
    ),
}


@dataclass
class Rows:
    """The rows of one case, by table, in columns."""

    columns: dict[str, dict[str, list[Any]]] = field(
        default_factory=lambda: {
            table: {name: [] for name in schema.names} for table, schema in SCHEMAS.items()
        }
    )

    def add(self, table: str, **values: Any) -> None:
        """Append one row; every column must be given."""
        columns = self.columns[table]
        if values.keys() != columns.keys():
            odd = sorted(values.keys() ^ columns.keys())
            raise ValueError(f"row of table {table!r}: columns {odd} do not match")
        for name, value in values.items():
            columns[name].append(value)

    def extend(self, table: str, count: int, **values: Any) -> None:
        """Append `count` rows; a column is a list of as many values, or one value for all."""
        columns = self.columns[table]
        if values.keys() != columns.keys():
            odd = sorted(values.keys() ^ columns.keys())
            raise ValueError(f"rows of table {table!r}: columns {odd} do not match")
        for name, value in values.items():
            many = value if isinstance(value, list) else [value] * count
            if len(many) != count:
                raise ValueError(f"column {name!r} of table {table!r}: {len(many)} of {count} rows")
            columns[name].extend(many)

    def count(self, table: str) -> int:
        """How many rows a table has."""
        return len(next(iter(self.columns[table].values())))

    def table(self, name: str) -> pa.Table:
        """One table in Arrow's form."""
        schema = SCHEMAS[name]
        arrays = [_array(self.columns[name][column.name], column.type) for column in schema]
        return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return pa.array(values, type=kind.value_type).dictionary_encode().cast(kind)
    return pa.array(values, type=kind)
