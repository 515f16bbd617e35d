"""Smaller schemas: what may be left out, put in another's place, or said more simply.

All edits know which parts of a schema are schemas, which are names that an author chose, and which
are data. None of them asks whether the result still shows the error.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from harness.bugs.error_case import compact
from harness.jsontext.spans import ValueSpan, root_of
from harness.schemas.schema import target

MAPS: Final = (
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
    "dependentRequired",
)
"""Keywords whose members are named by the author."""
LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
SINGLE: Final = (
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
)
_IN_PLACE: Final = ("allOf", "anyOf", "oneOf")
_FREE: Final[Mapping[str, Any]] = {}
"""Stands for a subschema where there is none."""
_CARRIED: Final = ("$schema", "$defs", "definitions")

_CUT_DOWN = (*MAPS, *LISTS, "enum", "required")
_GROUP = re.compile(r"[\[(]([^\[\]()]*)[\])]")
"""A group or a class of a pattern."""
_LARGE = 40
"""Bytes of a part that is worth being emptied by itself."""
_SAYS_NOTHING: Final = frozenset(
    ("title", "description", "default", "examples", "example", "$comment", "$id", "id")
)
"""Annotations, and names of schemas."""
TWINS: Final = {
    "maximum": "minimum",
    "exclusiveMaximum": "minimum",
    "exclusiveMinimum": "minimum",
    "maxLength": "minLength",
    "maxItems": "minItems",
    "maxProperties": "minProperties",
    "oneOf": "anyOf",
}
_ABOUT: Final[Mapping[str, Collection[str]]] = {
    "object": (
        *("properties", "patternProperties", "additionalProperties", "unevaluatedProperties"),
        *("propertyNames", "required", "minProperties", "maxProperties"),
        *("dependencies", "dependentRequired", "dependentSchemas"),
    ),
    "array": (
        *("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"),
        *("minItems", "maxItems", "minContains", "maxContains", "uniqueItems"),
    ),
    "string": ("minLength", "maxLength", "pattern"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
"""Keywords that say nothing of values of other types."""
PLAINEST: Final = {"type": "boolean"}
"""Of few values, and each ends by itself, as a number does not."""
TYPES: Final = ("object", "array", "string", "integer", "number", "boolean", "null")

Path = tuple[str | int, ...]


def subschemas(schema: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every subschema with its path, outermost first."""
    yield path, schema
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        if keyword in MAPS and isinstance(value, dict):
            for name, inner in value.items():
                if isinstance(inner, dict | bool):
                    yield from subschemas(inner, (*path, keyword, name))
        elif keyword in LISTS and isinstance(value, list):
            for index, inner in enumerate(value):
                yield from subschemas(inner, (*path, keyword, index))
        elif keyword in SINGLE and isinstance(value, dict | bool):
            yield from subschemas(value, (*path, keyword))


def replaced(schema: Any, path: Path, value: Any) -> Any:
    """A copy in which `value` stands at `path`."""
    if not path:
        return value
    whole = copy.deepcopy(schema)
    holder = whole
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return whole


def without(schema: Any, path: Path) -> Any:
    """A copy without what stands at `path`."""
    whole = copy.deepcopy(schema)
    holder = whole
    for step in path[:-1]:
        holder = holder[step]
    del holder[path[-1]]
    return whole


def parts_with_texts(schema: Any, text: bytes) -> Iterator[tuple[Any, bytes]]:
    """Subschemas with the parts of a valid text that they are about, innermost first.

    A part is a schema of its own: it takes the definitions and the draft along. Where nothing is
    said of a string in the text, it is one by its type alone.
    """
    carried = {
        name: schema[name] for name in _CARRIED if isinstance(schema, dict) and name in schema
    }
    found = list(_visited(schema, schema, root_of(text), 0))
    for part, span in sorted(found[1:], key=lambda one: len(one[1].raw)):
        if part is not _FREE:
            yield {**carried, **part}, span.raw
        elif span.kind == "string":
            yield {"type": "string"}, span.raw


