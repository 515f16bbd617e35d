"""What lm-format-enforcer's adapter makes of the library: the same masks, and its exceptions."""

import json
import random

import pytest

from adapters.lm_format_enforcer import LMFormatEnforcerEngine
from harness.errors import UsageError
from harness.inputs.vocabulary_hostile import hostile_vocabulary
from harness.protocol import allows, complete_options, set_bits, token_ids
from tests.inprocess import mask_of

pytestmark = pytest.mark.engines

NODE = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "next": {"$ref": "#/$defs/node"}},
    "required": ["a"],
}
SCHEMAS = [
    {},
    {"type": "array", "items": {"type": ["string", "number", "null"]}, "minItems": 1},
    {"type": "array", "items": {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "array"}]}},
    {"$defs": {"node": NODE}, **NODE},
    {"type": "object", "required": ["a"], "additionalProperties": {"type": "integer"}},
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": "^[a-c]{2,4}(-[0-9])?$"},
            "na": {"enum": ["a", "ab", 'a"b']},
            "n": {"enum": [1, 12, -1.5]},
            "b": {"oneOf": [{"properties": {"b": {"type": "boolean"}}}, {"properties": {}}]},
        },
        "required": ["n"],
    },
    {"type": "string", "minLength": 2, "maxLength": 4},
    {"anyOf": [{"type": "number"}, {"const": "a"}]},
]
VOCABULARY = hostile_vocabulary(1)
END = set_bits(VOCABULARY.eos_ids, VOCABULARY.words)


@pytest.fixture(scope="module")
def engine():
    return LMFormatEnforcerEngine(
        VOCABULARY, complete_options(LMFormatEnforcerEngine.OPTIONS, {"config": "shipped"})
    )


def decoded(ids):
    text = b"".join(VOCABULARY.tokens[one] for one in ids).decode("utf-8", "replace")
    return text.rstrip("\ufffd")


@pytest.fixture(scope="module")
def library():
    """The library by itself, as its integrations drive it, with its bit masks."""
    from lmformatenforcer import JsonSchemaParser, TokenEnforcer, TokenEnforcerTokenizerData

    texts = [
        (token, text.decode("utf-8", "replace"), False)
        for token, text in enumerate(VOCABULARY.tokens)
        if text and not VOCABULARY.special[token]
    ]
    data = TokenEnforcerTokenizerData(texts, decoded, VOCABULARY.eos, True, VOCABULARY.size)
    return lambda schema: TokenEnforcer(data, JsonSchemaParser(schema))


def masks_along(matcher, rng, steps):
    """Walk wherever the masks allow it; yields what was consumed, and the mask (None: it fails)."""
    consumed = []
    for _ in range(steps):
        try:
            mask = mask_of(matcher, VOCABULARY)
        except RuntimeError:
            yield consumed, None
            return
        yield consumed, mask
        ids = token_ids(mask & ~VOCABULARY.eos_mask, VOCABULARY.size).tolist()
        short = [one for one in ids if len(VOCABULARY.tokens[one]) == 1] or ids
        if not ids:
            return
        token = rng.choice(rng.choice([ids, short]))
        try:
            assert matcher.consume(token)
        except RuntimeError:
            return
        consumed = [*consumed, token]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda one: json.dumps(one)[:40])
def test_masks_are_those_of_the_library_alone(engine, library, schema):
    start, alone = engine.compile(json.dumps(schema)), library(schema)
    alone.get_allowed_tokens([])
    for number in range(8):
        rng = random.Random(f"{schema}/{number}")
        for consumed, mask in masks_along(start.clone(), rng, 25):
            known = alone.get_allowed_tokens(consumed).allowed_tokens.numpy().view("uint32")
            expected = END if mask is None else mask
            assert known.tolist() == expected.tolist(), decoded(consumed)


class TestExceptions:
    BROKEN = json.dumps({"type": "object", "properties": {"xyz": {}, "b": {"type": "null"}}})

    def test_what_the_library_logs_is_raised(self, engine, caplog):
        matcher = matcher_behind(engine, self.BROKEN, b'{"xyz')
        with pytest.raises(RuntimeError, match="lm-format-enforcer: Exception: Unsupported type"):
            mask_of(matcher, VOCABULARY)
        assert not caplog.records

    def test_what_fails_is_not_followed(self, engine):
        matcher = engine.compile(self.BROKEN)
        assert matcher.follow(b'{"b":null}') == 10
        assert matcher.follow(b'{"xyz":null}') == 6


@pytest.mark.parametrize(
    ("options", "most_spaces", "most_items"),
    [
        ({"config": "shipped"}, 12, 20),
        ({}, 40, 40),
        ({"whitespaces": "2", "array_items": "3"}, 2, 3),
        ({"config": "shipped", "array_items": "0"}, 12, 40),
    ],
)
def test_limits(options, most_spaces, most_items, monkeypatch):
    monkeypatch.setenv("LMFE_MAX_CONSECUTIVE_WHITESPACES", "1")
    options = complete_options(LMFormatEnforcerEngine.OPTIONS, options)
    with pytest.raises(UsageError, match="whitespaces is auto or a number, not 'few'"):
        LMFormatEnforcerEngine(VOCABULARY, {**options, "whitespaces": "few"})
    matcher = LMFormatEnforcerEngine(VOCABULARY, options).compile('{"type": "array"}')
    assert matcher.follow(b"[" + b" " * 40) == 1 + most_spaces
    items = b"[1" + b",1" * 39
    assert matcher.follow(items) == min(len(items), 2 * most_items)


def test_characters_of_one_pattern_are_not_those_of_another_schema(engine):
    """The library keeps expressions for all schemas; the first would tell what the others allow."""
    root = '{"type": "string", "pattern": "^[^x]$"}'
    nested = '{"type": "array", "items": {"type": "string", "pattern": "^[^x]$"}}'
    expected = mask_of(matcher_behind(engine, nested, b'["'), VOCABULARY)
    engine.compile(root)
    assert mask_of(matcher_behind(engine, nested, b'["'), VOCABULARY).tolist() == expected.tolist()
    assert allows(expected, "日".encode()[0])


def matcher_behind(engine, schema, text):
    matcher = engine.compile(schema)
    assert all(matcher.consume(byte) for byte in text)
    return matcher
