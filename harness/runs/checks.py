"""What the manifest and the tables of a run must be, whoever made it: readers rely on this.

Checksums and the seal show damage, not intent: those of a run that was forged are right. So types,
gaps, ranges and names are looked at wherever a file is read, once, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from harness.engines.specs import MAX_ENGINES
from harness.errors import RunDirectoryError
from harness.runs.tables import GAPS, KNOWN, MOST, SCHEMAS

_LARGEST = 1 << 53
"""No number of a manifest or a table is as large: rows, nanoseconds, bytes of memory."""

_ANY, _SEED, _COUNT, _WORDS = object, (int,), (int,), {"*": (str,)}
_TEXT, _NUMBER = (str, type(None)), (int, float, type(None))
_ENGINE: dict[str, Any] = {"version": _TEXT, "build": _TEXT, "options": {"*": (bool, int, str)}}
_ENGINE |= {"packages": _WORDS, "tokens_asked": _COUNT, "tokens_with_other_bytes": _COUNT}
_RULES: dict[str, Any] = {"seed": _SEED, "cap": (int, type(None))}
_RULES |= {"budget": (int, float), "walks": _COUNT, "generated": _COUNT, "samples": _COUNT}
_RULES |= _WORDS
_VOCABULARY = {"spec": (str,), "eos": _TEXT, "name": (str,), "size": _COUNT, "sha256": (str,)}
_MANIFEST: Mapping[str, Any] = {
    "identity": {
        "engines": {"*": _ENGINE},
        "harness": _WORDS,
        "vocabulary": _VOCABULARY,
        "data": {"name": (str,), "cases": _COUNT},
        "rules": _RULES,
        "resolver": {"name": (str,), "*": _COUNT},
        "limits": {"memory": _COUNT, "*": (int, float)},
    },
    "started": _TEXT,
    "commit": _TEXT,
    "machine": {"pace": _COUNT, "*": (str, int)},
    "seconds": _NUMBER,
    "tables": {"*": {"rows": _COUNT, "sha256": (str,)}},
}
"""Fields and their types, ``*`` for all others; those that are not here may be anything."""


def check_manifest(file: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest that holds what no run writes; what it lacks is missed later."""
    if (odd := _odd(manifest, _MANIFEST)) is not None:
        _refuse(file, f"its {odd}")
    engines = manifest.get("identity", {}).get("engines")
    if engines is None or len(engines) > MAX_ENGINES:
        _refuse(file, "the number of its engines")
    if any({"rows", "sha256"} - one.keys() for one in manifest.get("tables", {}).values()):
        _refuse(file, "its list of tables")


def _odd(value: Any, wanted: Any, name: str = "content") -> str | None:
    """The name of a field that is not as in any run."""
    if isinstance(wanted, dict):
        if not isinstance(value, dict):
            return name
        known = ((key, one, wanted.get(key, wanted.get("*", _ANY))) for key, one in value.items())
        return next((odd for key, one, kind in known if (odd := _odd(one, kind, key))), None)
    if wanted is _ANY:
        return None
    right = isinstance(value, wanted) and (bool in wanted or not isinstance(value, bool))
    if right and isinstance(value, int | float) and wanted is not _SEED:  # NaN is in no range
        right = value < _LARGEST and (value >= 0 or (str in wanted and value > -_LARGEST))
    return None if right else name


def check_columns(file: Path, found: pa.Schema) -> None:
    """Refuse a table that has not the columns of its name."""
    if not found.equals(known := SCHEMAS[file.stem]):
        odd = {(one.name, one.type) for one in found} ^ {(one.name, one.type) for one in known}
        _refuse(file, f"column {min((name for name, _ in odd), default=found.names)}")


def check_rows(
    file: Path, rows: pa.RecordBatch, manifest: Mapping[str, Any], cases: Collection[str] | None
) -> None:
    """Refuse rows in which values are missing, out of range, or name what the run has not.

    `cases` are those of the run, None while they are read.
    """
    identity = manifest.get("identity", {})
    engines, size = identity.get("engines", {}), identity.get("vocabulary", {}).get("size", 1 << 24)
    known = {**KNOWN, "engine": engines, "accepter": engines, "case": cases}
    most = {**MOST, **dict.fromkeys(("token", "canonical", "an item of tokens"), size)}
    try:
        rows.validate(full=True)  # that words and texts are UTF-8, too
    except pa.ArrowException:
        _refuse(file, "how it is stored")
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        _check(file, name, column, known.get(name), most.get(name, _LARGEST))
        if pa.types.is_list(column.type):
            item = f"an item of {name}"
            _check(file, item, column.flatten(), None, most.get(item, _LARGEST))


def _check(
    file: Path, name: str, column: pa.Array, known: Collection[str] | None, most: int
) -> None:
    """Refuse a column with words that are not `known`, or numbers that are not less than `most`."""
    if column.null_count and name not in GAPS:
        _refuse(file, f"a gap in column {name}")
    kind = column.type
    words = column.dictionary if pa.types.is_dictionary(kind) else column
    if known is not None and (odd := set(words.to_pylist()) - {*known, ""}):
        _refuse(file, f"{min(map(repr, odd))} in column {name}")
    if pa.types.is_dictionary(kind) and words.null_count:
        _refuse(file, f"a gap in column {name}")
    if (pa.types.is_integer(kind) or pa.types.is_floating(kind)) and len(column):
        from pyarrow.compute import min_max  # lanes, which read no table, need not wait for it

        least, largest = min_max(column).as_py().values()
        if not (least >= -1 and largest < most):  # NaN alone is neither
            _refuse(file, f"a number in column {name}")


def _refuse(file: Path, what: str) -> NoReturn:
    raise RunDirectoryError(
        f"{file} cannot be used: {what} is not as in any run", "maskcourt has not written it so"
    )
