"""A schema laid out in lines for a reader, with the lines that JSON Pointers point at.

Large schemas are abridged: what does not lie on the way to one of the pointers is left out, and
what is left out is said where it stood.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.jsontext.pointers import MISSING, child, follow, steps
from harness.printable import json_text, printable

SchemaPath = tuple[str, ...]

_JUMPS = 32
"""References that are followed on the way to one pointer."""


class _Number(str):
    """A number as the schema writes it."""


@dataclass
class SchemaLines:
    """A schema in lines, `abridged` or whole; `spans` has the first and last line of a pointer."""

    lines: list[str] = field(default_factory=list)
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    abridged: bool = False


def laid_out(schema: str, pointers: Iterable[str], limit: int) -> SchemaLines:
    """Lay a schema out; with parts left out where its text has more than `limit` characters.

    A pointer through ``$ref``, as validators have them, is about what the reference leads to.
    """
    try:
        value = json.loads(schema, parse_int=_Number, parse_float=_Number)
        where = {one: _path(value, one) for one in pointers}
        writer = _Writer(set(where.values()) if len(schema) > limit else None)
        writer.write(value, (), "", "")
    except (ValueError, RecursionError):
        begin = schema[:limit]
        return SchemaLines(printable(begin).split("\n"), abridged=len(begin) < len(schema))
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
        self._ends = wanted
        self._kept = {path[:size] for path in wanted or () for size in range(len(path) + 1)}

    def write(self, value: Any, path: SchemaPath, head: str, tail: str) -> None:
        """Write one value; `head` stands before it on its first line, `tail` after it."""
        lines = self.shown.lines
        begin = len(lines)
        margin = head[: len(head) - len(head.lstrip())]
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        if not isinstance(value, dict | list) or not value:
            lines.append(f"{head}{_flat(value)}{tail}")
        elif (
            self._ends is not None
            and path not in self._kept
            and (size := len(_flat(value))) > (400 if path[:-1] in self._ends else 60)
        ):
            self.shown.abridged = True
            left_out = f"{size:,} characters left out"
            lines.append(f"{head}{opening} … {left_out} … {closing}{tail}")
        else:
            lines.append(head + opening)
            is_object = isinstance(value, dict)
            members = value if isinstance(value, dict) else {str(n): x for n, x in enumerate(value)}
            for number, (name, item) in enumerate(members.items(), 1):
                label = f"{_flat(name)}: " if is_object else ""
                self.write(item, (*path, name), f"{margin}  {label}", "," * (number < len(value)))
            lines.append(margin + closing + tail)
        self.places[path] = (begin, len(lines) - 1)


def _flat(value: Any) -> str:
    """On one line, with nothing in it that would not be seen."""
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_flat(key)}: {_flat(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flat, value)) + "]"
    return json_text(value)


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