def _visited(root: Any, part: Any, span: ValueSpan, depth: int) -> Iterator[tuple[Any, ValueSpan]]:
    """A subschema with the value that it is about, and all that it says of what is in the value."""
    if not isinstance(part, dict) or depth > 60:
        return
    yield part, span
    inners = [(inner, span) for inner in _in_place(root, part)]
    if span.kind == "object":
        named = _mapping(part, "properties")
        for member in span.members:
            inners.append((part.get("propertyNames", _FREE), member.key))
            subs = list(_of_member(part, named, member.name))
            inners += [(inner, member.value) for inner in subs or (_FREE,)]
    elif span.kind == "array":
        for index, item in enumerate(span.items):
            subs = list(_of_item(part, index))
            inners += [(inner, item.value) for inner in subs or (_FREE,)]
    for inner, about in inners:
        yield from _visited(root, inner, about, depth + 1)


def _in_place(root: Any, part: Mapping[str, Any]) -> Iterator[Any]:
    for keyword in _IN_PLACE:
        value = part.get(keyword)
        yield from value if isinstance(value, list) else ()
    yield from (part[keyword] for keyword in ("then", "else") if keyword in part)
    if isinstance(part.get("$ref"), str) and (inner := target(root, part["$ref"])) is not None:
        yield inner


def _of_member(part: Mapping[str, Any], named: Mapping[str, Any], name: str) -> Iterator[Any]:
    if name in named:
        yield named[name]
    yield from _mapping(part, "patternProperties").values()
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        if keyword in part:
            yield part[keyword]


def _of_item(part: Mapping[str, Any], index: int) -> Iterator[Any]:
    for keyword in ("prefixItems", "items"):
        value = part.get(keyword)
        if isinstance(value, list) and index < len(value):
            yield value[index]
    for keyword in ("items", "additionalItems", "unevaluatedItems", "contains"):
        if isinstance(part.get(keyword), dict):
            yield part[keyword]


def _mapping(part: Mapping[str, Any], keyword: str) -> Mapping[str, Any]:
    value = part.get(keyword)
    return value if isinstance(value, dict) else {}


def in_one_piece(schema: Any) -> Iterator[Any]:
    """The schema with one subschema in its parent's place, or one reference put in."""
    for path, part in subschemas(schema):
        if not isinstance(part, dict):
            continue
        for inner in _in_place(schema, part):
            rest = {name: value for name, value in part.items() if name != "$ref"}
            if isinstance(inner, dict):
                for put in ({}, rest) if "$ref" in part else ({},):
                    here = {**_kept(schema, path), **put, **copy.deepcopy(inner)}
                    yield _referenced(replaced(schema, path, here))


def _kept(schema: Any, path: Path) -> dict[str, Any]:
    """What the root holds for others."""
    return {} if path else {name: schema[name] for name in _CARRIED if name in schema}


def used_only(schema: Any, keys: Collection[str]) -> Iterator[Any]:
    """The schema without what a text with these keys does not need, in large steps."""
    for names, silent in ((keys, True), (keys, False), (None, True)):
        yield _referenced(_pruned(schema, names, silent))
    yield _referenced(schema)


def _pruned(schema: Any, keys: Collection[str] | None, silent: bool) -> Any:
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for keyword, value in schema.items():
        if silent and keyword in _SAYS_NOTHING:
            continue
        if keyword in MAPS and isinstance(value, dict):
            out[keyword] = {
                name: _pruned(inner, keys, silent)
                for name, inner in value.items()
                if keyword != "properties" or keys is None or name in keys
            }
        elif keyword in LISTS and isinstance(value, list):
            out[keyword] = [_pruned(inner, keys, silent) for inner in value]
        elif keyword in SINGLE:
            out[keyword] = _pruned(value, keys, silent)
        else:
            out[keyword] = value
    return out


def _referenced(schema: Any) -> Any:
    """The schema without definitions that nothing refers to."""
    if not isinstance(schema, dict):
        return schema
    while True:
        parts = [part for _, part in subschemas(schema) if isinstance(part, dict)]
        references = {str(part.get("$ref", "")) for part in parts}
        steps = {step for one in references for step in one.split("/")}
        kept = {
            keyword: {name: one for name, one in value.items() if name in steps}
            if keyword in ("$defs", "definitions") and isinstance(value, dict)
            else value
            for keyword, value in schema.items()
        }
        if kept == schema:
            empty = [name for name in ("$defs", "definitions") if kept.get(name) == {}]
            return {name: value for name, value in kept.items() if name not in empty}
        schema = kept


