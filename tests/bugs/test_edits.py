"""Edits of schemas and texts: what they may leave out, and what must stay."""

import json

from hypothesis import given
from hypothesis import strategies as st

from harness.bugs import schema_edits, text_edits
from harness.schemas.schema import objects

_LEAVES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", "array", "string", "integer"]),
        "minimum": st.integers(-3, 30),
        "pattern": st.sampled_from(["^a+$", "b"]),
        "enum": st.lists(st.sampled_from(["a", "b", 1]), min_size=1, max_size=3),
        "required": st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True),
    },
)


def _around(inner: st.SearchStrategy[dict[str, object]]) -> st.SearchStrategy[dict[str, object]]:
    return st.builds(
        lambda leaf, more: {**leaf, **more},
        _LEAVES,
        st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
                "items": inner,
                "anyOf": st.lists(inner, min_size=1, max_size=2),
                "additionalProperties": inner,
            },
        ),
    )


SCHEMAS = st.recursive(_LEAVES, _around, max_leaves=5)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | st.text("ab\n", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner),
    max_leaves=8,
)


@given(SCHEMAS)
def test_no_edit_changes_the_schema_that_it_is_given(schema):
    before = json.dumps(schema)
    for edits in ("left_out", "cut_down", "made_plain", "in_one_piece", "typed"):
        for edited in getattr(schema_edits, edits)(schema):
            json.dumps(edited)
    assert json.dumps(schema) == before


@given(SCHEMAS)
def test_where_parts_are_left_out_a_type_stays_and_no_list_becomes_empty(schema):
    for edited in schema_edits.left_out(schema):
        assert edited.get("type") == schema.get("type")
        for _, part in objects(edited):
            assert part.get("anyOf") != []
            assert part.get("enum") != []


def test_parts_go_with_the_parts_of_a_text():
    schema = {
        "$defs": {"n": {"type": "integer"}},
        "properties": {"a": {"items": {"$ref": "#/$defs/n"}}, "b": {"type": "null"}},
    }
    parts = list(schema_edits.parts_with_texts(schema, b'{"a": [1, 22], "b": null}'))
    assert ({"$defs": schema["$defs"], "type": "integer"}, b"22") in parts
    assert ({"$defs": schema["$defs"], "type": "null"}, b"null") in parts


def test_names_are_changed_everywhere_but_in_keywords():
    schema = {
        "properties": {"type": {"enum": ["type", "b"]}},
        "required": ["type"],
        "type": "object",
        "$defs": {"type": {"$ref": "#/$defs/type"}},
    }
    assert schema_edits.renamed(schema, "type", "a") == {
        "properties": {"a": {"enum": ["a", "b"]}},
        "required": ["a"],
        "type": "object",
        "$defs": {"a": {"$ref": "#/$defs/a"}},
    }


@given(VALUES)
def test_what_is_left_of_a_text_is_json(value):
    text = json.dumps(value, indent=1).encode()
    for edits in ("members_left_out", "simpler_values", "without_layout"):
        for edited in getattr(text_edits, edits)(text):
            json.loads(edited)
            assert len(edited) < len(text)


def test_a_schema_keeps_what_its_text_needs():
    schema = {
        "title": "x",
        "properties": {"a": {"$ref": "#/$defs/a"}, "b": {"$ref": "#/$defs/b"}},
        "$defs": {"a": {"default": 1, "type": "integer"}, "b": {"type": "string"}},
    }
    assert next(schema_edits.used_only(schema, ["a"])) == {
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"type": "integer"}},
    }


def test_what_is_no_schema_is_merged_into_nothing():
    odd = {"allOf": 5, "then": True, "dependentSchemas": True}
    assert [name for name, _ in schema_edits.merged(odd)] == list(odd)


def test_an_upper_bound_becomes_a_lower_one():
    found = list(schema_edits.twins({"items": {"maxLength": 7, "type": "string"}}))
    assert {"items": {"minLength": 1, "type": "string"}} in found
    assert not list(schema_edits.twins({"maximum": 3, "minimum": 1}))
