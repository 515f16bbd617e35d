"""A copy of a schema in which every pattern is spelt for one library's regular expressions.

Only what a validator reads as a schema is gone through: what stands in ``enum``, ``const``,
``default`` and ``examples`` is data. Names within ``patternProperties`` stay as they are where a
reference leads through one, since it would lead nowhere afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness.schemas.schema import MAPS, REFERENCES

_DATA = frozenset({"enum", "const", "default", "examples"})
_NAMED = MAPS | {"definitions", "$defs"}
"""Keywords whose value holds schemas by names of the author's choice."""


@dataclass(frozen=True)
class Respelt:
    """A schema with its patterns respelt; the original where nothing is spelt otherwise."""

    schema: Any
    written: dict[str, str] = field(default_factory=dict)
    """How the patterns that are spelt otherwise were written, by their new spelling."""


def respelt(schema: Any, spell: Callable[[str], str]) -> Respelt:
    """`schema`, parsed, with every pattern put through `spell`, which may raise."""
    written: dict[str, str] = {}
    names = not _leads_through_patterns(schema)

    def spelt(pattern: str, taken: Any = ()) -> str:
        new = spell(pattern)
        while new in taken:
            new += "(?:)"  # two spellings of one pattern stay two
        if new != pattern:
            written[new] = pattern
        return new

    def copied(value: Any) -> Any:
        """A copy of what may be a schema, or a list of them."""
        if isinstance(value, list):
            return [copied(part) for part in value]
        return (
            {key: keyword(key, value[key]) for key in value} if isinstance(value, dict) else value
        )

    def keyword(key: str, value: Any) -> Any:
        if key in _DATA:
            return value
        if key == "pattern" and isinstance(value, str):
            return spelt(value)
        if key not in _NAMED or not isinstance(value, dict):
            return copied(value)
        below = {name: copied(part) for name, part in value.items()}
        if key != "patternProperties" or not names:
            return below
        renamed: dict[str, Any] = {}
        for name, part in below.items():
            renamed[spelt(name, renamed)] = part
        return renamed

    copy = copied(schema)
    return Respelt(copy, written) if written else Respelt(schema)


def _leads_through_patterns(schema: Any) -> bool:
    """Whether a reference anywhere in `schema` leads through ``patternProperties``."""
    if "patternProperties/" not in json.dumps(schema):
        return False
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            pending += part.values()
            if any("patternProperties/" in str(part.get(keyword, "")) for keyword in REFERENCES):
                return True
        elif isinstance(part, list):
            pending += part
    return False
