"""Rewritings: other ways to write a schema, which provably keep its meaning in its draft.

What is valid under one form is valid under the other, so that an engine that takes a value under
one alone is wrong under one of the two, and no second engine is needed to know it. Each rewriting
says under which condition it holds; a place where that is not certain is left alone. That equal
schemas must have equal masks is stated in arXiv 2603.05540.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from harness.jsontext.pointers import escape, objects_in, part_at, replaced, without
from harness.schemas.schema import Path, kinds, listed, mapping, objects, target

_DEFINITIONS: Final = dict.fromkeys(("draft-04", "draft-06", "draft-07"), "definitions")
_OLD: Final = "draft-04"
"""The draft that has neither ``const`` nor boolean schemas, and booleans for exclusive bounds."""
_OF_ROOT: Final = frozenset(("$schema", "$id", "id", "$defs", "definitions", "$comment"))
_MOVES: Final = frozenset(
    ("$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef", "$recursiveAnchor")
)
"""Keywords that mean something else where they stand in another place."""
_ANNOTATIONS: Final = frozenset(("title", "description", "default", "examples", "$comment"))
_EXACT: Final = 2**53
_MOST_PLACES: Final = 200
_LONG: Final = 1000
"""A repetition from which on validators may refuse a pattern for its size."""


@dataclass(frozen=True)
class Place:
    """A subschema that is an object, and where it stands."""

    path: Path
    schema: dict[str, Any]

    @property
    def has_reference(self) -> bool:
        """Whether it refers to another one; up to draft 7 what stands beside that is ignored."""
        return "$ref" in self.schema


@dataclass(frozen=True)
class Written:
    """A schema that was rewritten; of members that were renamed the names, by what they were."""

    schema: Any
    names: Mapping[str, str] = field(default_factory=dict)


class SchemaAnatomy:
    """A schema to be rewritten, in a draft: its subschemas, and what refers to them."""

    def __init__(self, root: dict[str, Any], draft: str) -> None:
        self.root, self.draft = root, draft
        found = sorted(objects(root), key=lambda one: len(one[0]))
        every = [Place(path, part) for path, part in found]
        self.places = every[:_MOST_PLACES]
        parts = list(objects_in(root))
        self.references = [one["$ref"] for one in parts if isinstance(one.get("$ref"), str)]
        self.evaluates = any(key.startswith("unevaluated") for one in parts for key in one)
        """Whether any keyword depends on what others have looked at."""
        below = [place.schema for place in every if place.path]
        self.is_movable = not any(
            _MOVES & one.keys() or isinstance(one.get("$id", one.get("id")), str) for one in below
        ) and not (_MOVES & root.keys())
        """Whether a subschema means the same in another place."""
        self.definitions = _DEFINITIONS.get(draft, "$defs")

    def replaced(self, place: Place, schema: Any) -> Any:
        """The root with another schema at a place; the root's own keywords stay there."""
        if not place.path and isinstance(schema, dict):
            kept = {key: value for key, value in self.root.items() if key in _OF_ROOT}
            return kept | {key: value for key, value in schema.items() if key not in _OF_ROOT}
        return replaced(self.root, place.path, schema)

    def may_move(self, place: Place) -> bool:
        """Whether nothing refers to what is inside a place, which is no longer where it was."""
        inside = "#" + "".join(f"/{escape(str(step))}" for step in place.path) + "/"
        kept = tuple(f"#/{name}" for name in _OF_ROOT)
        return self.is_movable and not any(
            one.startswith(inside) and (place.path or not one.startswith(kept))
            for one in self.references
        )


Changed = dict[str, Any] | None
"""What a schema becomes; None where the condition does not hold."""
Rewriting = Callable[[Place, SchemaAnatomy], Changed]


def _wrapped(wrap: Callable[[Any], dict[str, Any]], *, booleans: bool = False) -> Rewriting:
    """A schema inside a keyword that applies it in place."""

    def changed(place: Place, of: SchemaAnatomy) -> Changed:
        part = {key: one for key, one in place.schema.items() if place.path or key not in _OF_ROOT}
        fits = part and of.may_move(place) and not (booleans and of.draft == _OLD)
        return wrap(part) if fits else None

    return changed


