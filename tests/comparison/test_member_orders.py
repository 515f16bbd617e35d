"""In which orders the members of an object are tried, by what its schema declares at its place."""

import json

from harness.comparison.member_orders import member_orders
from harness.jsontext.usual_spellings import usual_spellings

AB = {"properties": {"a": {}, "b": {}}}
BA = {"properties": {"b": {}, "a": {}}}


def written(schema: object, value: object) -> set[str]:
    text = json.dumps(value).encode()
    return {one.decode() for one in usual_spellings(text, 0, member_orders(schema))}


def test_an_object_is_written_as_its_place_declares_it():
    schema = {
        "properties": {"one": AB, "two": {"items": {"$ref": "#/$defs/ba"}}},
        "$defs": {"ba": BA},
    }
    value = {"two": [{"a": 1, "b": 2}], "one": {"b": 1, "a": 2}}
    assert '{"one": {"a": 2, "b": 1}, "two": [{"b": 2, "a": 1}]}' in written(schema, value)


def test_each_item_of_a_tuple_may_be_declared_otherwise():
    """The second declares b alone, and what is not declared comes after that."""
    parts = [{"properties": {"a": {}}}, {"properties": {"b": {}}}]
    for schema in ({"prefixItems": parts}, {"items": parts}, {"prefixItems": [{}, parts[1]]}):
        assert '[0, {"b": 2, "a": 1}]' in written(schema, [0, {"a": 1, "b": 2}])
    behind = {"prefixItems": [{}, parts[1]], "items": AB}
    assert '[0, {"b": 2, "a": 1}]' in written(behind, [0, {"a": 1, "b": 2}])
    both = written({"prefixItems": [BA, AB]}, [{"a": 1, "b": 2}, {"b": 3, "a": 4}])
    assert '[{"b": 2, "a": 1}, {"a": 4, "b": 3}]' in both
    within = {"items": {"prefixItems": parts[:1]}, "prefixItems": [{}, {"items": parts[1]}]}
    assert '[0, [{"b": 2, "a": 1}]]' in written(within, [0, [{"a": 1, "b": 2}]])


def test_a_name_with_a_slash_leads_to_its_place():
    schema = {"properties": {"one": AB, "x/y": BA}}
    assert '{"x/y": {"b": 2, "a": 1}}' in written(schema, {"x/y": {"a": 1, "b": 2}})


def test_what_no_place_declares_is_written_as_it_is_declared_elsewhere():
    schema = {"$defs": {"ba": BA}, "not": {"required": ["c"]}}
    assert '{"b": 2, "a": 1}' in written(schema, {"a": 1, "b": 2})


def test_names_that_are_only_required_come_before_those_of_other_places():
    schema = {"properties": {"a": {"required": ["b"]}}}
    assert '{"a": {"b": 0, "a": 0}}' in written(schema, {"a": {"a": 0, "b": 0}})


def test_a_schema_that_refers_to_itself_has_an_end():
    schema = {"$ref": "#", "properties": {"b": {"$ref": "#"}, "a": {}}}
    value = {"a": 1, "b": {"a": 1, "b": {}}}
    assert '{"b": {"b": {}, "a": 1}, "a": 1}' in written(schema, value)
