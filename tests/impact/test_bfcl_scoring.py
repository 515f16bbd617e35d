"""The rules by which a call is scored, each on a tiny function."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.impact.bfcl_scoring import normalized, score_call
from tests.impact.accepted_calls import call, first_call, mutants, question

TEXT = {"type": "string"}
PLACE = {"type": "dict", "properties": {"x": {"type": "integer"}, "y": TEXT}}


def reason(answer, documented, accepted, required=()):
    """Why a call of ``f`` is wrong; empty where it is right."""
    asked = question(documented, accepted, required)
    score = score_call(answer, asked.function, asked.accepted)
    assert score.correct == (not score.reason)
    return score.reason


@pytest.mark.parametrize(
    "answer", [None, [], "f", {}, {"name": "f"}, {"arguments": {}}, {"name": "f", "arguments": []}]
)
def test_what_is_no_object_with_name_and_arguments_is_no_call(answer):
    assert reason(answer, {}, {}) == "no_call"


@pytest.mark.parametrize("name", ["g", "F", "f "])
def test_the_name_is_exact(name):
    assert reason(call(name), {}, {}) == "wrong_name"
    assert reason(call("f"), {}, {}) == ""


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (call(a="x"), ""),
        (call(a="x", b="y"), ""),
        (call(b="y"), "missing_required"),
        (call(a="x", c=1), "unexpected_parameter"),
        (call(a="x", d=1), "unexpected_parameter"),
        (call(a="x", b="z"), "wrong_value"),
    ],
)
def test_parameters_are_required_optional_or_unexpected(answer, why):
    documented = {"a": TEXT, "b": TEXT, "c": TEXT}
    accepted = {"a": ["x"], "b": ["y", ""], "d": [1, ""]}
    assert reason(answer, documented, accepted, ["a"]) == why


def test_what_is_expected_though_not_required_must_not_be_left_out():
    assert reason(call(), {"a": TEXT}, {"a": ["x"]}) == "missing_optional"


@pytest.mark.parametrize(
    ("kind", "accepted", "value", "why"),
    [
        ("string", ["New York, NY"], "new-york ny.", ""),
        ("string", ["it's"], 'IT"S', ""),
        ("string", ["a"], "b", "wrong_value"),
        ("string", ["1"], 1, "wrong_type"),
        ("string", ["a", ""], " ", ""),
        ("any", ["a"], "A", ""),
        ("integer", [5], 5, ""),
        ("integer", [5], 5.0, "wrong_type"),
        ("integer", [1], True, "wrong_type"),
        ("integer", [5, 7], 7, ""),
        ("integer", [5], 6, "wrong_value"),
        ("float", [5.0], 5, ""),
        ("float", [1.0], True, "wrong_type"),
        ("float", [5.0], 10**400, "wrong_type"),
        ("boolean", [True], True, ""),
        ("boolean", [True], 1, "wrong_type"),
        ("boolean", [True], None, "wrong_type"),
        ("integer", ["dontcare", ""], "dontcare", ""),
        ("integer", ["dontcare"], "Dontcare", "wrong_value"),
        ("string", [None, ""], None, ""),
        ("string", [None, ""], "", ""),
        ("string", [""], None, "wrong_type"),
    ],
)
def test_values_of_simple_types(kind, accepted, value, why):
    assert reason(call(a=value), {"a": {"type": kind}}, {"a": accepted}) == why


OBJECT = [{"x": [1], "y": ["a", ""]}]
OBJECTS = [[{"x": [1]}, {"x": [2]}]]


@pytest.mark.parametrize(
    ("kind", "items", "accepted", "value", "why"),
    [
        ("array", "string", [["a b", "c"]], ["A-B", "c."], ""),
        ("array", "string", [["a", "b"]], ["b", "a"], "wrong_value"),
        ("array", "string", [["a", "b"]], ["a"], "wrong_value"),
        ("array", "string", [["a"]], ["a", 1], "wrong_type"),
        ("array", "string", [["a"]], "a", "wrong_type"),
        ("array", "string", [["a"], ""], [], ""),
        ("array", "integer", [[1], [2]], [2], ""),
        ("array", "float", [[1.0]], [1], "wrong_type"),
        ("tuple", "integer", [[1, 2]], [1, 2], ""),
        ("array", "array", [[[1], [2]]], [[1], [2]], ""),
        ("dict", "", OBJECT, {"x": 1, "y": "A."}, ""),
        ("dict", "", OBJECT, {"x": 1}, ""),
        ("dict", "", OBJECT, {"y": "a"}, "wrong_value"),
        ("dict", "", OBJECT, {"x": 2, "y": "a"}, "wrong_value"),
        ("dict", "", OBJECT, {"x": 1, "z": 0}, "wrong_value"),
        ("dict", "", OBJECT, [{"x": 1}], "wrong_type"),
        ("array", "dict", OBJECTS, [{"x": 1}, {"x": 2}], ""),
        ("array", "dict", OBJECTS, [{"x": 2}, {"x": 1}], "wrong_value"),
        ("array", "dict", OBJECTS, [{"x": 1}], "wrong_value"),
        ("array", "dict", OBJECTS, [{"x": 1}, {"x": None}], "wrong_value"),
        ("array", "dict", OBJECTS, [{"x": 1}, 2], "wrong_type"),
        ("array", "dict", OBJECTS, [], "wrong_value"),
        ("array", "dict", ["", [{"x": [1]}]], ["x"], "wrong_value"),
    ],
)
def test_lists_are_compared_in_order_and_objects_by_their_members(
    kind, items, accepted, value, why
):
    of_items = PLACE if items == "dict" else {"type": items}
    documented = PLACE if kind == "dict" else {"type": kind, "items": of_items}
    assert reason(call(a=value), {"a": documented}, {"a": accepted}) == why


@given(st.text())
def test_to_normalize_again_changes_nothing(text):
    assert normalized(normalized(text)) == normalized(text)


def test_the_first_accepted_call_is_right_and_its_neighbours_are_scored():
    accepted = {"a": ["x y", ""], "b": [[{"x": [1]}]], "c": [2.5]}
    documented = {"a": TEXT, "b": {"type": "array", "items": PLACE}, "c": {"type": "float"}}
    asked = question(documented, accepted, ["b"])
    assert first_call(asked) == call(b=[{"x": 1}], c=2.5)
    scores = {
        kind: score_call(answer, asked.function, asked.accepted) for kind, answer in mutants(asked)
    }
    assert scores["accepted"].correct
    assert not scores["other name"].correct
    assert {one.reason for one in scores.values()} >= {"wrong_type", "wrong_value", ""}