def _of_keywords(change: Callable[[dict[str, Any], SchemaAnatomy], Changed]) -> Rewriting:
    """Keywords of a schema; beside a reference they may be ignored."""
    return lambda place, of: None if place.has_reference else change(place.schema, of)


def _swapped(schema: dict[str, Any], old: str, new: dict[str, Any]) -> dict[str, Any]:
    """The schema with other keywords in the place of one."""
    out: dict[str, Any] = {}
    for key, value in schema.items():
        out |= new if key == old else {key: value}
    return out


def _const_as_enum(schema: dict[str, Any], of: SchemaAnatomy) -> Changed:
    if of.draft == _OLD or "const" not in schema or "enum" in schema:
        return None
    return _swapped(schema, "const", {"enum": [schema["const"]]})


def _enum_as_const(schema: dict[str, Any], of: SchemaAnatomy) -> Changed:
    if of.draft == _OLD or "const" in schema or len(listed(schema.get("enum"))) != 1:
        return None
    return _swapped(schema, "enum", {"const": schema["enum"][0]})


def _inlined(place: Place, of: SchemaAnatomy) -> Changed:
    """What a reference leads to in its place, where that refers to nothing itself."""
    if not place.has_reference or not of.is_movable:
        return None
    beside = place.schema.keys() - {"$ref"} - _ANNOTATIONS - _OF_ROOT
    if beside and of.definitions == "$defs":  # from 2019-09 on that applies as well
        return None
    found = target(of.root, place.schema["$ref"])
    closed = isinstance(found, dict) and not any("$ref" in one for one in objects_in(found))
    return found if closed else None


def _defined(of: SchemaAnatomy) -> Iterator[Written]:
    """A subschema among the definitions, and a reference to it."""
    name = of.definitions
    if not isinstance(of.root.get(name, {}), dict) or "moved" in of.root.get(name, {}):
        return
    for place in of.places:
        if place.path and not place.has_reference and of.may_move(place) and name not in place.path:
            root = replaced(of.root, place.path, {"$ref": f"#/{name}/moved"})
            yield Written({**root, name: {**root.get(name, {}), "moved": place.schema}})


