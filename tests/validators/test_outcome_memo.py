"""jsonschema is asked once for each outcome that it tells apart, and never once too few."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from harness.validators import validate
from harness.validators.batch import outcome_memo
from harness.validators.batch.outcome_memo import (
    CONTENT_KEYWORDS,
    STRUCTURE,
    Names,
    RecordingValidator,
    unique,
)
from harness.validators.drafts import draft_of
from harness.validators.service import ValidatorService
from harness.workers import wire

DRAFTS = {
    "draft-04": "http://json-schema.org/draft-04/schema#",
    "draft-06": "http://json-schema.org/draft-06/schema#",
    "draft-07": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}


SEVENTH = {"$schema": DRAFTS["draft-07"]}


class YesSayer:
    """A fast validator that always says valid, so that all is left to jsonschema."""

    def is_valid(self, _value: Any) -> bool:
        return True

    def validate(self, _value: Any) -> None:
        return None

    def iter_errors(self, _value: Any) -> list[Any]:
        return []


class Gullible(ValidatorService):
    """The validators' service with such a fast validator."""

    def open(self, message: wire.Message) -> wire.Message:
        answer = super().open(message)
        if not answer.head:
            self.validators._fast = YesSayer()
        return answer


def opened(schema: Any, kind: type[ValidatorService] = Gullible) -> ValidatorService:
    service = kind()
    answer = service.open(wire.Message({"schema": json.dumps(schema), "formats": "assertion"}))
    assert not answer.head, answer.head
    return service


def many(service: ValidatorService, prefix: str, middles: Sequence[str], suffix: str) -> list[Any]:
    arrays = {
        "prefix": wire.Ragged.of_bytes([prefix.encode()]).values,
        **wire.Ragged.of_bytes([one.encode() for one in middles]).arrays("middles"),
        **wire.Ragged.of_bytes([suffix.encode()]).arrays("suffixes"),
        "which": wire.Ragged.of_ints([[0] * len(middles)]).values,
    }
    return rulings(service.screen_many(wire.Message({}, arrays)))


def whole(service: ValidatorService, prefix: str, middles: Sequence[str], suffix: str) -> list[Any]:
    texts = [(prefix + one + suffix).encode() for one in middles]
    return [tuple(service._screened(text)) for text in texts]


def rulings(answer: wire.Message) -> list[Any]:
    kinds = answer.head["kinds"]
    return [tuple(kinds[number]) for number in answer.arrays["rulings"].tolist()]


Example = tuple[Any, str, list[str], str]
"""A schema, and texts that differ in one value: prefix, middles, suffix."""

STRING = '["aa", "', ["aa", "b", "bbb", "1-2"], '"]'
NAME = '{"aa": 0, "', ["aaa", "b", "bbb", "1-2"], '": 0}'
NUMBER = "[5, ", ["5", "1", "1.5", "10"], "]"


def below(keyword: str, wanted: Any) -> Any:
    return {"items": {keyword: wanted}}


def names(keyword: str, wanted: Any) -> Any:
    return {"propertyNames": {keyword: wanted}}


EXAMPLES: dict[tuple[str, str], Example] = {
    ("string", "enum"): (below("enum", ["aa", "b"]), *STRING),
    ("string", "const"): (below("const", "aa"), *STRING),
    ("string", "pattern"): (below("pattern", "^[a-z]{2}"), *STRING),
    ("string", "format"): (below("format", "json-pointer"), '["', ["", "/a", "a"], '"]'),
    ("string", "minLength"): (below("minLength", 2), *STRING),
    ("string", "maxLength"): (below("maxLength", 2), *STRING),
    ("name", "pattern"): (names("pattern", "^[a-z]{2}"), *NAME),
    ("name", "format"): (names("format", "ipv4"), '{"', ["1.2.3.4", "a", "b"], '": 0}'),
    ("name", "minLength"): (names("minLength", 2), *NAME),
    ("name", "maxLength"): (names("maxLength", 2), *NAME),
    ("number", "enum"): (below("enum", [5, 1]), *NUMBER),
    ("number", "const"): (below("const", 5), *NUMBER),
    ("number", "type"): (below("type", "integer"), *NUMBER),
    ("number", "multipleOf"): (below("multipleOf", 5), *NUMBER),
    ("number", "minimum"): (below("minimum", 5), *NUMBER),
    ("number", "maximum"): (below("maximum", 5), *NUMBER),
    ("number", "exclusiveMinimum"): (below("exclusiveMinimum", 1), *NUMBER),
    ("number", "exclusiveMaximum"): (below("exclusiveMaximum", 10), *NUMBER),
    ("container", "enum"): ({"enum": [["aa", "b"], ["aa", "aa"]]}, *STRING),
    ("container", "const"): ({"const": [5, 1]}, *NUMBER),
    ("container", "uniqueItems"): ({"uniqueItems": True}, *STRING),
}  # fmt: skip


