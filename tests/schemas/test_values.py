"""Values for a schema: of which kinds they are, and that making them ends."""

import json
import time

import jsonschema
import pytest
from hypothesis import given

from harness.schemas.format_values import format_values
from harness.schemas.formats import FORMAT_PATTERNS
from harness.schemas.patterns import pattern
from harness.schemas.schema import Schema
from harness.schemas.values import Values
from harness.schemas.violations import ALWAYS, hints, violations
from harness.validators.validate import Validators
from tests.jsonvalues import ODD_SCHEMAS


def made(schema):
    return Values(schema).values()


def valid(schema):
    validators = Validators(json.dumps(schema))
    return [one for one in made(schema) if validators.judge_value(one).verdict == "valid"]


def broken(schema):
    """The values that are made of valid ones and are not."""
    validators, maker = Validators(json.dumps(schema)), Values(schema)
    tried = [wrong for one in valid(schema) for wrong in violations(maker, schema, one)]
    return [one for one in tried if validators.judge_value(one).verdict == "invalid"]


def test_what_a_schema_says_of_itself_comes_along():
    schema = {"type": "integer", "default": 41, "examples": [42, 43]}
    assert {41, 42, 43} <= set(made(schema))
    assert made({"const": {"a": [1]}}) == [{"a": [1]}]
    assert made({"enum": ["b", 1, None]}) == ["b", 1, None]


def test_every_branch_has_a_value():
    schema = {
        "anyOf": [{"const": 1}, {"type": "string", "minLength": 2}],
        "if": {"type": "string"},
        "then": {"oneOf": [{"maxLength": 2}, {"minLength": 5}]},
    }
    found = valid(schema)
    assert 1 in found
    assert any(isinstance(one, str) and len(one) == 2 for one in found)
    assert any(isinstance(one, str) and len(one) >= 5 for one in found)


