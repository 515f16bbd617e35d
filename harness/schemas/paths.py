"""What a validator's pointer into a schema says: the keyword, and under which conditions it holds.

A pointer is that of the keyword itself, past references, so the way from the root to it is the way
of evaluation only as far as no reference hides what was passed. `Pointers.site` gives None rather
than a guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from harness.jsontext.pointers import MISSING, follow, steps
from harness.schemas.approximate_validator import REFERENCES

Path = tuple[str | int, ...]
"""Names of members and indices, from the outside in."""
Fault = tuple[str, Path, Path]
"""An error that a validator names: keyword, path in the instance, path of the keyword."""

_BY_NAME: Final = frozenset(
    ("properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions")
)
_BY_INDEX: Final = frozenset(("allOf", "anyOf", "oneOf", "prefixItems", "items"))
_STEPS: Final = frozenset(
    (
        "properties",
        "patternProperties",
        "additionalProperties",
        "unevaluatedProperties",
        "items",
        "prefixItems",
        "additionalItems",
        "unevaluatedItems",
    )
)
"""Keywords whose schemas are for a member or an item."""

_JUMPS: Final = frozenset(("$defs", "definitions", "anyOf", "oneOf", "not", "if", "contains"))
"""Keywords that no error's way of evaluation leads through: what is below was referred to."""

_DEPENDENT: Final = frozenset(("dependentSchemas", "dependencies"))
_HIDING: Final = frozenset((*_DEPENDENT, "then", "else", "propertyNames"))
_DATA: Final = frozenset(("enum", "const", "default", "examples", "example"))
_OPAQUE: Final = frozenset(("additionalProperties", "$dynamicRef", "$recursiveRef"))
_MAX_HOPS = 30


@dataclass(frozen=True)
class Condition:
    """That what lies below applies only to some objects.

    Attributes:
        names: The members that decide it; None where something else may.
        steps: How many steps in the instance lie below the object that must fulfil it.
    """

    names: frozenset[str] | None
    steps: int


@dataclass(frozen=True)
class Site:
    """Where a pointer leads.

    Attributes:
        holder: The schema that has the keyword; the schema itself, where the pointer names one.
        keyword: The keyword, None where the pointer names a schema.
        conditions: Under which the keyword holds.
        of_names: Whether it applies to the names of an object's members.
    """

    holder: Any
    keyword: str | None
    conditions: tuple[Condition, ...]
    of_names: bool

    @property
    def value(self) -> Any:
        """The keyword's value, or the schema."""
        return self.holder if self.keyword is None else self.holder[self.keyword]


@dataclass
class _Passed:
    """What was passed on the way along a pointer."""

    steps: int = 0
    of_names: bool = False
    conditions: list[tuple[frozenset[str] | None, int]] = field(default_factory=list)

    def site(self, holder: Any, keyword: str | None) -> Site:
        found = tuple(Condition(names, self.steps - at) for names, at in self.conditions)
        return Site(holder, keyword, found, self.of_names)


class Pointers:
    """The pointers into one schema.

    Args:
        root: The parsed schema.
        draft: The name of its draft, as `harness.validators.drafts.Draft.name`.
    """

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
        return not any(_unclear(schema, self._id, self.root) for schema in _schemas(self.root))

    def site(self, path: tuple[str | int, ...], *, past_references: bool = False) -> Site | None:
        """Where a pointer leads; None where nowhere, or not for certain.

        Args:
            path: Its parts.
            past_references: Whether references were passed that the pointer leaves out, as those of
                jsonschema for the schema false do.
        """
        if not self.clear:
            return None
        here, passed, at = self.root, _Passed(), 0
        self._hops = 0
        while at < len(path):
            key = str(path[at])
            if past_references:
                here = self._referred(here, key)
            if not isinstance(here, dict) or key not in here:
                return None
            at += 1
            self._pass(passed, here, key, path[at] if at < len(path) else None)
            if at == len(path):
                return passed.site(here, key)
            here = here[key]
            if key in _BY_NAME or (key in _BY_INDEX and isinstance(here, list)):
                here = _entry(here, path[at])
                at += 1
        return passed.site(here, None) if isinstance(here, dict | bool) else None

    def _referred(self, schema: Any, key: str) -> Any:
        """The schema with `key`: `schema` itself, or what its reference leads to."""
        while isinstance(schema, dict) and "$ref" in schema:
            self._hops += 1
            if key in ("$defs", "definitions"):
                return schema
            if key in schema or self._hops > _MAX_HOPS:
                return None
            schema = target(self.root, schema["$ref"])
        return schema

    @staticmethod
    def _pass(passed: _Passed, schema: dict[str, Any], key: str, entry: str | int | None) -> None:
        if key in _JUMPS and entry is not None:
            passed.steps, passed.of_names, passed.conditions = 0, False, []
        elif key in ("then", "else"):
            passed.conditions.append((deciding(schema.get("if")), passed.steps))
        elif key in _DEPENDENT and isinstance(schema[key], dict):
            if isinstance(entry, str | int) and not isinstance(schema[key].get(str(entry)), list):
                passed.conditions.append((frozenset((str(entry),)), passed.steps))
        elif key == "propertyNames":
            passed.of_names = True
        if key in _STEPS and entry is not None:
            passed.steps += 1


def _entry(parts: Any, key: str | int) -> Any:
    if isinstance(parts, list):
        return parts[key] if isinstance(key, int) and key < len(parts) else None
    return parts.get(str(key)) if isinstance(parts, dict) else None


def target(root: Any, reference: Any) -> Any:
    """What a reference that is a pointer into the root leads to; None for every other."""
    if not isinstance(reference, str) or not (reference == "#" or reference[:2] == "#/"):
        return None
    found = MISSING if "%" in reference else follow(root, steps(reference))
    return None if found is MISSING else found


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
                below = [deciding(part) for part in (value if isinstance(value, list) else [value])]
                if None in below:
                    return None
                names.update(*(part for part in below if part is not None))
            case "type" | "title" | "description" | "$comment":
                pass
            case _:
                return None
    return frozenset(names)


def in_place(root: Any, schema: Any) -> dict[str, Any] | None:
    """All that may evaluate members of an object besides ``unevaluatedProperties`` of `schema`.

    Returns:
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
        pending += part.get("dependentSchemas", {}).values()
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


def _unclear(found: tuple[dict[str, Any], bool], id_keyword: str, root: Any) -> bool:
    schema, conditional = found
    base = schema.get(id_keyword)
    if schema is not root and (
        (isinstance(base, str) and not base.startswith("#"))
        or isinstance(schema.get("$schema"), str)
    ):
        return True
    return any(
        conditional or not leads.startswith("#") or not _HIDING.isdisjoint(leads.split("/"))
        for keyword in REFERENCES
        if isinstance(leads := schema.get(keyword), str)
    )
