"""The places of a schema at which a keyword may stand, each as a way to wrap a fragment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from harness.conformance.keywords import DRAFTS, LATEST, Fragment, definitions_key

Build = Callable[[Fragment], "dict[str, Any] | None"]


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class SchemaPlace:
    """One place.

    Attributes:
        name: In tables and ids of cases.
        about: Where that is, in a few words.
        build: The schema with a fragment at this place, without the fragment's definitions; None
            where the fragment cannot stand there.
        wrap: A value of the fragment as a value of that schema.
        since: The first draft that knows what the place is made of.
        inverts: Whether the schema allows what the fragment forbids, and the other way round.
    """

    name: str
    about: str
    build: Build
    wrap: Callable[[Any], Any] = _same
    since: str = "draft-04"
    inverts: bool = False

    def takes(self, fragment: Fragment) -> bool:
        """Whether a fragment can stand there."""
        drafts = list(DRAFTS)
        known = drafts.index(self.since) <= drafts.index(fragment.draft)
        return known and self.build(fragment) is not None


def _object(**keywords: Any) -> dict[str, Any]:
    return {"type": "object", **keywords}


def _array(**keywords: Any) -> dict[str, Any]:
    return {"type": "array", **keywords}


def _beside(fragment: Fragment, **keywords: Any) -> dict[str, Any] | None:
    """The fragment with other keywords beside it; None where it has one of them itself."""
    schema = dict(fragment.schema)
    return None if schema.keys() & keywords.keys() else {**schema, **keywords}


def _types(fragment: Fragment) -> str | list[str]:
    """What ``type`` must say to allow all values of a fragment."""
    types = fragment.types
    return types[0] if len(types) == 1 else types


def _other(fragment: Fragment) -> str:
    """A type that no value of the fragment has."""
    taken = {*fragment.types, *(("integer",) if "number" in fragment.types else ())}
    free = (one for one in ("null", "boolean", "integer", "string", "array") if one not in taken)
    return next(free, "object")


def _with_type_apart(fragment: Fragment) -> dict[str, Any] | None:
    if not fragment.has_own_type:
        return None
    return {"type": fragment.schema["type"], "allOf": [fragment.untyped]}


def _negated(fragment: Fragment) -> dict[str, Any]:
    return {
        "type": _types(fragment),
        "not": fragment.untyped if fragment.has_own_type else {**fragment.schema},
    }


def _referring(fragment: Fragment) -> dict[str, Any]:
    """A reference to the fragment, which stands among the definitions."""
    where = definitions_key(fragment.draft)
    return {"$ref": f"#/{where}/it", where: {"it": {**fragment.schema}}}


def _referring_beside(fragment: Fragment) -> dict[str, Any] | None:
    return _beside(
        fragment, **{"$ref": "#/$defs/any", "$defs": {"any": {"type": _types(fragment)}}}
    )


def _in_if(fragment: Fragment) -> dict[str, Any]:
    return {"if": {"type": _types(fragment)}, "then": {**fragment.schema}}


PLACES: Final = (
    SchemaPlace("root", "the whole schema", lambda one: {**one.schema}),
    SchemaPlace(
        "untyped",
        "the whole schema, without `type` beside it",
        lambda one: one.untyped if one.has_own_type else None,
    ),
    SchemaPlace(
        "property",
        "a property that may be missing",
        lambda one: _object(properties={"a": {**one.schema}}),
        lambda value: {"a": value},
    ),
    SchemaPlace(
        "required-property",
        "a required property of a closed object",
        lambda one: _object(
            properties={"a": {**one.schema}}, required=["a"], additionalProperties=False
        ),
        lambda value: {"a": value},
    ),
    SchemaPlace(
        "additional-property",
        "`additionalProperties`",
        lambda one: _object(additionalProperties={**one.schema}),
        lambda value: {"x": value},
    ),
    SchemaPlace(
        "pattern-property",
        "`patternProperties`",
        lambda one: _object(patternProperties={"^x": {**one.schema}}, additionalProperties=False),
        lambda value: {"x": value},
    ),
    SchemaPlace("item", "`items`", lambda one: _array(items={**one.schema}), lambda value: [value]),
    SchemaPlace(
        "prefix-item",
        "`prefixItems`",
        lambda one: _array(prefixItems=[{**one.schema}], items=False),
        lambda value: [value],
        since=LATEST,
    ),
    SchemaPlace("all-of", "inside `allOf`", lambda one: {"allOf": [{**one.schema}]}),
    SchemaPlace("type-apart", "inside `allOf`, `type` beside that", _with_type_apart),
    SchemaPlace(
        "any-of",
        "inside `anyOf`, beside another type",
        lambda one: {"anyOf": [{**one.schema}, {"type": _other(one)}]},
    ),
    SchemaPlace(
        "beside-any-of",
        "beside `anyOf`",
        lambda one: _beside(one, anyOf=[{"type": _types(one)}, {"type": _other(one)}]),
    ),
    SchemaPlace(
        "one-of",
        "inside `oneOf`, beside another type",
        lambda one: {"oneOf": [{**one.schema}, {"type": _other(one)}]},
    ),
    SchemaPlace("not", "inside `not`", _negated, inverts=True),
    SchemaPlace("then", "inside `then`", _in_if, since="draft-07"),
    SchemaPlace("behind-ref", "behind `$ref`", _referring),
    SchemaPlace("beside-ref", "beside `$ref`", _referring_beside, since="2019-09"),
    SchemaPlace(
        "nested",
        "a property of objects in an array in an object",
        lambda one: _object(
            properties={
                "a": _array(items=_object(properties={"b": {**one.schema}}, required=["b"]))
            },
            required=["a"],
        ),
        lambda value: {"a": [{"b": value}]},
    ),
    SchemaPlace(
        "recursive",
        "a property of an object that holds objects like itself",
        lambda one: _object(properties={"v": {**one.schema}, "next": {"$ref": "#"}}),
        lambda value: {"next": {"v": value}},
    ),
)
"""All places, in the order of tables."""

_OF_FORMATS: Final = (
    *("root", "untyped", "property", "item", "all-of", "any-of", "beside-any-of", "not"),
    *("behind-ref", "beside-ref"),
)
FORMAT_PLACES: Final = tuple(one for one in PLACES if one.name in _OF_FORMATS)
"""Those at which each of the formats is tried, which differ little by place among themselves."""
