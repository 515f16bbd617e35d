"""Presets: what servers make of schemas, held to what their own functions were seen to say."""

import json
from importlib.metadata import version
from pathlib import Path

import pytest

from harness.engines.environments import is_at_hand
from harness.engines.presets import backends_of, load_presets, servers, taken_by
from harness.engines.servers import CHECKS, ServerEngine
from harness.engines.specs import adapter_class, built_in, parse_spec, parse_specs
from harness.errors import UsageError
from harness.inputs.vocabulary_hostile import hostile_vocabulary
from harness.protocol import Refused, allows, complete_options
from harness.protocol_checks.smoke import check_identity
from tests.inprocess import mask_of

EACH = pytest.mark.parametrize("preset", load_presets(), ids=lambda one: f"{one.server}")


def test_a_spec_names_a_server_and_the_beginning_of_its_release():
    spec = parse_spec("vllm@0.33")
    assert spec.name == "vllm@0.33"
    assert spec.options["release"] == "0.33.0"
    assert spec.options["backend"] == "auto"
    assert parse_spec("vllm").options == spec.options, "the newest release is meant"
    one = parse_spec("vllm@0.33[backend=guidance]")
    assert (one.name, one.packages) == ("vllm@0.33[backend=guidance]", ("llguidance==1.7.6",))
    assert parse_spec(one.name) == one


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vllm@0.1", "release 0.1 of vllm is not known"),
        ("vllm@0.33.00", "known: 0.33.0; datasets/presets.toml"),
        ("vllm[backend=llguidance]", "is not one of auto, xgrammar, guidance, outlines"),
        ("vllm[strict_mode=true]", "unknown option 'strict_mode'"),
        ("vllm[disable_any_whitespace=true]", "is not for backend outlines"),
        ("vlm", "did you mean 'vllm'?"),
    ],
)
def test_what_no_server_has_is_said(text, words):
    with pytest.raises(UsageError) as error:
        parse_spec(text)
    assert words in str(error.value)


def test_no_server_has_the_name_of_an_engine():
    assert not set(servers()) & built_in().keys()
    assert parse_specs(servers()), "each can be named without a release"


@EACH
def test_each_preset_can_be_had(preset):
    for route, steps in preset.routes.items():
        given = complete_options(preset.options, {"backend": route})
        assert {step.backend for step in steps} == preset.backends_for(given).keys()
        assert all(step.check in ("", *CHECKS) for step in steps)
        assert preset.requirements(given)
    assert preset.backend in preset.routes
    assert preset.check in ("", *CHECKS)
    for one in preset.backends.values():
        kind = adapter_class(built_in()[one.engine])
        assert kind.DISTRIBUTION in one.packages
        complete_options(kind.OPTIONS, one.options)
    for _, by_backend in preset.switches.values():
        assert by_backend.keys() <= preset.backends.keys()


def server(spec, **more):
    """The engine of a preset whose packages are at whatever version is installed."""
    return ServerEngine(hostile_vocabulary(1), {**parse_spec(spec).options, **more})


TAKEN = {
    '{"type": "object", "properties": {"a": {"type": "integer"}}}': "xgrammar",
    '{"type": "integer", "multipleOf": 3}': "guidance",
    '{"type": "integer", "minimum": 3, "maximum": 1}': "",
    '{"type": "object", "patternProperties": {"a": {"const": 1}, "b": {"const": 1}},'
    ' "additionalProperties": {"const": 1}}': "outlines",
}


@pytest.mark.engines
def test_vllm_asks_its_backends_in_order_and_says_which_took_a_schema(capfd):
    engine = server("vllm")
    for schema, backend in TAKEN.items():
        if backend:
            engine.compile(schema)
            assert taken_by(capfd.readouterr().err) == backend, schema
            continue
        with pytest.raises(Refused, match=r"^guidance: "):  # the last one asked says why
            engine.compile(schema)


@pytest.mark.engines
def test_a_backend_that_is_set_is_asked_alone():
    engine = server("vllm[backend=xgrammar]")
    with pytest.raises(Refused, match=r"^The provided JSON schema contains features not supported"):
        engine.compile('{"type": "integer", "multipleOf": 3}')
    engine = server("sglang")
    with pytest.raises(Refused, match=r"^JSON Schema at #/items is not supported by xgrammar: key"):
        engine.compile('{"items": {"multipleOf": 3}}')


@pytest.mark.engines
def test_switches_reach_the_backends():
    engine = server("vllm[backend=guidance,disable_any_whitespace=true]")
    start = engine.compile('{"type": "array", "items": {"type": "integer"}}')
    for byte in b"[1,":
        assert start.consume(byte)
    assert not allows(mask_of(start, hostile_vocabulary(1)), ord(" "))
    assert engine.info.options["guidance.whitespace"] == "none"


@pytest.mark.engines
def test_special_tokens_are_text_where_the_server_leaves_them():
    start = server("sglang").compile('{"type": "string"}')
    assert start.consume(ord('"'))
    assert allows(mask_of(start, hostile_vocabulary(1)), 257)


@pytest.mark.engines
def test_the_manifest_tells_each_backend_from_the_server():
    engine = server("vllm")
    check_identity(engine, "0.33.0")
    info = engine.info
    assert (info.name, info.version) == ("vllm", "0.33.0")
    described = {"version": info.version, "options": info.options, "packages": info.packages}
    found = backends_of(described)
    assert list(found) == ["xgrammar", "guidance", "outlines"]
    assert found["guidance"]["packages"] == {"llguidance": version("llguidance")}
    assert found["xgrammar"]["options"]["config"] == "shipped"
    assert not backends_of({"version": "1", "options": {"config": "spec"}, "packages": {}})


def test_what_a_preset_needs_may_be_installed_or_not():
    spec = parse_spec("vllm[backend=xgrammar]")
    assert is_at_hand(spec) is (version("xgrammar") == "0.2.8")


RECORDED = [
    json.loads(line)
    for line in Path(__file__).with_name("server_checks.jsonl").read_text("utf-8").splitlines()
]
"""What the functions in the files that presets.toml names say of schemas: by name of the check the
words of the refusal, True for one without words. Recorded from running them, xgrammar 0.2.8 beside.
"""


NOT_RECORDED = {"vllm-request", "guidance-json", "ollama-format"}
"""Checks of a line or two, of which one is written in Go."""


@pytest.mark.parametrize("check", sorted(CHECKS.keys() - NOT_RECORDED))
def test_checks_say_what_the_servers_own_functions_say(check):
    for one in RECORDED:
        said, recorded = CHECKS[check](one["schema"]), one["refused"].get(check)
        assert said is not None if recorded is True else said == recorded, one
    assert any(check in one["refused"] for one in RECORDED)


def test_checks_that_were_not_recorded():
    deep = {}
    for _ in range(63):
        deep = {"items": deep}
    assert CHECKS["vllm-request"](deep) is None
    assert "at most 64 levels" in CHECKS["vllm-request"]({"items": deep})
    expected = 'invalid format: "true"; expected "json" or a valid JSON Schema object'
    assert [CHECKS["ollama-format"](one) for one in ({}, True)] == [None, expected]
