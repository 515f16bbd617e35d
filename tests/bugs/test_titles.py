"""Titles of bugs: true of the smallest case, and the same for all that is one bug."""

import itertools
from collections import defaultdict

import pytest

from harness.bugs.error_case import ErrorCase, compact
from harness.bugs.identity import bug_id, title

STRING = '{"type":"string","minLength":1}'
MEMBERS = '{"type":"object","properties":{"a":{"type":"boolean"}},"required":["b"]}'


@pytest.mark.parametrize(
    ("kind", "schema", "text", "at", "keyword", "words"),
    [
        ("false_acceptance", '{"type":"object"}', b'{"":"\xed\xb4\x9f"}', 6, "json",
         "invalid JSON is allowed: ill-formed UTF-8"),
        ("false_acceptance", STRING, b'"\x13"', 1, "json",
         "invalid JSON is allowed: a control character in a string under `minLength`"),
        ("false_rejection", '{"type":"boolean"}', b" true", 0, "",
         "a space is refused before a value under `type`"),
        ("false_rejection", '{"type":"boolean"}', b"true ", 4, "",
         "a space is refused after the document under `type`"),
        ("false_rejection", '{"type":"integer"}', b"0 ", 1, "",
         "a space is refused after the document under `type`"),
        ("false_rejection", '{"type":"array"}', b"[0 ,0]", 3, "",
         "`,` is refused after a value and white space under `type`"),
        ("false_rejection", '{"type":"array"}', b"[0,0]", 2, "",
         "`,` is refused after a value under `type`"),
        ("false_acceptance", '{"type":"string","pattern":"^a$"}', b'""', 1, "pattern",
         "accepts an empty string that breaks `pattern`"),
        ("false_rejection", MEMBERS, b'{"b":0}', 2, "",
         "an undeclared key before any declared one is refused under `required`"),
        ("false_rejection", MEMBERS, b'{"a":true,"b":0}', 2, "",
         "a declared key is refused under `required`"),
        ("false_rejection", '{"type":"number","minimum":0}', b"-0", 0, "",
         "a number with a minus sign is refused under `minimum`"),
        ("false_rejection", '{"type":"object"}', b'{"a":0}', 1, "",
         "a quote is refused at the start of a key under `type`"),
        ("false_acceptance", '{"type":"string","pattern":"^\\\\d$"}', '"\u0667"'.encode(), -1, "pattern",
         "accepts a string with a character beyond ASCII that breaks `pattern`"),
        ("false_rejection", STRING, b'"\\""', 1, "",
         "a backslash escape is refused in a string under `minLength`"),
        ("false_rejection", '{"type":"number"}', b"1E5", 1, "",
         "an exponent is refused in a number under `type`"),
        ("never_stops", STRING, b'"a"', 3, "", "the end is refused after a valid value"),
    ],
)  # fmt: skip
def test_a_title_says_what_the_engine_does(kind, schema, text, at, keyword, words):
    assert title(ErrorCase("e", kind, schema, text), keyword, at).startswith(words)


def test_what_is_one_bug_has_one_title():
    parts = [
        {"type": "string", word: value}
        for word, value in (
            ("minLength", 1),
            ("minLength", 7),
            ("pattern", "^x"),
            ("format", "date"),
        )
    ]
    schemas = [
        {"required": [other], "properties": {key: part}, "type": "object"}
        for key, other in itertools.permutations(["a", "bc", "d1"], 2)
        for part in parts
    ] + [
        {"type": "object", "properties": {key: part}, "required": [other]}
        for key, other in itertools.permutations(["a", "bc", "d1"], 2)
        for part in parts
    ]
    refused = [b'{"a":"x"}', b'{"bc":"\\n y", "e":[1,-2]}', b'{ "z\xc3\xa9" :0.5,"a":"7"}']
    accepted = [b'"\xc3\xa9"', b'""', b'"a b"', b'"b c"', b'"77"', b"{}", b"[]", b"0", b"-1"]
    titles = defaultdict(set)
    for schema, text in itertools.product(schemas, refused):
        for at in range(len(text) + 1):
            case = ErrorCase("e", "false_rejection", compact(schema), text)
            titles[bug_id(case, at)].add(title(case, "", at))
    parts += [dict(reversed(part.items())) for part in parts]
    for part, text in itertools.product(parts, accepted):
        case = ErrorCase("e", "false_acceptance", compact(part), text)
        titles[bug_id(case, -1)].add(title(case, min(part), -1))
    assert {name: words for name, words in titles.items() if len(words) > 1} == {}
