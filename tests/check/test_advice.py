"""Rewritings say the same in other words, and only what helps is advised."""

import json

import pytest

from harness.check.advice import REWRITINGS, _changed, _without, variants
from harness.engines.specs import parse_spec
from harness.validators.validate import Validators

TEXTS = [
    *("1", "2", "3", "0", "-1", "1.0", "1.5", "null", "true", '""', '"a"', '"ab"', '"\\n\\nb"', '"abcd"'),
    *("[]", "[1]", "{}", '{"a":1}', '{"a":"x"}', '{"b":1}'),
]  # fmt: skip
SCHEMAS = [
    {"const": 1},
    {"properties": {"a": {"const": 1}}},
    {"enum": ["a"]},
    {"items": {"enum": [1]}},
    {"type": ["integer", "null"], "minimum": 1},
    {"oneOf": [{"type": "string"}, {"type": "integer", "minimum": 2}]},
    {"type": "integer", "exclusiveMinimum": 1},
    {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 2},
    {"minLength": 1, "maxLength": 3},
    {"type": "string", "maxLength": 2},
    {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "string"}}},
]


def _verdicts(schema):
    validators = Validators(json.dumps(schema))
    return [validators.judge(one.encode()).verdict for one in TEXTS]


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_what_is_written_otherwise_says_the_same(schema):
    changed = [one for how in REWRITINGS.values() if (one := _changed(schema, how)) is not None]
    assert changed
    assert all(one != schema for one in changed)
    assert [_verdicts(one) for one in changed] == [_verdicts(schema)] * len(changed)


@pytest.mark.parametrize("schema", [True, {}, {"type": "integer"}, {"$ref": "#"}, {"enum": []}])
def test_where_there_are_no_other_words_nothing_is_changed(schema):
    assert [_changed(schema, how) for how in REWRITINGS.values()] == [None] * len(REWRITINGS)


def test_keywords_are_left_out_wherever_they_stand():
    schema = {
        "uniqueItems": True,
        "properties": {"uniqueItems": {"uniqueItems": True, "items": {}}},
    }
    assert _without(schema, ["uniqueItems"]) == {"properties": {"uniqueItems": {"items": {}}}}


def test_each_option_is_set_otherwise():
    spec = parse_spec("xgrammar[any_order=true]")
    found = {words.partition(" ")[0]: one for words, one in variants(spec)}
    assert found["any_order=false"].name == "xgrammar[any_order=false]"
    assert found["strict_mode=true"].name == "xgrammar[any_order=true,strict_mode=true]"
    assert found["strict_mode=true"].options["any_order"] == "true"
    assert "any_order=true" not in found
    assert all(one.reference == spec.reference for one in found.values())
