"""Keywords of jsonschema where it is wrong by the specification."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import jsonschema
from referencing.jsonschema import lookup_recursive_ref


def _exact_multiple_of(
    validator: Any, divisor: float, instance: Any, _schema: object
) -> Iterator[jsonschema.ValidationError]:
    """The keyword ``multipleOf`` in exact arithmetic on the numbers as they are written.

    jsonschema divides doubles, so that 0.07 would not be a multiple of 0.01. The specification
    speaks of the numbers: division must give an integer (Validation 2020-12, section 6.2.1).
    """
    if validator.is_type(instance, "number") and _fraction(instance) % _fraction(divisor):
        yield jsonschema.ValidationError(f"{instance!r} is not a multiple of {divisor!r}")


def _fraction(number: float) -> Fraction | int:
    """The decimal number that `number` is the nearest double of, exactly."""
    return number if isinstance(number, int) else Fraction(repr(number))


def _additional_properties(
    validator: Any, additional: Any, instance: Any, schema: dict[str, Any]
) -> Iterator[jsonschema.ValidationError]:
    """The keyword ``additionalProperties``, a pattern at a time.

    jsonschema joins the patterns, so that references to groups lead elsewhere.
    """
    if not validator.is_type(instance, "object"):
        return
    patterns = [re.compile(pattern) for pattern in schema.get("patternProperties", {})]
    unnamed = (key for key in instance if key not in schema.get("properties", {}))
    extra = [key for key in unnamed if not any(pattern.search(key) for pattern in patterns)]
    if additional is False and extra:
        listed = ", ".join(map(repr, extra))
        yield jsonschema.ValidationError(f"Additional properties are not allowed ({listed})")
    for key in extra if additional is not False else ():
        yield from validator.descend(instance[key], additional, path=key)


def _unevaluated_items(
    validator: Any, unevaluated: Any, instance: Any, schema: dict[str, Any]
) -> Iterator[jsonschema.ValidationError]:
    """The keyword ``unevaluatedItems`` of draft 2019-09.

    It looks at what ``items``, ``additionalItems`` and ``unevaluatedItems`` evaluated (Core
    2019-09, section 9.3.1.3). What ``contains`` found counts only since 2020-12 (Core 2020-12,
    section 11.2); jsonschema and jsonschema-rs both let it count before.
    """
    if not validator.is_type(instance, "array"):
        return
    for index in range(_evaluated(validator, instance, schema, own=False), len(instance)):
        yield from validator.descend(instance[index], unevaluated, path=index)


def _evaluated(validator: Any, instance: list[Any], schema: Any, *, own: bool) -> int:
    """How many items from the front are evaluated: in 2019-09 they are always the first ones.

    `own` says whether the ``unevaluatedItems`` of `schema` itself counts, as it does from outside.
    """
    if not isinstance(schema, dict):
        return 0
    if own and "unevaluatedItems" in schema:
        return len(instance)
    items = schema.get("items", [])
    if not isinstance(items, list) or ("items" in schema and "additionalItems" in schema):
        return len(instance)
    counts = [min(len(items), len(instance))]
    for resolver, below in _applied(validator, instance, schema):
        inner = validator.evolve(schema=below, _resolver=resolver)
        counts.append(_evaluated(inner, instance, below, own=True))
    return max(counts)


def _applied(
    validator: Any, instance: list[Any], schema: dict[str, Any]
) -> Iterator[tuple[Any, Any]]:
    """The subschemas that apply to `instance` itself and hold, each with its resolver."""
    here = validator._resolver  # noqa: SLF001 - the only way past a reference
    if "$ref" in schema:
        resolved = here.lookup(schema["$ref"])
        yield resolved.resolver, resolved.contents
    if "$recursiveRef" in schema:
        resolved = lookup_recursive_ref(here)
        yield resolved.resolver, resolved.contents
    for keyword in ("allOf", "anyOf", "oneOf"):
        for below in schema.get(keyword, []):
            if validator.evolve(schema=below).is_valid(instance):
                yield here, below
    if "if" in schema:
        holds = validator.evolve(schema=schema["if"]).is_valid(instance)
        if holds:
            yield here, schema["if"]
        branch = "then" if holds else "else"
        if branch in schema:
            yield here, schema[branch]


REPAIRS = {"additionalProperties": _additional_properties, "multipleOf": _exact_multiple_of}
REPAIRS_2019 = {"unevaluatedItems": _unevaluated_items}
