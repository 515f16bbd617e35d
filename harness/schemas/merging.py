"""Two schemas that both apply, as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from harness.schemas.schema import number, same, types


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
            rule = _RULES.get(keyword)
            if keyword not in out:
                out[keyword] = theirs
            elif rule is not None:
                out[keyword] = rule(out[keyword], theirs)
        _close(left, right, out)
        _check(out)
    except (_ContradictionError, TypeError, AttributeError):
        return None
    return out


def _check(schema: dict[str, Any]) -> None:
    choices = schema.get("enum")
    if "const" in schema and isinstance(choices, list):
        _enum(choices, [schema["const"]])
    if "type" in schema:
        schema["type"] = _types(schema["type"], schema["type"])


def _close(left: dict[str, Any], right: dict[str, Any], out: dict[str, Any]) -> None:
    """Drop the members that one side alone declares and the other forbids."""
    for mine, theirs in ((left, right), (right, left)):
        if mine.get("additionalProperties") is False and "patternProperties" not in mine:
            own = mine.get("properties", {})
            foreign = (name for name in theirs.get("properties", {}) if name not in own)
            if closed := dict.fromkeys(foreign, False):
                out["properties"] = {**out["properties"], **closed}


def _types(left: Any, right: Any) -> list[str]:
    named = types({"type": left}) + types({"type": right})
    first, second = set(types({"type": left})), set(types({"type": right}))
    for one, other in ((first, second), (second, first)):
        if "number" in one and "integer" in other:
            one.add("integer")
    both = [kind for kind in dict.fromkeys(named) if kind in first & second]
    if not both:
        raise _ContradictionError
    return both


def _const(left: Any, right: Any) -> Any:
    return _enum([left], [right])[0]


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
    return {name: _both(left.get(name, True), right.get(name, True)) for name in {**left, **right}}


def _items(left: Any, right: Any) -> Any:
    if isinstance(left, list) and isinstance(right, list):
        longer = max(left, right, key=len)
        both = [_both(*pair) for pair in zip(left, right, strict=False)]
        return both + longer[len(both) :]
    return left if isinstance(left, list) or isinstance(right, list) else _both(left, right)


def _united(left: Any, right: Any) -> Any:
    if isinstance(left, list) and isinstance(right, list):
        return [*left, *(name for name in right if name not in left)]
    return left if isinstance(left, list) else right


def _largest(left: Any, right: Any) -> Any:
    return left if number(right) is None or (number(left) or 0) >= right else right


def _smallest(left: Any, right: Any) -> Any:
    return left if number(right) is None or (number(left) or 0) <= right else right


_LOWER: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_RULES: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "type": _types,
    "const": _const,
    "enum": _enum,
    "required": _united,
    **dict.fromkeys(("properties", "patternProperties"), _members),
    **dict.fromkeys(("additionalProperties", "propertyNames", "additionalItems"), _both),
    **dict.fromkeys(("items", "prefixItems"), _items),
    **dict.fromkeys(_LOWER, _largest),
    **dict.fromkeys(_UPPER, _smallest),
    "uniqueItems": lambda left, right: left is True or right is True,
}
