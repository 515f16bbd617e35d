"""Smaller schemas: what may be left out, put in another's place, or said more simply.

All edits know which parts of a schema are schemas, which are names that an author chose, and which
are data. None of them asks whether the result still shows the error.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from harness.jsontext.pointers import part_at, replaced
from harness.jsontext.spans import ValueSpan, root_of
from harness.schemas.schema import (
    DEFINITIONS,
    LISTS,
    SINGLE,
    Path,
    applied_below,
    listed,
    mapping,
    matches,
    objects,
    strings,
    target,
)

_OF_OBJECTS: Final = ("dependentSchemas", "dependencies", "dependentRequired")
MAPS: Final = ("properties", "patternProperties", *DEFINITIONS, *_OF_OBJECTS)
"""Keywords whose members are named by the author."""
_IN_PLACE: Final = ("allOf", "anyOf", "oneOf")
_CARRIED: Final = ("$schema", *DEFINITIONS)
_CUT_DOWN: Final = (*MAPS, *LISTS, "enum", "required")
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
_FREE: Final[Mapping[str, Any]] = {}
"""Stands for a subschema where there is none."""
PLAINEST: Final = {"type": "boolean"}
"""Of few values, and each ends by itself, as a number does not."""
_TYPES: Final = ("object", "array", "string", "integer", "number", "boolean", "null")
_GROUP: Final = re.compile(r"[\[(]([^\[\]()]*)[\])]")
"""A group or a class of a pattern."""


def rebuilt(
    schema: Any,
    data: Callable[[str, Any], Any],
    name: Callable[[str], str] = str,
    order: Callable[[Iterable[tuple[str, Any]]], Iterable[tuple[str, Any]]] = iter,
) -> Any:
    """The schema with other names and other data, keywords in an order.

    `data` is given a keyword with its value, or "" with what stands where a schema might.
    """
    if isinstance(schema, list):
        return [rebuilt(item, data, name, order) for item in schema]
    if not isinstance(schema, dict):
        return data("", schema)
    out: dict[str, Any] = {}
    for keyword, value in order(schema.items()):
        if keyword in MAPS and isinstance(value, dict):
            out[keyword] = {
                name(key): rebuilt(inner, data, name, order) for key, inner in value.items()
            }
        elif keyword in SINGLE or keyword in LISTS:
            out[keyword] = rebuilt(value, data, name, order)
        else:
            out[keyword] = data(keyword, value)
    return out


def without(schema: Any, path: Path) -> Any:
    holder = part_at(schema, path[:-1]).copy()
    del holder[path[-1]]
    return replaced(schema, path[:-1], holder)


def parts_with_texts(schema: Any, text: bytes) -> Iterator[tuple[Any, bytes]]:
    """Subschemas with the parts of a valid text that they are about, innermost first.

    A part is a schema of its own: it takes the definitions and the draft along. Where nothing is
    said of a string in the text, it is one by its type alone.
    """
    visited = list(_visited(schema, schema, root_of(text), 0))
    for part, span in sorted(visited[1:], key=lambda pair: len(pair[1].raw)):
        if part is not _FREE:
            yield alone(schema, part), span.raw
        elif span.kind == "string":
            yield {"type": "string"}, span.raw


def keys_at(schema: Any, text: bytes, at: int) -> tuple[str, set[str], set[str]]:
    """The name of the key at a byte of a text, those before it, those that its object declares."""
    name, before, declared = "", set[str](), set[str]()
    for part, span in _visited(schema, schema, root_of(text), 0):
        for number, member in enumerate(span.members):
            if member.key.start <= at < member.key.end:
                name, before = member.name, {one.name for one in span.members[:number]}
                declared.update(mapping(part, "properties"))
    return name, before, declared


def alone(schema: Any, part: Mapping[str, Any]) -> dict[str, Any]:
    return {**(_carried(schema) if isinstance(schema, dict) else {}), **part}


def _carried(schema: dict[str, Any]) -> dict[str, Any]:
    """What the root holds for others."""
    return {name: schema[name] for name in _CARRIED if name in schema}


def _visited(root: Any, part: Any, span: ValueSpan, depth: int) -> Iterator[tuple[Any, ValueSpan]]:
    """A subschema with the value that it is about, and all that it says of what is in the value."""
    if not isinstance(part, dict) or depth > 60:
        return
    yield part, span
    inners = [(inner, span) for inner in _in_place(root, part)]
    inners += [(part.get("propertyNames", _FREE), member.key) for member in span.members]
    for at, entry in enumerate(span.entries):
        of_array = span.kind == "array"
        subs = [one.schema for one in applied_below(part, at if of_array else entry.name)]
        subs += [part["contains"]] if of_array and "contains" in part else []
        inners += [(inner, entry.value) for inner in subs or (_FREE,)]
    for inner, about in inners:
        yield from _visited(root, inner, about, depth + 1)


def _in_place(root: Any, part: Mapping[str, Any]) -> Iterator[Any]:
    for keyword in _IN_PLACE:
        yield from listed(part.get(keyword))
    yield from (part[keyword] for keyword in ("then", "else") if keyword in part)
    if isinstance(part.get("$ref"), str) and (inner := target(root, part["$ref"])) is not None:
        yield inner


def in_one_piece(schema: Any) -> Iterator[Any]:
    """The schema with one subschema in its parent's place, or one reference put in."""
    for path, part in objects(schema):
        carried = {} if path else _carried(schema)
        rest = {name: value for name, value in part.items() if name != "$ref"}
        for inner in _in_place(schema, part):
            if isinstance(inner, dict):
                for beside in ({}, rest) if "$ref" in part else ({},):
                    here = {**carried, **beside, **copy.deepcopy(inner)}
                    yield _referenced(replaced(schema, path, here))