def emptied(schema: Any) -> Iterator[Any]:
    """The schema with one large part as plain as can be, the largest first."""
    parts = [(len(compact(part)), path, part) for path, part in subschemas(schema) if path]
    for size, path, part in sorted(parts, key=lambda one: -one[0]):
        if size > _LARGE and isinstance(part, dict):
            yield replaced(schema, path, {name: part[name] for name in ("type",) if name in part})


def cut_down(schema: Any) -> Iterator[Any]:
    """The schema without half, a quarter … of the members of one mapping or list."""
    for path, part in subschemas(schema):
        for keyword, value in part.items() if isinstance(part, dict) else ():
            if not isinstance(value, dict | list) or keyword not in _CUT_DOWN:
                continue
            if (keyword in MAPS and not isinstance(value, dict)) or len(value) < 4:
                continue
            size = len(value) // 2
            while size > 1:
                for at in range(0, len(value), size):
                    some = _cut(value, at, at + size)
                    if some:
                        yield replaced(schema, (*path, keyword), some)
                size //= 2


def _cut(value: Any, start: int, end: int) -> Any:
    if isinstance(value, list):
        return value[:start] + value[end:]
    return {name: one for at, (name, one) in enumerate(value.items()) if not start <= at < end}


def left_out(schema: Any) -> Iterator[Any]:
    """The schema without one keyword, one named part, one branch, one entry of a list.

    A ``type`` stays: without it an engine may go another way to the same refusal. No list becomes
    empty, which some drafts forbid.
    """
    for path, part in subschemas(schema):
        if not isinstance(part, dict):
            continue
        for keyword, value in part.items():
            if keyword != "type":
                yield without(schema, (*path, keyword))
            if keyword in MAPS and isinstance(value, dict):
                for name, inner in value.items():
                    yield without(schema, (*path, keyword, name))
                    if isinstance(inner, list):
                        for index in range(len(inner)):
                            yield without(schema, (*path, keyword, name, index))
            elif isinstance(value, list) and len(value) > 1:
                for index in range(len(value)):
                    yield without(schema, (*path, keyword, index))


def typed(schema: Any) -> Iterator[Any]:
    """The schema with a type where it has none: longer, and said more clearly."""
    for path, part in subschemas(schema):
        if isinstance(part, dict) and not part.keys() & {"type", "$ref", "enum", "const"}:
            for name in TYPES:
                yield replaced(schema, path, {"type": name, **part})


def plain_parts(schema: Any) -> Iterator[tuple[Any, str]]:
    """The schema with one part as plain as can be, and the type that the part had."""
    for path, part in subschemas(schema):
        if path and isinstance(part, dict) and part != PLAINEST:
            kind = part.get("type")
            yield replaced(schema, path, PLAINEST), kind if isinstance(kind, str) else ""


def plain_types(schema: Any) -> Iterator[tuple[Any, Path, str]]:
    """The schema with boolean for a type that all beside it does not concern, where, and the type.

    Neither type has a value of which a keyword beside it says anything.
    """
    for path, part in subschemas(schema):
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(kind, str) and kind != PLAINEST["type"]:
            about = "number" if kind == "integer" else kind
            others = {one for name, some in _ABOUT.items() if name != about for one in some}
            if len(part) > 1 and part.keys() <= {"type", *others}:
                yield replaced(schema, path, {**part, **PLAINEST}), path, kind


def twins(schema: Any) -> Iterator[Any]:
    """The schema with a keyword's twin in its place: engines read both alike, or neither.

    An upper bound becomes a lower one, and exactly one branch any.
    """
    for path, part in subschemas(schema):
        if not isinstance(part, dict):
            continue
        for keyword, twin in TWINS.items():
            if keyword in part and twin not in part and not isinstance(part[keyword], bool):
                for value in (part[keyword],) if keyword in LISTS else (0, 1):
                    named = {twin if one == keyword else one: part[one] for one in part}
                    yield replaced(schema, path, {**named, twin: value})


