"""Functions of BFCL as schemas and tools, its data from wherever they lie, and how a call is scored."""

import importlib.metadata
import json
import zipfile

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError, UsageError
from harness.impact.bfcl import arguments, call_fault, call_schema, load, normalized, tool
from tests.impact.accepted_calls import call, first_call, mutants, question


def allows(documented, value):
    """Whether the schema of a parameter allows a value."""
    schema = arguments({"properties": {"a": documented}})
    return jsonschema_rs.is_valid(schema, {"a": value})


@pytest.mark.parametrize(
    ("documented", "passing", "failing"),
    [
        ({"type": "string"}, ["", "a"], [1, None]),
        ({"type": "integer"}, [1], [1.5, "1", True]),
        ({"type": "float"}, [1, 1.5], ["1"]),
        ({"type": "boolean"}, [True], [1, "True"]),
        ({"type": "any"}, [1, "a", None, {"b": []}], []),
        ({"type": "dict"}, [{}, {"b": 1}], [[]]),
        ({"type": "dict", "properties": {}}, [{}, {"b": 1}], []),
        (
            {"type": "dict", "properties": {"b": {"type": "float"}}, "required": ["b"]},
            [{"b": 1}],
            [{}, {"b": "1"}, {"b": 1, "c": 1}],
        ),
        ({"type": "tuple", "items": {"type": "float"}}, [[], [1, 2.5]], [["1"]]),
        (
            {"type": "array", "items": {"type": "dict", "properties": {"b": {"type": "any"}}}},
            [[{"b": 1}], [{}]],
            [[{"c": 1}]],
        ),
        ({"type": "string", "enum": ["a", "b"]}, ["a"], ["c", 1]),
        ({"type": "array", "items": {"type": "string"}, "enum": ["a"]}, [[], ["a"]], ["a", ["b"]]),
        ({"type": "boolean", "enum": ["True", "dontcare"]}, [True, "dontcare"], ["True", False]),
        ({"type": "boolean", "enum": ["True", "False"], "default": "True"}, [True], ["True"]),
        ({"type": "integer", "enum": ["1", "2"]}, [1, 2], ["1", 3]),
        ({"type": "float", "enum": ["1.5"]}, [1.5], ["1.5"]),
        ({"type": "integer", "enum": [1, 2], "default": None}, [1, None], [3]),
        ({"type": "string", "enum": ["a"], "default": "b"}, ["a", "b"], ["c", None]),
        ({"type": "string", "default": None}, ["a", None], [1]),
        ({"type": "integer", "default": "dontcare"}, [1, "dontcare"], ["1", None]),
        ({"type": "float", "default": 1}, [1, 1.5], [None]),
        ({"type": "any", "default": None}, [None, 1], []),
    ],
)
def test_a_schema_allows_the_documented_type_and_what_beside_it_is_excluded(
    documented, passing, failing
):
    assert all(allows(documented, one) for one in passing)
    assert not any(allows(documented, one) for one in failing)


def test_a_call_is_of_one_function_with_its_own_arguments():
    functions = [
        question({"a": {"type": kind}}, {}, ["a"], name).function
        for name, kind in (("f", "string"), ("g.h", "integer"))
    ]
    schema = call_schema(functions)
    assert jsonschema_rs.is_valid(schema, call("f", a="x"))
    assert jsonschema_rs.is_valid(schema, call("g.h", a=1))
    wrong = (call("f", a=1), call("f"), call("f", a="x", b=1), {**call("f", a="x"), "id": 1})
    assert not any(jsonschema_rs.is_valid(schema, one) for one in wrong)


def test_a_tool_is_as_documented_but_for_the_types():
    documented = {
        "a": {"type": "float", "description": "How much.", "default": 1},
        "b": {"type": "tuple", "items": {"type": "any", "description": "What."}},
    }
    assert tool(question(documented, {}, ["a"]).function) == {
        "type": "function",
        "function": {
            "name": "f",
            "description": "Does it.",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {"type": "number", "description": "How much.", "default": 1},
                    "b": {"type": "array", "items": {"description": "What."}},
                },
                "required": ["a"],
            },
        },
    }


def test_an_unknown_type_is_refused():
    with pytest.raises(InputError, match=r"unknown type 'strin'.*did you mean 'string'"):
        arguments({"properties": {"a": {"type": "strin"}}})


