"""Values that break a schema in one place, values that it speaks of, and traits of values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from typing import Any, Final

from harness.jsontext.pointers import replaced, values_in
from harness.jsontext.spans import root_of
from harness.schemas.format_values import format_values
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
from harness.schemas.values import (
    BOUNDS,
    COMPUTED,
    EXCLUDED,
    ODD,
    OTHERS,
    TINY,
    Values,
    declared_names,
    parts_of,
)
from harness.schemas.variants import Variant, in_turn, property_names

_MAX_DEPTH = 8
_MAX_CHILDREN = 40
_MAX_EACH = 200


def violations(values: Values, schema: Any, value: Any, depth: int = 0) -> list[Any]:
    """Values that differ from `value` in one place, and probably break `schema` there.

    At most 200, in turn of the value itself and of its members or items. `value` is valid under
    `schema`, a part of the root of `values`; `depth` says how deep in the root's value it is.
    """
    if depth > _MAX_DEPTH:
        return []
    variants = values.variants(schema)
    variant = next((one for one in variants if values.fits(one, value)), None)
    if variant is None:
        return []
    others = chain(_of_another(variants, value), _of_two(values, schema))
    own = list(islice(chain(_of_value(values, variant, value), others), 64))
    parts: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        parts = enumerate(value[:3])
    below = [
        [replaced(value, (key,), one) for one in violations(values, inner, part, depth + 1)]
        for key, part in islice(parts, _MAX_CHILDREN)
        if (inner := child_schema(variant, key)) is not False
    ]
    return list(islice(in_turn([own, *below]), _MAX_EACH))


def _of_another(variants: Iterable[Variant], value: Any) -> Iterator[Any]:
    """An object with a member as another branch wants it, which tells branches apart."""
    for branch in variants if isinstance(value, dict) else ():
        for name, part in mapping(branch, "properties").items():
            if name in value and isinstance(part, dict):
                told = [part["const"]] if "const" in part else listed(part.get("enum"))[:1]
                yield from ({**value, name: one} for one in told if one != value[name])


def _of_two(values: Values, schema: Any) -> Iterator[Any]:
    """Values for several branches of ``oneOf`` at a time."""
    parts = listed(schema.get("oneOf")) if isinstance(schema, dict) else []
    for part in parts[:8]:
        others = [one for one in parts if one is not part]
        options = values.options(part, _MAX_DEPTH - 6)
        yield from (one for one in options if any(values.fits(o, one) for o in others))


def _of_value(values: Values, variant: Variant, value: Any) -> Iterator[Any]:
    match value:
        case str():
            yield from _of_string(variant, value)
        case dict():
            yield from _of_object(values, variant, value)
        case list():
            yield from _of_array(values, variant, value)
        case bool() | None:
            pass
        case int() | float():
            with suppress(OverflowError, ValueError):
                yield from _of_number(variant, value)
    wanted = types(variant)
    if "enum" in variant or "const" in variant:
        yield from _neighbours(value)
        wanted = wanted or list(kinds(value))
    others = [one for one in OTHERS if wanted and not set(wanted).intersection(kinds(one))]
    yield from others
    if isinstance(variant.get("not"), dict):
        yield from values.options(variant["not"], _MAX_DEPTH)[:2]


def _neighbours(value: Any) -> Iterator[Any]:
    if isinstance(value, str):
        half = value[: len(value) // 2]
        yield from (value + "a", value[:-1], value.swapcase(), value[:1], half, value.strip())
    elif number(value) is not None:
        yield value + 1
    elif isinstance(value, list):
        yield from (value[:-1], value + value[-1:])
    else:
        yield None if value is not None else "null"


def _of_string(variant: Variant, value: str) -> Iterator[str]:
    low, high = count(variant.get("minLength")), count(variant.get("maxLength"))
    if low:
        yield value[: low - 1]
    if high is not None and high <= 2000:
        yield value + (value[-1:] or "a") * (high + 1 - len(value))
    if isinstance(variant.get("pattern"), str):
        known = format_values(str(variant.get("format"))).valid[:8]
        tries = (value + "!", value[1:], value[:-1], "", "a", "1", " " + value, value.swapcase())
        odd = (value + "\n", "é" + value, value.replace(value[:1], "é"))
        yield from (one for one in (*known, *tries, *odd) if not matches(variant["pattern"], one))
    if "format" in variant:
        yield from format_values(str(variant["format"])).invalid
        yield from (value[:-1], value + " ", "a b", value.replace("0", "x", 1), "")


def _of_number(variant: Variant, value: float) -> Iterator[float]:
    for keyword, excluding, way in zip(BOUNDS, EXCLUDED, (-1, 1), strict=True):
        bound, excluded = (number(variant.get(one)) for one in (keyword, excluding))
        if bound is not None:
            yield from ([bound] if variant.get(excluding) is True else []) + [bound + way]
        if excluded is not None:
            yield excluded
        for edge in (bound, excluded):
            if edge is not None:
                yield from (edge + 0.01 * way, edge + COMPUTED * way, edge + TINY * way)
                yield edge + 1e22 * way
    step = number(variant.get("multipleOf"))
    if step:
        yield from (value + (1 if step > 1 else step / 2), value + 100 * step + step / 2)
    if "integer" in types(variant) and "number" not in types(variant):
        yield value + 0.5


def _of_object(
    values: Values, variant: Variant, value: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    required = set(map(str, listed(variant.get("required"))))
    for name in sorted(value, key=lambda name: name not in required):
        yield {key: one for key, one in value.items() if key != name}
    known = {*value, *property_names([variant])}
    for name in [one for one in values.names if one not in known][:8]:
        yield {**value, name: None}
    low, high = count(variant.get("minProperties")), count(variant.get("maxProperties"))
    if low and len(value) >= low:
        yield dict(list(value.items())[: low - 1])
    if high is not None and high < 50:
        more = dict(value)
        while len(more) <= high:
            fresh = values.fresh_name(variant, more)
            if fresh is None:
                break
            more[fresh] = values.example(values.child(variant, fresh))
        yield more
    for keyword in ("dependentRequired", "dependencies"):
        for name, others in mapping(variant, keyword).items():
            kept = {key: one for key, one in value.items() if key not in listed(others)}
            kept.setdefault(name, values.example(values.child(variant, name)))
            yield {key: kept[key] for key in (*property_names([variant]), *kept) if key in kept}


def _of_array(values: Values, variant: Variant, value: list[Any]) -> Iterator[list[Any]]:
    low, high = count(variant.get("minItems")), count(variant.get("maxItems"))
    if low and len(value) >= low:
        yield value[: low - 1]
    if high is not None and high <= 100:
        yield value + (value[-1:] or [None]) * (high + 1 - len(value))
    options = values.options(values.child(variant, 0), _MAX_DEPTH - 6)
    if variant.get("uniqueItems") is True and (first := (value or options)[:1]):
        yield from ([*value, *first], [*first, *first, *value[2:]])
    if "contains" in variant:
        found = values.options(variant["contains"], _MAX_DEPTH - 6)[:1]
        lacking = [one for one in options if not values.fits(variant["contains"], one)][:1]
        least = min(count(variant.get("minContains", 1)) or 0, _MAX_CHILDREN)
        yield from ([], lacking, found * (least - 1), found * (least - 1) + lacking)
        if (most := count(variant.get("maxContains"))) is not None and most < _MAX_CHILDREN:
            yield found * (most + 1)
    if child_schema(variant, len(value)) is False:
        yield [*value, None]


_STRING_EDITS: Final = (
    *(b"\x01", b"\x7f", b"\\u0000", b"\\ud800", b'\\"', b"\\u00e9", "é".encode(), b"a" * 120),
)
_NUMBER_EDITS: Final = (b".0", b"e1", b"E+2", b".5", b"0" * 20)


def odd_texts(text: bytes) -> Iterator[bytes]:
    """A JSON text with something in one string or number that JSON or a rule may not take."""
    pending = [root_of(text)]
    while pending:
        node = pending.pop(0)
        pending += [part for one in node.entries for part in dict.fromkeys((one.key, one.value))]
        if node.kind == "string":
            yield from _with_edits(text, node.end - 1, _STRING_EDITS)
        elif node.kind == "number":
            yield from _with_edits(text, node.start, (b"-", b"0"))
            yield from _with_edits(text, node.end, _NUMBER_EDITS)


def _with_edits(text: bytes, at: int, edits: Iterable[bytes]) -> Iterator[bytes]:
    return (text[:at] + edit + text[at:] for edit in edits)


_SHAPE: Final = 60
"""Characters of a text whose shape is looked at."""


def traits(value: Any) -> frozenset[str]:
    """What a value has that engines may take or refuse as such: kinds of scalars, odd characters.

    Texts in which letters and digits alone differ have one shape.
    """
    found: set[str] = set()
    for part in values_in(value):
        if isinstance(part, dict):
            found |= {f"members {min(len(part), 2)}", *map(_shape, part)}
        elif isinstance(part, list):
            found.add(f"items {min(len(part), 3)}")
        elif isinstance(part, str):
            found |= {_shape(part), *(char for char in part if char in ODD or char > "\x7f")}
        elif number(part) is not None:
            found |= {kinds(part)[0], re.sub("[0-9]+", "0", repr(part))}
            found.add(f"size {len(repr(abs(part))) // 6}")
        else:
            found.add(repr(part))
    return frozenset(found)


def _shape(text: str) -> str:
    shape = text[:_SHAPE]
    for run, letter in (("[a-z]+", "a"), ("[A-Z]+", "A"), ("[0-9]+", "0")):
        shape = re.sub(run, letter, shape)
    return f"{shape}/{len(text).bit_length()}"


ALWAYS: Final = (
    *("null", "true", "false", "0", "-1", "1", "2", "1.5", "1.0", "1e2", "-0"),
    *("12345678901234567890", '""', '"a"', '"0"', '" "', '"é"', "[]", "{}", "[null]", "[0,0]"),
    '{"a":null}',
)
"""Values beside those of the schema."""
_MOST_HINTS = 400
_LONGEST_HINT = 120

Hint = tuple[str, str]
"""The name of the member that a value is about, empty for any, and the value as a JSON text."""


def hints(schema: Any) -> list[Hint]:
    """JSON values of the parts of a schema and beside them, at most some hundred, each once."""
    values, found = Values(schema), dict[Hint, None]()
    for name, part in parts_of(schema):
        fit = values.examples(part)
        wrong = violations(values, part, fit[0])[:16] if fit else ()
        for one in (*declared_names(part), *fit, *wrong):
            with suppress(ValueError, RecursionError):  # of a number with thousands of digits
                text = json.dumps(one, ensure_ascii=False, separators=(",", ":"))
                if len(text) <= _LONGEST_HINT and text.isprintable():  # no lone surrogate is
                    found.setdefault((name if name.isprintable() else "", text))
        if len(found) >= _MOST_HINTS:
            break
    return list(found | {("", text): None for text in ALWAYS})