def test_every_keyword_that_looks_at_content_has_an_example():
    assert set(EXAMPLES) == {
        (kind, one) for kind, keywords in CONTENT_KEYWORDS.items() for one in keywords
    }


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=map("-".join, EXAMPLES))
def test_all_is_as_with_whole_texts(example):
    schema, *texts = example
    expected = whole(opened(schema), *texts)
    assert many(opened(schema), *texts) == expected
    assert many(opened(schema), texts[0], texts[1][::-1], texts[2]) == expected[::-1]


@pytest.mark.parametrize(("kind", "keyword"), EXAMPLES)
def test_no_keyword_may_be_left_out(kind, keyword, monkeypatch):
    schema, *texts = EXAMPLES[kind, keyword]
    expected = whole(opened(schema), *texts)
    monkeypatch.setitem(CONTENT_KEYWORDS, kind, CONTENT_KEYWORDS[kind] - {keyword})
    backwards = many(opened(schema), texts[0], texts[1][::-1], texts[2])[::-1]
    assert expected != many(opened(schema), *texts) or expected != backwards


@pytest.mark.parametrize("draft", DRAFTS)
def test_every_keyword_of_a_draft_is_known(draft):
    made = draft_of({"$schema": DRAFTS[draft]})
    assert made is not None
    assert set(made.repaired.VALIDATORS) <= STRUCTURE.union(*CONTENT_KEYWORDS.values())


def test_a_keyword_that_is_not_known_teaches_nothing(monkeypatch):
    schema = below("maxLength", 2)
    monkeypatch.setattr(outcome_memo, "_KNOWN", outcome_memo._KNOWN - {"maxLength"})
    monkeypatch.setattr(outcome_memo.Tree, "learn", pytest.fail)
    assert many(opened(schema), *STRING) == whole(opened(schema), *STRING)


@pytest.fixture
def counted(monkeypatch):
    """How often jsonschema was recorded."""
    runs: list[Any] = []
    genuine = RecordingValidator.run

    def run(self, *args: Any) -> Any:
        runs.append(args[-1])
        return genuine(self, *args)

    monkeypatch.setattr(RecordingValidator, "run", run)
    return runs


@pytest.fixture
def few_frames(monkeypatch):
    """An endless recursion ends sooner."""
    frames = sys.getrecursionlimit()
    monkeypatch.setattr(validate, "_FRAMES", 1000)
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(frames)


class TestHowOften:
    MANY = tuple(f"x{number}" for number in range(200))

    def test_once_where_nothing_looks_at_the_content(self, counted):
        schema = {"properties": {"a": {"type": "string"}, "b": {"pattern": "^never$"}}}
        many(opened(schema, ValidatorService), '{"c": ["b"], "a": "', self.MANY, '"}')
        assert len(counted) == 1

    def test_once_for_each_outcome(self, counted):
        schema = {"properties": {"a": {"minLength": 3, "pattern": "[05]$"}}}
        many(opened(schema), '{"a": "', self.MANY, '"}')
        assert len(counted) == 3, "too short; long enough, with pattern and without"

    def test_once_for_names_that_are_alike(self, counted):
        schema = {
            "properties": {"x7": {"type": "string"}},
            "patternProperties": {"5$": {"type": "integer"}},
            "additionalProperties": {"minimum": 0},
        }
        many(opened(schema), '{"', self.MANY, '": 1}')
        assert len(counted) == 2, "the pattern matches or does not; x7 is validated whole"

    def test_once_for_the_strings_of_all_positions_in_one_place(self, counted):
        service = opened({"properties": {"a": {"type": "string"}}})
        many(service, '{"a": "', self.MANY, 'd"}')
        many(service, '{"a": "wor', self.MANY, '"}')
        assert len(counted) == 1

    def test_once_for_names_below_a_metaschema_that_is_referred_to(self, counted):
        many(opened({"items": {"$ref": DRAFTS["draft-07"]}}), '[{"', self.MANY, '": 1}]')
        assert len(counted) == 1

    def test_once_where_only_what_is_equal_is_looked_at(self, counted):
        schema = SEVENTH | {"items": [{"minLength": 1}, {"type": "string"}]}
        many(opened(schema), '["ab", "', ["ab"] * 10, '"]')
        assert len(counted) == 1

    def test_once_for_each_outcome_of_a_subschema_of_another_draft(self, counted):
        below = {"$schema": DRAFTS["draft-07"], "$id": "urn:a", "maxLength": 2}
        schema = {"$schema": DRAFTS["2020-12"], "items": below}
        texts = '["', ["a", "bbb", "cc", "dddd"], '"]'
        assert many(opened(schema), *texts) == whole(opened(schema), *texts)
        assert len(counted) == 2

    def test_what_teaches_nothing_is_given_up(self, counted, few_frames):
        many(opened({"$ref": "#"}), '["', self.MANY[:11], '"]')
        assert 1 <= len(counted) <= 10


