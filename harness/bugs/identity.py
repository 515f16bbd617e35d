"""What makes two smallest cases one bug: the same case up to names and values; its id and title."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from harness.bugs.error_case import ErrorCase, compact
from harness.bugs.schema_edits import MAPS, objects, rebuilt
from harness.bugs.text_edits import sort_of
from harness.engines.specs import read_spec
from harness.jsontext.lexer import START, advance, place_of
from harness.printable import escaped, printable
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
_STRUCTURE = ("$defs", "definitions", "$schema", "$ref", "type", "properties", "$id", "id")
_CHARACTERS: Mapping[int, str] = {
    0x22: "a quote",
    0x5C: "a backslash escape",
    0x20: "a space",
    0x09: "a tab",
    0x0A: "a line feed",
    0x0D: "a carriage return",
    0x2C: "a comma",
    0x2D: "a minus sign",
    0x2E: "a decimal point",
}
_PLACES: Mapping[str, str] = {
    "inside string": "in a string",
    "inside key": "in a key",
    "inside number": "in a number",
    "inside literal": "in a literal",
    "inside escape": "in an escape",
    "start of key": "where a key begins",
    "after key": "after a key",
    "after value": "after a value",
}


def bug_id(case: ErrorCase, at: int) -> str:
    """The id of a bug: of its engine, whatever the version, its kind and its canonical case.

    `at` is the byte of the smallest case's text at which the error is, -1 where it is not known.
    """
    parts = [read_spec(case.engine).name, case.kind, *canonical(case, at)]
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:LENGTH]


def canonical(case: ErrorCase, at: int) -> tuple[str, str]:
    """Schema and text with names, words and numbers in a form that does not depend on them.

    Of a text that is refused it is what comes before, and what sort of byte is refused.
    """
    schema = case.parsed
    standins = _StandIns(schema)
    accepted = case.kind in ACCEPTANCES

    def plain(part: re.Match[bytes]) -> bytes:
        if part[1] is not None:
            return standins.quoted(part[1]) + part[2]
        return b"0" if accepted else re.sub(rb"\d+", b"0", part[0])

    text = _PART.sub(plain, case.text if accepted or at < 0 else case.text[:at])
    if case.token:
        text += b"\x00" + _SPACES.sub(b" ", case.token)
    elif not accepted and at >= 0:
        text += b"\x00" + sort_of(case.text[at : at + 1]).encode()
    plain_schema = rebuilt(schema, standins.keyword, standins.name, order=sorted)
    return compact(plain_schema), text.decode("latin-1")


class _StandIns:
    """What stands for the names, words and numbers of a schema."""

    def __init__(self, schema: Any) -> None:
        self._names = {name: f"n{number}" for number, name in enumerate(_names(schema))}
        ranked = enumerate(sorted({*_numbers(schema)}))
        self._numbers = {value: f"{_sort(value)}{rank}" for rank, value in ranked}

    def name(self, name: str) -> str:
        """A name of a member, or a step of a reference."""
        return self._names.get(name, name)

    def keyword(self, keyword: str, value: Any) -> Any:
        """The value of a keyword that holds no schema."""
        if keyword == "$ref" and isinstance(value, str):
            return "/".join(map(self.name, value.split("/")))
        return value if keyword in _WORDS else self.data(value)

    def data(self, value: Any) -> Any:
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int | float):
            return self._numbers[value]
        if isinstance(value, str):
            return self._names.get(value) or _plain(value.encode()).decode("latin-1")
        if isinstance(value, list):
            return [self.data(item) for item in value]
        return {self._names.get(name, "n"): self.data(inner) for name, inner in value.items()}

    def quoted(self, raw: bytes) -> bytes:
        """The inside of a string of a text, with the quote before it."""
        try:
            name = json.loads(b'"' + raw + b'"')
        except ValueError:
            name = ""
        return b'"' + (self._names[name].encode() if name in self._names else _plain(raw))


def _names(schema: Any) -> dict[str, None]:
    """The author's names in the order in which they come, each once."""
    names: dict[str, None] = {}
    for _, part in objects(schema):
        maps = [part[keyword] for keyword in MAPS if isinstance(part.get(keyword), dict)]
        for named in maps:
            names.update(dict.fromkeys(named))
        for listed in (
            part.get("required"),
            *(inner for named in maps for inner in named.values()),
        ):
            if isinstance(listed, list):
                names.update(dict.fromkeys(name for name in listed if isinstance(name, str)))
    return names


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _numbers(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def _sort(value: float) -> str:
    """Beyond 2**53 and with a fraction numbers are read in ways of their own."""
    if abs(value) > 1 << 53:
        return "B"
    return "N" if value == int(value) else "F"


def _plain(raw: bytes) -> bytes:
    def stand_in(run: re.Match[bytes]) -> bytes:
        plain = (b"a", b"0", b"\0", b"\xff")
        return run[1] or run[2] or plain[(run.lastindex or 6) - 3]

    return _RUN.sub(stand_in, raw)


def keywords(case: ErrorCase) -> list[str]:
    """The keywords of the smallest schema without which the error vanishes, in their order."""
    names = dict.fromkeys(name for _, part in objects(case.parsed) for name in part)
    return [name for name in names if name not in _STRUCTURE] or [
        name for name in names if name in ("$ref", "properties", "type")
    ]


def title(case: ErrorCase, keyword: str, at: int) -> str:
    """What is wrong, in one printable line."""
    return printable(_title(case, keyword, at), "")


def _title(case: ErrorCase, keyword: str, at: int) -> str:
    match case.kind:
        case "dead_end":
            what = "nothing at all is allowed"
        case "mask_consume_mismatch":
            last = f"token, {escaped(case.token)!r}," if case.token else "byte"
            what = f"the mask and what is consumed do not say the same of the last {last}"
        case "stops_too_early":
            what = "the end is allowed in the middle of a value"
        case "never_stops":
            what = "the end is refused after a valid value"
        case "false_acceptance":
            return _accepted(case, keyword, at)
        case _:
            return f"{_refused(case, at)} is refused{_place(case, at)}{_under(case, values=True)}"
    return what + _under(case)


def _accepted(case: ErrorCase, keyword: str, at: int) -> str:
    if keyword == "json":
        what = _character(case.text[at]) if 0 <= at < len(case.text) else "what is no JSON"
        return f"invalid JSON is allowed: {what}{_place(case, at)}{_under(case, values=True)}"
    others = [f"`{name}`" for name in keywords(case) if name != keyword]
    what = f"`{keyword}`{_value(case, keyword)}"
    beside = f" beside {' and '.join(others[:3])}" if others else ""
    if keyword == "format":
        return f"{what}: accepts a string that does not match the format{beside}"
    return f"{what}{beside} is not enforced{_of_type(case, keyword)}"


def _refused(case: ErrorCase, at: int) -> str:
    if case.token:
        return f"the token {escaped(case.token)!r}, all bytes allowed,"
    if at < 0 or at >= len(case.text):
        return "the end"
    state = advance(START, case.text[:at])
    if state is not None and place_of(state, at_end=False) == "start of value":
        return f"a value such as {case.text[at:].decode('utf-8', 'replace')[:20]}"
    return _character(case.text[at])


def _character(byte: int) -> str:
    if byte in _CHARACTERS:
        return _CHARACTERS[byte]
    if byte < 0x20 or byte == 0x7F:
        return f"U+{byte:04X}"
    return f"`{chr(byte)}`" if byte < 0x80 else "a character beyond ASCII"


def _place(case: ErrorCase, at: int) -> str:
    state = advance(START, case.text[: max(at, 0)])
    if state is None or at < 0:
        return ""
    place = place_of(state, at_end=False)
    return "" if place in ("start of value", "end") else f" {_PLACES.get(place, place)}"


def _under(case: ErrorCase, *, values: bool = False) -> str:
    """The first keywords; with `values` those of some of them as well."""
    named = [f"`{name}`{_value(case, name) if values else ''}" for name in keywords(case)[:3]]
    return f" under {' and '.join(named)}" if named else ""


def _value(case: ErrorCase, keyword: str) -> str:
    """The value of a keyword that tells more than the keyword: a format, a type."""
    if keyword not in ("format", "type"):
        return ""
    value = next((part[keyword] for _, part in objects(case.parsed) if keyword in part), None)
    return f": {json.dumps(value)}" if isinstance(value, str) else ""


def _of_type(case: ErrorCase, keyword: str) -> str:
    parts = (part for _, part in objects(case.parsed) if keyword in part and keyword != "type")
    kind = next(parts, {}).get("type")
    return f" for type {json.dumps(kind)}" if isinstance(kind, str) else ""
