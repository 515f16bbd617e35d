"""What a validator's pointer into a schema says: the keyword, and under which conditions it holds.

A pointer is that of the keyword itself, past references, so the way from the root to it is the way
of evaluation only as far as no reference hides what was passed. `Pointers.site` gives None rather
than a guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from harness.schemas.schema import (
    FOR_ITEMS,
    FOR_MEMBERS,
    LISTS,
    MAPS,
    REFERENCES,
    Path,
    mapping,
    target,
)

_DEFINITIONS: Final = ("$defs", "definitions")
_JUMPS: Final = frozenset((*_DEFINITIONS, "anyOf", "oneOf", "not", "if", "contains"))
"""Keywords that no error's way of evaluation leads through: what is below was referred to."""

_DEPENDENT: Final = frozenset(("dependentSchemas", "dependencies"))
_HIDING: Final = frozenset((*_DEPENDENT, "then", "else", "propertyNames"))
_DATA: Final = frozenset(("enum", "const", "default", "examples", "example"))
_OPAQUE: Final = frozenset(("additionalProperties", "$dynamicRef", "$recursiveRef"))
_MAX_HOPS = 30


class Condition(NamedTuple):
    """That what lies below applies only to some objects."""

    names: frozenset[str] | None
    """The members that decide it; None where something else may."""
    steps: int
    """How many steps in the instance lie below the object that must fulfil it."""


@dataclass(frozen=True)
class Site:
    """Where a pointer leads."""

    holder: Any
    """The schema that has the keyword; the schema itself, where the pointer names one."""
    keyword: str | None
    """None where the pointer names a schema."""
    conditions: tuple[Condition, ...]
    of_names: bool
    """Whether it applies to the names of an object's members."""

    @property
    def value(self) -> Any:
        """The keyword's value, or the schema."""
        return self.holder if self.keyword is None else self.holder[self.keyword]


class Pointers:
    """The pointers into one schema, of the draft of this name."""

    def __init__(self, root: Any, draft: str) -> None:
        self.root = root
        self._id = "id" if draft == "draft-04" else "$id"
        self._hops = 0

    @cached_property
    def clear(self) -> bool:
        """Whether pointers say all that matters.

        Not where a schema is embedded under an address of its own or a reference leads to an
        address (pointers may then start elsewhere than at the root), nor where a reference lies
        below a condition, or leads there: what it leads to would look unconditional.
        """
        for schema, conditional in _schemas(self.root):
            base = schema.get(self._id)
            own = isinstance(base, str) and not base.startswith("#")
            embedded = own or isinstance(schema.get("$schema"), str)
            if (embedded and schema is not self.root) or _hides(schema, conditional):
                return False
        return True

    def site(self, path: Path, *, past_references: bool = False) -> Site | None:
        """Where a pointer leads; None where nowhere, or not for certain.

        `past_references`: references were passed that the pointer leaves out, as those of
        jsonschema for the schema false do.
        """
        if not self.clear:
            return None
        here, at, self._hops = self.root, 0, 0
        depth, of_names = 0, False
        found: list[tuple[frozenset[str] | None, int]] = []
        keyword: str | None = None
        while at < len(path) and keyword is None:
            key, entry = str(path[at]), path[at + 1] if at + 1 < len(path) else None
            if past_references:
                here = self._referred(here, key)
            if not isinstance(here, dict) or key not in here:
                return None
            at += 1
            if key in _JUMPS and entry is not None:
                depth, of_names, found = 0, False, []
            of_names = of_names or key == "propertyNames"
            found += [(names, depth) for names in _decided_by(here, key, entry)]
            if entry is None:
                keyword = key
                continue
            depth += key in FOR_MEMBERS or key in FOR_ITEMS
            here = here[key]
            if key in MAPS or key in _DEFINITIONS or (key in LISTS and isinstance(here, list)):
                here = _entry(here, entry)
                at += 1
        if keyword is None and not isinstance(here, dict | bool):
            return None
        conditions = (Condition(names, depth - above) for names, above in found)
        return Site(here, keyword, tuple(conditions), of_names)

    def _referred(self, schema: Any, key: str) -> Any:
        """The schema with `key`: `schema` itself, or what its reference leads to."""
        while isinstance(schema, dict) and "$ref" in schema:
            self._hops += 1
            if key in _DEFINITIONS:
                return schema
            if key in schema or self._hops > _MAX_HOPS:
                return None
            schema = target(self.root, schema["$ref"])
        return schema


