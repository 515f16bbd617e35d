"""The variants of a schema: every alternative, and nothing that both sides forbid."""

from harness.schemas.variants import Variants, merged, property_names


def test_nothing_is_valid_under_false():
    assert Variants({}).variants({"allOf": [{"type": "string"}, {"type": "null"}]}) == ()


def test_names_come_in_the_declared_order():
    ways = Variants({}).variants({"properties": {"b": {}, "a": {}}, "required": ["c", "a"]})
    assert property_names(ways) == ["b", "a", "c"]


def test_subschemas_at_follows_every_alternative():
    root = {
        "properties": {"a": {"anyOf": [{"items": {"const": 1}}, {"prefixItems": [{"const": 2}]}]}},
        "patternProperties": {"^a": {"title": "too"}},
    }
    found = Variants(root).subschemas_at(["a", 0])
    assert [way.get("const") for way in found] == [1, 2]


def test_a_merge_holds_what_both_sides_ask():
    both = merged({"type": ["string", "number"], "minimum": 1}, {"type": "integer", "minimum": 3})
    assert (both["type"], both["minimum"]) == (["integer"], 3)
    assert merged({"const": 1}, {"const": True}) is None


def test_closed_objects_forbid_what_the_other_side_declares():
    closed = {"properties": {"a": True}, "additionalProperties": False}
    assert merged(closed, {"properties": {"b": True}})["properties"] == {"a": True, "b": False}