def type_first(schema: Any) -> Iterator[Any]:
    """The schema with the type of each part before its other keywords."""
    for path, part in subschemas(schema):
        if isinstance(part, dict) and "type" in part and next(iter(part)) != "type":
            yield replaced(schema, path, {"type": part["type"], **part})


def made_plain(schema: Any) -> Iterator[Any]:
    """The schema with one part said more simply."""
    for path, part in subschemas(schema):
        if path and isinstance(part, dict):
            kept = {name: part[name] for name in ("type",) if name in part}
            for plain in (kept,) if kept else (True, {}):
                yield replaced(schema, path, plain)
        if isinstance(part, dict):
            for keyword, value in part.items():
                if keyword in MAPS or keyword == "$ref" or isinstance(value, dict):
                    continue
                for plain in _plainer(keyword, value):
                    yield replaced(schema, (*path, keyword), plain)


def _plainer(keyword: str, value: Any) -> Iterator[Any]:
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        plain = {0, 1, 2, 3, 10, int(value) // 10, int(value) // 2, int(value) - 1, int(value)}
        yield from sorted(one for one in plain if abs(one) < abs(value) or one == value)
        if value != int(value):  # a fraction, where it does not matter, as the next whole number
            yield int(value) + (1 if value > 0 else -1)
    elif isinstance(value, str) and keyword not in ("type", "format", "$schema", "$id", "id"):
        yield from _shorter(value)
        for group in _GROUP.finditer(value) if keyword == "pattern" else ():
            yield value[: group.start()] + group[1] + value[group.end() :]
    elif isinstance(value, list):
        for index, one in enumerate(value):
            for plain in _plainer("", one) if keyword in ("enum", "examples") else ():
                yield [*value[:index], plain, *value[index + 1 :]]
        if len(value) == 1 and keyword == "type":
            yield value[0]


def _shorter(value: str) -> Iterator[str]:
    for size in _halves(len(value)):
        for at in range(0, len(value), size):
            yield value[:at] + value[at + size :]


def _halves(length: int) -> Iterator[int]:
    size = length
    while size:
        yield size
        size //= 2


def names(schema: Any) -> Iterator[str]:
    """The names and the words of data in a schema, each once: what may be called otherwise."""
    found: dict[str, None] = {}
    for _, part in subschemas(schema):
        if not isinstance(part, dict):
            continue
        for keyword, value in part.items():
            if keyword in MAPS and isinstance(value, dict):
                found.update(dict.fromkeys(value))
                for inner in value.values():
                    if isinstance(inner, list):
                        found.update(dict.fromkeys(one for one in inner if isinstance(one, str)))
            elif keyword in ("enum", "required", "const"):
                words = value if isinstance(value, list) else [value]
                found.update(dict.fromkeys(one for one in words if isinstance(one, str)))
    yield from found


def renamed(schema: Any, old: str, new: str) -> Any:
    """The schema with another name for one part, or another word of data."""
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in MAPS and isinstance(value, dict):
            out[keyword] = {
                (new if name == old else name): (
                    [new if one == old else one for one in inner]
                    if isinstance(inner, list)
                    else renamed(inner, old, new)
                )
                for name, inner in value.items()
            }
        elif keyword in LISTS and isinstance(value, list):
            out[keyword] = [renamed(one, old, new) for one in value]
        elif keyword in SINGLE:
            out[keyword] = renamed(value, old, new)
        elif keyword in ("enum", "required"):
            out[keyword] = [new if one == old else one for one in value]
        elif keyword == "const" and value == old:
            out[keyword] = new
        elif keyword == "$ref" and isinstance(value, str):
            out[keyword] = (
                value.replace(f"/{old}", f"/{new}") if value.endswith(f"/{old}") else value
            )
        else:
            out[keyword] = value
    return out


def without_signs(value: Any) -> Any:
    """A schema with what its numbers are without their signs."""
    if isinstance(value, dict):
        return {name: without_signs(one) for name, one in value.items()}
    if isinstance(value, list):
        return [without_signs(one) for one in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return abs(value) if is_number else value
