"""What makes two smallest cases one bug: the same case up to names and values; its id and title."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from harness.bugs.error_case import ErrorCase, compact
from harness.bugs.passes import is_json
from harness.bugs.schema_edits import MAPS, keys_at, rebuilt
from harness.bugs.text_edits import LAYOUT, fault, sort_of
from harness.engines.specs import read_spec
from harness.jsontext.pointers import values_in
from harness.printable import escaped, printable
from harness.schemas.schema import mapping, number, objects, strings
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
_STRINGS: Final = ("inside string", "inside key", "inside escape")
_NAMED, _DECLARED = ("letter", "digit"), "a declared key"
_SORTS: Final[Mapping[str, str]] = {
    "letter": "a letter",
    "digit": "a digit",
    "beyond ASCII": "a character beyond ASCII",
    "end": "the end",
    "22": "a quote",
    "5c": "a backslash escape",
    "20": "a space",
}
"""Sorts of bytes in words; any other is shown as it is."""
_VALUES: Final[Mapping[str, str]] = {
    "letter": "true, false or null",
    "digit": "a number",
    "2d": "a number with a minus sign",
    "22": "a string",
    "5b": "an array",
    "7b": "an object",
}
"""Values by the sort of their first byte."""


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
        declared = b" declared" * (_key(case, at) == _DECLARED)
        text += b"\x00" + sort_of(case.text[at : at + 1]).encode() + declared
    plain_schema = rebuilt(schema, standins.keyword, standins.name, order=sorted)
    return compact(plain_schema), text.decode("latin-1")


class _StandIns:
    """What stands for the names, words and numbers of a schema."""

    def __init__(self, schema: Any) -> None:
        self._names = {name: f"n{number}" for number, name in enumerate(_names(schema))}
        ranked = enumerate(sorted({one for one in values_in(schema) if number(one) is not None}))
        self._numbers = {value: f"{_sort(value)}{rank}" for rank, value in ranked}

    def name(self, name: str) -> str:
        return self._names.get(name, name)

    def keyword(self, keyword: str, value: Any) -> Any:
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
        maps = [mapping(part, keyword) for keyword in MAPS]
        for named in maps:
            names.update(dict.fromkeys(named))
        inners = (inner for named in maps for inner in named.values())
        for listed in (part.get("required"), *inners):
            names.update(dict.fromkeys(strings(listed)))
    return names


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
    """The keywords of the smallest schema without which the error vanishes, sorted."""
    names = sorted({name for _, part in objects(case.parsed) for name in part})
    return [name for name in names if name not in _STRUCTURE] or [
        name for name in names if name in ("$ref", "properties", "type")
    ]


def concerned(case: ErrorCase) -> list[str]:
    """What `keywords` has, a format or a type with its value; nothing for a pattern."""
    return [f"{name}{_value(case, name)}" for name in keywords(case)]


def title(case: ErrorCase, keyword: str, at: int) -> str:
    """What the engine does, in one printable line: the same for all that is one bug."""
    return printable(_title(case, keyword, at), "")


def _title(case: ErrorCase, keyword: str, at: int) -> str:
    if case.about == "pattern":
        return _of_pattern(case, at)
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
            return _refused(case, at) + _under(case, values=True)
    return what + _under(case)


def _of_pattern(case: ErrorCase, at: int) -> str:
    sort = sort_of(case.text[at : at + 1])
    what = _SORTS.get(sort) or repr(case.text[at : at + 1])[1:]
    if case.token:
        what = f"the token {escaped(case.token)!r}"
    does = "allowed" if case.kind in ACCEPTANCES else "refused"
    return f"{what} is {does} by the pattern {case.parsed}"


def _accepted(case: ErrorCase, keyword: str, at: int) -> str:
    if keyword == "json":
        what = "" if 0 <= at < len(case.text) else "what is no JSON"
        what = what or _character(case, at) + _place(case.text, at)
        return f"invalid JSON is allowed: {what}{_under(case, values=True)}"
    others = [f"`{name}`" for name in keywords(case) if name != keyword]
    beside = f" beside {' and '.join(others[:3])}" if others else ""
    schema, value = case.parsed, _VALUES.get(sort_of(case.text.lstrip(b"-")[:1]), "a value")
    if not isinstance(schema, dict) or keyword not in schema:
        value = "a value"
    if case.text in (b'""', b"[]", b"{}"):
        value = value.replace("an ", "an empty ").replace("a string", "an empty string")
    if not case.text.isascii():
        value += " with a character beyond ASCII"
    return f"accepts {value} that breaks `{keyword}`{_value(case, keyword)}{beside}"


def _refused(case: ErrorCase, at: int) -> str:
    if case.token:
        where = _place(case.text, at)
        return f"the token {escaped(case.token)!r}, all bytes allowed, is refused{where}"
    place, sort = fault(case.text, at) if at >= 0 else ("", "end")
    if place == "start of value":
        return f"{_VALUES.get(sort, 'a value')} is refused"
    key = _key(case, at)
    return f"{key or _character(case, at)} is refused{'' if key else _place(case.text, at)}"


def _key(case: ErrorCase, at: int) -> str:
    """The key that is refused by what it is called; empty where something else is."""
    before, (place, sort) = case.text[: max(at, 0)], fault(case.text, max(at, 0))
    at_name = before[-1:] == b'"' and sort in (*_NAMED, "22") and place == "inside key"
    if not at_name or not is_json(case):
        return ""
    name, earlier, declared = keys_at(case.parsed, case.text, at)
    if name in declared:
        return _DECLARED
    first = declared and not declared & earlier
    return f"an undeclared key{' before any declared one' * bool(first)}"


def _character(case: ErrorCase, at: int) -> str:
    byte = case.text[at : at + 1] if at >= 0 else b""
    sort = sort_of(byte)
    if sort == "letter" and fault(case.text, at)[0].endswith("number"):
        return "an exponent"
    if sort == "beyond ASCII" and case.text != case.text.decode("utf-8", "ignore").encode():
        return "ill-formed UTF-8"
    if byte < b" " and case.kind in ACCEPTANCES and byte and fault(case.text, at)[0] in _STRINGS:
        return "a control character"
    return _SORTS.get(sort) or (f"`{escaped(byte)}`" if byte > b" " else f"U+00{sort.upper()}")


def _place(text: bytes, at: int) -> str:
    place = fault(text, at)[0] if at >= 0 else ""
    spaced = at > 0 and text[at - 1 : at] in LAYOUT and place not in _STRINGS
    how, _, noun = place.replace("inside", "in").replace("start", "at the start").rpartition(" ")
    where = f"{how} a{'n' * (noun == 'escape')} {noun}" if how else "after the document"
    return f" {where}" * bool(place) + " and white space" * spaced


def _under(case: ErrorCase, *, values: bool = False) -> str:
    """The first keywords; with `values` those of some of them as well."""
    names = keywords(case)
    named = [f"`{name}`{_value(case, name) if values else ''}" for name in names[:3]]
    return f" under {' and '.join(named)}" if named else ""


def _value(case: ErrorCase, keyword: str) -> str:
    """The value of a keyword that tells more than the keyword: a format, a type."""
    if keyword not in ("format", "type"):
        return ""
    values = [part[keyword] for _, part in objects(case.parsed) if keyword in part]
    one = isinstance(values[0], str) and all(value == values[0] for value in values)
    return f": {json.dumps(values[0])}" if one else ""
