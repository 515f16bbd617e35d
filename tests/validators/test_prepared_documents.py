"""Many texts that differ in one place have the rulings that each has as a whole."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.validators.batch import prepared_documents
from harness.validators.judge import CONTESTED, INVALID, SUSPECT, UNDECIDED, VALID
from harness.validators.service import ValidatorService
from harness.validators.validate import Validators
from harness.workers import wire
from tests.validators.test_outcome_memo import DRAFTS, Gullible, opened, rulings

pytestmark = pytest.mark.thorough

Validators("true")  # raises the limit of recursion, which must not change within a property

WORDS = ["", "a", "b", "ab", "aab", "2020-01-01", "/a", "é", "\U0001f600", "a\nb", '"', "\\"]
NUMBERS = [0, 1, 2, 5, -1, 1.5, 10, 1e3, 0.1]

words = st.sampled_from(WORDS)
numbers = st.sampled_from(NUMBERS)
keys = st.sampled_from(["a", "b", "ab", "c", "é"])
values = st.recursive(
    st.none() | st.booleans() | numbers | words | words,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(keys | words, below, max_size=4),
    max_leaves=10,
)

documents = (
    st.lists(values | words, min_size=1, max_size=4)
    | st.dictionaries(keys, values | words, min_size=1, max_size=4)
    | words
    | numbers
)

ASSERTIONS = {
    "type": st.sampled_from(["string", "integer", "number", "object", "array"])
    | st.lists(st.sampled_from(["string", "integer", "null"]), min_size=1, max_size=2, unique=True),
    "enum": st.lists(values, min_size=1, max_size=3),
    "const": values,
    "pattern": st.sampled_from(["a", "^a", "b$", "^[a-z]*$", "[0-9]"]),
    "format": st.sampled_from(["date", "json-pointer", "ipv4", "email", "regex", "unknown"]),
    "minLength": st.integers(0, 3),
    "maxLength": st.integers(0, 4),
    "minimum": numbers,
    "maximum": numbers,
    "multipleOf": st.sampled_from([1, 2, 0.5]),
    "uniqueItems": st.booleans(),
    "minItems": st.integers(0, 3),
    "maxItems": st.integers(0, 3),
    "minProperties": st.integers(0, 2),
    "maxProperties": st.integers(0, 3),
    "required": st.lists(keys, min_size=1, max_size=2, unique=True),
    "$ref": st.sampled_from(["#/definitions/d", "#/definitions/e"]),
}


def applied(below: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    several = st.lists(below, min_size=1, max_size=3)
    named = st.dictionaries(keys, below, min_size=1, max_size=3)
    return {
        "properties": named,
        "patternProperties": st.dictionaries(st.sampled_from(["a", "^b", "é"]), below, max_size=2),
        "additionalProperties": st.booleans() | below,
        "propertyNames": below,
        "unevaluatedProperties": st.booleans() | below,
        "unevaluatedItems": st.booleans() | below,
        "items": below | several,
        "prefixItems": several,
        "additionalItems": st.booleans() | below,
        "contains": below,
        "minContains": st.integers(0, 2),
        "maxContains": st.integers(1, 2),
        "allOf": several,
        "anyOf": several,
        "oneOf": several,
        "not": below,
        "if": below,
        "then": below,
        "else": below,
        "dependencies": st.dictionaries(keys, st.lists(keys, unique=True) | below, max_size=2),
        "dependentSchemas": named,
        "dependentRequired": st.dictionaries(keys, st.lists(keys, unique=True), max_size=2),
    }


@st.composite
def keywords(draw: Any, choices: dict[str, st.SearchStrategy[Any]], most: int) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(sorted(choices)), max_size=most, unique=True))
    return {name: draw(choices[name]) for name in names}


plain = keywords(ASSERTIONS, 2)
schemas = st.recursive(
    plain, lambda below: keywords(ASSERTIONS | applied(below), 4), max_leaves=6
).filter(bool)


@st.composite
def judged(draw: Any) -> Any:
    """A schema of some draft, with two definitions that refer to nothing."""
    simple = {name: one for name, one in ASSERTIONS.items() if name != "$ref"}
    definitions = {"d": draw(keywords(simple, 2)), "e": draw(keywords(simple, 2))}
    draft = DRAFTS[draw(st.sampled_from(sorted(DRAFTS)))]
    return {"$schema": draft, "definitions": definitions, **draw(schemas)}


PLAIN = [*(b"", b"a", b"b", b"ab", b"aa", b"bb", b"xyz", b"0", b"1", b"12", b"aab", b"5", b"15")]
MIDDLES = [
    *(b".5", b"e1", b"-", b" ", b"1e999", b"1.00000000000000001", b"0" * 20, b"true"),
    *(b"\xc3\xa9", b"\xc3", b"\xa9", b"\xf0\x9f", b"\x98\x80", b"\xff", b"\n", b"\x00", b"\x7f"),
    *(b"\\", b"\\n", b"\\u0061", b"\\u", b"0061", b"\\ud83d", b"\\ude00", b"\\x", b'\\"', b"\\\\"),
    *(b'"', b'a"', b'", "', b'": "', b'"}', b'"]', b'a": 1, "a', b"[", b"]", b"}", b","),
    *(b'"a', b'"a"', b' "b', b',"'),
]
LITERAL = re.compile(rb'"(?:[^"\\]|\\.)*"|-?[0-9][-+.0-9e]*')


@st.composite
def cut_texts(draw: Any) -> tuple[bytes, list[bytes], list[bytes], list[int]]:
    """A text cut in or around a literal, other tokens, other ends: prefix, middles, suffixes, which."""
    text = json.dumps(draw(documents), ensure_ascii=draw(st.booleans())).encode()
    text = draw(st.sampled_from([text, text, text.replace(b"a", b"\\u0061"), text + b" "]))
    literals = [one.span() for one in LITERAL.finditer(text)] or [(0, len(text))]
    first, last = draw(st.sampled_from(literals))
    inside = st.integers(first + 1, max(last - 1, first + 1))
    start = draw(inside | inside | inside | st.integers(first, last))
    end = draw(st.integers(start, max(last - 1, start)))
    middle = st.sampled_from(PLAIN * 4 + MIDDLES) | st.binary(max_size=3)
    middles = draw(st.lists(middle, min_size=10, max_size=20))
    suffixes = [text[end:], text[start:], text[last - 1 :], b'"' + text[last:], b'"}', b""]
    some = st.sampled_from([0] * 6 + [1, 2, 2, 2, 3, 4, 5])
    which = draw(st.lists(some, min_size=len(middles), max_size=len(middles)))
    return text[:start], middles, suffixes, which


def screened(service: ValidatorService, texts: Any, what: str = "screen_many") -> list[Any]:
    prefix, middles, suffixes, which = texts
    arrays = {
        "prefix": wire.Ragged.of_bytes([prefix]).values,
        **wire.Ragged.of_bytes(middles).arrays("middles"),
        **wire.Ragged.of_bytes(suffixes).arrays("suffixes"),
        "which": np.array(which, dtype=np.int32),
    }
    return rulings(service.handle(wire.Message({"do": what}, arrays)))


def one_by_one(service: ValidatorService, texts: Any, what: str = "screen_many") -> list[Any]:
    prefix, middles, suffixes, which = texts
    rule = service._screened if what == "screen_many" else service._judged
    pairs = zip(middles, which, strict=True)
    return [tuple(rule(prefix + one + suffixes[at])) for one, at in pairs]


def ready(schema: Any, kind: type[ValidatorService]) -> ValidatorService | None:
    service = kind()
    answer = service.open(wire.Message({"schema": json.dumps(schema), "formats": "assertion"}))
    return None if answer.head else service


class Broken:
    """A fast validator that fails, or contradicts itself."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def is_valid(self, _value: Any) -> bool:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def validate(self, _value: Any) -> None:
        return None

    def iter_errors(self, _value: Any) -> list[Any]:
        return []


