"""Schemas as a user names them: whatever is wrong is told with its file and place, in one line."""

import io
import json
from types import SimpleNamespace

import pytest

from harness.errors import InputError, MaskcourtError, UsageError
from harness.inputs.schema_inputs import read_instance, read_schemas

SCHEMA = '{ "type": "object" }'


def _file(directory, text, name="s.json"):
    path = directory / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_file_and_standard_input_keep_the_spelling_of_a_schema(tmp_path, monkeypatch):
    path = _file(tmp_path, b"\xef\xbb\xbf" + SCHEMA.encode() + b"\n")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"false")))
    both = [(one.name, one.text) for one in read_schemas([str(path), "-"])]
    assert both == [(str(path), SCHEMA), ("standard input", "false")]


def test_a_directory_stands_for_the_json_files_below_it(tmp_path):
    (tmp_path / "deep").mkdir()
    paths = [_file(tmp_path, "{}", "b.json"), _file(tmp_path / "deep", "true", "a.json")]
    _file(tmp_path, "no schema", "readme.txt")
    named = read_schemas([str(tmp_path), str(paths[0])])
    assert [one.name for one in named] == [str(one) for one in paths]
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"no file \*.json"):
        read_schemas([str(tmp_path / "empty")])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ('{"type": }', "s.json: the schema is not JSON: expecting value at line 1, column 10"),
        ("type: object", "s.json: the schema is not JSON"),
        ("[1]", "s.json: the schema is an array"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_what_is_no_schema_is_told_with_its_place(tmp_path, text, message):
    with pytest.raises(InputError, match=message) as raised:
        read_schemas([str(_file(tmp_path, text))])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.json", "cannot read nowhere.json: No such file"),
        ("no_such_module_at_all:Model", "'no_such_module_at_all' cannot be imported"),
        ("json:Nothing", "no JSON Schema of it: AttributeError"),
    ],
)
def test_names_that_stand_for_nothing(name, message):
    with pytest.raises(MaskcourtError, match=message):
        read_schemas([name])


@pytest.mark.parametrize(
    ("name", "hint"), [("m.py", "name a model in it: m:Model"), ("c.jsonl", "bench --cases")]
)
def test_other_files_are_told_where_they_belong(tmp_path, name, hint):
    with pytest.raises(UsageError, match=hint):
        read_schemas([str(_file(tmp_path, "", name))])


def test_models(tmp_path, monkeypatch):
    """Of pydantic, of any type that it knows, or a schema as a dict; also in a class."""
    pytest.importorskip("pydantic")
    monkeypatch.chdir(tmp_path)
    source = "from pydantic import BaseModel\nclass A(BaseModel):\n    a: int\n"
    source += "    class B(BaseModel):\n        b: str\nC = list[A]\nD = {'type': 'null'}\n"
    _file(tmp_path, source, "models_of_a_test.py")
    names = ["A", "A.B", "C", "D"]
    found = [json.loads(one.text) for one in read_schemas([f"models_of_a_test:{n}" for n in names])]
    assert [one["type"] for one in found] == ["object", "object", "array", "null"]


def test_without_pydantic_it_is_said_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "pydantic", None)
    _file(tmp_path, "from pydantic import BaseModel\n", "needs_pydantic_in_a_test.py")
    with pytest.raises(InputError, match=r"\(pip install pydantic\)"):
        read_schemas(["needs_pydantic_in_a_test:Model"])


def test_an_instance_keeps_its_spelling(tmp_path):
    assert read_instance(_file(tmp_path, " 1.0 \n"), is_json=True) == b"1.0"
    assert read_instance(_file(tmp_path, "{"), is_json=False) == b"{"
    with pytest.raises(InputError, match="cannot be read"):
        read_instance(_file(tmp_path, "{"), is_json=True)
