"""The keyword ``unevaluatedItems`` of draft 2019-09, for jsonschema.

In 2019-09 it looks at what ``items``, ``additionalItems`` and ``unevaluatedItems`` evaluated (Core
2019-09, section 9.3.1.3). What ``contains`` found counts only since 2020-12 (Core 2020-12, section
11.2); jsonschema and jsonschema-rs both let it count before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
from referencing.jsonschema import lookup_recursive_ref


def unevaluated_items(
    validator: Any, unevaluated: Any, instance: Any, schema: dict[str, Any]
) -> Iterator[jsonschema.ValidationError]:
    """Errors of the items of `instance` that nothing else in `schema` has evaluated."""
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
