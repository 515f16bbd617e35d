"""Edits of schemas and texts: what they may leave out, and what must stay."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.bugs import schema_edits, text_edits
from tests.bugs.schemas import SCHEMAS

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | st.text("ab\n", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner),
    max_leaves=8,
)


@given(SCHEMAS)
def test_no_edit_changes_the_schema_that_it_is_given(schema):
    before = json.dumps(schema)
    for edits in (
        schema_edits.left_out,
        schema_edits.cut_down,
        schema_edits.emptied,
        schema_edits.made_plain,
        schema_edits.in_one_piece,
        schema_edits.typed,
    ):
        for edited in edits(schema):
            json.dumps(edited)
    assert json.dumps(schema) == before


@given(SCHEMAS)
def test_a_type_stays_where_keywords_are_left_out(schema):
    types = [part["type"] for _, part in schema_edits.subschemas(schema) if "type" in part]
    for edited in schema_edits.left_out(schema):
        if isinstance(schema, dict) and "type" in schema:
            assert edited["type"] == schema["type"]
        assert len([p for _, p in schema_edits.subschemas(edited) if "type" in p]) <= len(types)


def test_no_list_becomes_empty():
    schema = {"anyOf": [{"type": "string"}], "enum": ["a"], "required": ["b"]}
    assert [] not in [value for one in schema_edits.left_out(schema) for value in one.values()]


def test_parts_go_with_the_parts_of_a_text():
    schema = {
        "$defs": {"n": {"type": "integer"}},
        "properties": {"a": {"items": {"$ref": "#/$defs/n"}}, "b": {"type": "null"}},
    }
    parts = list(schema_edits.parts_with_texts(schema, b'{"a": [1, 22], "b": null}'))
    assert ({"$defs": schema["$defs"], "type": "integer"}, b"22") in parts
    assert ({"$defs": schema["$defs"], "type": "null"}, b"null") in parts


@pytest.mark.parametrize("schema", [True, False])
def test_a_schema_that_is_no_object_has_no_parts(schema):
    assert list(schema_edits.parts_with_texts(schema, b'{"a": "b"}')) == []


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
    for edits in (
        text_edits.members_left_out,
        text_edits.simpler_values,
        text_edits.without_layout,
    ):
        for edited in edits(text):
            json.loads(edited)
            assert len(edited) < len(text)


@pytest.mark.parametrize(
    ("edits", "text", "result"),
    [
        (text_edits.members_left_out, b'{"a":1,"b":2}', b'{"b":2}'),
        (text_edits.members_left_out, b"[1,2]", b"[1]"),
        (text_edits.simpler_values, b'{"a":[1,2]}', b'{"a":0}'),
        (text_edits.without_layout, b'{"a b": 1}', b'{"a b":1}'),
        (text_edits.plain_escapes, rb'"\u0041"', rb'"\""'),
        (text_edits.plainer_bytes, b'"z9"', b'"a9"'),
        (text_edits.pieces_left_out, b'{"a":1,"b":"\t"}', b'{"b":"\t"}'),
        (text_edits.bytes_left_out, b"abc", b"bc"),
        (text_edits.letters, '["a", "é"]'.encode(), b'["a", "A"]'),
        (text_edits.letters, rb'"\u0041"', b'"A"'),
        (text_edits.leftward, '"12é"'.encode(), '"1é2"'.encode()),
    ],
)
def test_texts_are_made_smaller(edits, text, result):
    assert result in list(edits(text))


def test_values_of_a_type_become_true_all_at_once_and_each_by_itself():
    found = list(text_edits.true_for(b'[1, "a", 2, [3]]', "integer"))
    assert found[0] == b'[true, "a", true, [true]]'
    assert b'[true, "a", 2, [3]]' in found


def test_an_atom_of_a_pattern_comes_with_a_character_of_the_text():
    assert ("^.$", b'"-"') in set(text_edits.atoms(r"\d{4}-[ab].c", b'"1234-a-c"'))


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


def test_an_upper_bound_becomes_a_lower_one():
    found = list(schema_edits.twins({"items": {"maxLength": 7, "type": "string"}}))
    assert {"items": {"minLength": 1, "type": "string"}} in found
    assert not list(schema_edits.twins({"maximum": 3, "minimum": 1}))


def test_a_key_is_renamed_wherever_it_stands():
    assert text_edits.keys(b'{"x":{"x":0,"y":1}}') == ["x", "y"]
    assert text_edits.key_renamed(b'{"x":{"x":0,"y":"x"}}', "x", "a") == b'{"a":{"a":0,"y":"x"}}'