def used_only(schema: Any, keys: Collection[str]) -> Iterator[Any]:
    """The schema without what a text with these keys does not need, in large steps."""
    if isinstance(schema, dict):
        for named, silent in ((True, True), (True, False), (False, True)):
            whole = copy.deepcopy(schema)
            for _, part in objects(whole):
                for keyword in _SAYS_NOTHING.intersection(part) if silent else ():
                    del part[keyword]
                if named and isinstance(members := part.get("properties"), dict):
                    # what is required stays declared
                    kept = {*keys, *strings(part.get("required"))}
                    part["properties"] = {name: members[name] for name in members if name in kept}
            yield _referenced(whole)
    yield _referenced(schema)


def _referenced(schema: Any) -> Any:
    """The schema without definitions that nothing refers to."""
    if not isinstance(schema, dict):
        return schema
    while True:
        references = {str(part.get("$ref", "")) for _, part in objects(schema)}
        steps = {step for reference in references for step in reference.split("/")}
        kept = {
            keyword: {name: inner for name, inner in value.items() if name in steps}
            if keyword in DEFINITIONS and isinstance(value, dict)
            else value
            for keyword, value in schema.items()
        }
        if kept == schema:
            return {
                name: value
                for name, value in kept.items()
                if value != {} or name not in DEFINITIONS
            }
        schema = kept


def assertions(schema: Any) -> list[str]:
    """The keywords of a schema that hold no schemas, each once."""
    parts = [part for _, part in objects(schema)]
    return list(dict.fromkeys(name for part in parts for name in part if _asserts(part, name)))


def _asserts(part: Mapping[str, Any], name: str) -> bool:
    holds = name in MAPS or name in LISTS or name in SINGLE
    return name not in ("type", "$ref") and (not holds or isinstance(part[name], bool))


def without_keyword(schema: Any, name: str) -> Any:
    """A copy without a keyword, wherever it asserts something."""
    whole = copy.deepcopy(schema)
    for _, part in objects(whole):
        if name in part and _asserts(part, name):
            del part[name]
    return whole


def merged(schema: Any) -> Iterator[tuple[str, Any]]:
    """A keyword that applies schemas in place, and a copy with these in their parents instead."""
    for name in ("allOf", "then", "dependentSchemas"):
        whole = copy.deepcopy(schema)
        for _, part in objects(whole):
            inner = part.pop(name, None)
            if name == "dependentSchemas" and isinstance(inner, dict):
                inner = list(inner.values())
            for one in inner if isinstance(inner, list) else [inner]:
                _merge(part, one)
        if whole != schema:
            yield name, whole


def _merge(part: dict[str, Any], other: Any) -> None:
    """Have a schema say what another says as well, so far as that is known."""
    for name, value in other.items() if isinstance(other, dict) else ():
        mine = part.get(name)
        if isinstance(mine, dict) and isinstance(value, dict):
            _merge(mine, value)
        elif isinstance(mine, list) and isinstance(value, list):
            part[name] = [*mine, *(one for one in value if one not in mine)]
        else:
            part[name] = value


def cut_down(schema: Any) -> Iterator[Any]:
    """The schema without half, a quarter … of the members of one mapping or list."""
    for path, part in objects(schema):
        for keyword, value in part.items():
            sort = dict if keyword in MAPS else dict | list
            if keyword not in _CUT_DOWN or not isinstance(value, sort) or len(value) < 4:
                continue
            size = len(value) // 2
            while size > 1:
                for start in range(0, len(value), size):
                    if some := _cut(value, start, start + size):
                        yield replaced(schema, (*path, keyword), some)
                size //= 2


def _cut(value: Any, start: int, end: int) -> Any:
    if isinstance(value, list):
        return value[:start] + value[end:]
    return dict(_cut(list(value.items()), start, end))


def left_out(schema: Any) -> Iterator[Any]:
    """The schema without one keyword, one named part, one branch, one entry of a list.

    A ``type`` stays: without it an engine may refuse in another way. No list becomes empty.
    """
    for path, part in objects(schema):
        for keyword, value in part.items():
            here = (*path, keyword)
            if keyword != "type":
                yield without(schema, here)
            if keyword in MAPS and isinstance(value, dict):
                for name, inner in value.items():
                    yield without(schema, (*here, name))
                    for index in range(len(inner)) if isinstance(inner, list) else ():
                        yield without(schema, (*here, name, index))
            elif isinstance(value, list) and len(value) > 1:
                yield from (without(schema, (*here, index)) for index in range(len(value)))


