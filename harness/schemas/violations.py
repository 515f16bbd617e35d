"""Values that break a schema in one place: a valid value with one keyword overstepped.

Bounds are missed by one. What is broken is only believed to be; the validators say what is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from harness.schemas.probable_values import Variant, in_turn, property_names
from harness.schemas.schema import (
    child_schema,
    count,
    kinds,
    listed,
    mapping,
    matches,
    number,
    types,
)
from harness.schemas.values import ValueMaker

_MAX_DEPTH = 8
_MAX_CHILDREN = 40
_MAX_EACH = 200
_OTHERS: Final[tuple[Any, ...]] = ("a", 1, None, 0.5, True, [], {})
"""A value of each type, to stand where another type is asked for."""


def violations(maker: ValueMaker, schema: Any, value: Any, depth: int = 0) -> list[Any]:
    """Values that differ from `value` in one place, and probably break `schema` there.

    At most 200, in turn of the value itself and of its members or items. `value` is valid under
    `schema`, a part of the root schema of `maker`; `depth` says how deep in the root's value it is.
    """
    if depth > _MAX_DEPTH:
        return []
    variants = maker.probable.variants(schema)
    variant = next((one for one in variants if maker.probable.fits(one, value)), None)
    if variant is None:
        return []
    own = list(islice(_of_value(maker, variant, value), 24))
    parts: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        parts = enumerate(value[:3])
    below = [
        [_with(value, key, one) for one in violations(maker, inner, part, depth + 1)]
        for key, part in islice(parts, _MAX_CHILDREN)
        if (inner := child_schema(variant, key)) is not False
    ]
    return list(islice(in_turn([own, *below]), _MAX_EACH))


def _with(value: Any, key: Any, part: Any) -> Any:
    if isinstance(value, dict):
        return {**value, key: part}
    return [*value[:key], part, *value[key + 1 :]]


def _of_value(maker: ValueMaker, variant: Variant, value: Any) -> Iterator[Any]:
    match value:
        case str():
            yield from _of_string(variant, value)
        case dict():
            yield from _of_object(maker, variant, value)
        case list():
            yield from _of_array(variant, value)
        case bool() | None:
            pass
        case int() | float():
            with suppress(OverflowError, ValueError):
                yield from _of_number(variant, value)
    wanted = types(variant)
    if "enum" in variant or "const" in variant:
        yield from _neighbours(value)
        wanted = wanted or list(kinds(value))
    others = [one for one in _OTHERS if wanted and not set(wanted).intersection(kinds(one))]
    yield from others[:2]
    if isinstance(variant.get("not"), dict):
        yield from maker.options(variant["not"], _MAX_DEPTH)[:2]


def _neighbours(value: Any) -> Iterator[Any]:
    """Values that are nearly a listed one."""
    if isinstance(value, str):
        yield from (value + "a", value[:-1], value.swapcase())
    elif number(value) is not None:
        yield value + 1
    else:
        yield None if value is not None else "null"


def _of_string(variant: Variant, value: str) -> Iterator[str]:
    low, high = count(variant.get("minLength")), count(variant.get("maxLength"))
    if low:
        yield value[: low - 1]
    if high is not None and high <= 2000:
        yield value + (value[-1:] or "a") * (high + 1 - len(value))
    if isinstance(variant.get("pattern"), str):
        tries = (value + "!", value[1:], value[:-1], "", "a", " " + value, value.swapcase())
        yield from (one for one in tries if not matches(variant["pattern"], one))
    if "format" in variant:
        yield from (value[:-1], value + " ", "a b", value.replace("0", "x", 1), "")


def _of_number(variant: Variant, value: float) -> Iterator[float]:
    for keyword, way in (("minimum", -1), ("maximum", 1)):
        bound = number(variant.get(keyword))
        if bound is not None:
            excluded = variant.get("exclusive" + keyword.capitalize())
            yield from ([bound] if excluded is True else []) + [bound + way]
    for keyword in ("exclusiveMinimum", "exclusiveMaximum"):
        yield from [bound] if (bound := number(variant.get(keyword))) is not None else ()
    step = number(variant.get("multipleOf"))
    if step:
        yield value + (1 if step > 1 else step / 2)
    if "integer" in types(variant) and "number" not in types(variant):
        yield value + 0.5


def _of_object(
    maker: ValueMaker, variant: Variant, value: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    required = set(map(str, listed(variant.get("required"))))
    for name in value:
        if name in required:
            yield {key: one for key, one in value.items() if key != name}
    for name in ("a", "extra", "A-1 é", ""):
        if name not in value and name not in property_names([variant]):
            yield {**value, name: None}
    low, high = count(variant.get("minProperties")), count(variant.get("maxProperties"))
    if low and len(value) >= low:
        yield dict(list(value.items())[: low - 1])
    if high is not None and high < 50:
        more = dict(value)
        while len(more) <= high:
            fresh = maker.probable.fresh_name(variant, more)
            if fresh is None:
                break
            more[fresh] = maker.member(variant, fresh)
        yield more
    for keyword in ("dependentRequired", "dependencies"):
        for name, others in mapping(variant, keyword).items():
            kept = {key: one for key, one in value.items() if key not in listed(others)}
            kept.setdefault(name, maker.member(variant, name))
            yield {key: kept[key] for key in (*property_names([variant]), *kept) if key in kept}


def _of_array(variant: Variant, value: list[Any]) -> Iterator[list[Any]]:
    low, high = count(variant.get("minItems")), count(variant.get("maxItems"))
    if low and len(value) >= low:
        yield value[: low - 1]
    if high is not None and high <= 100:
        yield value + (value[-1:] or [None]) * (high + 1 - len(value))
    if variant.get("uniqueItems") is True and value:
        yield [*value, value[0]]
        yield [value[0], *value[:1], *value[2:]]
    if "contains" in variant and value:
        yield []
    if child_schema(variant, len(value)) is False:
        yield [*value, None]
