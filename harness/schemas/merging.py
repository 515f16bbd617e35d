"""Two schemas that both apply, as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from harness.jsontext.pointers import MISSING
from harness.schemas.approximate_validator import number, same, types


class _ContradictionError(Exception):
    """Nothing is valid under both."""


def merged(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any] | None:
    """A schema for what is valid under both, nearly; None when nothing can be.

    Neither may hold references or ``allOf`` and the like; where no exact form exists the left
    keyword wins.
    """
    if not right or not left:
        return left or right
    out = dict(left)
    try:
        for keyword, theirs in right.items():
            mine = out.get(keyword, MISSING)
            rule = _RULES.get(keyword)
            if mine is MISSING:
                out[keyword] = theirs
            elif rule is not None:
                out[keyword] = rule(mine, theirs)
        _close(left, right, out)
        return _checked(out)
    except (_ContradictionError, TypeError, AttributeError):
        return None


def _checked(schema: dict[str, Any]) -> dict[str, Any]:
    choices = schema.get("enum")
    if "const" in schema and isinstance(choices, list):
        _const(schema["const"], next((c for c in choices if same(c, schema["const"])), MISSING))
    if "type" in schema:
        schema["type"] = _types(schema["type"], schema["type"])
    return schema


def _close(left: dict[str, Any], right: dict[str, Any], out: dict[str, Any]) -> None:
    """Drop the members that one side alone declares and the other forbids."""
    for mine, theirs in ((left, right), (right, left)):
        if mine.get("additionalProperties") is not False or "patternProperties" in mine:
            continue
        own = mine.get("properties", {})
        foreign = [name for name in theirs.get("properties", {}) if name not in own]
        for name in foreign:
            out["properties"] = {**out["properties"], name: False}


def _types(left: Any, right: Any) -> list[str]:
    first, second = set(types({"type": left})), set(types({"type": right}))
    for one, other in ((first, second), (second, first)):
        if "number" in one and "integer" in other:
            one.add("integer")
    both = first & second
    if not both:
        raise _ContradictionError
    named = types({"type": left}) + types({"type": right})
    return [kind for kind in dict.fromkeys(named) if kind in both]


def _const(left: Any, right: Any) -> Any:
    if right is MISSING or not same(left, right):
        raise _ContradictionError
    return left


def _enum(left: Any, right: Any) -> list[Any]:
    both = [value for value in left if any(same(value, other) for other in right)]
    if not both:
        raise _ContradictionError
    return both


def _both(left: Any, right: Any) -> Any:
    if left is True or left in ({}, right):
        return right
    if right is True or right == {}:
        return left
    return False if left is False or right is False else {"allOf": [left, right]}


def _members(left: Any, right: Any) -> dict[str, Any]:
    names = [*left, *(name for name in right if name not in left)]
    return {name: _both(left.get(name, True), right.get(name, True)) for name in names}


def _items(left: Any, right: Any) -> Any:
    if isinstance(left, list) and isinstance(right, list):
        longer = max(left, right, key=len)
        return [_both(*pair) for pair in zip(left, right, strict=False)] + longer[
            min(len(left), len(right)) :
        ]
    return left if isinstance(left, list) or isinstance(right, list) else _both(left, right)


def _united(left: Any, right: Any) -> Any:
    if isinstance(left, list) and isinstance(right, list):
        return [*left, *(name for name in right if name not in left)]
    return left if isinstance(left, list) else right


def _largest(left: Any, right: Any) -> Any:
    return left if number(right) is None or (number(left) or 0) >= right else right


def _smallest(left: Any, right: Any) -> Any:
    return left if number(right) is None or (number(left) or 0) <= right else right


_RULES: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "type": _types,
    "const": _const,
    "enum": _enum,
    "required": _united,
    "properties": _members,
    "patternProperties": _members,
    "additionalProperties": _both,
    "propertyNames": _both,
    "items": _items,
    "prefixItems": _items,
    "additionalItems": _both,
    "minimum": _largest,
    "exclusiveMinimum": _largest,
    "maximum": _smallest,
    "exclusiveMaximum": _smallest,
    "minLength": _largest,
    "minItems": _largest,
    "minProperties": _largest,
    "maxLength": _smallest,
    "maxItems": _smallest,
    "maxProperties": _smallest,
    "uniqueItems": lambda left, right: left is True or right is True,
}
