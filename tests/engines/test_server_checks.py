"""Checks of servers against the servers' own files, where these are at hand.

`MASKCOURT_SERVER_FILES` names a directory into which the wheels that ``datasets/presets.toml`` names
were unpacked, the pure Python below ``vllm/`` and ``sglang/`` at least; nothing is fetched here.
"""

from __future__ import annotations

import ast
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from harness.engines.server_checks import CHECKS

FILES = os.environ.get("MASKCOURT_SERVER_FILES", "")
pytestmark = pytest.mark.skipif(not FILES, reason="no unpacked wheels in MASKCOURT_SERVER_FILES")

VLLM = "vllm/v1/structured_output/backend_"
SGLANG = "sglang/srt/constrained/json_schema_validation.py"
OWN = {
    "vllm-request": ("vllm/sampling_params.py", "check_json_nesting"),
    "vllm-xgrammar": (f"{VLLM}xgrammar.py", "has_xgrammar_unsupported_json_features"),
    "vllm-guidance": (f"{VLLM}guidance.py", "has_guidance_unsupported_json_features"),
    "sglang-xgrammar": (SGLANG, "validate_xgrammar_json_schema"),
    "sglang-outlines": (SGLANG, "validate_outlines_json_schema"),
}
NEEDED = {"VLLMValidationError": ValueError, "json_mod": json, "Any": Any}


def own(check):
    """The server's function: its file, run but for what needs the rest of the server."""
    name, function = OWN[check]
    names = dict(NEEDED)
    for node in ast.parse((Path(FILES) / name).read_text("utf-8")).body:
        try:
            exec(compile(ast.Module([node], []), name, "exec"), names)
        except Exception:  # noqa: BLE001 - imports of what is not there, and what needs it
            continue
    return names[function]


def refuses(function, schema):
    try:
        return bool(function(schema))
    except ValueError:
        return True


KEYS = {
    **dict.fromkeys(("multipleOf", "minLength", "maxLength", "minItems", "minimum"), (1, 2)),
    **dict.fromkeys(("uniqueItems", "minProperties", "minContains"), (True, 1)),
    "format": ("date", "iri", 5),
    "pattern": ("a",),
    "required": (["a"],),
}
ONE = ("contains", "propertyNames", "not", "if", "items", "additionalProperties")
ONE += ("unevaluatedProperties", "contentSchema", "const")
MANY = ("allOf", "anyOf", "prefixItems", "items", "enum")
NAMED = ("properties", "patternProperties", "$defs", "dependencies", "dependentSchemas")
TYPES = ("string", "number", "array", "object", ["string", "null"], {"a": 1}, None)


def schema(rng, depth):
    if not depth or rng.random() < 0.1:
        return rng.choice([True, False, {}])
    out = {"type": rng.choice(TYPES)} if rng.random() < 0.7 else {}
    for key in rng.sample([*KEYS, *ONE, *MANY, *NAMED], rng.choice([0, 1, 2, 2, 3])):
        inner = [schema(rng, depth - 1) for _ in range(rng.choice([1, 2]))]
        if key in KEYS:
            out[key] = rng.choice(KEYS[key])
        elif key in NAMED:
            out[key] = dict(zip(rng.sample(["a", "b/c", "multipleOf", "type"], 2), inner))  # noqa: B905
        else:
            out[key] = inner if key in MANY and rng.random() < 0.8 else inner[0]
    return out


@pytest.mark.parametrize("check", OWN)
def test_a_check_refuses_what_the_server_refuses(check):
    function = own(check)
    rng = random.Random(check)
    answers = []
    for _ in range(3000):
        one = schema(rng, 4)
        if isinstance(one, dict):
            answers.append(refuses(function, one))
            assert (CHECKS[check](one) is not None) is answers[-1], one
    assert check == "vllm-request" or {*answers} == {True, False}