ASKED = {
    "id": "live_multiple_0",
    "question": [[{"role": "user", "content": "Twice two?"}]],
    "function": [question({"a": {"type": "integer"}}, {}, ["a"]).functions[0]],
}
ANSWERED = {"id": "live_multiple_0", "ground_truth": [{"f": {"a": [2]}}]}


@pytest.fixture
def data(tmp_path):
    """Writes the two files."""

    def written(asked=ASKED, answered=ANSWERED):
        (tmp_path / "data" / "possible_answer").mkdir(parents=True, exist_ok=True)
        for value, name in ((asked, ""), (answered, "possible_answer/")):
            path = tmp_path / "data" / f"{name}BFCL_v4_live_multiple.json"
            path.write_text(json.dumps(value) + "\n", "utf-8")
        return tmp_path

    return written


def test_a_task_has_the_conversation_the_schema_and_the_tools(data):
    task = load(data())
    (item,) = task.items()
    assert (task.name, item.id) == ("bfcl_live_multiple", "live_multiple_0")
    assert item.messages[0].content == "Twice two?"
    assert item.tools[0]["function"]["name"] == "f"
    assert jsonschema_rs.is_valid(json.loads(item.schema), call(a=2))
    assert task.fault(item, call(a=2)) == ""
    assert task.fault(item, call(a=3)) == "wrong_value"
    assert task.unanswerable() == set()


def test_an_archive_has_the_same_task_as_a_directory(data, tmp_path):
    root, wheel = data(), tmp_path / "bfcl.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in sorted(root.rglob("*.json")):
            archive.write(path, f"bfcl_eval/{path.relative_to(root)}")
    assert load(wheel) == load(root / "data")


@pytest.mark.parametrize(
    "accepted", [{"a": ["two"]}, {"a": [2], "b": [1]}, {}, {"a": [""]}], ids=str
)
def test_accepted_values_against_the_documentation_make_an_item_unanswerable(data, accepted):
    answered = {**ANSWERED, "ground_truth": [{"f": accepted}]}
    assert load(data(answered=answered)).unanswerable() == {"live_multiple_0"}


@pytest.mark.parametrize(
    ("answered", "message"),
    [
        ({**ANSWERED, "id": "other"}, "has no answer to live_multiple_0"),
        ({**ANSWERED, "ground_truth": []}, "live_multiple_0 of BFCL is not in its format"),
        ({**ANSWERED, "ground_truth": [{"f": {"a": 2}}]}, "accepted values are no list"),
        ({**ANSWERED, "ground_truth": [{"g": {}}]}, "calls g, which is not documented"),
        ([], "json:1 is no object"),
    ],
)
def test_data_in_another_format_are_refused(data, answered, message):
    with pytest.raises(InputError, match=message):
        load(data(answered=answered))


def test_missing_files_are_named(tmp_path):
    with pytest.raises(
        InputError, match=r"has no BFCL_v.*_live_multiple.json.*pip install --no-deps"
    ):
        load(tmp_path)


def test_without_the_distribution_it_is_said_how_to_install_it(monkeypatch):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", absent)
    with pytest.raises(UsageError, match="pip install --no-deps bfcl-eval") as raised:
        load()
    assert raised.value.exit_code == 2


TEXT = {"type": "string"}
PLACE = {"type": "dict", "properties": {"x": {"type": "integer"}, "y": TEXT}}


def reason(answer, documented, accepted, required=()):
    """Why a call of ``f`` is wrong; empty where it is right."""
    asked = question(documented, accepted, required)
    return call_fault(answer, asked.function, asked.accepted)


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


def test_the_first_accepted_call_is_right_and_its_neighbours_are_judged():
    accepted = {"a": ["x y", ""], "b": [[{"x": [1]}]], "c": [2.5]}
    documented = {"a": TEXT, "b": {"type": "array", "items": PLACE}, "c": {"type": "float"}}
    asked = question(documented, accepted, ["b"])
    assert first_call(asked) == call(b=[{"x": 1}], c=2.5)
    faults = {
        kind: call_fault(answer, asked.function, asked.accepted) for kind, answer in mutants(asked)
    }
    assert faults["accepted"] == ""
    assert faults["other name"]
    assert set(faults.values()) >= {"wrong_type", "wrong_value", ""}
