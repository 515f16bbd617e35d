"""Coverage: what texts reach of a schema, and nothing that they only seem to."""

from __future__ import annotations

import json

import pytest

from harness.validators.coverage import Coverage, Feature
from harness.validators.coverage_meter import CoverageMeter
from harness.validators.validate import Validators
from tests.inprocess import InProcessJudge


def covered(schema, *valid, invalid=()):
    return coverage(json.dumps(schema), [json.dumps(one).encode() for one in (*valid, *invalid)])


def coverage(schema, texts):
    meter = CoverageMeter(Validators(schema))
    return Coverage(meter.possible, frozenset(one for text in texts for one in meter.of_text(text)))


def missing(reach):
    return sorted(reach.of - reach.reached)


def test_a_branch_is_reached_only_by_what_holds_it():
    schema = {"anyOf": [{"type": "integer"}, {"pattern": "^(?=a)", "type": "string"}, {"const": 3}]}
    assert missing(covered(schema, 3).each()["branch"]) == ["/anyOf/1"]
    assert missing(covered(schema, 4, "ab").each()["branch"]) == ["/anyOf/2"]


def test_what_stands_below_a_branch_that_failed_is_not_reached():
    below = {"required": ["b"], "properties": {"a": {"type": "null"}}}
    found = covered({"anyOf": [below, {"type": "object"}]}, {"a": None})
    assert missing(found.each()["subschema"]) == ["/anyOf/0", "/anyOf/0/properties/a"]


def test_condition_then_and_else():
    schema = {"if": {"minimum": 3}, "then": {"maximum": 9}, "else": {"type": "number"}}
    assert missing(covered(schema, 1).each()["subschema"]) == ["/if", "/then"]
    assert missing(covered(schema, 4).each()["branch"]) == ["/else"]
    assert covered({"then": {"minimum": 1}}, 1).each()["branch"].of == frozenset()


@pytest.mark.parametrize(
    ("schema", "value", "other"),
    [
        ({"items": {"type": "null"}}, [], [None]),
        ({"additionalProperties": {"type": "null"}}, {}, {"a": None}),
        ({"propertyNames": {"maxLength": 1}}, {}, {"a": None}),
        ({"properties": {"items": {"type": "null"}}}, {}, {"items": None}),
        ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"b": 1}, {"a": 1, "b": 1}),
        ({"patternProperties": {r"^\d/~é$": {"type": "null"}}}, {"x": 1}, {"1/~é": None}),
    ],
)
def test_a_subschema_of_parts_is_reached_with_a_part(schema, value, other):
    assert len(missing(covered(schema, value).each()["subschema"])) == 1
    assert missing(covered(schema, value, other).each()["subschema"]) == []


def test_contains_is_reached_where_an_item_holds_it():
    schema = {"anyOf": [{"contains": {"minimum": 3}}, {}]}
    assert missing(covered(schema, [1]).each()["subschema"]) == ["/anyOf/0", "/anyOf/0/contains"]
    assert missing(covered(schema, [1, 3]).each()["subschema"]) == []
    untold = {"contains": {"minimum": 3}, "minContains": 0}
    assert covered(untold, [1, 3]).each()["subschema"].of == {""}


def test_references_count_where_they_lead_and_unused_definitions_do_not():
    node = {"type": ["null", "object"], "properties": {"a b": {"$ref": "#/$defs/n"}}}
    schema = {"$id": "http://h/x", "$ref": "#/$defs/n"}
    schema["$defs"] = {"n": node, "unused": {"minimum": 1}}
    found = covered(schema, {"a b": None})
    assert found.each()["subschema"].of == {"", "/$defs/n", "/$defs/n/properties/a b"}
    assert missing(found.each()["subschema"]) == []


def test_an_embedded_schema_with_an_address_of_its_own():
    part = {"$id": "part.json", "properties": {"é": {"minimum": 0}}}
    schema = {"$id": "http://h/x/root.json", "items": {"$ref": "part.json"}, "$defs": {"p": part}}
    found = covered(schema, [{"é": 0}])
    assert found.each()["met"].reached == {"/$defs/p/properties/é/minimum"}


