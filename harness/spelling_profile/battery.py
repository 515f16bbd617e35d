"""The battery: spellings that are asked of every engine, of ``datasets/spellings.toml``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from harness.directories import data_path
from harness.errors import InputError
from harness.inputs.toml_tables import by_id, read_tables

WHITE_SPACE: Final = "white space"
"""The group whose rows are about the layout."""
_SPACE: Final = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')


@dataclass(frozen=True)
class Spelling:
    """A row: may `text`, which is valid under `schema`, be written?

    `plain` is another spelling of the same value, or else `control` another value in a plain one;
    `behaviour` the entry of ``behaviours.toml`` that refuses the text, `character` what is to be
    written in any way; all of these may be empty.
    """

    id: str
    group: str
    about: str
    schema: str
    text: str
    plain: str = ""
    control: str = ""
    behaviour: str = ""
    character: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The text in each layout, where it is not the layout that is asked about."""
        return (self.text,) if self.group == WHITE_SPACE else _layouts(self.text)

    @property
    def controls(self) -> tuple[str, ...]:
        """Texts of which one has to be allowed for the answer to be about the spelling, if any."""
        return _layouts(self.plain or self.control)


def _layouts(text: str) -> tuple[str, ...]:
    compact = _SPACE.sub(lambda one: one[1] or "", text)
    return tuple(one for one in dict.fromkeys((text, compact)) if one)


def load_battery() -> tuple[Spelling, ...]:
    """All rows, in the order of tables; an InputError where the file is not as it must be."""
    file = data_path("spellings.toml")
    return tuple(by_id(read_tables(file, "row")["row"], _row, "row", file).values())


def _row(table: Any, where: str) -> Spelling:
    try:
        return Spelling(**table)
    except TypeError as error:
        raise InputError(f"{where}: {error}") from error
