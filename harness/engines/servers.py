"""Servers: engines of other adapters, called and guarded as a server's preset says.

A schema is written out as the server's interface would hand it on, goes through the server's
checks, and is compiled by the first backend that takes it, which is said on standard error. Each
check does what the server's own function does, in its words; `datasets/presets.toml` names the
files. Of faults that a server would choose by chance the first in the schema is named.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from harness.directories import read_toml
from harness.engines.presets import TAKEN, RouteStep, described, find_preset
from harness.engines.specs import adapter_class, built_in
from harness.jsontext.pointers import pointer
from harness.protocol import (
    Engine,
    EngineInfo,
    Matcher,
    Option,
    Refused,
    Vocabulary,
    complete_options,
)
from harness.schemas.schema import objects, types


class ServerEngine:
    """The engines of one release of a server; the options are the server's and its backends'."""

    OPTIONS: ClassVar[Mapping[str, Option]] = {}
    """A spec's options are the preset's, `harness.engines.presets.Preset.options`."""
    DISTRIBUTION = ""

    def __init__(self, vocabulary: Vocabulary, options: Mapping[str, bool | int | str]) -> None:
        preset = find_preset(str(options["server"]), str(options["release"]))
        assert preset is not None
        self._name = f"{preset.server} {preset.release}"
        self._check = preset.check
        self._steps: Sequence[RouteStep] = preset.routes[str(options["backend"])]
        self._engines: dict[str, Engine] = {}
        shown: dict[str, bool | int | str] = dict(options)
        packages: dict[str, str] = {}
        for name, backend in preset.backends_for(options).items():
            kind: Any = adapter_class(built_in()[backend.engine])
            given = complete_options(kind.OPTIONS, backend.options)
            self._engines[name] = engine = kind(vocabulary, given)
            packages.update(engine.info.packages)
            shown.update(described(name, backend, engine.info))
        self.bytes_differ_on_purpose = any(
            getattr(one, "bytes_differ_on_purpose", False) for one in self._engines.values()
        )
        self.info = EngineInfo(preset.server, preset.release, shown, packages)

    def compile(self, schema: str) -> Matcher:
        """A matcher of the first backend that takes the schema; the last one's words if none."""
        value = json.loads(schema)
        _pass(self._check, value)
        text = json.dumps(value)
        words = ""
        for step in self._steps:
            checked = False
            try:
                _pass(step.check, value)
                checked = True
                matcher = self._engines[step.backend].compile(text)
            except Refused as refusal:
                words = f"{step.backend}: {refusal}" if len(self._steps) > 1 else str(refusal)
                if checked and step.refused != "next":
                    break
                continue
            because = f" ({words})" if words else ""
            sys.stderr.write(f"{self._name}: {TAKEN} {step.backend}{because}\n")
            return matcher
        raise Refused(words)

    def token_bytes(self, ids: Sequence[int]) -> list[bytes | None]:
        """What all backends hold; where two differ, what the second of them does."""
        known = [engine.token_bytes(ids) for engine in self._engines.values()]
        told = [[one for one in some if one is not None] for some in zip(*known, strict=True)]
        return [next((one for one in some if one != some[0]), (*some, None)[0]) for some in told]


def _pass(check: str, schema: Any) -> None:
    words = CHECKS[check](schema) if check else None
    if words is not None:
        raise Refused(words)


Schema = Mapping[str, Any]

_LISTS: Mapping[str, Any] = read_toml("gates.toml")
_DEEPEST = 64


def _vllm_request(schema: Any) -> str | None:
    """Containers nested more than 64 deep, in whatever keyword."""
    level = [schema]
    for _ in range(_DEEPEST + 1):
        level = [one for one in level if isinstance(one, dict | list)]
        if not level:
            return None
        inside = [one.values() if isinstance(one, dict) else one for one in level]
        level = [inner for some in inside for inner in some]
    return (
        "The JSON schema is nested too deeply: objects and arrays may nest at most "
        f"{_DEEPEST} levels"
    )


def _vllm_xgrammar(schema: Any) -> str | None:
    """What the xgrammar backend is known to ignore, and Boolean schemas.

    It looks at every JSON object in the schema, those in ``const`` and ``properties`` included, and
    at the keywords of a type only where ``type`` names it.
    """
    if isinstance(schema, bool):
        return (
            "Failed to transform json schema into a grammar: The schema should be a string or a "
            "Pydantic model."
        )
    if faults("vllm-xgrammar", schema):
        return "The provided JSON schema contains features not supported by xgrammar."
    return None


def _vllm_fault(backend: str, one: Schema) -> str:
    return ", ".join(each["entry"] for each in _LISTS["vllm"][backend] if _applies(each, one))


