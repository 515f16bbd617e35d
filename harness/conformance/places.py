"""The places of a schema at which a keyword may stand, each as a way to wrap a fragment."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from harness.conformance.keywords import DRAFTS, LATEST, Fragment, definitions_key


@dataclass(frozen=True)
class SchemaPlace:
    """One place: its schema as JSON, and a value of that around one of the fragment.

    In them stand for texts in angle brackets the fragment (`<it>`), the fragment without its type
    (`<untyped>`), what `type` must say to allow all of its values (`<type>`), a type that none of
    them has (`<other>`), its own type (`<own>`) and the key of definitions (`<defs>`). One that
    `inverts` allows what the fragment forbids; `own_type`: only fragments with a type of their own.
    """

    name: str
    about: str
    schema: str
    value: str = "<it>"
    since: str = "draft-04"
    inverts: bool = False
    own_type: bool = False

    def build(self, fragment: Fragment) -> dict[str, Any] | None:
        """The schema, without the fragment's definitions; None where it cannot stand there.

        ``"...": "<it>"`` beside other keywords puts the fragment's own there.
        """
        drafts = list(DRAFTS)
        if drafts.index(self.since) > drafts.index(fragment.draft):
            return None
        if self.own_type and not fragment.has_own_type:
            return None
        types = fragment.types[0] if len(fragment.types) == 1 else fragment.types
        own = fragment.untyped if fragment.has_own_type else {**fragment.schema}
        parts = {"it": {**fragment.schema}, "untyped": own, "own": fragment.schema.get("type")}
        parts |= {"type": types, "other": _other(fragment)}
        text = self.schema.replace("<defs>", definitions_key(fragment.draft))
        for name, part in parts.items():
            text = text.replace(f'"<{name}>"', json.dumps(part, ensure_ascii=False))
        schema: dict[str, Any] = json.loads(text)
        beside = schema.pop("...", {})
        return None if beside.keys() & schema.keys() else {**beside, **schema}

    def wrap(self, value: Any) -> Any:
        return json.loads(self.value.replace("<it>", json.dumps(value, ensure_ascii=False)))


def _other(fragment: Fragment) -> str:
    """A type that no value of the fragment has."""
    taken = {*fragment.types, *(("integer",) if "number" in fragment.types else ())}
    free = (one for one in ("null", "boolean", "integer", "string", "array") if one not in taken)
    return next(free, "object")


PLACES: Final = (
    SchemaPlace("root", "the whole schema", '{"...": "<it>"}'),
    SchemaPlace(
        "untyped",
        "the whole schema, without `type` beside it",
        '{"...": "<untyped>"}',
        own_type=True,
    ),
    SchemaPlace(
        "property",
        "a property that may be missing",
        '{"type": "object", "properties": {"a": "<it>"}}',
        '{"a": <it>}',
    ),
    SchemaPlace(
        "required-property",
        "a required property of a closed object",
        '{"type": "object", "properties": {"a": "<it>"}, "required": ["a"],'
        ' "additionalProperties": false}',
        '{"a": <it>}',
    ),
    SchemaPlace(
        "additional-property",
        "`additionalProperties`",
        '{"type": "object", "additionalProperties": "<it>"}',
        '{"x": <it>}',
    ),
    SchemaPlace(
        "pattern-property",
        "`patternProperties`",
        '{"type": "object", "patternProperties": {"^x": "<it>"}, "additionalProperties": false}',
        '{"x": <it>}',
    ),
    SchemaPlace("item", "`items`", '{"type": "array", "items": "<it>"}', "[<it>]"),
    SchemaPlace(
        "prefix-item",
        "`prefixItems`",
        '{"type": "array", "prefixItems": ["<it>"], "items": false}',
        "[<it>]",
        since=LATEST,
    ),
    SchemaPlace("all-of", "inside `allOf`", '{"allOf": ["<it>"]}'),
    SchemaPlace(
        "type-apart",
        "inside `allOf`, `type` beside that",
        '{"type": "<own>", "allOf": ["<untyped>"]}',
        own_type=True,
    ),
    SchemaPlace(
        "any-of", "inside `anyOf`, beside another type", '{"anyOf": ["<it>", {"type": "<other>"}]}'
    ),
    SchemaPlace(
        "beside-any-of",
        "beside `anyOf`",
        '{"...": "<it>", "anyOf": [{"type": "<type>"}, {"type": "<other>"}]}',
    ),
    SchemaPlace(
        "one-of", "inside `oneOf`, beside another type", '{"oneOf": ["<it>", {"type": "<other>"}]}'
    ),
    SchemaPlace("not", "inside `not`", '{"type": "<type>", "not": "<untyped>"}', inverts=True),
    SchemaPlace(
        "then", "inside `then`", '{"if": {"type": "<type>"}, "then": "<it>"}', since="draft-07"
    ),
    SchemaPlace("behind-ref", "behind `$ref`", '{"$ref": "#/<defs>/it", "<defs>": {"it": "<it>"}}'),
    SchemaPlace(
        "beside-ref",
        "beside `$ref`",
        '{"...": "<it>", "$ref": "#/$defs/any", "$defs": {"any": {"type": "<type>"}}}',
        since="2019-09",
    ),
    SchemaPlace(
        "nested",
        "a property of objects in an array in an object",
        '{"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object",'
        ' "properties": {"b": "<it>"}, "required": ["b"]}}}, "required": ["a"]}',
        '{"a": [{"b": <it>}]}',
    ),
    SchemaPlace(
        "recursive",
        "a property of an object that holds objects like itself",
        '{"type": "object", "properties": {"v": "<it>", "next": {"$ref": "#"}}}',
        '{"next": {"v": <it>}}',
    ),
)
"""All places, in the order of tables."""

_OF_FORMATS: Final = (
    *("root", "untyped", "property", "item", "all-of", "any-of", "beside-any-of", "not"),
    *("behind-ref", "beside-ref"),
)
FORMAT_PLACES: Final = tuple(one for one in PLACES if one.name in _OF_FORMATS)
"""Those at which each of the formats is tried, which differ little by place among themselves."""