class Stubborn(ValidatorService):
    """The validators' service with a fast validator that always says invalid."""

    def open(self, message: wire.Message) -> wire.Message:
        answer = super().open(message)
        if not answer.head:
            self.validators._fast = Broken(answer=False)
        return answer


@pytest.mark.parametrize("kind", [ValidatorService, Gullible, Stubborn])
@settings(suppress_health_check=list(HealthCheck))
@given(schema=judged(), several=st.lists(cut_texts(), min_size=1, max_size=6))
def test_the_rulings_are_those_of_the_whole_texts(kind, schema, several):
    service, plain = ready(schema, kind), ready(schema, kind)
    if service is None or plain is None:
        return
    few, prepared_documents.FEW = prepared_documents.FEW, 0
    try:
        for texts in several:
            expected = one_by_one(plain, texts), one_by_one(plain, texts, "judge")
            for _ in range(2):  # what was kept is right, too
                assert (
                    screened(service, texts),
                    screened(service, texts, "judge_many"),
                ) == expected
    finally:
        prepared_documents.FEW = few


DEEP = b"[" * 201
LOST = b"1.00000000000000001"

EXAMPLES: dict[str, tuple[Any, bytes, list[bytes], bytes, list[tuple[int, str]]]] = {
    "the whole text is a string": (
        {"maxLength": 2},
        b'"a',
        [b"", b"b", b"bb", b"\\", b"\xff"],
        b'"',
        [(VALID, ""), (VALID, ""), (SUSPECT, ""), (INVALID, "not_json"), (INVALID, "not_json")],
    ),
    "half of a pair is worse than a name that occurs twice": (
        {},
        b'{"a": 1, "a": "',
        [b"x", b"y", b"\\ud800", b"\n"],
        b'"}',
        [(CONTESTED, "duplicate_keys")] * 2
        + [(CONTESTED, "lone_surrogate"), (INVALID, "not_json")],
    ),
    "a name that occurs twice is worse than a number that is not kept": (
        {},
        b'{"a": ' + LOST + b', "',
        [b"x", b"y", b"a", b"\\u0061"],
        b'": 1}',
        [(UNDECIDED, "number_precision")] * 2 + [(CONTESTED, "duplicate_keys")] * 2,
    ),
    "a name that occurs twice is worse than a number out of range": (
        {},
        b'{"a": 1e999, "',
        [b"x", b"y", b"a"],
        b'": 1}',
        [(UNDECIDED, "number_range")] * 2 + [(CONTESTED, "duplicate_keys")],
    ),
    "nested too deep is worse than not JSON": (
        {},
        DEEP + b'"',
        [b"x", b"y", b"\n", b'"x', b"\xff"],
        b'"' + b"]" * 201,
        [(UNDECIDED, "too_deep")] * 4 + [(INVALID, "not_json")],
    ),
    "a number of its own that is not kept": (
        {},
        b"[",
        [b"1", b"2", b"1e999", LOST],
        b"]",
        [(VALID, ""), (VALID, ""), (UNDECIDED, "number_range"), (UNDECIDED, "number_precision")],
    ),
    "patterns that need backtracking": (
        {"items": {"pattern": "^(?=a)"}, "propertyNames": {"pattern": "^(?=a)"}},
        b'["',
        [b"a", b"b", b"ab"],
        b'"]',
        [(VALID, ""), (INVALID, ""), (VALID, "")],
    ),
    "names under patterns that need backtracking": (
        {"propertyNames": {"pattern": "^(?=a)"}},
        b'{"aa": 1, "',
        [b"a", b"b", b"aa"],
        b'": 1}',
        [(VALID, ""), (INVALID, ""), (CONTESTED, "duplicate_keys")],
    ),
    "texts that hold what stands in for the value": (
        {"properties": {"a": {"maxLength": 1}}},
        b'{"maskcourt0": "maskcourt1", "b": "\\u006daskcourt2", "a": "',
        [b"x", b"y", b"xx"],
        b'"}',
        [(VALID, ""), (VALID, ""), (SUSPECT, "")],
    ),
    "texts that hold all that could stand in for it": (
        {},
        b'["maskcourt0", "maskcourt1", "maskcourt2", "maskcourt3", "',
        [b"x", b"y", b"z"],
        b'"]',
        [(VALID, "")] * 3,
    ),
    "no texts": ({}, b'"', [], b'"', []),
}


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_examples(example):
    schema, prefix, middles, suffix, expected = example
    texts = prefix, middles, [suffix], [0] * len(middles)
    service = opened(schema, ValidatorService)
    found = screened(service, texts)
    assert [(verdict, reason) for verdict, reason, *_ in found] == expected
    assert found == one_by_one(service, texts)


