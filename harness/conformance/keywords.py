"""Every keyword that constrains a value, in the smallest schema that shows whether it is kept.

A fragment is such a schema with values that it allows and values that it forbids. The forbidden
ones are forbidden by the keyword alone, so that an engine that skips it lets them through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from harness.conformance.format_values import FORMATS

LATEST: Final = "2020-12"
DRAFTS: Final[Mapping[str, str]] = {
    "draft-04": "http://json-schema.org/draft-04/schema#",
    "draft-06": "http://json-schema.org/draft-06/schema#",
    "draft-07": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    LATEST: "https://json-schema.org/draft/2020-12/schema",
}
"""The drafts in their order, with what ``$schema`` says of each."""


@dataclass(frozen=True)
class Fragment:
    """One keyword in its smallest schema.

    Attributes:
        name: The keyword; where it has several forms, with ``=`` and the form behind it.
        schema: An object; references in it lead to `definitions`.
        valid: Values that are valid under it, one at least.
        invalid: Values that the keyword forbids, one at least.
        definitions: Schemas by name, to stand under ``$defs`` of the whole schema, or under
            ``definitions`` before 2019-09.
        draft: The draft whose keyword it is, one of `DRAFTS`.
    """

    name: str
    schema: Mapping[str, Any]
    valid: tuple[Any, ...]
    invalid: tuple[Any, ...]
    definitions: Mapping[str, Any] = field(default_factory=dict)
    draft: str = LATEST

    @property
    def types(self) -> list[str]:
        """The types of all its values, valid and invalid."""
        return sorted({type_of(value) for value in (*self.valid, *self.invalid)})

    @property
    def untyped(self) -> dict[str, Any]:
        """The schema without ``type``."""
        return {key: value for key, value in self.schema.items() if key != "type"}

    @property
    def has_own_type(self) -> bool:
        """Whether ``type`` stands beside the keyword, and is not the keyword itself."""
        return "type" in self.schema and len(self.schema) > 1


def definitions_key(draft: str) -> str:
    """The keyword under which a draft keeps definitions."""
    return "$defs" if draft in ("2019-09", LATEST) else "definitions"


def keyword_of(name: str) -> str:
    """The keyword of a fragment's name."""
    return name.partition("=")[0]