def typed(schema: Any, keyword: str = "") -> Iterator[Any]:
    """The schema with a type where it has none but a keyword: longer, and said more clearly."""
    for path, part in objects(schema):
        clear = keyword not in part if keyword else part.keys() & {"$ref", "enum", "const"}
        if "type" not in part and not clear:
            for name in _TYPES:
                yield replaced(schema, path, {"type": name, **part})


def plain_parts(schema: Any) -> Iterator[tuple[Any, Path, str]]:
    """The schema with one part as plain as can be, where, and the type that the part had."""
    for path, part in objects(schema):
        if path and part != PLAINEST:
            kind = part.get("type")
            yield replaced(schema, path, PLAINEST), path, kind if isinstance(kind, str) else ""


def plain_types(schema: Any) -> Iterator[tuple[Any, Path, str]]:
    """The schema with boolean or null for a type, whatever stands beside it, where, and that."""
    for path, part in objects(schema):
        kind = part.get("type")
        if isinstance(kind, str) and kind != "boolean" and len(part) > 1:
            for plain in ("boolean",) if kind == "null" else ("boolean", "null"):
                yield replaced(schema, path, {**part, "type": plain}), path, kind


def twins(schema: Any) -> Iterator[Any]:
    """The schema with a keyword's twin in its place: engines read both alike, or neither."""
    for path, part in objects(schema):
        for keyword, twin in TWINS.items():
            if keyword in part and twin not in part and not isinstance(part[keyword], bool):
                for value in (part[keyword],) if keyword in LISTS else (0, 1):
                    named = {twin if name == keyword else name: part[name] for name in part}
                    yield replaced(schema, path, {**named, twin: value})


def made_plain(schema: Any) -> Iterator[Any]:
    """The schema with one part said more simply."""
    for path, part in objects(schema):
        if path:
            for simple in ({"type": part["type"]},) if "type" in part else (True, {}):
                yield replaced(schema, path, simple)
        for keyword, value in part.items():
            if keyword not in MAPS and keyword != "$ref" and not isinstance(value, dict):
                for simple in _plainer(keyword, value):
                    yield replaced(schema, (*path, keyword), simple)


def _plainer(keyword: str, value: Any) -> Iterator[Any]:
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        whole = int(value)
        numbers = {0, 1, 2, 3, 10, whole // 10, whole // 2, whole - 1, whole}
        yield from sorted(
            number for number in numbers if abs(number) < abs(value) or number == value
        )
        if value != whole:  # a fraction, where it does not matter, as the next whole number
            yield whole + (1 if value > 0 else -1)
    elif isinstance(value, str) and keyword not in ("type", "format", "$schema", "$id", "id"):
        size = len(value)
        while size:
            yield from (value[:at] + value[at + size :] for at in range(0, len(value), size))
            size //= 2
        for group in _GROUP.finditer(value) if keyword == "pattern" else ():
            yield value[: group.start()] + group[1] + value[group.end() :]
    elif isinstance(value, list):
        for index, item in enumerate(value):
            for simple in _plainer("", item) if keyword in ("enum", "examples") else ():
                yield [*value[:index], simple, *value[index + 1 :]]
        if len(value) == 1 and keyword == "type":
            yield value[0]


def patterns_of(schema: Any, name: str) -> list[str]:
    """The patterns in ``patternProperties`` anywhere that a name matches."""
    found = (
        pattern for _, part in objects(schema) for pattern in mapping(part, "patternProperties")
    )
    return [pattern for pattern in found if matches(pattern, name)]


def names(schema: Any) -> list[str]:
    """The names and the words of data in a schema, each once: what may be called otherwise."""
    words: list[Any] = []
    for _, part in objects(schema):
        for keyword, value in part.items():
            if keyword in MAPS and isinstance(value, dict):
                words += value
                words += (word for inner in value.values() for word in listed(inner))
            elif keyword in ("enum", "required", "const"):
                words += value if isinstance(value, list) else [value]
    return list(dict.fromkeys(word for word in words if isinstance(word, str)))


def renamed(schema: Any, old: str, new: str) -> Any:
    """The schema with another name for one part, or another word of data."""

    def name(word: str) -> str:
        return new if word == old else word

    def data(keyword: str, value: Any) -> Any:
        if keyword in ("enum", "required") and isinstance(value, list):
            return [name(word) for word in value]
        if keyword in ("", "const"):
            return name(value)
        if keyword == "$ref" and isinstance(value, str) and value.endswith(f"/{old}"):
            return value.replace(f"/{old}", f"/{new}")
        return value

    return rebuilt(schema, data, name) if isinstance(schema, dict) else schema
