"""The checks with which servers refuse schemas before any engine sees them, in their words.

Each is written from what the server's own function does, release by release; the files are named in
`datasets/presets.toml`. Where a server would name one of several faults by chance, the first in the
order of the schema is named.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]

_FORMATS = frozenset(
    {
        *("date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "json-pointer"),
        *("relative-json-pointer", "time", "uri", "uri-reference", "uri-template", "uuid"),
    }
)
"""The formats that vLLM 0.33.0 and SGLang 0.5.23 know xgrammar to implement."""

_DEEPEST = 64
_LENGTHS = ("minLength", "maxLength")
_VLLM_REFUSES = "The provided JSON schema contains features not supported by xgrammar."


def vllm_request(schema: Any) -> str | None:
    """VLLM 0.33.0: containers nested more than 64 deep, in whatever keyword."""
    level = [schema]
    for _ in range(_DEEPEST + 1):
        level = [one for one in level if isinstance(one, dict | list)]
        if not level:
            return None
        level = [
            inner for one in level for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return (
        "The JSON schema is nested too deeply: objects and arrays may nest at most "
        f"{_DEEPEST} levels"
    )


def vllm_xgrammar(schema: Any) -> str | None:
    """VLLM 0.33.0: what the xgrammar backend is known to ignore, and Boolean schemas.

    It looks at every JSON object in the schema, those in ``const`` and ``properties`` included, and
    at the keywords of a type only where ``type`` names it.
    """
    if isinstance(schema, bool):
        return (
            "Failed to transform json schema into a grammar: The schema should be a string or a "
            "Pydantic model."
        )
    return _VLLM_REFUSES if any(map(_vllm_avoids, _objects(schema))) else None


def vllm_guidance(schema: Any) -> str | None:
    """VLLM 0.33.0, ``auto`` alone: ``patternProperties`` anywhere goes past guidance."""
    if any("patternProperties" in one for one in _objects(schema)):
        return "patternProperties is not supported by llguidance"
    return None


def sglang_xgrammar(schema: Any) -> str | None:
    """SGLang 0.5.23: what xgrammar would ignore, in the subschemas alone."""
    ignored = {
        *("contains", "dependentRequired", "dependentSchemas", "else", "if", "maxContains"),
        *("minContains", "multipleOf", "not", "then", "uniqueItems"),
    }
    for subschema, pointer in _subschemas(schema):
        if found := sorted(ignored & subschema.keys()):
            what = f"keyword(s) {', '.join(found)} would be ignored"
            return _sglang_refuses(pointer, "xgrammar", what)
        if _may_be_string(subschema) and _has_other_format(subschema):
            what = f"string format {subschema['format']!r} is not implemented"
            return _sglang_refuses(pointer, "xgrammar", what)
        if what := _together(subschema):
            return _sglang_refuses(pointer, "xgrammar", what)
    return None


def sglang_outlines(schema: Any) -> str | None:
    """SGLang 0.5.23: what outlines-core 0.1 would ignore, in the subschemas alone."""
    ignored = {
        *("allOf", "contains", "dependentRequired", "dependentSchemas", "else", "if"),
        *("exclusiveMaximum", "exclusiveMinimum", "maxContains", "maximum", "minContains"),
        *("minimum", "multipleOf", "not", "oneOf", "patternProperties", "propertyNames", "then"),
        *("unevaluatedItems", "unevaluatedProperties", "uniqueItems"),
    }
    for subschema, pointer in _subschemas(schema):
        has = subschema.keys()
        if found := sorted(ignored & has):
            what = f"keyword(s) {', '.join(found)} would be ignored or weakened"
        elif together := _together(subschema):
            what = together
        elif "properties" in has and (found := _beside_properties(subschema)):
            what = f"properties cannot be combined with {', '.join(found)}"
        elif "prefixItems" in has and (found := sorted({"minItems", "maxItems"} & has)):
            what = f"prefixItems cannot be combined with {', '.join(found)}"
        elif "required" in has and "properties" not in has:
            what = "required is only enforced when properties is present"
        else:
            continue
        return _sglang_refuses(pointer, "outlines", what)
    return None


def guidance_json(schema: Any) -> str | None:
    """Guidance 0.3.1: the schema that nothing satisfies."""
    return "Unsatisfiable schema: schema is false" if schema is False else None


def ollama_format(schema: Any) -> str | None:
    """Ollama of llama.cpp b10864: what is no object."""
    if isinstance(schema, dict):
        return None
    written = json.dumps(json.dumps(schema))
    return f'invalid format: {written}; expected "json" or a valid JSON Schema object'


CHECKS: Mapping[str, Callable[[Any], str | None]] = {
    "vllm-request": vllm_request,
    "vllm-xgrammar": vllm_xgrammar,
    "vllm-guidance": vllm_guidance,
    "sglang-xgrammar": sglang_xgrammar,
    "sglang-outlines": sglang_outlines,
    "guidance-json": guidance_json,
    "ollama-format": ollama_format,
}
"""By the name that presets give them: the words of the refusal, None where a schema passes."""


def _objects(value: Any) -> Iterator[Schema]:
    """An object and those in it, but for what lies in an array in an array."""
    if not isinstance(value, dict):
        return
    yield value
    for inner in value.values():
        for one in inner if isinstance(inner, list) else [inner]:
            yield from _objects(one)


def _vllm_avoids(one: Schema) -> bool:
    of_type = {
        "number": _vllm_avoids_number,
        "integer": _vllm_avoids_number,
        "array": lambda one: any(
            key in one for key in ("uniqueItems", "contains", "minContains", "maxContains")
        ),
        "string": _vllm_avoids_string,
        "object": _vllm_avoids_object,
    }
    types = one.get("type")
    named = types if isinstance(types, list) else [types]
    every = one.get("allOf")
    return (isinstance(every, list) and len(every) > 1) or any(
        check(one) for name, check in of_type.items() if name in named
    )


def _vllm_avoids_number(one: Schema) -> bool:
    return "multipleOf" in one


def _vllm_avoids_string(one: Schema) -> bool:
    return _has_other_format(one) or _bounds_a_pattern(one)


def _vllm_avoids_object(one: Schema) -> bool:
    patterns = one.get("patternProperties")
    if isinstance(patterns, dict) and ("properties" in one or len(patterns) > 1):
        return True
    if "propertyNames" not in one:
        return False
    names = one["propertyNames"]
    return (
        "properties" in one
        or "patternProperties" in one
        or one.get("unevaluatedProperties", True) is not True
        or (isinstance(names, dict) and _bounds_a_pattern(names))
    )


def _has_other_format(one: Schema) -> bool:
    named = one.get("format")
    return "format" in one and not (isinstance(named, str) and named in _FORMATS)


def _bounds_a_pattern(one: Schema) -> bool:
    return ("pattern" in one or "format" in one) and any(key in one for key in _LENGTHS)


_ONE = (
    *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if"),
    *("items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
)
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")


def _subschemas(schema: Any, pointer: str = "#") -> Iterator[tuple[Schema, str]]:
    """The objects that stand where a keyword has a schema, with JSON pointers."""
    if not isinstance(schema, dict):
        return
    yield schema, pointer
    for key, value in schema.items():
        inner: list[tuple[Any, str]] = []
        if key in _ONE and isinstance(value, dict):
            inner = [(value, "")]
        elif isinstance(value, list) and (key in _MANY or key == "items"):
            inner = [(one, f"/{at}") for at, one in enumerate(value)]
        elif isinstance(value, dict) and (key in _NAMED or key == "dependencies"):
            inner = [(one, "/" + _escaped(name)) for name, one in value.items()]
        for one, step in inner:
            yield from _subschemas(one, f"{pointer}/{key}{step}")


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _may_be_string(one: Schema) -> bool:
    types = one.get("type")
    return types is None or "string" in (types if isinstance(types, list) else [types])


def _together(one: Schema) -> str:
    """What of a string is restricted in more than one way, in SGLang's words; empty for nothing."""
    groups: Mapping[str, Sequence[str]] = {
        "format": ("format",),
        "pattern": ("pattern",),
        "minLength/maxLength": _LENGTHS,
    }
    found = [name for name, keys in groups.items() if any(key in one for key in keys)]
    if len(found) < 2 or not _may_be_string(one):
        return ""
    return f"constraints {', '.join(found)} cannot be enforced together"


def _beside_properties(one: Schema) -> list[str]:
    closed = one.get("additionalProperties") is False
    keys = {"maxProperties", "minProperties", *(() if closed else ("additionalProperties",))}
    return sorted(keys & one.keys())


def _sglang_refuses(pointer: str, backend: str, what: str) -> str:
    return f"JSON Schema at {pointer} is not supported by {backend}: {what}"
