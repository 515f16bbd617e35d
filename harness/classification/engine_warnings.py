"""Engine warnings: what engines can print about a schema, and which keywords each text is about.

They stand in ``datasets/engines.toml``. Rules of class ``warned`` name its entries, so that a
verdict is excused only by a text that is listed, and only for keywords that the text is about. What
an engine prints beyond the list is shown as such and excuses nothing: nobody has read what it is
about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from harness.errors import InputError
from harness.inputs.toml_tables import by_id

_PLACEHOLDER = re.compile(r"\{(?:keyword|format|pattern)\}")
_TEXTS: Final = ("id", "engine", "text", "prints", "source")
_KNOWN: Final = frozenset({*_TEXTS, "keyword", "schema", "silent"})


@dataclass(frozen=True)
class EngineWarning:
    """One entry of the list.

    Attributes:
        text: A regular expression that is found in it; ``{keyword}``, ``{format}`` and
            ``{pattern}`` stand for those of a verdict.
        keywords: What it is about; none where it is about nothing that a schema says.
        prints: The text as it is printed, for example.
        source: The public URL of the code that prints it.
        schema: A schema about which the installed version prints it; empty where there is none.
        silent: Why there is none.
    """

    id: str
    engine: str
    text: str
    keywords: frozenset[str]
    prints: str
    source: str
    schema: str
    silent: str

    def recognises(self, line: str) -> bool:
        """Whether a printed line is this warning, whichever schema it is about."""
        return re.search(_PLACEHOLDER.sub(".*", self.text), line) is not None


def read_warnings(tables: Iterable[Any], file: object) -> dict[str, EngineWarning]:
    """The tables ``[[warning]]`` of a file, by id.

    Raises:
        InputError: One is not as it must be.
    """
    return by_id(tables, _warning, "warning", file)


def _warning(table: Any, where: str) -> EngineWarning:
    if not isinstance(table, Mapping) or table.keys() - _KNOWN:
        raise InputError(f"{where} is not of the keys {', '.join(sorted(_KNOWN))}")
    texts = {name: table.get(name) for name in _TEXTS}
    if any(not isinstance(value, str) or not value for value in texts.values()):
        raise InputError(f"{where} needs {', '.join(_TEXTS)}, each a text")
    keywords = table.get("keyword")
    if not isinstance(keywords, list) or not all(isinstance(one, str) for one in keywords):
        raise InputError(f"{where} ({texts['id']}) does not list the keywords that it is about")
    schema, silent = table.get("schema", ""), table.get("silent", "")
    if bool(schema) == bool(silent):
        raise InputError(f"{where} ({texts['id']}) needs either schema or silent")
    try:
        re.compile(_PLACEHOLDER.sub("x", str(texts["text"])))
    except re.error as error:
        raise InputError(f"{where} ({texts['id']}) has a bad text: {error}") from error
    return EngineWarning(
        str(texts["id"]),
        str(texts["engine"]),
        str(texts["text"]),
        frozenset(keywords),
        str(texts["prints"]),
        str(texts["source"]),
        str(schema),
        str(silent),
    )
