"""Parts of JSON values: by paths and by JSON Pointers (RFC 6901), and all that there are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

MISSING: Final = object()
"""What a pointer leads to that leads nowhere."""

_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")  # of longer ones no list has any


def escape(step: object) -> str:
    """One step as it stands in a pointer."""
    return str(step).replace("~", "~0").replace("/", "~1")


def pointer(steps: Iterable[object]) -> str:
    """The pointer of some steps: names of members and indices."""
    return _pointer(tuple(steps))


@lru_cache(maxsize=4096)  # thousands of texts fail in the same place
def _pointer(steps: tuple[object, ...]) -> str:
    return "".join(f"/{escape(step)}" for step in steps)


def steps(pointer: str) -> list[str]:
    """The steps of a pointer, all as text; what stands before its first slash is left out."""
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def typed_steps(pointer: str) -> list[str | int]:
    """The steps of a pointer; what can be an index becomes a number."""
    return [int(step) if _INDEX.fullmatch(step) else step for step in steps(pointer)]


def child(value: Any, step: str) -> Any:
    """The member or item of a JSON value that one step leads to, or `MISSING`."""
    if isinstance(value, dict):
        return value.get(step, MISSING)
    if isinstance(value, list) and _INDEX.fullmatch(step) and int(step) < len(value):
        return value[int(step)]
    return MISSING


def follow(value: Any, steps: Iterable[str]) -> Any:
    """What some steps lead to from a JSON value, or `MISSING`."""
    for step in steps:
        value = child(value, step)
    return value


def part_at(document: Any, path: Iterable[str | int]) -> Any:
    """What a path leads to, or `MISSING`."""
    for key in path:
        in_list = isinstance(document, list) and isinstance(key, int) and key < len(document)
        if not in_list and not (isinstance(document, dict) and key in document):
            return MISSING
        document = document[key]
    return document


def replaced(value: Any, path: Sequence[str | int], new: Any) -> Any:
    """A copy in which `new` stands at a path that is there; what is beside the path is shared."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


def without(members: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: one for name, one in members.items() if name not in names}


def values_in(value: Any) -> Iterator[Any]:
    """A JSON value and all that are in it, outermost first."""
    pending = [value]
    while pending:
        part = pending.pop()
        yield part
        if isinstance(part, dict | list):
            pending += reversed(part.values() if isinstance(part, dict) else part)


def objects_in(value: Any) -> Iterator[dict[str, Any]]:
    """The objects among these."""
    return (part for part in values_in(value) if isinstance(part, dict))