_BOUNDS: Final = (
    (("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)),
    (("minimum", "exclusiveMinimum", -1), ("maximum", "exclusiveMaximum", 1)),
)


def _other_bounds(schema: dict[str, Any], of: SchemaAnatomy) -> Changed:
    """Bounds of integers that are exclusive in the place of those that are not, or reversed."""
    if of.draft == _OLD or schema.get("type") != "integer":
        return None
    for bounds in _BOUNDS:
        changed = schema
        for old, new, by in bounds:
            bound = schema.get(old)
            if type(bound) is int and new not in schema and abs(bound) < _EXACT:
                changed = _swapped(changed, old, {new: bound + by})
        if changed is not schema:
            return changed
    return None


def _listed_type(schema: dict[str, Any], _: SchemaAnatomy) -> Changed:
    one = schema.get("type")
    return _swapped(schema, "type", {"type": [one]}) if isinstance(one, str) else None


def _grouped_pattern(schema: dict[str, Any], _: SchemaAnatomy) -> Changed:
    """A pattern in a group that captures nothing."""
    one = schema.get("pattern")
    return _swapped(schema, "pattern", {"pattern": f"(?:{one})"}) if isinstance(one, str) else None


_IDLE: Final = {"string": "minLength", "array": "minItems", "object": "minProperties"}


def _idle_keyword(schema: dict[str, Any], _: SchemaAnatomy) -> Changed:
    """A lower bound of 0, which forbids nothing."""
    keyword = _IDLE.get(str(schema.get("type")))
    return None if keyword is None or keyword in schema else {**schema, keyword: 0}


def _any_items(schema: dict[str, Any], of: SchemaAnatomy) -> Changed:
    """``items`` that allow everything."""
    known = of.draft == _OLD or of.evaluates or "items" in schema or schema.get("type") != "array"
    return None if known else {**schema, "items": True}


def _annotated(schema: dict[str, Any], _: SchemaAnatomy) -> Changed:
    """A title, a description and examples where there were none."""
    if _ANNOTATIONS & schema.keys():
        return None
    return {"title": "A title", "description": "What it is.", "examples": [], **schema}


def _unannotated(of: SchemaAnatomy) -> Iterator[Written]:
    """Titles, descriptions, defaults and examples left out everywhere."""
    root = of.root
    for place in sorted(of.places, key=lambda place: -len(place.path)):
        inside = f"/{'/'.join(map(str, place.path))}/"
        if _ANNOTATIONS & place.schema.keys() and not any(
            f"/{name}/" in f"{one}/" and inside in f"{one}/"
            for one in of.references
            for name in _ANNOTATIONS
        ):
            here = part_at(root, place.path)
            root = replaced(root, place.path, without(here, *_ANNOTATIONS))
    if root != of.root:
        yield Written(root)


def _reordered(schema: dict[str, Any], _: SchemaAnatomy) -> Changed:
    members = mapping(schema, "properties")
    turned = dict(reversed(members.items()))
    return _swapped(schema, "properties", {"properties": turned}) if len(members) > 1 else None


def _split(place: Place, of: SchemaAnatomy) -> Changed:
    """Declared members spread over two parts of ``allOf``, where nothing closes the object."""
    schema, members = place.schema, list(mapping(place.schema, "properties").items())
    closed = {"additionalProperties", "unevaluatedProperties", "$ref"} & schema.keys()
    conjoined = schema.get("allOf", [])
    if closed or len(members) < 2 or not isinstance(conjoined, list) or not of.may_move(place):
        return None
    parts = [{"properties": dict(members[at::2])} for at in (0, 1)]
    return {**without(schema, "properties"), "allOf": [*parts, *conjoined]}


def _types_apart(place: Place, of: SchemaAnatomy) -> Changed:
    """A branch of ``anyOf`` for each type of a list."""
    listed_types = place.schema.get("type")
    if place.has_reference or not isinstance(listed_types, list) or not of.may_move(place):
        return None
    part = {key: one for key, one in place.schema.items() if place.path or key not in _OF_ROOT}
    return {"anyOf": [{**part, "type": one} for one in listed_types]} if listed_types else None


def _lengths_as_pattern(schema: dict[str, Any], _: SchemaAnatomy) -> Changed:
    """A pattern in the place of bounds of the length."""
    bounds = [schema.get("minLength", 0), schema.get("maxLength", 0)]
    known = {"minLength", "maxLength"} & schema.keys()
    if (
        not known
        or "pattern" in schema
        or not all(type(one) is int and one < _LONG for one in bounds)
    ):
        return None
    high = bounds[1] if "maxLength" in schema else ""
    return {
        **without(schema, "minLength", "maxLength"),
        "pattern": f"^[\\s\\S]{{{bounds[0]},{high}}}$",
    }


_NOTHING: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("minLength", "minItems", "minProperties"), 0),
    "uniqueItems": False,
    "additionalProperties": True,
}


def _implied_left_out(schema: dict[str, Any], of: SchemaAnatomy) -> Changed:
    """Without keywords that forbid nothing, or a type that the constants beside it have."""
    idle = [
        key
        for key, value in _NOTHING.items()
        if key in schema
        and type(schema[key]) is type(value)
        and schema[key] == value
        and not (key == "additionalProperties" and of.evaluates)
    ]
    has_const = "const" in schema and of.draft != _OLD
    constants = [schema["const"]] if has_const else listed(schema.get("enum"))
    kind = schema.get("type")
    if isinstance(kind, str) and constants and all(kind in kinds(one) for one in constants):
        idle.append("type")
    return without(schema, *idle) if idle else None


_OF_NAMES: Final = frozenset(
    (
        *("patternProperties", "propertyNames", "dependencies", "dependentRequired"),
        *("dependentSchemas", "default", "examples"),
    )
)


