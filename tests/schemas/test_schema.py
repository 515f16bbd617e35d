"""What stands at a pointer, and by which ways a subschema applies."""

import pytest

from harness.schemas.schema import Schema

TREE = {
    "$ref": "#/$defs/t",
    "$defs": {
        "t": {
            "properties": {
                "left": {"$ref": "#/$defs/t"},
                "many": {"items": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/t"}]}},
                "name": {"type": "string"},
            }
        }
    },
}


@pytest.mark.parametrize(
    ("pointer", "keyword", "found"),
    [
        ("/a~1b/type", "type", {"type": "string"}),
        ("/a~1b", "type", {"type": "string"}),
        ("/allOf/0/not", "not", {"not": {}}),
        ("/allOf/1", "not", None),
        ("/nowhere/type", "type", None),
        ("", "type", "root"),
    ],
)
def test_the_subschema_at_a_pointer(pointer, keyword, found):
    root = {"a/b": {"type": "string"}, "allOf": [{"not": {}}]}
    expected = root if found == "root" else found
    assert Schema(root).subschema(pointer, keyword) == expected


@pytest.mark.parametrize(
    ("instance", "fewest"),
    [("", 1), ("/left", 2), ("/left/left", 3), ("/left/name", 2), ("/many", 1), ("/many/0", 1)],
)
def test_the_fewest_references_on_the_way_to_a_value(instance, fewest):
    assert Schema(TREE).fewest_references(instance) == fewest


def test_around_a_value_are_the_subschemas_on_the_way_to_it_and_right_in_it():
    inner = {"properties": {"c": {"title": "c"}}, "title": "b"}
    around = {"properties": {"a": {"properties": {"b": inner}, "title": "a"}, "x": {}}}
    named = [one.get("title") for one in Schema(around).around("/a")]
    assert named == [None, "a", "b"]


def test_a_value_without_a_subschema_has_no_way():
    assert Schema(TREE).fewest_references("/left/other/more") is None


@pytest.mark.parametrize(
    ("schema", "only"),
    [
        ({"allOf": [{"$ref": "#/$defs/d"}, {}]}, True),
        ({"allOf": [{"$ref": "#/$defs/d"}]}, False),
        ({"allOf": [{"$ref": "#/$defs/d"}, {}], "items": {"$ref": "#/$defs/d"}}, False),
        ({"allOf": [{"$ref": "#/$defs/d"}, {"$ref": "other.json"}]}, False),
    ],
)
def test_what_applies_only_through_a_conjunction(schema, only):
    schema = {**schema, "$defs": {"d": {"type": "string"}}}
    assert Schema(schema).only_through("/$defs/d/type", "type", "allOf") is only


def test_what_applies_only_through_a_foreign_reference():
    schema = {"items": {"$ref": "#d"}, "$defs": {"d": {"$anchor": "d", "type": "null"}}}
    lookup = Schema(schema)
    assert lookup.only_through("/$defs/d/type", "type", "reference")
    assert not lookup.only_through("/items/$ref", "$ref", "reference")
    assert not Schema(TREE).only_through("/$defs/t/properties", "properties", "reference")
