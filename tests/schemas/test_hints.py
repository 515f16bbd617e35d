"""Hints: what a schema speaks of, and nothing that cannot be written."""

from __future__ import annotations

import json

import pytest

from harness.schemas.hints import ALWAYS, hints


def test_know_what_is_said_of_which_member():
    schema = {
        "properties": {"a": {"minimum": 3}, "b": {"items": {"enum": ["x"]}}},
        "required": ["a"],
        "maxProperties": 2,
    }
    found = hints(schema)
    known = {("a", "2"), ("a", "4"), ("b", '"x"'), ("", '"a"'), ("", '"b"'), ("", "null")}
    assert known <= set(found)
    assert len(found) == len(set(found))


def test_lie_beside_what_is_asked():
    found = {value for _, value in hints({"format": "date", "maxLength": 3, "const": 7})}
    assert {'"2024-02-30"', '"aaaa"', '"aaa"', "7", "8"} <= found


def deep(levels):
    return {"const": 1} if not levels else {"items": deep(levels - 1)}


def nested(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {"maximum": 10**400},
        {"maximum": 1e308},
        {"const": 10**5000},
        {"const": "\ud800"},
        {"properties": {"\ud800": {"const": 1}}},
        {"properties": {"\n": 3, "enum": {"enum": 4}}, "enum": {"properties": 1}},
        {"enum": [["x" * 1000]]},
        deep(200),
        {"const": nested(700)},
        {"enum": list(range(10_000))},
    ],
)
def test_of_odd_schemas_can_be_written(schema):
    found = hints(schema)
    assert {("", one) for one in ALWAYS} <= set(found)
    assert len(found) < 500
    for name, value in found:
        json.loads(value)
        assert f"{name}{value}".encode()
