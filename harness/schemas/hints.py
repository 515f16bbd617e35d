"""JSON values that a schema speaks of, and what lies just beside them: what is worth writing.

They are taken from anywhere in the schema, whatever they mean there, and nothing is claimed of
them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from harness.schemas.format_values import format_values

ALWAYS: Final = (
    *("null", "true", "false", "0", "-1", "1", "2", "1.5", "1.0", "1e2", "-0"),
    *("12345678901234567890", '""', '"a"', '"0"', '" "', '"é"', "[]", "{}", "[null]", "[0,0]"),
    '{"a":null}',
)
"""Values beside those of the schema."""

_MOST = 400
_LONGEST = 120
_DEEPEST = 40
_OF_FORMAT = 8
"""Texts of a format, and as many near misses."""
_LARGE = 1e300

Hint = tuple[str, str]
"""The name of the member that a value is about, empty for any, and the value as a JSON text."""


def hints(schema: Any) -> list[Hint]:
    """The values, at most some hundred, each once for a member."""
    found: dict[Hint, None] = {}
    for name, value in _values(schema, "", 0):
        text = _text(value)
        if 0 < len(text) <= _LONGEST and text.isprintable():  # no lone surrogate is
            found.setdefault((name if name.isprintable() else "", text))
        if len(found) >= _MOST:
            break
    found |= {("", text): None for text in ALWAYS}
    return list(found)


def _text(value: Any) -> str:
    """A value as a JSON text; empty where it is too large or too deep for one."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return ""


def _values(schema: Any, name: str, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > _DEEPEST:
        return
    if isinstance(schema, list):
        for one in schema:
            yield from _values(one, name, depth + 1)
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        for one in _values_of(keyword, value):
            yield name, one
        if keyword == "properties" and isinstance(value, dict):
            for member, inner in value.items():
                yield "", member
                yield from _values(inner, member, depth + 1)
        else:
            yield from _values(value, name, depth + 1)


def _values_of(keyword: str, value: Any) -> Iterator[Any]:
    """What one keyword speaks of; where it is a name and none, that does no harm."""
    match keyword, value:
        case (("const" | "default"), _):
            yield from _beside(value)
        case (("enum" | "examples" | "required"), list()):
            for one in value:
                yield from _beside(one)
        case (("dependentRequired" | "dependencies" | "dependentSchemas"), dict()):
            yield from value
        case "format", str():
            known = format_values(value)
            yield from (*known.valid[:_OF_FORMAT], *known.invalid[:_OF_FORMAT], "")
        case (("maxLength" | "minLength"), int()) if 0 <= value < _LONGEST:
            yield from ("a" * (value + 1), "a" * value, "a" * max(0, value - 1))
        case (("maxItems" | "minItems"), int()) if 0 <= value < _LONGEST // 2:
            yield from ([0] * (value + 1), [0] * max(0, value - 1))
        case (("maxProperties" | "minProperties"), int()) if 0 <= value < _LONGEST // 8:
            for many in (value + 1, max(0, value - 1)):
                yield {f"a{at}": 0 for at in range(many)}
        case _, bool():
            return
        case _, int() | float() if abs(value) < _LARGE:
            yield from (value, value - 1, value + 1, value + 0.5)


def _beside(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield value + 1
