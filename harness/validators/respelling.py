"""A copy of a schema in which every pattern is spelt for one library's regular expressions.

Patterns stand in ``pattern`` and as the names within ``patternProperties``. Only what a validator
reads as a schema is gone through: what stands in ``enum``, ``const``, ``default`` and
``examples`` is data. Names within ``patternProperties`` stay as they are where a reference leads
through one, since it would lead nowhere afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_DATA = frozenset({"enum", "const", "default", "examples"})
_NAMED = frozenset(
    ("properties", "patternProperties", "definitions", "$defs", "dependencies", "dependentSchemas")
)
"""Keywords whose value holds schemas by names of the author's choice."""

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


@dataclass(frozen=True)
class Respelt:
    """A schema with its patterns respelt; the original where nothing is spelt otherwise."""

    schema: Any
    written: dict[str, str] = field(default_factory=dict)
    """How the patterns that are spelt otherwise were written, by their new spelling."""


def respelt(schema: Any, spell: Callable[[str], str]) -> Respelt:
    """`schema`, parsed, with every pattern put through `spell`, which may raise."""
    copier = _Copier(spell, names=not _leads_through_patterns(schema))
    copy = copier.schema(schema)
    return Respelt(copy, copier.written) if copier.written else Respelt(schema)


class _Copier:
    def __init__(self, spell: Callable[[str], str], names: bool) -> None:
        self._spell = spell
        self._names = names
        self.written: dict[str, str] = {}

    def schema(self, value: Any) -> Any:
        """A copy of what may be a schema, or a list of them."""
        if isinstance(value, list):
            return [self.schema(one) for one in value]
        if not isinstance(value, dict):
            return value
        return {key: self._keyword(key, one) for key, one in value.items()}

    def _keyword(self, key: str, value: Any) -> Any:
        if key in _DATA:
            return value
        if key == "pattern" and isinstance(value, str):
            return self._pattern(value)
        if key in _NAMED and isinstance(value, dict):
            below = {name: self.schema(one) for name, one in value.items()}
            return self._renamed(below) if key == "patternProperties" and self._names else below
        return self.schema(value)

    def _pattern(self, pattern: str) -> str:
        spelt = self._spell(pattern)
        if spelt != pattern:
            self.written[spelt] = pattern
        return spelt

    def _renamed(self, members: dict[str, Any]) -> dict[str, Any]:
        renamed: dict[str, Any] = {}
        for pattern, schema in members.items():
            spelt = self._spell(pattern)
            while spelt in renamed:
                spelt += "(?:)"  # two spellings of one pattern stay two
            if spelt != pattern:
                self.written[spelt] = pattern
            renamed[spelt] = schema
        return renamed


def _leads_through_patterns(schema: Any) -> bool:
    """Whether a reference anywhere in `schema` leads through ``patternProperties``."""
    if "patternProperties/" not in json.dumps(schema):
        return False
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            pending += part.values()
            for keyword in _REFERENCES:
                if "patternProperties/" in str(part.get(keyword, "")):
                    return True
        elif isinstance(part, list):
            pending += part
    return False
