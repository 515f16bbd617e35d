"""What makes two smallest cases one bug: the same case up to names and values, and its id."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from harness.bugs.error_case import ErrorCase, compact
from harness.bugs.schema_edits import LISTS, MAPS, SINGLE, subschemas
from harness.bugs.text_edits import sort_of
from harness.engines.specs import read_spec
from harness.verdict_kinds import ACCEPTANCES

_WORDS = ("type", "format", "$schema", "$ref")
"""Keywords whose values are words of JSON Schema, or are put in order elsewhere."""
_PART = re.compile(rb'"((?:[^"\\]|\\.)*+\\?)("|\Z)|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?', re.DOTALL)
"""A string, whole or cut, or a number."""
_RUN = re.compile(
    rb"(\\u)[0-9a-fA-F]{4}|(\\.)|([A-Za-z]+)|(\d+)|([\0-\x1f])|[\x80-\xff]+", re.DOTALL
)
"""In a string an escape, letters, digits, a control character, or what is beyond ASCII."""
_SPACES = re.compile(rb"[ \t\n\r]+")
LENGTH = 8
"""Hexadecimal digits of an id."""


def bug_id(case: ErrorCase, at: int) -> str:
    """The id of a bug: of its engine, whatever the version, its kind and its canonical case.

    Args:
        case: The smallest case.
        at: The byte of its text at which the error is, -1 where that is not known.
    """
    engine = read_spec(case.engine).name
    parts = [engine, case.kind, *canonical(case, at)]
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:LENGTH]


def canonical(case: ErrorCase, at: int) -> tuple[str, str]:
    """Schema and text with names, words and numbers in a form that does not depend on them.

    Of a text that is refused it is what comes before, and what sort of byte is refused.
    """
    schema = case.parsed
    names = {name: f"n{number}" for number, name in enumerate(_names(schema))}
    numbers = _ranks(schema)
    accepted = case.kind in ACCEPTANCES

    def plain(found: re.Match[bytes]) -> bytes:
        if found[1] is not None:
            return _word(found[1], names) + found[2]
        return b"0" if accepted else re.sub(rb"\d+", b"0", found[0])

    text = case.text if accepted or at < 0 else case.text[:at]
    text = _PART.sub(plain, text)
    if case.token:
        text += b"\x00" + _SPACES.sub(b" ", case.token)
    elif not accepted and at >= 0:
        text += b"\x00" + sort_of(case.text[at : at + 1]).encode()
    return compact(_abstract(schema, names, numbers)), text.decode("latin-1")


def _names(schema: Any) -> Iterator[str]:
    """The author's names in the order in which they come, each once."""
    found: dict[str, None] = {}
    for _, part in subschemas(schema):
        if isinstance(part, dict):
            maps = [part[one] for one in MAPS if isinstance(part.get(one), dict)]
            for named in maps:
                found.update(dict.fromkeys(named))
            for listed in (part.get("required"), *(one for map_ in maps for one in map_.values())):
                if isinstance(listed, list):
                    found.update(dict.fromkeys(one for one in listed if isinstance(one, str)))
    yield from found


def _ranks(schema: Any) -> dict[float, str]:
    """What stands for each number of a schema: its rank among them, and what sort it is."""
    found: set[float] = set()

    def visit(value: Any) -> None:
        if isinstance(value, dict):
            for inner in value.values():
                visit(inner)
        elif isinstance(value, list):
            for inner in value:
                visit(inner)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.add(value)

    visit(schema)
    return {value: f"{_sort(value)}{rank}" for rank, value in enumerate(sorted(found))}


def _sort(value: float) -> str:
    """Beyond 2**53 and with a fraction numbers are read in ways of their own."""
    if abs(value) > 1 << 53:
        return "B"
    return "N" if value == int(value) else "F"


def _abstract(schema: Any, names: dict[str, str], numbers: dict[float, str]) -> Any:
    if isinstance(schema, list):
        return [_abstract(one, names, numbers) for one in schema]
    if not isinstance(schema, dict):
        return _value(schema, names, numbers)
    out: dict[str, Any] = {}
    for keyword, value in sorted(schema.items()):
        if keyword in MAPS and isinstance(value, dict):
            out[keyword] = {
                names.get(name, name): _abstract(inner, names, numbers)
                for name, inner in value.items()
            }
        elif keyword in SINGLE or keyword in LISTS:
            out[keyword] = _abstract(value, names, numbers)
        elif keyword == "$ref" and isinstance(value, str):
            out[keyword] = "/".join(names.get(step, step) for step in value.split("/"))
        elif keyword in _WORDS:
            out[keyword] = value
        else:
            out[keyword] = _value(value, names, numbers)
    return out


def _value(value: Any, names: dict[str, str], numbers: dict[float, str]) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return numbers[value]
    if isinstance(value, str):
        return names.get(value) or _plain(value.encode()).decode("latin-1")
    if isinstance(value, list):
        return [_value(one, names, numbers) for one in value]
    return {names.get(name, "n"): _value(one, names, numbers) for name, one in value.items()}


def _word(raw: bytes, names: dict[str, str]) -> bytes:
    try:
        name = json.loads(b'"' + raw + b'"')
    except ValueError:
        name = ""
    return b'"' + (names[name].encode() if name in names else _plain(raw))


def _plain(raw: bytes) -> bytes:
    def stand_in(run: re.Match[bytes]) -> bytes:
        plain = (b"a", b"0", b"\0", b"\xff")
        return run[1] or run[2] or plain[(run.lastindex or 6) - 3]

    return _RUN.sub(stand_in, raw)