def test_members_are_there_and_missing():
    schema = {
        "type": "object",
        "properties": {"a": {"const": 1}, "b": {"enum": [1, 2]}, "c": {"type": "null"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    found = valid(schema)
    assert found[0] == {"a": 1}
    assert {"a": 1, "b": 1, "c": None} in found
    assert any(one.get("b") == 2 for one in found)


def test_members_come_in_the_declared_order():
    names = ["z", "y", "x", "w", "v", "u"]
    properties = {name: {"type": "string", "minLength": 290} for name in names}
    schema = {"type": "object", "properties": properties, "required": ["w", "y"]}
    for one in [*made(schema), *made({**schema, "dependentRequired": {"v": ["x"]}})]:
        declared = [name for name in one if name in names]
        assert declared == sorted(declared, reverse=True)


@pytest.mark.parametrize(
    ("schema", "inside", "outside"),
    [
        ({"type": "integer", "minimum": 3, "maximum": 7}, [3, 7], [2, 8]),
        ({"type": "number", "exclusiveMinimum": 3}, [4], [3]),
        ({"type": "string", "minLength": 2, "maxLength": 4}, ["ab", "abcd"], ["a", "abcdd"]),
        ({"type": "array", "minItems": 1, "maxItems": 2, "items": {"const": 1}}, [[1], [1, 1]], [[], [1] * 3]),
        ({"type": "string", "pattern": "^a{2,3}$", "maxLength": 3}, ["aa", "aaa"], ["a"]),
        ({"type": "object", "required": ["a"], "properties": {"a": {"const": 0}}}, [{"a": 0}], [{}]),
        ({"const": "ab"}, ["ab"], ["aba", "AB"]),
        ({"type": "array", "uniqueItems": True, "items": {"enum": [1, 2]}, "minItems": 2}, [[1, 2]], [[1, 2, 1]]),
    ],
)  # fmt: skip
def test_bounds_are_met_and_missed_by_one(schema, inside, outside):
    assert [one for one in inside if one not in valid(schema)] == []
    assert [one for one in outside if one not in broken(schema)] == []


@pytest.mark.parametrize("bounds", [{}, {"minLength": 3, "maxLength": 20}, {"maxLength": 1000}])
def test_everyday_texts_are_written_whatever_the_bounds(bounds):
    found = valid({"type": "string", **bounds})
    for char in ('"', "\\", "\n", "/", "ö", "日", "👍"):
        assert any(char in one for one in found)
    assert any(len(one) == bounds.get("maxLength", 1000) for one in found)
    assert min(map(len, found)) == bounds.get("minLength", 0)


def test_numbers_have_as_many_digits_as_computing_gives():
    for bounds in ({}, {"minimum": 1, "maximum": 20}, {"exclusiveMaximum": -3}):
        found = valid({"type": "number", **bounds})
        assert any(len(repr(one)) > 16 for one in found)
        assert any(isinstance(one, int) and abs(one) < 30 for one in found)


@pytest.mark.parametrize("free", [{"type": "object"}, {}, {"additionalProperties": {}}])
def test_free_values_nest_as_documents_do(free):
    """Also where an item among others has room for few values."""
    for schema in (free, {"type": "array", "items": free}):
        found = valid({"type": "object", "properties": {"a": schema}, "required": ["a"]})
        values = [json.dumps(one["a"]) for one in found]
        assert any("[[47.4], []]" in one for one in values)
        assert schema is not free or "{}" in values


def test_a_near_miss_is_a_member_of_each_other_type_or_of_another_branch():
    kinds = [
        {"properties": {"kind": {"const": one}, one: {"type": "string"}}, "required": [one]}
        for one in "ab"
    ]
    found = broken({"type": "object", "properties": {"kind": {"type": "string"}}, "oneOf": kinds})
    assert {"kind": "b", "a": "word"} in found
    wrong = [type(one["a"]) for one in found if isinstance(one, dict) and "a" in one]
    assert {int, float, bool, list, dict, type(None)} <= {*wrong}


def test_what_two_keywords_ask_of_one_text_or_item():
    day = {"type": "string", "format": "date", "pattern": "^2026-"}
    assert any(one.startswith("2026-") for one in valid(day))
    dice = {"type": "array", "items": {"enum": [1, 4, 5]}, "contains": {"minimum": 5}}
    assert [5] in valid(dice)
    assert any(len(one) > 1 for one in valid(dice))
    flag = {"prefixItems": [{"type": "boolean"}], "contains": {"const": 4}, "minContains": 2}
    assert any(one[1:] == [4, 4] for one in valid({"type": "array", **flag}))


def test_a_member_that_another_asks_for_is_left_out_alone():
    part = {"type": "integer"}
    schema = {
        "type": "object",
        "properties": {"a": part, "b": part, "c": part},
        "dependentRequired": {"b": ["c"]},
    }
    found = [list(one) for one in broken(schema) if isinstance(one, dict)]
    assert ["a", "b"] in found


def test_an_array_of_many_items_that_differ():
    schema = {"type": "array", "minItems": 25, "uniqueItems": True, "items": {"type": "string"}}
    assert any(len(set(one)) == len(one) >= 25 for one in valid(schema))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}, "required": ["b"]},
        {"$ref": "#"},
        {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"type": "array", "minItems": 2, "items": {"$ref": "#"}},
        {"type": "array", "minItems": 10**8},
        {"type": "string", "minLength": 10**8},
        {"type": "object", "minProperties": 10**8},
        {"type": "integer", "minimum": 1e308, "multipleOf": 1e-308},
        {"minimum": -(10**400), "exclusiveMaximum": 10**400, "multipleOf": 10**399},
        {"type": "array", "contains": {"const": 1}, "minContains": 10**8},
    ],
)  # fmt: skip
def test_what_has_no_value_or_a_huge_one_ends(schema):
    began = time.process_time()
    maker = Values(schema)
    for one in maker.values():
        assert all(len(json.dumps(each)) < 10_000 for each in violations(maker, schema, one))
    assert time.process_time() - began < 5