def test_siblings_of_a_reference_say_nothing_in_draft_07():
    schema = {"$ref": "#/definitions/a", "minimum": 3, "properties": {"b": {}}}
    schema["definitions"] = {"a": {}}
    declared = {"$schema": "http://json-schema.org/draft-07/schema#", **schema}
    assert "/properties/b" in covered(schema, 3).each()["subschema"].of
    assert covered(declared, 3).each()["subschema"].of == {"", "/definitions/a"}


def test_members_there_and_missing():
    schema = {"properties": {"a": {}, "b": {}, "no": False}, "required": ["a"]}
    found = covered(schema, {"a": 1})
    assert missing(found.each()["present"]) == ["/properties/b"]
    assert found.each()["absent"].of == {"/properties/b", "/properties/no"}
    assert missing(found.each()["absent"]) == []
    assert missing(covered(schema, {"a": 1, "b": 1}).each()["absent"]) == ["/properties/b"]
    assert covered(schema, 1).each()["present"].reached == frozenset()


@pytest.mark.parametrize(
    ("schema", "met", "beside", "missed", "far"),
    [
        ({"minimum": 3}, 3, 4, 2, 0),
        ({"exclusiveMaximum": 3}, 2.5, 1, 3, 9),
        ({"maxLength": 2}, "é1", "", "abc", "abcd"),
        ({"minItems": 1}, [0], [0, 0], [], None),
        ({"maxProperties": 1}, {"a": 0}, {}, {"a": 0, "b": 0}, {"a": 0, "b": 0, "c": 0}),
    ],
)
def test_bounds_met_and_missed_by_one(schema, met, beside, missed, far):
    (keyword,) = schema
    assert covered(schema, beside).each()["met"].reached == frozenset()
    assert covered(schema, met).each()["met"].reached == {f"/{keyword}"}
    assert covered(schema, invalid=[missed]).each()["missed"].reached == {f"/{keyword}"}
    if far is not None:
        assert covered(schema, invalid=[far]).each()["missed"].reached == frozenset()


def test_the_excluded_bound_of_draft_04():
    schema = {"$schema": "http://json-schema.org/draft-04/schema#"}
    schema |= {"minimum": 3, "exclusiveMinimum": True}
    assert covered(schema, 4, invalid=[3]).each()["met"].reached == {"/minimum"}
    assert covered(schema, 5, invalid=[3]).each()["missed"].reached == {"/minimum"}


def test_a_bound_that_is_not_all_that_is_wrong_counts_only_beside_other_branches():
    schema = {"properties": {"a": {"minimum": 3}}, "required": ["b"]}
    assert covered(schema, invalid=[{"a": 2}]).each()["missed"].reached == frozenset()
    branches = {"anyOf": [{"type": "string"}, {"minimum": 3, "type": "integer"}]}
    assert covered(branches, invalid=[2]).each()["missed"].reached == {"/anyOf/1/minimum"}


def test_a_bound_that_nothing_can_miss_is_not_asked_for():
    assert covered({"minLength": 0, "minItems": 1}).each()["missed"].of == {"/minItems"}


def test_what_is_labelled_wrongly_counts_as_what_it_is():
    assert covered({"minimum": 3}, 2, invalid=[3]) == covered({"minimum": 3}, 3, invalid=[2])


def test_texts_that_are_no_json_and_what_is_below_not_count_for_nothing():
    assert coverage("{}", [b"{", b"\xff"]).each()["subschema"].reached == frozenset()
    assert covered({"not": {"minimum": 3}}, 1).each()["subschema"].of == {""}


def test_one_line_says_it():
    schema = {"properties": {"a": {"minimum": 1}, "b": {}}, "required": ["a"]}
    assert str(covered(schema, {"a": 1})) == (
        "covers 2 of 3 subschemas, 1 of 2 members present, 1 of 1 member absent,"
        " 1 of 1 bound met, 0 of 1 bound missed by one"
    )
    assert str(Coverage()) == "covers nothing: there is nothing to cover"


def test_a_host_says_the_same():
    schema = {"properties": {"a": {"minimum": 1}, "b": {}}, "required": ["a"]}
    texts = [b'{"a": 1}', b'{"a": 0}', b"{", b'{"a": 2, "b": null}']
    judge = InProcessJudge()
    assert judge.open(json.dumps(schema)) is None
    assert judge.coverage(texts) == coverage(json.dumps(schema), texts)
    _, each = judge.reached(texts)
    assert [one.kind for one in each[1]] == ["missed"]
    assert not each[2]
    assert Feature("present", "/properties/b") in each[3]
