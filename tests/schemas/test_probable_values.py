"""Hints are small values that fit; on any schema they come without an error, in bounded time."""

import jsonschema
import pytest
from hypothesis import given

from harness.schemas.format_values import format_values
from harness.schemas.formats import FORMAT_PATTERNS
from harness.schemas.patterns import pattern
from harness.schemas.probable_values import ProbableValues, merged, property_names
from harness.schemas.schema import Schema
from tests.jsonvalues import ODD_SCHEMAS

SCHEMAS = {
    "const": {"const": {"a": [1]}},
    "enum": {"enum": ["x", 2, None]},
    "default that fits": {"type": "integer", "default": 7},
    "default that does not": {"type": "integer", "default": "seven"},
    "minimum": {"type": "integer", "minimum": 100, "maximum": 101},
    "exclusive": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "multiple": {"type": "integer", "multipleOf": 7, "minimum": 50},
    "lengths": {"type": "string", "minLength": 5, "maxLength": 6},
    "pattern": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$", "minLength": 8},
    "required": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "null"}},
        "required": ["b", "c"],
    },
    "minProperties": {
        "type": "object",
        "minProperties": 3,
        "additionalProperties": {"type": "integer"},
    },
    "pattern names": {
        "type": "object",
        "minProperties": 2,
        "patternProperties": {"^x[0-9]$": {"type": "null"}},
        "additionalProperties": False,
    },
    "items": {"type": "array", "items": {"type": "boolean"}, "minItems": 3},
    "unique": {"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 3, "uniqueItems": True},
    "tuple": {
        "type": "array",
        "prefixItems": [{"const": 1}, {"const": "b"}],
        "items": False,
        "minItems": 2,
    },
    "contains": {"type": "array", "contains": {"const": 9}},
    "reference": {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "required": ["next"],
                "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
            }
        },
    },
    "anchor": {"$ref": "#here", "$defs": {"a": {"$anchor": "here", "type": "boolean"}}},
    "all of": {
        "allOf": [
            {"type": "object", "properties": {"a": {"minimum": 5}}},
            {"required": ["a"], "properties": {"a": {"type": "integer"}}},
        ]
    },
    "one of": {"oneOf": [{"type": "string", "minLength": 2}, {"type": "string", "maxLength": 3}]},
    "conditional": {
        "type": "object",
        "properties": {"kind": {"enum": ["a", "b"]}},
        "required": ["kind"],
        "if": {"properties": {"kind": {"const": "a"}}},
        "then": {"required": ["x"]},
        "else": {"required": ["y"]},
    },
    "dependent": {"type": "object", "required": ["a"], "dependentRequired": {"a": ["b"]}},
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_first_example_is_valid(name):
    jsonschema.Draft202012Validator(SCHEMAS[name]).validate(
        ProbableValues(SCHEMAS[name]).examples(SCHEMAS[name])[0]
    )


@pytest.mark.parametrize("name", FORMAT_PATTERNS)
def test_samples_of_formats_match_their_pattern(name):
    automaton = pattern(FORMAT_PATTERNS[name])
    assert automaton.accepts(automaton.walk(automaton.start, format_values(name).valid[0]))


def test_what_is_given_comes_first_and_only_choices_are_offered():
    schema = {"type": "string", "default": "d", "examples": ["e"]}
    assert ProbableValues(schema).examples(schema)[:2] == ["d", "e"]
    assert ProbableValues({}).examples({"enum": ["x", "y"]}) == ["x", "y"]


def test_nothing_is_valid_under_false():
    assert ProbableValues(False).examples(False) == []
    assert ProbableValues({}).variants({"allOf": [{"type": "string"}, {"type": "null"}]}) == ()


def test_names_come_in_the_declared_order():
    ways = ProbableValues({}).variants({"properties": {"b": {}, "a": {}}, "required": ["c", "a"]})
    assert property_names(ways) == ["b", "a", "c"]


def test_subschemas_at_follows_every_alternative():
    root = {
        "properties": {"a": {"anyOf": [{"items": {"const": 1}}, {"prefixItems": [{"const": 2}]}]}},
        "patternProperties": {"^a": {"title": "too"}},
    }
    found = ProbableValues(root).subschemas_at(["a", 0])
    assert [way.get("const") for way in found] == [1, 2]


def test_a_merge_holds_what_both_sides_ask():
    both = merged({"type": ["string", "number"], "minimum": 1}, {"type": "integer", "minimum": 3})
    assert (both["type"], both["minimum"]) == (["integer"], 3)
    assert merged({"const": 1}, {"const": True}) is None


def test_closed_objects_forbid_what_the_other_side_declares():
    closed = {"properties": {"a": True}, "additionalProperties": False}
    assert merged(closed, {"properties": {"b": True}})["properties"] == {"a": True, "b": False}


LOOP = {"$ref": "#"}
HOSTILE = [
    LOOP,
    {"allOf": [LOOP] * 8, "anyOf": [LOOP] * 8, "properties": {"a": LOOP}, "required": ["a"]},
    {"type": "array", "minItems": 10**9, "items": LOOP},
    {"minProperties": 10**9},
    {"type": "string", "minLength": 10**9},
    {
        "required": 5,
        "properties": [],
        "items": "x",
        "enum": {},
        "type": 3,
        "pattern": 1,
        "anyOf": {},
    },
    {"multipleOf": 0, "type": "number"},
    {"type": "number", "multipleOf": 1e-300, "minimum": 1e308},
    {"$ref": "#/nowhere"},
    {"$ref": 7, "additionalProperties": 9, "format": [], "dependentRequired": []},
    {"anyOf": [{"anyOf": [{"type": "object"}] * 50}] * 50, "oneOf": [{}] * 50},
]


@pytest.mark.parametrize("schema", HOSTILE)
def test_hostile_schemas_are_survived(schema):
    hints = ProbableValues(schema)
    assert len(hints.examples(schema)) <= 4
    hints.subschemas_at(["a", 0, "a"])
    assert Schema(schema).fits(schema, {"a": [1]}) in (True, False)


def test_of_many_values_no_more_are_tried_than_are_wanted(monkeypatch):
    """To try one costs a look at all before it: for 20,000 of them that is minutes."""
    tried = []
    fits = ProbableValues.fits
    monkeypatch.setattr(ProbableValues, "fits", lambda *given: tried.append(given) or fits(*given))
    schema = {"type": "string", "enum": [str(number) for number in range(500)]}
    assert ProbableValues(schema).examples(schema) == ["0", "1", "2", "3"]
    assert len(tried) < 20


def test_a_very_deep_schema_is_survived():
    schema = {}
    for _ in range(5000):
        schema = {"allOf": [schema], "properties": {"a": schema}, "required": ["a"]}
    ProbableValues(schema).examples(schema)


@given(ODD_SCHEMAS, ODD_SCHEMAS)
def test_no_schema_raises(schema, value):
    hints = ProbableValues(schema)
    hints.examples(schema)
    hints.subschemas_at(["a", 0])
    hints.fits(schema, value)
    for way in hints.variants(schema):
        hints.missing(way, {"a": 1})
        hints.more_items(way, [1])
        hints.fresh_name(way, ["a"])