def type_of(value: Any) -> str:
    """The type of a JSON value, as ``type`` names it; of a whole number ``integer``."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
    return "array" if isinstance(value, list) else "object"


def fragments() -> Iterator[Fragment]:
    """All fragments, in the order of tables."""
    yield from _OF_ANY
    yield from _OF_NUMBERS
    yield from _OF_STRINGS
    yield from _OF_ARRAYS
    yield from _OF_OBJECTS
    yield from _OF_SCHEMAS
    yield from _REFERENCES
    for name, (valid, invalid) in FORMATS.items():
        yield Fragment(f"format={name}", {"type": "string", "format": name}, valid, invalid)
    yield from _OF_OLDER_DRAFTS


_INTEGER: Final = {"type": "integer"}
_STRING: Final = {"type": "string"}
_AB: Final = {"a": _INTEGER, "b": _INTEGER}
_SHORT: Final = {"type": "string", "maxLength": 2}
_TREE: Final = {
    "type": "object",
    "properties": {"v": _INTEGER, "next": {"$ref": "#/$defs/tree"}},
    "required": ["v"],
    "additionalProperties": False,
}


def _typed(type_: str, **keywords: Any) -> dict[str, Any]:
    return {"type": type_, **keywords}


def _has(type_: str, name: str) -> dict[str, Any]:
    """An object with this property, the property of that type."""
    return _typed("object", properties={name: {"type": type_}}, required=[name])


_OF_ANY: Final = (
    Fragment("type=string", _STRING, ("", "ab"), (1, True, None, ["a"])),
    Fragment("type=integer", _INTEGER, (0, -5, 12), (1.5, "1", None)),
    Fragment("type=number", {"type": "number"}, (0, -1.5, 2), ("1", True)),
    Fragment("type=boolean", {"type": "boolean"}, (True, False), (0, "true", None)),
    Fragment("type=null", {"type": "null"}, (None,), (0, False, "null")),
    Fragment("type=array", {"type": "array"}, ([], [1, "a"]), ({}, "a", 1)),
    Fragment("type=object", {"type": "object"}, ({}, {"x": 1}), ([], "a", None)),
    Fragment("type=list", {"type": ["string", "null"]}, ("a", None), (1, True)),
    Fragment("enum", _typed("string", enum=["red", "green"]), ("red", "green"), ("blue", "re", "")),
    Fragment("enum=mixed", {"enum": ["red", 3, None]}, ("red", 3, None), ("blue", 4, True)),
    Fragment("const", _typed("string", const="fixed"), ("fixed",), ("fix", "other")),
    Fragment("const=object", {"const": {"a": 1}}, ({"a": 1},), ({"a": 2}, {}, 1)),
)

_OF_NUMBERS: Final = (
    Fragment("multipleOf", _typed("integer", multipleOf=3), (0, 3, -6, 12), (1, 4, -5)),
    Fragment("multipleOf=half", _typed("number", multipleOf=0.5), (0, 1.5, 2), (0.25, 1.3)),
    Fragment("maximum", _typed("integer", maximum=10), (10, 7, -3), (11, 100)),
    Fragment("maximum=number", _typed("number", maximum=2.5), (2.5, 2.4, -1), (2.6, 3, 10)),
    Fragment("minimum", _typed("integer", minimum=10), (10, 11, 100), (9, 0, -10)),
    Fragment("minimum=number", _typed("number", minimum=2.5), (2.5, 2.6, 10), (2.4, 0, -3)),
    Fragment("exclusiveMaximum", _typed("integer", exclusiveMaximum=10), (9, -3), (10, 11)),
    Fragment(
        "exclusiveMaximum=number", _typed("number", exclusiveMaximum=2.5), (2.4, -1), (2.5, 3)
    ),
    Fragment("exclusiveMinimum", _typed("integer", exclusiveMinimum=10), (11, 100), (10, 9, -10)),
    Fragment(
        "exclusiveMinimum=number", _typed("number", exclusiveMinimum=2.5), (2.6, 10), (2.5, 0)
    ),
)

_OF_STRINGS: Final = (
    Fragment("maxLength", _typed("string", maxLength=2), ("", "ab"), ("abc", "abcdef")),
    Fragment("maxLength=wide", _typed("string", maxLength=2), ("éß", "😀😀"), ("éßü", "😀😀😀")),
    Fragment("minLength", _typed("string", minLength=2), ("ab", "abc"), ("", "a")),
    Fragment("minLength=wide", _typed("string", minLength=2), ("éß", "😀😀"), ("é", "😀")),
    Fragment(
        "pattern",
        _typed("string", pattern="^[a-z]{2}[0-9]+$"),
        ("ab1", "zz99"),
        ("a1", "ab", "AB1", "ab1x"),
    ),
    Fragment("pattern=anywhere", _typed("string", pattern="b"), ("b", "abc"), ("ac", "")),
)

_OF_ARRAYS: Final = (
    Fragment("items", _typed("array", items=_INTEGER), ([], [1], [1, 2]), (["a"], [1, "a"])),
    Fragment(
        "prefixItems",
        _typed("array", prefixItems=[_INTEGER, _STRING]),
        ([1, "a"], [1]),
        (["a"], [1, 2]),
    ),
    Fragment(
        "items=rest",
        _typed("array", prefixItems=[_INTEGER], items=_STRING),
        ([1], [1, "a"]),
        ([1, 2], [1, "a", 2]),
    ),
    Fragment(
        "items=false", _typed("array", prefixItems=[_INTEGER], items=False), ([1], []), ([1, 2],)
    ),
    Fragment("maxItems", _typed("array", items=_INTEGER, maxItems=2), ([], [1, 2]), ([1, 2, 3],)),
    Fragment("minItems", _typed("array", items=_INTEGER, minItems=2), ([1, 2], [1, 2, 3]), ([1],)),
    Fragment(
        "uniqueItems",
        _typed("array", items=_INTEGER, uniqueItems=True),
        ([], [1, 2]),
        ([1, 1], [1, 2, 1]),
    ),
    Fragment(
        "contains",
        _typed("array", items=_INTEGER, contains={"const": 1}),
        ([1], [2, 1]),
        ([], [2]),
    ),
    Fragment(
        "maxContains",
        _typed("array", items=_INTEGER, contains={"const": 1}, maxContains=1),
        ([1], [2, 1]),
        ([1, 1], [1, 2, 1]),
    ),
    Fragment(
        "minContains",
        _typed("array", items=_INTEGER, contains={"const": 1}, minContains=2),
        ([1, 1], [1, 2, 1]),
        ([1], [1, 2]),
    ),
    Fragment(
        "unevaluatedItems",
        _typed("array", allOf=[{"prefixItems": [_INTEGER]}], unevaluatedItems=False),
        ([], [1]),
        ([1, 2],),
    ),
)

_OF_OBJECTS: Final = (
    Fragment(
        "properties",
        _typed("object", properties={"a": _INTEGER}),
        ({}, {"a": 1}),
        ({"a": "x"}, {"a": None}),
    ),
    Fragment(
        "properties=false", _typed("object", properties={"a": False}), ({}, {"b": 1}), ({"a": 1},)
    ),
    Fragment(
        "required",
        _typed("object", properties=_AB, required=["b"]),
        ({"b": 1}, {"a": 1, "b": 2}),
        ({}, {"a": 1}),
    ),
    Fragment("required=undeclared", _typed("object", required=["a"]), ({"a": 1},), ({}, {"b": 1})),
    Fragment(
        "additionalProperties=false",
        _typed("object", properties={"a": _INTEGER}, additionalProperties=False),
        ({}, {"a": 1}),
        ({"b": 1}, {"a": 1, "b": 2}),
    ),
    Fragment(
        "additionalProperties",
        _typed("object", properties={"a": _STRING}, additionalProperties=_INTEGER),
        ({}, {"x": 1}, {"a": "s", "x": 1}),
        ({"x": "s"}, {"a": "s", "x": "s"}),
    ),
    Fragment(
        "patternProperties",
        _typed("object", patternProperties={"^n": _INTEGER}),
        ({}, {"n": 1}, {"x": "s"}),
        ({"n": "s"}, {"n1": None}),
    ),
    Fragment(
        "propertyNames",
        _typed("object", propertyNames={"pattern": "^[a-z]+$"}, additionalProperties=_INTEGER),
        ({}, {"ab": 1}),
        ({"A": 1}, {"ab": 1, "B": 2}),
    ),
    Fragment(
        "maxProperties",
        _typed("object", additionalProperties=_INTEGER, maxProperties=1),
        ({}, {"a": 1}),
        ({"a": 1, "b": 2},),
    ),
    Fragment(
        "minProperties",
        _typed("object", additionalProperties=_INTEGER, minProperties=1),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({},),
    ),
    Fragment(
        "dependentRequired",
        _typed("object", properties=_AB, dependentRequired={"a": ["b"]}),
        ({}, {"b": 1}, {"a": 1, "b": 2}),
        ({"a": 1},),
    ),
    Fragment(
        "dependentSchemas",
        _typed("object", properties=_AB, dependentSchemas={"a": {"required": ["b"]}}),
        ({}, {"b": 1}, {"a": 1, "b": 2}),
        ({"a": 1},),
    ),
    Fragment(
        "unevaluatedProperties",
        _typed("object", allOf=[{"properties": {"a": _INTEGER}}], unevaluatedProperties=False),
        ({}, {"a": 1}),
        ({"b": 1}, {"a": 1, "b": 2}),
    ),
)

_OF_SCHEMAS: Final = (
    Fragment(
        "allOf",
        {"allOf": [_typed("string", minLength=2), _typed("string", maxLength=3)]},
        ("ab", "abc"),
        ("a", "abcd"),
    ),
    Fragment(
        "allOf=objects",
        {"allOf": [_has("integer", "a"), _has("string", "b")]},
        ({"a": 1, "b": "s"},),
        ({"a": 1}, {"b": "s"}, {"a": 1, "b": 2}),
    ),
    Fragment("anyOf", {"anyOf": [_STRING, _INTEGER]}, ("a", 1), (True, None)),
    Fragment(
        "anyOf=objects",
        {"anyOf": [_has("integer", "a"), _has("string", "b")]},
        ({"a": 1}, {"b": "s"}),
        ({}, {"a": "s"}),
    ),
    Fragment("oneOf", {"oneOf": [_STRING, _INTEGER]}, ("a", 1), (True, None)),
    Fragment(
        "oneOf=overlapping",
        {"oneOf": [_typed("integer", minimum=0), _typed("integer", maximum=10)]},
        (-1, 11),
        (5, 0, 10),
    ),
    Fragment("not", _typed("integer", **{"not": {"const": 5}}), (4, 6, 55), (5,)),
    Fragment("not=type", {"not": _STRING}, (1, None), ("", "a")),
    Fragment(
        "then",
        _typed("integer", **{"if": {"minimum": 10}, "then": {"maximum": 20}}),
        (5, 10, 20),
        (21, 25),
    ),
    Fragment(
        "else",
        _typed("integer", **{"if": {"minimum": 10}, "else": {"maximum": 5}}),
        (5, 10, 20),
        (6, 9),
    ),
    Fragment(
        "then=objects",
        _typed(
            "object",
            properties={"k": {"enum": ["x", "y"]}, "n": _INTEGER},
            required=["k"],
            **{"if": {"properties": {"k": {"const": "x"}}}, "then": {"required": ["n"]}},
        ),
        ({"k": "x", "n": 1}, {"k": "y"}),
        ({"k": "x"},),
    ),
)

_REFERENCES: Final = (
    Fragment("$ref", {"$ref": "#/$defs/short"}, ("", "ab"), ("abc", 1), {"short": _SHORT}),
    Fragment(
        "$ref=recursive",
        {"$ref": "#/$defs/tree"},
        ({"v": 1}, {"v": 1, "next": {"v": 2}}),
        ({}, {"v": 1, "next": {}}),
        {"tree": _TREE},
    ),
    Fragment(
        "$anchor",
        {"$ref": "#short"},
        ("", "ab"),
        ("abc", 1),
        {"short": {"$anchor": "short", **_SHORT}},
    ),
    Fragment(
        "$id",
        {"$ref": "https://example.com/short"},
        ("", "ab"),
        ("abc", 1),
        {"short": {"$id": "https://example.com/short", **_SHORT}},
    ),
    Fragment(
        "$dynamicRef",
        {"$dynamicRef": "#short"},
        ("", "ab"),
        ("abc", 1),
        {"short": {"$dynamicAnchor": "short", **_SHORT}},
    ),
)

_OF_OLDER_DRAFTS: Final = (
    Fragment(
        "exclusiveMaximum=draft-04",
        _typed("integer", maximum=10, exclusiveMaximum=True),
        (9, -3),
        (10, 11),
        draft="draft-04",
    ),
    Fragment(
        "exclusiveMinimum=draft-04",
        _typed("integer", minimum=10, exclusiveMinimum=True),
        (11, 100),
        (10, 9),
        draft="draft-04",
    ),
    Fragment(
        "items=draft-07",
        _typed("array", items=[_INTEGER, _STRING]),
        ([1, "a"], [1]),
        (["a"], [1, 2]),
        draft="draft-07",
    ),
    Fragment(
        "additionalItems",
        _typed("array", items=[_INTEGER], additionalItems=_STRING),
        ([1], [1, "a"]),
        ([1, 2],),
        draft="draft-07",
    ),
    Fragment(
        "dependencies",
        _typed("object", properties=_AB, dependencies={"a": ["b"]}),
        ({}, {"b": 1}, {"a": 1, "b": 2}),
        ({"a": 1},),
        draft="draft-07",
    ),
    Fragment(
        "dependencies=schema",
        _typed("object", properties=_AB, dependencies={"a": {"required": ["b"]}}),
        ({}, {"b": 1}, {"a": 1, "b": 2}),
        ({"a": 1},),
        draft="draft-07",
    ),
    Fragment(
        "definitions",
        {"$ref": "#/definitions/short"},
        ("", "ab"),
        ("abc", 1),
        {"short": _SHORT},
        draft="draft-07",
    ),
)
