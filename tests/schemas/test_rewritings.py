"""Rewritings keep what a schema means, by both validators, and are left where that is not sure."""

import json

import pytest

from harness.inputs.case_selection import open_cases
from harness.schemas.rewritings import (
    REWRITINGS,
    WHOLE,
    SchemaAnatomy,
    everywhere,
    forms,
    rewritten,
    with_names,
)
from harness.schemas.values import Values
from harness.schemas.violations import violations
from harness.validators.drafts import draft_of
from harness.validators.validate import Validators

OLD = {"$schema": "http://json-schema.org/draft-04/schema#"}
SEVENTH = {"$schema": "http://json-schema.org/draft-07/schema#"}
A_B = {"a": {"type": "string"}, "b": {"type": "integer"}}
SCHEMAS = [
    {"const": 1},
    {"properties": {"a": {"enum": ["x"]}}, "required": ["a", "c"]},
    {"type": ["integer", "null"], "minimum": 1},
    {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9},
    {"type": "integer", "minimum": 1, "exclusiveMaximum": 3},
    {"minLength": 1, "maxLength": 3},
    {"pattern": "a|^b$", "type": "string"},
    {"type": "array", "maxItems": 1},
    {"properties": A_B, "allOf": [{"required": ["a"]}], "title": "Both"},
    {"properties": A_B, "unevaluatedProperties": False},
    {"type": "array", "prefixItems": [{"type": "string"}], "unevaluatedItems": False},
    {"type": "string", "enum": ["a", "b"], "minLength": 0, "uniqueItems": False},
    {"items": {"$ref": "#/$defs/x"}, "$defs": {"x": {"type": "string", "description": "One."}}},
    {**SEVENTH, "items": {"$ref": "#/definitions/x", "maxLength": 1}, "definitions": {"x": {}}},
    {**OLD, "type": "integer", "minimum": 1, "exclusiveMinimum": True, "const": 7},
    {**OLD, "type": "array", "items": {"type": "boolean"}, "minItems": 1},
]
EMBEDDED = [json.loads(case.schema) for case in list(open_cases("embedded"))[::20]]


def every_form(schema):
    subject = SchemaAnatomy(schema, draft_of(schema).name)
    return [(name, one) for name in (*REWRITINGS, *WHOLE) for one in forms(name, subject)]


@pytest.mark.parametrize("schema", SCHEMAS + [one for one in EMBEDDED if one is not True])
def test_values_are_valid_under_all_forms_or_none(schema):
    maker = Values(schema)
    values = [
        *maker.values()[:6],
        1,
        2,
        "a",
        "ab",
        None,
        [],
        ["a", 1],
        {"a": "x", "b": 1},
        {"b": 0},
    ]
    values += [bad for value in values[:2] for bad in violations(maker, schema, value)[:4]]

    def verdicts(form, names=()):
        validators = Validators(json.dumps(form))
        texts = (json.dumps(with_names(value, dict(names))).encode() for value in values)
        return [validators.judge(text).verdict for text in texts]

    expected = verdicts(schema)
    found = every_form(schema)
    assert found
    assert {name for name, one in found if verdicts(one.schema, one.names) != expected} == set()


def test_every_rewriting_is_made_of_some_schema():
    assert {name for one in SCHEMAS for name, _ in every_form(one)} == {*REWRITINGS, *WHOLE}


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("const-as-enum", {**OLD, "const": 1}),
        ("any-of-false", {**OLD, "type": "string"}),
        ("reference-inlined", {"$ref": "#"}),
        ("reference-inlined", {"items": {"$ref": "#/$defs/x", "maxLength": 1}, "$defs": {"x": {}}}),
        ("all-of-one", {"$dynamicAnchor": "x", "type": "string"}),
        (
            "all-of-one",
            {"items": {"$ref": "#/properties/a"}, "properties": {"a": {"type": "null"}}},
        ),
        ("other-bounds", {"type": "number", "minimum": 1}),
        ("other-bounds", {"type": "integer", "minimum": 2**53}),
        ("split-members", {"properties": A_B, "additionalProperties": False}),
        ("split-members", {"properties": A_B, "$ref": "#/$defs/x", "$defs": {"x": {}}}),
        ("any-items", {"type": "array", "unevaluatedItems": False}),
        ("implied-left-out", {"type": "string", "enum": ["a", 1]}),
        ("renamed-members", {"properties": A_B, "patternProperties": {"^a": {}}}),
        ("renamed-members", {"properties": A_B, "const": {"a": "x"}}),
        ("lengths-as-pattern", {"maxLength": 100000}),
        ("subschema-defined", {"type": "string"}),
    ],
)
def test_where_its_condition_does_not_hold_a_schema_is_not_rewritten_itself(name, schema):
    made = forms(name, SchemaAnatomy(schema, draft_of(schema).name))
    assert all(one.schema.keys() == schema.keys() for one in made)  # parts of it may be


def test_what_is_drawn_depends_on_the_seed_alone():
    schema = {"type": "object", "properties": A_B, "required": ["a"]}
    drawn = [list(rewritten(schema, "2020-12", seed, 4)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]) == 4
    assert rewritten(True, "2020-12", 1, 4) == {}


def test_members_are_renamed_in_schema_and_values():
    schema = {"properties": {"a": {"properties": {"b": {}}}}, "required": ["a", "z"]}
    (one,) = forms("renamed-members", SchemaAnatomy(schema, "2020-12"))
    assert one.schema == {
        "properties": {"name_0": {"properties": {"name_1": {}}}},
        "required": ["name_0", "z"],
    }
    assert with_names([{"a": {"b": "a"}, "z": 1}], one.names) == [
        {"name_0": {"name_1": "a"}, "z": 1}
    ]


def test_a_rewriting_can_be_made_in_every_place_at_once():
    schema = {"items": {"const": 1}, "properties": {"a": {"const": "b", "title": "A"}}}
    assert everywhere(REWRITINGS["const-as-enum"], schema, "2020-12") == {
        "items": {"enum": [1]},
        "properties": {"a": {"enum": ["b"], "title": "A"}},
    }
    assert everywhere(REWRITINGS["enum-as-const"], schema, "2020-12") is None