def _decided_by(
    schema: dict[str, Any], key: str, entry: str | int | None
) -> tuple[frozenset[str] | None, ...]:
    """The members that decide whether what is below `key` applies; None where others may."""
    if key in ("then", "else"):
        return (deciding(schema.get("if")),)
    if key in _DEPENDENT and isinstance(schema[key], dict) and entry is not None:
        return () if isinstance(schema[key].get(str(entry)), list) else (frozenset((str(entry),)),)
    return ()


def _entry(parts: Any, key: str | int) -> Any:
    if isinstance(parts, list):
        return parts[key] if isinstance(key, int) and key < len(parts) else None
    return parts.get(str(key)) if isinstance(parts, dict) else None


def deciding(schema: Any) -> frozenset[str] | None:
    """The members of an object that decide whether it is valid under `schema`; None if unknown."""
    if isinstance(schema, bool):
        return frozenset()
    if not isinstance(schema, dict):
        return None
    names: set[str] = set()
    for keyword, value in schema.items():
        match keyword:
            case "properties":
                names.update(value)
            case "required" if isinstance(value, list):
                names.update(value)
            case "allOf" | "anyOf" | "oneOf" | "not":
                for part in value if isinstance(value, list) else [value]:
                    below = deciding(part)
                    if below is None:
                        return None
                    names |= below
            case "type" | "title" | "description" | "$comment":
                pass
            case _:
                return None
    return frozenset(names)


def in_place(root: Any, schema: Any) -> dict[str, Any] | None:
    """All that may evaluate members of an object besides ``unevaluatedProperties`` of `schema`.

    A schema whose ``properties`` and ``patternProperties`` are those of `schema` and of all
    schemas that it applies in place; None where one of them takes all members or is unknown.
    """
    names: dict[str, bool] = {}
    patterns: dict[str, bool] = {}
    pending, seen = [schema], set[int]()
    while pending:
        part = pending.pop()
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        others = part is not schema and "unevaluatedProperties" in part
        if others or not _OPAQUE.isdisjoint(part):
            return None
        names.update(dict.fromkeys(part.get("properties", ()), True))
        patterns.update(dict.fromkeys(part.get("patternProperties", ()), True))
        for keyword in ("allOf", "anyOf", "oneOf"):
            pending += part.get(keyword, ())
        pending += [part.get(keyword) for keyword in ("if", "then", "else")]
        pending += mapping(part, "dependentSchemas").values()
        if "$ref" in part:
            found = target(root, part["$ref"])
            if found is None:
                return None
            pending.append(found)
    return {"properties": names, "patternProperties": patterns}


def _schemas(root: Any) -> Iterator[tuple[dict[str, Any], bool]]:
    """Every object in a schema that may be one, and whether a condition is above it."""
    pending = [(root, False)]
    while pending:
        part, below = pending.pop()
        if isinstance(part, list):
            pending += [(one, below) for one in part]
        elif isinstance(part, dict):
            yield part, below
            pending += [
                (one, below or name in _HIDING) for name, one in part.items() if name not in _DATA
            ]


def _hides(schema: dict[str, Any], conditional: bool) -> bool:
    """Whether a reference of a schema hides what was passed, or leads where something is hidden."""
    return any(
        conditional or not leads.startswith("#") or not _HIDING.isdisjoint(leads.split("/"))
        for keyword in REFERENCES
        if isinstance(leads := schema.get(keyword), str)
    )