def _renamed(of: SchemaAnatomy) -> Iterator[Written]:
    """Other names of all declared members, in the schema and in its values."""
    words = json.dumps(of.root)
    declared = [name for place in of.places for name in mapping(place.schema, "properties")]
    clean = all(
        not _OF_NAMES & place.schema.keys()
        and not any(isinstance(one, dict | list) for one in _constants(place.schema))
        for place in of.places
    )
    through = any("/properties/" in one for one in of.references)
    if not declared or not clean or through or '"name_' in words or not of.is_movable:
        return
    names = {name: f"name_{at}" for at, name in enumerate(dict.fromkeys(declared))}
    root: Any = of.root
    for place in sorted(of.places, key=lambda place: -len(place.path)):
        here = part_at(root, place.path)
        changed = dict(here)
        if members := mapping(here, "properties"):
            changed["properties"] = {names[name]: part for name, part in members.items()}
        if required := listed(here.get("required")):
            changed["required"] = [names.get(str(name), name) for name in required]
        root = replaced(root, place.path, changed)
    yield Written(root, names)


def _constants(schema: dict[str, Any]) -> list[Any]:
    return [*([schema["const"]] if "const" in schema else ()), *listed(schema.get("enum"))]


def with_names(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {names.get(name, name): with_names(one, names) for name, one in value.items()}
    return [with_names(one, names) for one in value] if isinstance(value, list) else value


REWRITINGS: Final[Mapping[str, Rewriting]] = {
    "const-as-enum": _of_keywords(_const_as_enum),
    "enum-as-const": _of_keywords(_enum_as_const),
    "all-of-one": _wrapped(lambda schema: {"allOf": [schema]}),
    "any-of-one": _wrapped(lambda schema: {"anyOf": [schema]}),
    "any-of-twice": _wrapped(lambda schema: {"anyOf": [schema, schema]}),
    "any-of-false": _wrapped(lambda schema: {"anyOf": [schema, False]}, booleans=True),
    "reference-inlined": _inlined,
    "other-bounds": _of_keywords(_other_bounds),
    "type-in-list": _of_keywords(_listed_type),
    "types-apart": _types_apart,
    "grouped-pattern": _of_keywords(_grouped_pattern),
    "lengths-as-pattern": _of_keywords(_lengths_as_pattern),
    "idle-bound": _of_keywords(_idle_keyword),
    "any-items": _of_keywords(_any_items),
    "annotated": _of_keywords(_annotated),
    "reordered-members": _of_keywords(_reordered),
    "split-members": _split,
    "implied-left-out": _of_keywords(_implied_left_out),
}
"""What changes one subschema alone."""

WHOLE: Final[Mapping[str, Callable[[SchemaAnatomy], Iterator[Written]]]] = {
    "subschema-defined": _defined,
    "unannotated": _unannotated,
    "renamed-members": _renamed,
}
"""What changes the schema in more than one place."""


def forms(name: str, of: SchemaAnatomy) -> Iterator[Written]:
    """Every schema that a rewriting makes, in one place after another."""
    if name in WHOLE:
        yield from WHOLE[name](of)
        return
    for place in of.places:
        changed = REWRITINGS[name](place, of)
        if changed is not None:
            yield Written(of.replaced(place, changed))


def everywhere(rewriting: Rewriting, schema: Any, draft: str) -> Any:
    """A schema with a rewriting in every place, innermost first; None where it changes nothing."""
    if not isinstance(schema, dict):
        return None
    subject = SchemaAnatomy(schema, draft)
    for place in reversed(subject.places):
        here = part_at(subject.root, place.path)
        changed = rewriting(Place(place.path, here), subject)
        if changed is not None:
            subject.root = subject.replaced(place, changed)
    return None if subject.root is schema else subject.root


def rewritten(schema: Any, draft: str, seed: int, most: int) -> dict[str, Written]:
    """At most so many rewritings of a parsed schema of a draft, by name.

    These and their places are drawn by a seed.
    """
    if not isinstance(schema, dict):
        return {}
    subject = SchemaAnatomy(schema, draft)
    text = json.dumps(schema, sort_keys=True)

    def drawn(name: str) -> int:
        return int.from_bytes(hashlib.sha256(f"{seed}\0{name}\0{text}".encode()).digest()[:8])

    found: dict[str, Written] = {}
    for name in sorted((*REWRITINGS, *WHOLE), key=drawn):
        if len(found) == most:
            break
        if made := list(forms(name, subject)):
            found[name] = made[drawn(f"{name} at") % len(made)]
    return found