def _applies(entry: Mapping[str, Any], one: Schema) -> bool:
    """Whether an entry of vLLM's list is about an object; `datasets/gates.toml` has the words."""
    at = one.get(entry["inside"]) if "inside" in entry else one
    many = one.get(entry.get("several", ""))
    return (
        ("types" not in entry or not set(entry["types"]).isdisjoint(types(one)))
        and isinstance(at, dict)
        and all(_has(at, *keys) for keys in entry.get("has", ()))
        and ("several" not in entry or (isinstance(many, list | dict) and len(many) > 1))
        and ("not_true" not in entry or one.get(entry["not_true"], True) is not True)
        and ("other_format" not in entry or _has_other_format(one))
    )


def _sglang(fault: Callable[[Schema], str], backend: str, schema: Any) -> str | None:
    """The first fault of a subschema, in subschemas alone."""
    for path, one in objects(schema):
        if what := fault(one):
            return f"JSON Schema at #{pointer(path)} is not supported by {backend}: {what}"
    return None


def _xgrammar_fault(one: Schema) -> str:
    if found := _among(one, _LISTS["sglang"]["xgrammar"]):
        return f"keyword(s) {found} would be ignored"
    if _may_be_string(one) and _has_other_format(one):
        return f"string format {one['format']!r} is not implemented"
    return _string_bounds(one)


def _outlines_fault(one: Schema) -> str:
    if found := _among(one, _LISTS["sglang"]["outlines"]):
        return f"keyword(s) {found} would be ignored or weakened"
    if together := _string_bounds(one):
        return together
    sizes = {"maxProperties", "minProperties"}
    if one.get("additionalProperties") is not False:
        sizes.add("additionalProperties")
    for key, beside in (("properties", sizes), ("prefixItems", {"minItems", "maxItems"})):
        if key in one and (found := _among(one, beside)):
            return f"{key} cannot be combined with {found}"
    if "required" in one and "properties" not in one:
        return "required is only enforced when properties is present"
    return ""


def _string_bounds(one: Schema) -> str:
    """What of a string is restricted in more than one way, in SGLang's words; empty for nothing."""
    groups = {
        "format": ("format",),
        "pattern": ("pattern",),
        "minLength/maxLength": ("minLength", "maxLength"),
    }
    found = [name for name, keys in groups.items() if _has(one, *keys)]
    if len(found) < 2 or not _may_be_string(one):
        return ""
    return f"constraints {', '.join(found)} cannot be enforced together"


def _ollama_format(schema: Any) -> str | None:
    if isinstance(schema, dict):
        return None
    written = json.dumps(json.dumps(schema))
    return f'invalid format: {written}; expected "json" or a valid JSON Schema object'


CHECKS: Mapping[str, Callable[[Any], str | None]] = {
    "vllm-request": _vllm_request,  # vLLM 0.33.0
    "vllm-xgrammar": _vllm_xgrammar,
    "vllm-guidance": lambda schema: next(iter(faults("vllm-guidance", schema)), None),
    "sglang-xgrammar": partial(_sglang, _xgrammar_fault, "xgrammar"),  # SGLang 0.5.23
    "sglang-outlines": partial(_sglang, _outlines_fault, "outlines"),
    "guidance-json": lambda schema: (  # Guidance 0.3.1
        "Unsatisfiable schema: schema is false" if schema is False else None
    ),
    "ollama-format": _ollama_format,  # Ollama of llama.cpp b10864
}
"""By the name that presets give them: the words of the refusal, None where a schema passes."""


def faults(check: str, schema: Any) -> list[str]:
    """What of a schema a list names, in its words, each once; a check that is no list names none.

    SGLang's looks into subschemas alone, vLLM's into every object.
    """
    inside = (one for _, one in objects(schema)) if "sglang" in check else _objects(schema)
    named = map(_FAULTS[check], inside) if check in _FAULTS else ()
    return list(dict.fromkeys(filter(None, named)))


_FAULTS: Mapping[str, Callable[[Schema], str]] = {
    "vllm-xgrammar": partial(_vllm_fault, "xgrammar"),
    "vllm-guidance": partial(_vllm_fault, "guidance"),
    "sglang-xgrammar": _xgrammar_fault,
    "sglang-outlines": _outlines_fault,
}
"""What of an object each list names, empty for nothing."""


def _objects(value: Any) -> Iterator[Schema]:
    """An object and those in it, but for what lies in an array in an array."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            for one in inner if isinstance(inner, list) else [inner]:
                yield from _objects(one)


def _has(one: Schema, *keys: str) -> bool:
    return any(key in one for key in keys)


def _among(one: Schema, keys: Collection[str]) -> str:
    return ", ".join(sorted(one.keys() & set(keys)))


def _may_be_string(one: Schema) -> bool:
    return one.get("type") is None or "string" in types(one)


def _has_other_format(one: Schema) -> bool:
    named = one.get("format")
    return "format" in one and not (isinstance(named, str) and named in _LISTS["formats"])
