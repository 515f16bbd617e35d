"""Patterns are respelt where a schema has them, and nowhere else."""

import json

import pytest

from harness.validators.respelling import respelt
from harness.validators.validate import Validators


def louder(pattern: str) -> str:
    return pattern.upper()


def test_patterns_and_names_of_patterns_are_respelt_at_any_depth():
    schema = {
        "properties": {"pattern": {"pattern": "a"}, "default": {"anyOf": [{"pattern": "b"}]}},
        "patternProperties": {"c": {"items": {"pattern": "d"}}},
        "x-own": {"pattern": "e"},
    }
    before = json.dumps(schema)
    copy = respelt(schema, louder)
    assert json.dumps(schema) == before
    assert copy.schema == {
        "properties": {"pattern": {"pattern": "A"}, "default": {"anyOf": [{"pattern": "B"}]}},
        "patternProperties": {"C": {"items": {"pattern": "D"}}},
        "x-own": {"pattern": "E"},
    }
    assert copy.written == {"A": "a", "B": "b", "C": "c", "D": "d", "E": "e"}


DATA = {"pattern": "a", "patternProperties": {"b": 1}}
KEYWORDS = ("enum", "const", "default", "examples")


@pytest.mark.parametrize("schema", [*({one: [DATA]} for one in KEYWORDS), {"pattern": "A"}, True])
def test_data_and_what_has_no_other_spelling_stays(schema):
    assert respelt(schema, louder).schema is schema


def test_two_spellings_of_one_pattern_stay_two():
    copy = respelt({"patternProperties": {"a": {"type": "null"}, "A": {"const": 1}}}, louder)
    assert copy.schema == {"patternProperties": {"A": {"type": "null"}, "A(?:)": {"const": 1}}}
    both = {"patternProperties": {"a": {"type": "integer"}, r"\x61": {"maximum": 1}}}
    validators = Validators(json.dumps(both))
    assert validators.judge(b'{"a": 1}').verdict == "valid"
    assert validators.judge(b'{"a": 2}').verdict == "invalid"
    assert validators.judge(b'{"a": true}').verdict == "invalid"


def test_names_stay_where_a_reference_leads_through_one():
    schema = {
        "patternProperties": {"^.$": {"type": "null"}},
        "properties": {"xy": {"$ref": "#/patternProperties/%5E.$"}},
    }
    assert respelt(schema, louder).schema is schema
    assert Validators(json.dumps(schema)).judge(b'{"xy": 1}').verdict == "invalid"
