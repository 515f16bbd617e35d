"""The variants of a schema: plain schemas, one for each way of choosing among its alternatives.

They have no references and no ``allOf``, ``anyOf``, ``oneOf``, ``if``, ``dependentSchemas``: what
applies is merged. Nothing here raises, work is bounded on any schema, and variants may be wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from typing import Any, Final

from harness.jsontext.pointers import MISSING
from harness.schemas.formats import FORMAT_PATTERNS
from harness.schemas.patterns import Pattern, pattern
from harness.schemas.schema import (
    REFERENCES,
    Schema,
    child_schema,
    kinds,
    listed,
    mapping,
    number,
    same,
    strings,
    types,
)

Variant = dict[str, Any]

_MAX_VARIANTS = 16
_MAX_DEPTH = 16
_APPLICATORS: Final = frozenset(
    (*REFERENCES, "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas")
)
_HINTED_TYPES: Final = (
    ("object", ("properties", "required", "patternProperties", "minProperties")),
    ("array", ("items", "prefixItems", "minItems", "contains")),
    ("string", ("pattern", "minLength", "maxLength", "format")),
    ("number", ("minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum")),
)
_ANY_TYPE: Final = ("string", "integer", "null", "object", "array", "boolean")


class Variants(Schema):
    """The variants of the parts of one root schema; answers are memoised."""

    def __init__(self, root: Any) -> None:
        super().__init__(root)
        self._variants: dict[int, tuple[Any, tuple[Variant, ...]]] = {}
        self._children: dict[tuple[int, str | int], tuple[Any, Any]] = {}

    def variants(self, schema: Any, depth: int = 0) -> tuple[Variant, ...]:
        """The variants of `schema`, likeliest first; at most 16, none where nothing is valid."""
        if schema is False:
            return ()
        if not isinstance(schema, dict) or depth > _MAX_DEPTH:
            return ({},)
        known = self._variants.get(id(schema))
        if known is None:
            # The schema is kept beside its variants so that its id stays its own.
            self._variants[id(schema)] = known = (schema, ({},))
            with suppress(RecursionError):
                self._variants[id(schema)] = known = (schema, self._expand(schema, depth + 1))
        return known[1]

    def _expand(self, schema: Variant, depth: int) -> tuple[Variant, ...]:
        plain = {key: value for key, value in schema.items() if key not in _APPLICATORS}
        found: list[Variant] = [plain]
        for keyword in REFERENCES:
            if keyword in schema:
                target = self.resolve(schema[keyword])
                found = _product(found, self.variants(target, depth))
        for part in listed(schema.get("allOf")):
            found = _product(found, self.variants(part, depth))
        for keyword in ("anyOf", "oneOf"):
            parts = listed(schema.get(keyword))
            if parts:
                variants = [variant for part in parts for variant in self.variants(part, depth)]
                found = _product(found, variants)
        if "if" in schema:
            then = _product(self.variants(schema["if"], depth), self.variants(schema.get("then")))
            otherwise = self.variants(schema.get("else"), depth)
            found = _product(found, [*otherwise, *then])
        for part in mapping(schema, "dependentSchemas").values():
            found += _product(found[:4], self.variants(part, depth))
        return tuple(found[:_MAX_VARIANTS])

    def child(self, variant: Variant, key: str | int) -> Any:
        """The schema of a member or an item of values of `variant`; False where none may be."""
        mark = (id(variant), key)
        known = self._children.get(mark)
        if known is None:
            known = self._children[mark] = (variant, child_schema(variant, key))
        return known[1]

    def is_meant(self, schema: Any, value: Any, depth: int = 0) -> bool:
        """Whether each part of a valid value is of a type that the schema has keywords for there.

        Without `type` keywords allow values of all others, and undeclared members: hardly meant.
        """
        variants = self.variants(schema)
        return (
            depth > _MAX_DEPTH
            or len(variants) in (0, _MAX_VARIANTS)
            or any(self._is_of(variant, value, depth) for variant in variants)
        )

    def _is_of(self, variant: Variant, value: Any, depth: int) -> bool:
        wanted = types(variant) or probable_types(variant)
        if wanted != [*_ANY_TYPE] and not {*kinds(value)}.intersection(wanted):
            return False
        if not isinstance(value, dict | list):
            return True
        if isinstance(value, dict) and "properties" in variant:
            about = variant.get("additionalProperties"), variant.get("patternProperties")
            names = {*property_names([variant])}
            if not any(isinstance(one, dict) for one in about) and not value.keys() <= names:
                return False
        below = value.items() if isinstance(value, dict) else enumerate(value)
        return all(self.is_meant(self.child(variant, key), one, depth + 1) for key, one in below)

    def subschemas_at(self, pointer: Iterable[str | int]) -> list[Variant]:
        """The variants of every schema that may apply to the part of a value at `pointer`."""
        found = list(self.variants(self.root))
        for key in pointer:
            children = [self.child(variant, key) for variant in found]
            found = distinct(variant for child in children for variant in self.variants(child))
            found = found[: 2 * _MAX_VARIANTS]
        return found


def property_names(variants: Iterable[Variant]) -> list[str]:
    """The names that the variants declare or require, in the order of the declarations."""
    out: dict[str, None] = {}
    for variant in variants:
        allowed = (
            name for name, part in mapping(variant, "properties").items() if part is not False
        )
        out.update(dict.fromkeys((*allowed, *strings(variant.get("required")))))
    return list(out)


def automata(variant: Variant) -> list[Pattern]:
    """The automata for the pattern and the format of `variant`, as far as there are any."""
    texts = (variant.get("pattern"), FORMAT_PATTERNS.get(str(variant.get("format"))))
    found = (pattern(text) for text in texts if isinstance(text, str))
    return [automaton for automaton in found if automaton is not None]


def probable_types(variant: Variant) -> list[str]:
    """The types that `variant` names, or else those that its keywords are about."""
    named = types(variant)
    if named:
        return [kind for kind in named if kind != "number" or "integer" not in named]
    return [kind for kind, keys in _HINTED_TYPES if any(k in variant for k in keys)] or [*_ANY_TYPE]


def _product(left: Iterable[Variant], right: Iterable[Variant]) -> list[Variant]:
    # The alternatives of the right come first to their turn, so that a cut drops no whole one.
    pairs = ((mine, theirs) for theirs in list(right)[:_MAX_VARIANTS] for mine in left)
    both = (merged(mine, theirs) for mine, theirs in pairs)
    return [variant for variant in both if variant is not None][:_MAX_VARIANTS]


def spelled(value: Any) -> str:
    """A text that two values share when they are the same JSON."""
    return json.dumps(value, sort_keys=True, default=str)


def distinct(values: Iterable[Any]) -> list[Any]:
    """`values` without repetitions, in order."""
    return list({spelled(value): value for value in reversed(list(values))}.values())[::-1]


def in_turn(lists: Iterable[Iterable[Any]]) -> Iterator[Any]:
    """The first of all lists, then the second of all, and so on."""
    for row in zip_longest(*lists, fillvalue=MISSING):
        yield from (one for one in row if one is not MISSING)


class _ContradictionError(Exception):
    """Nothing is valid under both."""


def merged(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any] | None:
    """A schema for what is valid under both, nearly; None when nothing can be.

    Neither may hold references, ``allOf`` and such. Without an exact form the left keyword wins.
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


def _bound(tighter: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    return left if number(right) is None else tighter(number(left) or 0, right)


_LOWER: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_RULES: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "type": _types,
    "const": lambda left, right: _enum([left], [right])[0],
    "enum": _enum,
    "required": _united,
    **dict.fromkeys(("properties", "patternProperties"), _members),
    **dict.fromkeys(("additionalProperties", "propertyNames", "additionalItems"), _both),
    **dict.fromkeys(("items", "prefixItems"), _items),
    **dict.fromkeys(_LOWER, partial(_bound, max)),
    **dict.fromkeys(_UPPER, partial(_bound, min)),
    "uniqueItems": lambda left, right: left is True or right is True,
}
