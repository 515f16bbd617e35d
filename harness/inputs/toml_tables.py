"""Lists of tables in TOML files: what catalogues are made of."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from harness.errors import InputError


def read_tables(file: Path, *names: str) -> dict[str, list[Any]]:
    """The lists of tables in a file that consists of these alone."""
    try:
        read = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the catalogue {file} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"the catalogue {file} is not TOML: {error}") from error
    found = {name: read.pop(name, []) for name in names}
    if read or not all(isinstance(one, list) for one in found.values()):
        raise InputError(
            f"the catalogue {file} holds {', '.join(sorted(read)) or 'no entries'}",
            "it consists of tables " + ", ".join(f"[[{name}]]" for name in names) + " alone",
        )
    return found


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
