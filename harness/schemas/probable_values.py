"""Small values that are probably valid under a part of a schema.

A schema is looked at through its *variants*: plain schemas without references and without
``allOf``, ``anyOf``, ``oneOf``, ``if`` or ``dependentSchemas``, one for each way of choosing
among the alternatives, everything that applies merged. What comes out are hints: nothing here
raises, work is bounded on any schema, and a hint may be wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice, zip_longest
from typing import Any, Final

from harness.jsontext.pointers import MISSING
from harness.schemas.format_values import format_values
from harness.schemas.formats import FORMAT_PATTERNS
from harness.schemas.patterns import Pattern, pattern
from harness.schemas.schema import (
    REFERENCES,
    Schema,
    child_schema,
    count,
    listed,
    mapping,
    needed,
    number,
    same,
    strings,
    types,
)

Variant = dict[str, Any]

_MAX_VARIANTS = 16
_MAX_DEPTH = 16
_MAX_WORK = 1000
_MAX_ADDED = 50
_MAX_PADDING = 5000
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


class ProbableValues(Schema):
    """Values, names and subschemas for one root schema; answers are memoised."""

    def __init__(self, root: Any) -> None:
        super().__init__(root)
        self._left = 0
        self._variants: dict[int, tuple[Any, tuple[Variant, ...]]] = {}
        self._children: dict[tuple[int, str | int], tuple[Any, Any]] = {}
        self._examples: dict[tuple[int, int], tuple[Any, list[Any]]] = {}

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

    def subschemas_at(self, pointer: Iterable[str | int]) -> list[Variant]:
        """The variants of every schema that may apply to the part of a value at `pointer`."""
        found = list(self.variants(self.root))
        for key in pointer:
            children = [self.child(variant, key) for variant in found]
            found = distinct(variant for child in children for variant in self.variants(child))
            found = found[: 2 * _MAX_VARIANTS]
        return found

    def examples(self, schema: Any, limit: int = 4) -> list[Any]:
        """Up to `limit` distinct values for `schema`, likeliest valid and smallest first."""
        mark = (id(schema), limit)
        known = self._examples.get(mark)
        if known is None:
            spare, self._left = self._left, _MAX_WORK  # what comes out depends on the schema alone
            known = (schema, [])
            with suppress(RecursionError):
                known = (schema, self._make(schema, limit, 0))
            self._left = spare
            self._examples[mark] = known
        return known[1]

    def _make(self, schema: Any, limit: int, depth: int) -> list[Any]:
        variants = self.variants(schema)[: 8 if depth < 2 else 4]
        each = [self._of_variant(variant, limit, depth)[:limit] for variant in variants]
        found = distinct(in_turn(each))[: 4 * limit]
        found.sort(key=lambda value: not self.fits(schema, value))
        return found[:limit]

    def _of_variant(self, variant: Variant, limit: int, depth: int) -> list[Any]:
        self._left -= 1
        if "const" in variant:
            return [variant["const"]]
        if listed(variant.get("enum")):
            fitting = (v for v in variant["enum"] if self.fits(variant, v))
            return list(islice(fitting, limit)) or variant["enum"][:limit]
        given = [variant["default"]] if "default" in variant else []
        given += listed(variant.get("examples"))[:limit]
        out = [value for value in given if self.fits(variant, value)]
        for kind in probable_types(variant):
            out += self._of_type(kind, variant, limit, depth)
        return out[: 2 * limit]

    def _of_type(self, kind: str, variant: Variant, limit: int, depth: int) -> list[Any]:
        if kind == "object":
            return [dict(self.missing(variant, {}, depth=depth + 1))]
        if kind == "array":
            return [self.more_items(variant, [], depth=depth + 1)]
        if kind == "string":
            return string_examples(variant)
        if kind in ("integer", "number"):
            return number_examples(variant, whole=kind == "integer")[:limit]
        return [True, False] if kind == "boolean" else [None]

    def value(self, schema: Any, depth: int) -> Any:
        """One small value for `schema`, inside a value that is `depth` levels deep."""
        if depth == 1:  # of what is asked for, and not of a value on the way: worth remembering
            found = self.examples(schema, 1)
        elif depth > _MAX_DEPTH or self._left <= 0:
            return None
        else:
            found = self._make(schema, 1, depth)
        return found[0] if found else None

    def missing(
        self, variant: Variant, written: Mapping[str, Any], *, depth: int = 0
    ) -> list[tuple[str, Any]]:
        """The members that an object with the members `written` lacks, in the declared order."""
        names = [n for n in property_names([variant]) if n in needed(variant, written)]
        names += sorted(needed(variant, [*written, *names]) - set(names))
        added = [name for name in names if name not in written][:_MAX_ADDED]
        low = min(count(variant.get("minProperties")) or 0, _MAX_ADDED)
        while len(written) + len(added) < low:
            name = self.fresh_name(variant, [*written, *added])
            if name is None:
                break
            added.append(name)
        return [(name, self.value(self.child(variant, name), depth + 1)) for name in added]

    def fresh_name(self, variant: Variant, taken: Iterable[str]) -> str | None:
        """A member name that is not `taken`, for an object of `variant`; None if none is found."""
        used = set(taken)
        for name in self._names(variant):
            if name not in used and self.child(variant, name) is not False:
                return name
        return None

    def _names(self, variant: Variant) -> Iterator[str]:
        yield from property_names([variant])
        rules = variant.get("propertyNames")
        if isinstance(rules, dict):
            yield from strings(self._make(rules, 8, 1))
        for expression in mapping(variant, "patternProperties"):
            yield from matching_names(expression)
        yield from "abcdefghijklmnopqrstuvwxyz"
        yield from (f"a{number}" for number in range(_MAX_ADDED))

    def more_items(self, variant: Variant, items: list[Any], *, depth: int = 0) -> list[Any]:
        """The items that an array with these `items` lacks."""
        if not depth:
            self._left = _MAX_WORK
        low = min(count(variant.get("minItems")) or 0, len(items) + _MAX_ADDED)
        unique = variant.get("uniqueItems") is True
        added: list[Any] = []
        if "contains" in variant and not any(self.fits(variant["contains"], v) for v in items):
            added.append(self.value(variant["contains"], depth + 1))
        while len(items) + len(added) < low and self._left > 0:
            have = [*items, *added]
            added.append(self._item(self.child(variant, len(have)), have, depth + 1, unique=unique))
        return added

    def _item(self, schema: Any, have: list[Any], depth: int, *, unique: bool) -> Any:
        if not unique:
            return self.value(schema, depth)
        taken = {spelled(item) for item in have}
        choices = self._make(schema, len(have) + 2, depth) if self._left > 0 else []
        return next(
            (v for v in choices if spelled(v) not in taken), choices[0] if choices else None
        )


def property_names(variants: Iterable[Variant]) -> list[str]:
    """The names that the variants declare or require, in the order of the declarations."""
    out: dict[str, None] = {}
    for variant in variants:
        allowed = (
            name for name, part in mapping(variant, "properties").items() if part is not False
        )
        out.update(dict.fromkeys((*allowed, *strings(variant.get("required")))))
    return list(out)


def string_examples(variant: Variant) -> list[Any]:
    """Strings for the keywords of `variant` that look at strings."""
    low = min(count(variant.get("minLength")) or 0, _MAX_PADDING)
    out: list[Any] = [*format_values(str(variant.get("format"))).valid[:1]]
    for automaton in automata(variant):
        found = automaton.finish(automaton.start, low)
        if found is not None:
            out.append(found)
    return [*out, "a" * low, *("abcdefgh"[at] * max(low, 1) for at in range(4))]


def automata(variant: Variant) -> list[Pattern]:
    """The automata for the pattern and the format of `variant`, as far as there are any."""
    texts = (variant.get("pattern"), FORMAT_PATTERNS.get(str(variant.get("format"))))
    found = (pattern(text) for text in texts if isinstance(text, str))
    return [automaton for automaton in found if automaton is not None]


def matching_names(expression: Any) -> Iterator[str]:
    """A few short texts that a pattern finds a match in."""
    automaton = pattern(expression) if isinstance(expression, str) else None
    found = automaton.finish(automaton.start) if automaton else None
    if automaton is None or found is None:
        return
    yield found
    for last in "0123456789abcdefABCDEF":
        text = found[:-1] + last
        if automaton.accepts(automaton.walk(automaton.start, text)):
            yield text


def number_examples(variant: Variant, *, whole: bool) -> list[Any]:
    """Numbers for the keywords of `variant` that look at numbers."""
    try:
        points = _points(variant)
    except (OverflowError, ValueError):
        points = []
    points += [1, 0, 2, -1, 10, 0.5, *range(3, 12)]
    approximate = Schema(True)
    exact = [int(p) if float(p).is_integer() else p for p in points if abs(p) < 1e300]
    wanted = {**variant, "type": "integer" if whole else "number"}
    fitting = [p for p in exact if approximate.fits(wanted, p)]
    fitting.sort(key=lambda p: (abs(p) > 10, isinstance(p, float)))
    return list(distinct(fitting)) or [1, 0]


def _points(variant: Variant) -> list[float]:
    limits = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
    low, above, high, below = (number(variant.get(limit)) for limit in limits)
    points: list[float] = [1, 0]
    top = high if high is not None else below
    for edge in (low, above, high, below):
        if edge is not None:
            points += [edge, edge + 1, edge - 1, (edge + (edge if top is None else top)) / 2]
    step = number(variant.get("multipleOf"))
    if step:
        points += [step * round(point / step + nudge) for point in points for nudge in (0, 1)]
    return points


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
