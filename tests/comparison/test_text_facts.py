"""What is stored of the text of a verdict: is it about `format` alone, or a rare value."""

import json

import pytest

from harness.comparison.text_facts import TextFacts, is_plain
from tests.inprocess import InProcessJudge


@pytest.mark.parametrize(
    ("schema", "keyword", "found"),
    [
        ({"format": "date", "maxLength": 2}, "format", [True, False]),
        ({"anyOf": [{"format": "date"}, {"type": "null"}]}, "anyOf", [True, True]),
        ({"anyOf": [{"maxLength": 1}, {"type": "null"}]}, "anyOf", None),
        ({"if": {"format": "date"}, "else": False}, "false", [True, True]),
        ({"not": {"format": "date"}}, "not", [False, False]),
        ({"format": "date"}, "json", None),
    ],
)
def test_format_alone_is_what_would_be_valid_without_it(schema, keyword, found):
    """Of the texts "12" and "123"; None where nothing is asked."""
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", **schema}
    text = json.dumps(schema)
    judge = InProcessJudge()
    assert judge.open(text) is None
    asked = []

    def valid_without_formats(texts):
        asked.extend(texts)
        return judge.valid_without_formats(texts)

    facts = TextFacts(text, schema, valid_without_formats)
    texts = [b'"12"', b'"123"']
    alone = facts.format_alone_of(["false_acceptance"] * 2, [keyword] * 2, texts.__getitem__)
    assert asked == (texts if found is not None else [])
    assert alone == (found or [False, False])


DATE = {"format": "date"}


@pytest.mark.parametrize(
    ("keyword", "schema", "text"),
    [
        ("oneOf", {"oneOf": [DATE, {"type": "null"}]}, b'"12"'),
        ("contains", {"contains": DATE}, b'["12"]'),
        ("minContains", {"contains": DATE, "minContains": 2}, b'["2024-01-01", "12"]'),
        ("maxContains", {"contains": {"not": DATE}, "minContains": 0, "maxContains": 0}, b'["12"]'),
        (
            "unevaluatedItems",
            {"anyOf": [{"prefixItems": [DATE]}, True], "unevaluatedItems": False},
            b'["12"]',
        ),
        (
            "unevaluatedProperties",
            {"anyOf": [{"properties": {"a": DATE}}, True], "unevaluatedProperties": False},
            b'{"a": "12"}',
        ),
    ],
)
def test_a_keyword_may_hide_that_a_format_below_it_was_broken(keyword, schema, text):
    source = json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
    judge = InProcessJudge()
    assert judge.open(source) is None
    facts = TextFacts(source, json.loads(source), judge.valid_without_formats)
    assert facts.format_alone_of(["false_acceptance"], [keyword], [text].__getitem__) == [True]


@pytest.mark.parametrize(
    ("text", "is_everyday"),
    [
        ('{"a_b-c": [" ~", 0, -0.0, 1e-4, 0.1234567890123456, true, null]}', True),
        ('{"größe": 1000000000000.0000000000000000}', True),
        ('"\\u0061"', True),  # a letter, however it is spelt
        ('"\\u007f"', False),
        ('{"first name": "one\\n\\ttwo \\\\ \\"да\\" 👩\u200d💻"}', True),
        ('["a@[IPv6:::1]", "http://[::1]/"]', False),
        ('"a:a"', False),
        ('"a@a.a"', False),  # no top domain has one letter
        ('["a@a.aa", "@a", "anna@example"]', True),
        ('["C:\\\\temp", "mailto:anna@example.com", "a: b"]', True),
        ('"017F22E2-79B0-7CC3-98C4-DC0C0C07398F"', True),
        ('"2EB8aa08-Aa98-11ea-B4Aa-73b441d16380"', False),  # no UUID is written so
        ('["2024-05-17T14:23:05+02:00", "https://example.com/a?q=b%20c&d=1#e"]', True),
        ('"\\ud800"', False),
        ("9007199254740991", True),
        ("9007199254740992", False),
        ("1e21", False),
        ("0.30000000000000004", False),  # what is lost without the last digit is nothing
        ("9e-5", False),
        ("0.123456789012345678", False),
        ("1e999999999999999999999", False),
        ('{"\\n": 1}', False),
        ('{"": 1}', False),
        ("[1", False),
        ("NaN", False),
    ],
)
def test_a_value_is_everyday_whatever_its_spelling(text, is_everyday):
    assert is_plain(text.encode(), {"größe"}) is is_everyday


def test_a_value_of_the_case_is_real_in_every_spelling():
    schema = {"items": {"required": ["größe"]}}
    facts = TextFacts(json.dumps(schema), schema, None, [b'{"a": 1, "b": "\xc3\x9f"}', b'"\xff"'])
    shown = {
        '{"b":"\\u00df","a":1.0}': "real",
        '{"b":"\\u00df","a":2}': "plain",
        '{"b":"\\u0000","a":2}': "rare",
        '{"größe": 1}': "plain",
        '{"': "rare",
    }
    assert {text: facts.shown_by(text.encode(), "false_acceptance") for text in shown} == shown


@pytest.mark.parametrize(
    ("text", "if_lost"),
    [
        ('{"id": 1}', "plain"),
        ('{"id": 1, "extra": 1}', "rare"),
        ('{"extra": 1}', "rare"),
        ('{"env": {"PATH": "x", "id": 1}}', "plain"),
    ],
)
def test_an_undeclared_member_is_an_everyday_error_and_a_rare_value(text, if_lost):
    schema = {"properties": {"id": {}, "env": {"type": "object"}}}
    facts = TextFacts(json.dumps(schema), schema, None)
    assert facts.shown_by(text.encode(), "false_rejection") == if_lost
    assert facts.shown_by(text.encode(), "false_acceptance") == "plain"


def test_where_nothing_is_declared_ordinary_names_are_everyday():
    facts = TextFacts("{}", {"additionalProperties": {"type": "integer"}}, None)
    assert facts.shown_by(b'{"apples": 3}', "false_rejection") == "plain"


@pytest.mark.parametrize(
    ("schema", "meant", "allowed"),
    [
        ({"properties": {"a": {"type": "integer"}}}, '{"a": 1}', "3"),
        ({"anyOf": [{"type": "string"}, {"items": {"minimum": 1}}]}, "[2]", '["x"]'),
        ({"type": ["number", "null"]}, "1.5", ""),
        ({}, "3", ""),
    ],
)
def test_what_a_schema_allows_for_want_of_a_type_is_rare(schema, meant, allowed):
    facts = TextFacts(json.dumps(schema), schema, None)
    assert facts.shown_by(meant.encode(), "false_rejection") == "plain"
    assert not allowed or facts.shown_by(allowed.encode(), "false_rejection") == "rare"
