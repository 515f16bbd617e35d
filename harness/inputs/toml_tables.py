"""Lists of tables in TOML files: what catalogues are made of."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from harness.errors import InputError


def read_tables(file: Path, name: str) -> dict[str, list[Any]]:
    """The list of tables in a file of ours that consists of it alone."""
    return {name: tomllib.loads(file.read_text("utf-8")).get(name, [])}


def by_id(
    tables: Iterable[Any], read: Callable[[Any, str], Any], name: str, file: object
) -> dict[str, Any]:
    """The entries of one list by their `id`; `read` is given each table and where it stands."""
    found: dict[str, Any] = {}
    for number, table in enumerate(tables, start=1):
        one = read(table, f"{name} {number} of {file}")
        if one.id in found:
            raise InputError(f"{file} has two of the id {one.id!r}")
        found[one.id] = one
    return found
