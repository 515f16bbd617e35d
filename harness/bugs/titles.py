"""A bug in one line, in the words of JSON Schema, made of its smallest case."""

from __future__ import annotations

import json
from collections.abc import Mapping

from harness.bugs.error_case import ErrorCase
from harness.bugs.schema_edits import objects
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
_PLACES: Mapping[str, str] = {
    "inside string": "in a string",
    "inside key": "in a key",
    "inside number": "in a number",
    "inside literal": "in a literal",
    "inside escape": "in an escape",
    "start of key": "where a key begins",
    "behind key": "after a key",
    "behind value": "after a value",
}


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
            last = f"token, {case.readable_token!r}," if case.token else "byte"
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
