"""A quick, forgiving guess whether a value is valid under a schema: to order hints by.

It never raises and never proves anything; what it does not know it lets pass.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from harness.schemas.formats import FORMAT_PATTERNS, STRICT_FORMATS
from harness.schemas.schema import (
    REFERENCES,
    Schema,
    child_schema,
    count,
    kinds,
    listed,
    mapping,
    matches,
    number,
    same,
    strings,
    types,
)

_MAX_DEPTH = 8
_MAX_WORK = 5000


class ApproximateValidator(Schema):
    """The guess for one root schema."""

    def __init__(self, root: Any) -> None:
        super().__init__(root)
        self._work = 0

    def fits(self, schema: Any, value: Any, depth: int = 0) -> bool:
        """Whether `value` looks valid under `schema`."""
        self._work = self._work - 1 if depth else _MAX_WORK
        if not isinstance(schema, dict) or depth > _MAX_DEPTH or self._work < 0:
            return schema is not False
        try:
            return (
                _fits_itself(schema, value)
                and self._fits_parts(schema, value, depth + 1)
                and self._fits_applied(schema, value, depth + 1)
            )
        except RecursionError:
            return True

    def _fits_parts(self, schema: dict[str, Any], value: Any, depth: int) -> bool:
        if isinstance(value, dict):
            return self._fits_members(schema, value, depth)
        if isinstance(value, list):
            contains = schema.get("contains")
            if contains is not None and not any(self.fits(contains, v, depth) for v in value[:50]):
                return schema.get("minContains") == 0
            return all(
                self.fits(child_schema(schema, at), item, depth)
                for at, item in enumerate(value[:50])
            )
        return True

    def _fits_members(self, schema: dict[str, Any], value: dict[str, Any], depth: int) -> bool:
        names = schema.get("propertyNames", True)
        for key, member in list(value.items())[:200]:
            if not self.fits(names, key, depth):
                return False
            if not self.fits(child_schema(schema, key), member, depth):
                return False
        return needed(schema, value).issubset(value)

    def _fits_applied(self, schema: dict[str, Any], value: Any, depth: int) -> bool:
        for keyword in REFERENCES:
            if keyword in schema and not self.fits(self.resolve(schema[keyword]), value, depth):
                return False
        if not all(self.fits(part, value, depth) for part in listed(schema.get("allOf"))):
            return False
        for keyword in ("anyOf", "oneOf"):
            parts = listed(schema.get(keyword))
            passing = sum(self.fits(part, value, depth) for part in parts)
            if parts and (passing == 0 or (keyword == "oneOf" and passing > 1)):
                return False
        if schema.get("not") is True or schema.get("not") == {}:
            return False
        if "if" in schema:
            branch = "then" if self.fits(schema["if"], value, depth) else "else"
            return self.fits(schema.get(branch, True), value, depth)
        return True


def needed(schema: dict[str, Any], present: Any) -> set[str]:
    """The member names that `schema` itself requires beside those `present`."""
    names = set(strings(schema.get("required")))
    for keyword in ("dependentRequired", "dependencies"):
        for key, wanted in mapping(schema, keyword).items():
            if key in present:
                names.update(strings(wanted))
    return names


def _fits_itself(schema: dict[str, Any], value: Any) -> bool:
    """The keywords that look at the value alone."""
    wanted = types(schema)
    if wanted and not set(wanted).intersection(kinds(value)):
        return False
    if "const" in schema and not same(schema["const"], value):
        return False
    choices = schema.get("enum")
    if isinstance(choices, list) and not any(same(choice, value) for choice in choices):
        return False
    if isinstance(value, str):
        return _fits_string(schema, value)
    if isinstance(value, list | dict):
        return _fits_size(schema, value)
    return number(value) is None or _fits_number(schema, value)


def _fits_string(schema: dict[str, Any], value: str) -> bool:
    wanted = schema.get("format")
    strict = isinstance(wanted, str) and wanted in STRICT_FORMATS
    return (
        _has_room(schema, "Length", value)
        and (not strict or matches(FORMAT_PATTERNS[str(wanted)], value))
        and matches(schema.get("pattern"), value)
    )


def _fits_size(schema: dict[str, Any], value: list[Any] | dict[str, Any]) -> bool:
    if not _has_room(schema, "Items" if isinstance(value, list) else "Properties", value):
        return False
    if schema.get("uniqueItems") is True and isinstance(value, list):
        pairs = ((a, b) for at, a in enumerate(value[:50]) for b in value[:at])
        return not any(same(a, b) for a, b in pairs)
    return True


def _has_room(schema: dict[str, Any], name: str, value: Sized) -> bool:
    """Whether the size of a value lies between the bounds ``min…`` and ``max…``."""
    low, high = count(schema.get("min" + name)), count(schema.get("max" + name))
    return not (low is not None and len(value) < low) and (high is None or len(value) <= high)


def _fits_number(schema: dict[str, Any], value: float) -> bool:
    low, high = number(schema.get("minimum")), number(schema.get("maximum"))
    over, under = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if low is not None and (value < low or (over is True and value == low)):
        return False
    if high is not None and (value > high or (under is True and value == high)):
        return False
    above, below = number(over), number(under)
    if (above is not None and value <= above) or (below is not None and value >= below):
        return False
    step = number(schema.get("multipleOf"))
    try:
        return not step or abs(value / step - round(value / step)) < 1e-9
    except (OverflowError, ValueError):
        return False