def test_errors_are_in_the_order_of_the_members():
    """The first of two is named, and its pointer holds the name that the token is part of."""
    schema = {"properties": {"z": True}, "additionalProperties": {"type": "string"}}
    texts = b'{"b": "", "', [b"x", b"a", b"zz"], [b'": 1, "a0": 2}'], [0] * 3
    found = screened(opened(schema, ValidatorService), texts)
    assert [ruling[4] for ruling in found] == ["/x", "/a", "/zz"]


def test_names_that_jsonschema_finds_fault_with_are_named_each():
    schema = {"additionalProperties": {"type": "string"}}
    texts = b'{"', [b"x", b"a", b"zz"], [b'": 1}'], [0] * 3
    found = screened(opened(schema), texts)
    assert [(one[0], one[4]) for one in found] == [
        (CONTESTED, f"/{name}") for name in ("x", "a", "zz")
    ]


def test_names_that_an_error_does_not_name_are_judged_at_once(monkeypatch):
    schema = {"additionalProperties": False}
    texts = b'{"', [b"x", b"a", b"zz"], [b'": 1}'], [0] * 3
    service = opened(schema, ValidatorService)
    expected = one_by_one(service, texts, "judge_many")
    monkeypatch.setattr(service.validators, "judge_value", pytest.fail)
    assert screened(service, texts, "judge_many") == expected
    assert {ruling[0] for ruling in expected} == {INVALID}


