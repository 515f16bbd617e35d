"""Schemas as a user names them: files, directories, standard input, models of Pydantic."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from harness.errors import InputError, UsageError
from harness.inputs.cases import parsed, schema_text
from harness.inputs.limits import read_bounded, read_file
from harness.inputs.tools import NamedSchema, read_yaml, tools_in
from harness.jsontext import strict_json

STDIN: Final = "-"

_MODEL = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def read_schemas(names: Sequence[str]) -> list[NamedSchema]:
    """The schemas that `names` stand for, each name once.

    A name is the path of a file, of a directory (all ``*.json`` below it), ``-`` for standard
    input, or ``module:Model`` for a model of Pydantic. A file may hold tools
    (`harness.inputs.tools`): each of them has a schema.
    """
    found = (one for name in names for one in _named(name))
    return list({one.name: one for one in found}.values())


def _named(name: str) -> Iterator[NamedSchema]:
    path = Path(name)
    if name == STDIN:
        yield from _read(read_bounded(sys.stdin.buffer, "standard input"), "standard input")
    elif path.is_dir():
        files = sorted(path.rglob("*.json"))
        if not files:
            raise UsageError(f"{name} has no file *.json in it", "name the files themselves")
        for file in files:
            yield from _of_file(file)
    elif not path.exists() and _MODEL.fullmatch(name):
        yield NamedSchema(name, _of_model(name))
    else:
        yield from _of_file(path)


def _of_file(path: Path) -> Iterator[NamedSchema]:
    name = str(path).encode("utf-8", "backslashreplace").decode()
    if path.suffix == ".jsonl":
        raise UsageError(f"{name} holds cases, not a schema", f"maskcourt bench --cases {name}")
    if path.suffix == ".py":
        raise UsageError(f"{name} is no schema", f"name a model in it: {path.stem}:Model")
    yield from _read(read_file(path, name), name)


def read_tools(path: Path) -> list[NamedSchema]:
    """The schemas of the tools in a file; an `InputError` where it has none."""
    found = list(_read(read_file(path), str(path)))
    if not all(one.tool for one in found):
        raise InputError(f"{path} holds no tools", "tools/list of MCP gives some, or OpenAPI")
    return found


def _read(raw: bytes, name: str) -> Iterator[NamedSchema]:
    """The schema in a text, or those of the tools in it."""
    raw = raw.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n")
    if not raw:
        raise InputError(f"{name} is empty", "a schema is a JSON object, true or false")
    try:
        value = strict_json.parse(raw, lone_surrogates=True)
    except strict_json.JsonError:
        value = read_yaml(raw, name)
    tools = tools_in(value, name, Path(name).stem)
    if not tools:
        yield NamedSchema(name, schema_text(raw, name))  # this says what is wrong
    yield from tools


def _of_model(name: str) -> str:
    """The JSON Schema of what ``module:attribute`` names: of a model, or of any type."""
    module, _, attribute = name.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
        if hasattr(found, "model_json_schema"):
            found = found.model_json_schema()
        elif not isinstance(found, dict):
            found = importlib.import_module("pydantic").TypeAdapter(found).json_schema()
        text = json.dumps(found, ensure_ascii=False)
    except ImportError as error:
        pydantic = (error.name or "").partition(".")[0] == "pydantic"
        hint = "pip install pydantic" if pydantic else "modules are looked for here, too"
        raise InputError(f"{name}: {module!r} cannot be imported: {error}", hint) from None
    except Exception as error:  # noqa: BLE001 - the user's module may raise whatever it likes
        raise InputError(f"{name}: no JSON Schema of it: {type(error).__name__}: {error}") from None
    return schema_text(text.encode("utf-8", "surrogatepass"), name)


def read_instance(path: Path, *, is_json: bool) -> bytes:
    """The text of an instance in a file, as it is spelt, without white space around it."""
    raw = read_file(path).strip(b" \t\r\n")
    try:
        raw.decode()
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8") from None
    if is_json:
        parsed(raw, str(path), "the instance")
    return raw