HEARD: dict[str, Example] = {
    "not what is equal in another place": (
        SEVENTH | {"items": [{"minLength": 1}, {"maxLength": 2}]},
        '["ab", "', ["ab", "b", "abc", ""], '"]',
    ),
    "nor a small number, of which Python has one object": (
        SEVENTH | {"items": [{"minimum": 3}, {"maximum": 4}]},
        "[5, ", ["5", "2", "4", "9"], "]",
    ),
    "the same keyword in two schemas": (
        {"items": {"allOf": [{"maxLength": 3}, {"maxLength": 1}]}},
        '["', ["bb", "b", "bbbb"], '"]',
    ),
    "the same schema of two containers": (
        {"uniqueItems": True, "items": {"$ref": "#"}},
        '[["a", "', ["b", "a", "c"], '"], "a"]',
    ),
    "a name in a container": ({"uniqueItems": True}, '[{"aa": 1}, {"', ["b", "aa", "c"], '": 1}]'),
    "a name that is a value": (
        {"propertyNames": {"if": {"minLength": 2}, "then": {"pattern": "^a"}}},
        '{"', ["b", "ab", "bb", "c"], '": 1}',
    ),
    "names of a metaschema that is referred to": (
        {"$ref": DRAFTS["draft-07"]},
        '{"', ["minimum", "type", "a", "b", "enum"], '": 1}',
    ),
    "what decides which subschema holds": (
        {"oneOf": [{"items": {"maxLength": 1}}, {"minItems": 2}], "not": {"contains": {"const": "x"}}},
        '["a", "', ["b", "x", "bb", "xx"], '"]',
    ),
    "what decides what is evaluated": (
        {"anyOf": [{"properties": {"a": {"const": "x"}}}, {}], "unevaluatedProperties": False},
        '{"a": "', ["x", "y", "z"], '"}',
    ),
}  # fmt: skip


@pytest.mark.parametrize("example", HEARD.values(), ids=HEARD)
def test_is_recorded(example):
    schema, *texts = example
    expected = whole(opened(schema), *texts)
    assert len(set(expected)) > 1
    assert many(opened(schema), *texts) == expected
    assert many(opened(schema), texts[0], texts[1][::-1], texts[2]) == expected[::-1]


def test_a_value_is_an_object_of_its_own():
    for value in (5, 0.5, "a", ""):
        assert unique(value) == value
        assert unique(value) is not unique(value)
        assert repr(unique(value)) == repr(value)


def test_of_schemas_that_are_not_known_nothing_is_learnt(monkeypatch):
    monkeypatch.setattr(outcome_memo, "_metaschemas", outcome_memo._Parts)
    schema, *texts = HEARD["names of a metaschema that is referred to"]
    expected = whole(opened(schema), *texts)
    assert many(opened(schema), texts[0], texts[1][::-1], texts[2]) == expected[::-1]


class TestNames:
    def test_are_alike_where_the_same_patterns_match(self):
        alike = Names({"items": {"patternProperties": {"^a": True, "b$": True}}}).alike
        assert alike("ax") == alike("ay") != alike("axb")
        assert alike("x") == alike("") != alike("ax")

    def test_are_like_no_other_where_the_schema_says_them(self):
        alike = Names({"required": ["a"], "properties": {"b": True}, "enum": [{"c": 1}]}).alike
        assert [alike(one) for one in ("a", "b", "c", "properties", "$schema")] == [None] * 5
        assert alike("d") is not None

    def test_are_like_no_other_where_a_pattern_cannot_be_read(self):
        assert Names({"properties": {"patternProperties": {"(": 1}}}).alike("a") is None