def test_a_schema_that_needs_itself_in_one_branch_alone_has_values():
    node = {"properties": {"a": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}
    assert {"a": None} in valid({"type": "object", "required": ["a"], **node})


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
        Values(SCHEMAS[name]).examples(SCHEMAS[name])[0]
    )


@pytest.mark.parametrize("name", FORMAT_PATTERNS)
def test_samples_of_formats_match_their_pattern(name):
    automaton = pattern(FORMAT_PATTERNS[name])
    assert automaton.accepts(automaton.walk(automaton.start, format_values(name).valid[0]))


def test_what_is_given_comes_first_and_only_choices_are_offered():
    schema = {"type": "string", "default": "d", "examples": ["e"]}
    assert Values(schema).examples(schema)[:2] == ["d", "e"]
    assert Values({}).examples({"enum": ["x", "y"]}) == ["x", "y"]


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
    values = Values(schema)
    assert len(values.examples(schema)) <= 8
    values.subschemas_at(["a", 0, "a"])
    assert Schema(schema).fits(schema, {"a": [1]}) in (True, False)


def test_of_many_values_no_more_are_tried_than_are_wanted(monkeypatch):
    """To try one costs a look at all before it: for 20,000 of them that is minutes."""
    tried = []
    fits = Values.fits
    monkeypatch.setattr(Values, "fits", lambda *given: tried.append(given) or fits(*given))
    schema = {"type": "string", "enum": [str(number) for number in range(500)]}
    assert Values(schema).examples(schema) == [str(number) for number in range(8)]
    assert len(tried) < 20


def test_a_very_deep_schema_is_survived():
    schema = {}
    for _ in range(5000):
        schema = {"allOf": [schema], "properties": {"a": schema}, "required": ["a"]}
    Values(schema).examples(schema)


@given(ODD_SCHEMAS, ODD_SCHEMAS)
def test_nothing_raises_whatever_the_schema(schema, value):
    values = Values(schema)
    found = values.values()
    assert made(schema) == found
    for one in found[:2]:
        violations(values, schema, one)
    values.examples(schema)
    values.subschemas_at(["a", 0])
    values.fits(schema, value)
    for way in values.variants(schema):
        values.missing(way, {"a": 1})
        values.more_items(way, [1])
        values.fresh_name(way, ["a"])


def test_hints_know_what_is_said_of_which_member():
    schema = {
        "properties": {"a": {"minimum": 3}, "b": {"items": {"enum": ["x"]}}},
        "required": ["a"],
        "maxProperties": 2,
    }
    found = hints(schema)
    known = {("a", "2"), ("a", "4"), ("b", '"x"'), ("", '"a"'), ("", '"b"'), ("", "null")}
    assert known <= set(found)
    assert len(found) == len(set(found))


def test_hints_lie_beside_what_is_asked():
    for schema, beside in (
        ({"format": "date"}, {'"2024-01-01"', '"2024-02-30"'}),
        ({"type": "string", "maxLength": 3}, {'"wor"', '"worr"'}),
        ({"const": 7}, {"7", "8"}),
    ):
        assert beside <= {value for _, value in hints(schema)}


def deep(levels):
    return {"const": 1} if not levels else {"items": deep(levels - 1)}


def nested(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {"maximum": 10**400},
        {"maximum": 1e308},
        {"const": "\ud800"},
        {"properties": {"\ud800": {"const": 1}}},
        {"properties": {"\n": 3, "enum": {"enum": 4}}, "enum": {"properties": 1}},
        {"enum": [["x" * 1000]]},
        deep(12),
        pytest.param(deep(200), marks=pytest.mark.thorough),
        {"const": nested(700)},
        {"enum": list(range(10_000))},
    ],
)
def test_hints_of_odd_schemas_can_be_written(schema):
    found = hints(schema)
    assert {("", one) for one in ALWAYS} <= set(found)
    assert len(found) < 500
    for name, value in found:
        json.loads(value)
        assert f"{name}{value}".encode()
