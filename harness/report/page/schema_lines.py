"""A schema laid out in lines for a reader, with the lines that JSON Pointers point at.

Large schemas are abridged: what does not lie on the way to one of the pointers is left out, and
what is left out is said where it stood.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.jsontext.pointers import MISSING, child, follow, steps

SchemaPath = tuple[str, ...]

_JUMPS = 32
"""References that are followed on the way to one pointer."""


class _Number(str):
    """A number as the schema writes it."""

    __slots__ = ()


@dataclass
class SchemaLines:
    """A schema in lines.

    Attributes:
        lines: The lines, without line ends.
        spans: Which lines each pointer is about, as first and last; the nearest that there is.
        abridged: Whether parts are left out.
    """

    lines: list[str] = field(default_factory=list)
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    abridged: bool = False


def laid_out(schema: str, pointers: Iterable[str], limit: int) -> SchemaLines:
    """Lay a schema out; with parts left out where its text has more than `limit` characters.

    A pointer may lead through ``$ref``, as those of validators do: then it is about the lines that
    the reference leads to.
    """
    try:
        value = json.loads(schema, parse_int=_Number, parse_float=_Number)
        where = {one: _path(value, one) for one in pointers}
        writer = _Writer(set(where.values()) if len(schema) > limit else None)
        writer.write(value, (), "", "")
    except (ValueError, RecursionError):
        begin = schema[:limit]
        return SchemaLines(_printable(begin).split("\n"), abridged=len(begin) < len(schema))
    shown = writer.shown
    for pointer, path in where.items():
        shown.spans[pointer] = next(
            writer.places[path[:size]]
            for size in range(len(path), -1, -1)
            if path[:size] in writer.places
        )
    return shown


class _Writer:
    """Writes lines; `wanted` are the places to keep, None keeps all."""

    def __init__(self, wanted: set[SchemaPath] | None) -> None:
        self.shown = SchemaLines()
        self.places: dict[SchemaPath, tuple[int, int]] = {}
        self._kept = (
            None
            if wanted is None
            else {path[:size] for path in wanted for size in range(len(path) + 1)}
        )
        self._ends = wanted or set()

    def write(self, value: Any, path: SchemaPath, head: str, tail: str) -> None:
        """Write one value; `head` stands before it on its first line, `tail` behind it."""
        begin = len(self.shown.lines)
        margin = head[: len(head) - len(head.lstrip())]
        if not isinstance(value, dict | list) or not value:
            self.shown.lines.append(f"{head}{_flat(value)}{tail}")
        elif self._is_left_out(value, path):
            self.shown.abridged = True
            inner = f" … {len(_flat(value)):,} characters left out … "
            self.shown.lines.append(head + inner.join(_brackets(value)) + tail)
        else:
            opening, closing = _brackets(value)
            self.shown.lines.append(head + opening)
            for name, item, label, comma in _members(value):
                self.write(item, (*path, name), f"{margin}  {label}", comma)
            self.shown.lines.append(margin + closing + tail)
        self.places[path] = (begin, len(self.shown.lines) - 1)

    def _is_left_out(self, value: Any, path: SchemaPath) -> bool:
        if self._kept is None or path in self._kept:
            return False
        near = path[:-1] in self._ends
        return len(_flat(value)) > (400 if near else 60)


def _members(value: dict[str, Any] | list[Any]) -> Iterator[tuple[str, Any, str, str]]:
    """What an object or array holds: step of a pointer, value, label, comma."""
    last = len(value) - 1
    if isinstance(value, dict):
        for at, (key, item) in enumerate(value.items()):
            yield key, item, f"{_flat(key)}: ", "," * (at < last)
    else:
        for at, item in enumerate(value):
            yield str(at), item, "", "," * (at < last)


def _brackets(value: Any) -> tuple[str, str]:
    return ("{", "}") if isinstance(value, dict) else ("[", "]")


def _flat(value: Any) -> str:
    """On one line, with nothing in it that would not be seen."""
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_flat(key)}: {_flat(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flat, value)) + "]"
    return _printable(json.dumps(value, ensure_ascii=False))


def _printable(text: str) -> str:
    return "".join(
        char if char.isprintable() or char == "\n" else f"\\u{ord(char):04x}" for char in text
    )


def _path(schema: Any, pointer: str) -> SchemaPath:
    """Where a pointer leads; through references of the document itself to what they name."""
    walked = steps(pointer)
    here, path, jumps = schema, list[str](), 0
    for number, step in enumerate(walked):
        inner = child(here, step)
        if inner is MISSING:
            break
        here, path = inner, [*path, step]
        target = here if step in ("$ref", "$dynamicRef", "$recursiveRef") else None
        more = number + 1 < len(walked)
        if more and isinstance(target, str) and target.startswith("#") and jumps < _JUMPS:
            jumps += 1
            named = steps(target[1:])
            here = follow(schema, named)
            if here is MISSING:
                break
            path = named
    return tuple(path)
