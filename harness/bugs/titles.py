"""A bug in one line, in the words of JSON Schema, made of its smallest case."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from harness.bugs.error_case import ErrorCase
from harness.bugs.schema_edits import subschemas
from harness.jsontext.lexer import START, advance, place_of
from harness.printable import printable

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


def keywords(case: ErrorCase) -> list[str]:
    """The keywords of the smallest schema without which the error vanishes, in their order."""
    found: dict[str, None] = {}
    for _, part in subschemas(case.parsed):
        if isinstance(part, dict):
            found.update(dict.fromkeys(part))
    telling = [name for name in found if name not in _STRUCTURE]
    return telling or [name for name in found if name in ("$ref", "properties", "type")]


def title(case: ErrorCase, keyword: str, at: int) -> str:
    """What is wrong, in one printable line."""
    return printable(_title(case, keyword, at), "")


def _title(case: ErrorCase, keyword: str, at: int) -> str:
    if case.kind == "dead_end":
        return f"nothing at all is allowed{_under(keywords(case))}"
    if case.kind == "mask_consume_mismatch":
        last = f"token, {case.readable_token!r}," if case.token else "byte"
        what = f"the mask and what is consumed do not say the same of the last {last}"
        return f"{what}{_under(keywords(case))}"
    if case.kind == "stops_too_early":
        return f"the end is allowed in the middle of a value{_under(keywords(case))}"
    if case.kind == "never_stops":
        return f"the end is refused behind a valid value{_under(keywords(case))}"
    if case.kind == "false_acceptance":
        return _accepted(case, keyword, at)
    return f"{_refused(case, at)} is refused{_place(case, at)}{_under(keywords(case), case)}"


def _accepted(case: ErrorCase, keyword: str, at: int) -> str:
    if keyword == "json":
        what = _character(case.text[at]) if 0 <= at < len(case.text) else "what is no JSON"
        return f"invalid JSON is allowed: {what}{_place(case, at)}{_under(keywords(case), case)}"
    others = [name for name in keywords(case) if name != keyword]
    what = f"`{keyword}`{_value(case, keyword)}"
    if keyword == "format":
        return f"{what}: a text that is none is allowed{_beside(others)}"
    return f"{what}{_beside(others)} is not enforced{_of_type(case, keyword)}"


def _refused(case: ErrorCase, at: int) -> str:
    if case.token:
        return f"the token {case.readable_token!r}, all bytes allowed,"
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


_PLACES = {
    "inside string": "in a string",
    "inside key": "in a key",
    "inside number": "in a number",
    "inside literal": "in a literal",
    "inside escape": "in an escape",
    "start of key": "where a key begins",
    "behind key": "behind a key",
    "behind value": "behind a value",
}


def _under(names: list[str], case: ErrorCase | None = None) -> str:
    if not names:
        return ""
    shown = [f"`{one}`{_value(case, one) if case is not None else ''}" for one in names[:3]]
    return f" under {' and '.join(shown)}"


def _beside(others: list[str]) -> str:
    return f" beside {' and '.join(f'`{one}`' for one in others[:3])}" if others else ""


def _value(case: ErrorCase, keyword: str) -> str:
    """The value of a keyword that tells more than the keyword: a format, a type."""
    if keyword not in ("format", "type"):
        return ""
    found = next(_values(case, keyword), None)
    return f": {json.dumps(found)}" if isinstance(found, str) else ""


def _of_type(case: ErrorCase, keyword: str) -> str:
    for _, part in subschemas(case.parsed):
        if isinstance(part, dict) and keyword in part and keyword != "type":
            kind = part.get("type")
            return f" for type {json.dumps(kind)}" if isinstance(kind, str) else ""
    return ""


def _values(case: ErrorCase, keyword: str) -> Iterator[Any]:
    for _, part in subschemas(case.parsed):
        if isinstance(part, dict) and keyword in part:
            yield part[keyword]
