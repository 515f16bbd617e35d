"""In which orders the members of an object are tried, by what its schema declares at its place."""

import json

from harness.comparison.member_orders import member_orders
from harness.jsontext.usual_spellings import usual_spellings

AB = {"properties": {"a": {}, "b": {}}}
BA = {"properties": {"b": {}, "a": {}}}


def written(schema: object, value: object, samples: list[tuple[int, bytes]] | None = None):
    orders = member_orders(schema, samples or [])(0)
    return {one.decode() for one in usual_spellings(json.dumps(value).encode(), 0, orders)}


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
    within = {"items": {"prefixItems": parts[:1]}, "prefixItems": [{}, {"items": parts[1]}]}
    assert '[0, [{"b": 2, "a": 1}]]' in written(within, [0, [{"a": 1, "b": 2}]])


def test_a_name_with_a_slash_leads_to_its_place():
    schema = {"properties": {"one": AB, "x/y": BA}}
    assert '{"x/y": {"b": 2, "a": 1}}' in written(schema, {"x/y": {"a": 1, "b": 2}})


def test_where_two_branches_declare_the_same_names_each_order_is_tried():
    found = written({"anyOf": [AB, BA]}, {"b": 1, "a": 2})
    assert {'{"a": 2, "b": 1}', '{"b": 1, "a": 2}'} <= found
    assert found == written({"anyOf": [BA, AB]}, {"b": 1, "a": 2})


def test_what_no_place_declares_is_written_as_it_is_declared_elsewhere():
    schema = {"$defs": {"ba": BA}, "not": {"required": ["c"]}}
    assert '{"b": 2, "a": 1}' in written(schema, {"a": 1, "b": 2})


def test_names_that_are_only_required_come_before_those_of_other_places():
    schema = {"properties": {"a": {"required": ["b"]}}}
    assert '{"a": {"b": 0, "a": 0}}' in written(schema, {"a": {"a": 0, "b": 0}})


def test_what_a_place_applies_is_made_one_with_what_it_declares():
    """As llguidance 1.9.1 writes it, and in no other order: `allOf`, then its own, then branches."""
    some = {name: {"properties": {name: {}}} for name in "bcd"}
    schema = {
        "required": ["a", "b", "c", "d"],
        "properties": {"a": {}},
        "anyOf": [some["b"]],
        "allOf": [{"allOf": [some["d"]], **some["c"]}],
    }
    found = written(schema, {"a": 1, "b": 2, "c": 3, "d": 4})
    assert '{"d": 4, "c": 3, "a": 1, "b": 2}' in found


def test_what_a_branch_declares_may_come_first():
    """As llguidance 1.9.1 writes it where `anyOf` stands before `properties`, in no other order."""
    branches = [{"properties": {name: {}}} for name in "bc"]
    schema = {"anyOf": branches, "properties": {"a": {}, "b": {}, "c": {}}}
    found = written(schema, {"a": 1, "b": 2, "c": 3})
    assert {'{"b": 2, "a": 1, "c": 3}', '{"c": 3, "a": 1, "b": 2}'} <= found


def test_a_schema_that_refers_to_itself_has_an_end():
    schema = {"$ref": "#", "properties": {"b": {"$ref": "#"}, "a": {}}}
    value = {"a": 1, "b": {"a": 1, "b": {}}}
    assert '{"b": {"b": {}, "a": 1}, "a": 1}' in written(schema, value)


def test_members_are_tried_as_the_engine_itself_writes_them():
    assert '{"z": 2, "y": 1}' in written({}, {"y": 1, "z": 2}, [(0, b'{"z": 1, "y": 2}')])
