"""JSON Pointers (RFC 6901): written from the steps of a path, read back and followed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

MISSING: Final = object()
"""What a pointer leads to that leads nowhere."""

_INDEX = re.compile(r"0|[1-9][0-9]*")


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
    if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
        return value[int(step)]
    return MISSING


def follow(value: Any, steps: Iterable[str]) -> Any:
    """What some steps lead to from a JSON value, or `MISSING`."""
    for step in steps:
        value = child(value, step)
    return value
