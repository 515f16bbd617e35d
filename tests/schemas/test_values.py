"""Values for a schema: of which kinds they are, and that making them ends."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given

from harness.schemas.values import ValueMaker, violations
from harness.validators.validate import Validators
from tests.jsonvalues import ODD_SCHEMAS


def made(schema):
    return ValueMaker(schema).values()


def valid(schema):
    validators = Validators(json.dumps(schema))
    return [one for one in made(schema) if validators.judge_value(one).verdict == "valid"]


def broken(schema):
    """The values that are made of valid ones and are not."""
    validators, maker = Validators(json.dumps(schema)), ValueMaker(schema)
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
    maker = ValueMaker(schema)
    for one in maker.values():
        assert all(len(json.dumps(each)) < 10_000 for each in violations(maker, schema, one))
    assert time.process_time() - began < 5


def test_a_schema_that_needs_itself_in_one_branch_alone_has_values():
    node = {"properties": {"a": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}
    assert {"a": None} in valid({"type": "object", "required": ["a"], **node})


@given(ODD_SCHEMAS)
def test_nothing_raises_whatever_the_schema(schema):
    maker = ValueMaker(schema)
    found = maker.values()
    assert made(schema) == found
    for one in found[:2]:
        violations(maker, schema, one)
