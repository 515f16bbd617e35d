"""Documented functions of BFCL as JSON Schema: what a call may be, and what a model is told.

The documentation names types of Python. Here they are those of JSON: ``dict`` is an object,
``float`` a number, ``tuple`` an array, and ``any`` leaves a value free. An object with documented
members is closed; one without is free. Three habits of the documentation would make a schema
that nothing satisfies, or that forbids what the documentation itself offers:

- an ``enum`` beside the type ``array`` lists what the items may be, and stands at the items;
- an ``enum`` or ``default`` spelt as text beside another type (``"True"``, ``"2"``) stands for the
  values of that type that are spelt so; what spells none (``"dontcare"``) stays text;
- a ``default`` that the documented type or enum excludes, most often null, is allowed as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from harness.errors import InputError, nearest

_TYPES: Final[Mapping[str, str]] = {
    "string": "string",
    "integer": "integer",
    "float": "number",
    "boolean": "boolean",
    "array": "array",
    "tuple": "array",
    "dict": "object",
    "any": "",
}
_PYTHON: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_KEPT: Final = ("minimum", "maximum", "minItems", "maxItems")
_SPELT: Final[Mapping[str, Mapping[str, bool]]] = {"boolean": {"true": True, "false": False}}


def call_schema(functions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The schema of a call: ``{"name": ..., "arguments": {...}}``, of one of the functions.

    Raises:
        InputError: A documented type is unknown.
    """
    calls = (
        {"name": {"const": function["name"]}, "arguments": argument_schema(function)}
        for function in functions
    )
    return {"anyOf": [_closed(call, ("name", "arguments")) for call in calls]}


def argument_schema(function: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a function's arguments, an object that is closed; see `call_schema`."""
    return _arguments(function["parameters"])


def tool(function: Mapping[str, Any]) -> dict[str, Any]:
    """A function as chat templates take it: as documented, with the types of JSON."""
    described = {**function, "parameters": _with_json_types(function["parameters"])}
    return {"type": "function", "function": described}


def _with_json_types(documented: Mapping[str, Any]) -> dict[str, Any]:
    described = {**documented, "type": _json_type(documented)}
    if not described["type"]:
        del described["type"]
    if "properties" in documented:
        members = documented["properties"].items()
        described["properties"] = {name: _with_json_types(member) for name, member in members}
    if "items" in documented:
        described["items"] = _with_json_types(documented["items"])
    return described


def _json_type(documented: Mapping[str, Any]) -> str:
    name = documented["type"]
    if name not in _TYPES:
        raise InputError(f"BFCL documents an unknown type {name!r}", nearest(str(name), _TYPES))
    return _TYPES[name]


def _closed(properties: dict[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _arguments(documented: Mapping[str, Any]) -> dict[str, Any]:
    members = {name: _value(member) for name, member in documented.get("properties", {}).items()}
    return _closed(members, documented.get("required", ()))


def _value(documented: Mapping[str, Any]) -> dict[str, Any]:
    """What a documented parameter, member or item may be."""
    schema = _documented_value(documented)
    if "default" not in documented:
        return schema
    default = _spelt(_json_type(documented), documented["default"])
    kind = schema.get("type")
    fits = kind is None or type(default) in _PYTHON[kind]
    if "enum" in schema:
        if default in schema["enum"]:
            return schema
        widened = {**schema, "enum": [*schema["enum"], default]}
        return widened if fits else {"enum": widened["enum"]}
    if fits:
        return schema
    if default is None:
        return {**schema, "type": [kind, "null"]}
    return {"anyOf": [schema, {"const": default}]}


def _documented_value(documented: Mapping[str, Any]) -> dict[str, Any]:
    kind = _json_type(documented)
    if not kind:
        return {}
    if kind == "object" and documented.get("properties"):
        return _arguments(documented)
    schema: dict[str, Any] = {"type": kind}
    schema |= {name: documented[name] for name in _KEPT if name in documented}
    enum = documented.get("enum")
    if kind == "array":
        items = documented.get("items")
        if items is not None:
            schema["items"] = _value(items if enum is None else {**items, "enum": enum})
    elif enum is not None:
        schema["enum"] = _without_repetition(_spelt(kind, value) for value in enum)
        if not all(type(value) in _PYTHON[kind] for value in schema["enum"]):
            del schema["type"]
    return schema


def _spelt(kind: str, value: Any) -> Any:
    """The value of a type of JSON that a text spells; the text itself where it spells none."""
    if not isinstance(value, str):
        return value
    if kind == "integer" and re.fullmatch(r"-?\d+", value, re.ASCII):
        return int(value)
    if kind == "number" and re.fullmatch(r"-?\d+(\.\d+)?", value, re.ASCII):
        return float(value)
    return _SPELT.get(kind, {}).get(value.lower(), value)


def _without_repetition(values: Iterable[Any]) -> list[Any]:
    """The values in their order; 1 and true are two values, though equal in Python."""
    return list({(type(value), str(value)): value for value in values}.values())