def test_where_jsonschema_rs_alone_says_invalid_its_error_is_named():
    texts = b'["a', [b"b--c", b"b--d", b"", b"b"], [b'"]'], [0] * 4
    service = opened({"items": {"format": "hostname"}}, ValidatorService)
    found = screened(service, texts, "judge_many")
    assert found == one_by_one(service, texts, "judge_many")
    differ = (CONTESTED, "validators_differ", "format", "/items/format", "/0", "valid", "invalid")
    assert found[:2] == [differ, differ]


def test_where_the_limit_for_backtracking_is_reached():
    """Which a word with an e at its end does here."""
    texts = b'["', [b"x", b"ab", b"ae", b"b"], [b'"]'], [0] * 4
    service = opened({"items": {"pattern": "^(?=x|ab)"}}, ValidatorService)
    service.validators.gave_up = lambda value: value[0].endswith("e")
    for what in "screen_many", "judge_many":
        found = screened(service, texts, what)
        assert found == one_by_one(service, texts, what)
        assert [ruling[1] for ruling in found] == ["", "", "pattern_limit", ""]


def test_no_more_documents_are_kept_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(prepared_documents, "MAX_PLACES", 2)
    service = opened({}, ValidatorService)
    for number in range(5):
        texts = b'[%d, "' % number, [b"a", b"b", b"c"], [b'"]'], [0] * 3
        assert {ruling[0] for ruling in screened(service, texts)} == {VALID}
    assert len(service._prepared._documents) == 2


def test_another_schema_is_prepared_for_anew():
    texts = b'["', [b"a", b"b", b"c"], [b'"]'], [0] * 3
    service = opened({"items": {"const": "a"}}, ValidatorService)
    assert [ruling[0] for ruling in screened(service, texts)] == [VALID, SUSPECT, SUSPECT]
    service.open(wire.Message({"schema": '{"items": {"const": "b"}}', "formats": "assertion"}))
    assert [ruling[0] for ruling in screened(service, texts)] == [SUSPECT, VALID, SUSPECT]


@pytest.mark.parametrize("answer", [ValueError(), type("Panic", (BaseException,), {})(), False])
def test_where_the_fast_validator_fails_both_are_asked_of_the_whole(answer):
    service = opened({"items": {"const": "a"}}, ValidatorService)
    service.validators._fast = Broken(answer)
    texts = b'["', [b"a", b"b", b"c"], [b'"]'], [0] * 3
    assert screened(service, texts) == one_by_one(service, texts)
