"""Tools in files: whoever writes a list of them need not say which kind of list it is."""

import json

import pytest

from harness.errors import InputError
from harness.inputs.case_selection import open_cases
from harness.inputs.schema_inputs import read_schemas

A = {"type": "object", "properties": {"a": {"type": "string"}}}
CHAT = {"type": "function", "function": {"name": "f", "strict": True, "parameters": A}}
FLAT = {"type": "function", "name": "f", "parameters": A, "strict": True}
LISTED = {"tools": [{"name": "f", "inputSchema": A, "outputSchema": {}}], "nextCursor": "2"}

PETS = """
openapi: 3.1.0
info: {title: Pet store / 2, version: 2024-01-01}
paths:
  /pets:
    post:
      requestBody: {$ref: '#/components/requestBodies/pet'}
      responses: {200: {description: no}}
    get: {operationId: list}
  /named:
    put:
      operationId: name
      requestBody:
        content:
          text/plain: {schema: {type: string}}
          application/json; charset=utf-8: {schema: {enum: [no, true, 1.5]}}
components:
  requestBodies:
    pet: {content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
  schemas:
    Pet: {properties: {child: {$ref: '#/components/schemas/Pet'}}}
    Other: {}
"""


@pytest.fixture
def named(tmp_path):
    """The schemas in a file that holds a value, or a text."""

    def read(value, name="s.json"):
        path = tmp_path / name
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return {one.name: json.loads(one.text) for one in read_schemas([str(path)])}

    return read


@pytest.mark.parametrize(
    ("value", "tools"),
    [
        (LISTED, {"f": A, "f.output": {}}),
        ({"jsonrpc": "2.0", "id": 1, "result": LISTED}, {"f": A, "f.output": {}}),
        ([CHAT, CHAT, {"type": "function", "function": {"name": "bare"}}], {"f": A, "f#2": A}),
        ({"model": "m", "tools": [FLAT, {"type": "web_search"}]}, {"f": A}),
        (FLAT, {"f": A}),
        ([{"name": "f", "description": "", "input_schema": A}], {"f": A}),
        ({"type": "json_schema", "json_schema": {"name": "g", "schema": A}}, {"g": A}),
        ({"name": "g", "strict": True, "schema": A}, {"g": A}),
    ],
)
def test_a_case_is_a_tool_of_a_server(named, value, tools):
    assert named(value) == {f"s/{name}": schema for name, schema in tools.items()}


@pytest.mark.parametrize("schema", [A, {"properties": {"name": A}, "name": "f", "parameters": {}}])
def test_a_schema_is_no_list_of_tools(named, schema):
    ((name, found),) = named(schema).items()
    assert name.endswith("/s.json")
    assert found == schema


def test_bodies_of_openapi_bring_what_they_refer_to(named):
    reference = {"$ref": "#/$defs/Pet"}
    assert named(PETS, "s.yaml") == {
        "Pet-store-2/POST /pets": {
            **reference,
            "$defs": {"Pet": {"properties": {"child": reference}}},
        },
        "Pet-store-2/name": {"enum": ["no", True, 1.5]},
    }


def test_cases_of_a_run(tmp_path):
    (tmp_path / "time.json").write_text(json.dumps(LISTED))
    cases = list(open_cases(f"tools:{tmp_path / 'time.json'}"))
    assert [(one.id, one.family) for one in cases] == [
        ("time/f", "time"),
        ("time/f.output", "time"),
    ]
    (tmp_path / "s.json").write_text("{}")
    with pytest.raises(InputError, match="holds no tools"):
        open_cases(f"tools:{tmp_path / 's.json'}")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"tools": []}, "lists no tool"),
        ({"tools": [{"name": "f"}]}, r"tool 0 \('f'\) has no name or no schema"),
        ({"tools": [5]}, r"tool 0 \(None\) has no name or no schema"),
        ({"tools": [{"name": "f", "inputSchema": [A]}]}, "tool 'f' has no schema"),
        ({"tools": [{"name": "\x1b[2J", "inputSchema": A}]}, "control characters"),
        ([CHAT] * 1001, "1,001 schemas"),
        ({"tools": [{"name": "f", "inputSchema": {"enum": ["a" * 2**20]}}]}, "too many to use"),
        ({"openapi": "3.0.3", "paths": {}}, "is OpenAPI 3.0.3"),
        (PETS.replace("schemas/Pet'", "schemas/Cat'"), "refers to what is not in it"),
        ("openapi: [", "cannot be read as YAML"),
        ("openapi: &a [1]\nb: *a", "aliases are not read"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(named, value, message):
    with pytest.raises(InputError, match=message) as raised:
        named(value)
    assert "\n" not in str(raised.value)
