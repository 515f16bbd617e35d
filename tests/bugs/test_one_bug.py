"""One error that was met in different forms is one bug; engines are functions, no process starts."""

from __future__ import annotations

import json
import re

import pytest
from jsonschema import ValidationError

from harness.bugs.error_case import ErrorCase, compact
from harness.bugs.identity import bug_id
from harness.bugs.shrink import MOST_FAILURES, shrink
from harness.bugs.text_edits import sort_of
from harness.bugs.trial import Symptom
from harness.validators.drafts import draft_of

ESCAPE = "inside string: " + sort_of(b"\\")


class Engine:
    """An engine with one error: what it shows on a schema and a text, if any."""

    seconds = 0.0

    def __init__(self, shows, kind="false_rejection"):
        self._shows = shows
        self._kind = kind
        self.failures = 0

    def reproduce_all(self, cases):
        for case in cases:
            yield self._shows(case.parsed, case.text) if self._may_be(case) else None

    def _may_be(self, case):
        try:
            draft_of(case.parsed).repaired(case.parsed).validate(json.loads(case.text))
        except (ValueError, ValidationError):
            return self._kind == "false_acceptance"
        return self._kind == "false_rejection"

    def bug(self, schema, text):
        """The id of what a case shrinks to, and that."""
        case = ErrorCase("engine", self._kind, compact(schema), text)
        (symptom,) = self.reproduce_all([case])
        smallest = shrink(self, case, symptom)
        return bug_id(smallest.case, smallest.symptom.at), smallest.case


def refuses(pattern, mark, when=lambda schema: True, group=0, after_space=""):
    """What shows a symptom where a pattern is found in the text and the schema is such."""

    def shows(schema, text):
        match = re.search(pattern, text)
        if match is None or not when(schema):
            return None
        shown = mark(match) if callable(mark) else mark
        return Symptom(match.start(group), "bug", "", shown, after_space=after_space)

    return shows


def bound_of_any_number(schema, text):
    broken = isinstance(schema.get("minimum"), int | float) and text.isdigit()
    return Symptom(-1, "bug", "minimum", "minimum") if broken else None


def before_a_comma(schema, text):
    """White space is refused before a comma: itself, or the comma where it might be the last."""
    match = re.match(rb"\[[^ ]*( +),", text)
    if match is None or schema.get("type") != "array":
        return None
    if text[: match.start(1)].count(b",") + 1 < schema.get("minItems", 0):
        return Symptom(match.start(1), "bug", "", "after value: 20", after_space="2c")
    return Symptom(match.end(1), "bug", "", "after value: 2c")


def escape_in_a_key(schema, text):
    """An escape is refused in a key that a declared name begins with."""
    match = re.search(rb'"[^"\\]*(\\u)[^"]*"', text)
    key = json.loads(match[0]) if match is not None else ""
    if not any(key and name.startswith(key) for name in schema.get("properties", {})):
        return None
    return Symptom(match.start(1), "bug", "", "inside key: 5c")


def further_member(schema, text):
    named, keys = schema.get("properties"), re.findall(rb'(?:^\{|,)"([a-z]+)":', text)
    if schema.get("additionalProperties") is not True or not keys or not named:
        return None
    if keys[0].decode() not in named:
        return Symptom(2, "bug", "", "inside key: letter")
    return Symptom(text.index(b","), "bug", "", "after member: 2c") if keys[1:] else None


def value_of_a_type(schema, text):
    part = schema.get("items", schema)
    text = text.strip(b"[]") or text
    if "properties" not in part or not isinstance(part.get("type"), str) or text[:1] == b"{":
        return None
    return Symptom(0, "bug", "", "start of value")


def named_in_a_branch(schema, text):
    parts = schema.get("anyOf", []) if "properties" in schema else []
    keys = [key for part in parts for key, inner in part.get("properties", {}).items() if inner]
    at = max((text.find(b'"%s"' % key.encode()) for key in keys), default=-1)
    return Symptom(at + 1, "bug", "", "inside key: letter") if at >= 0 else None


def is_bounded(schema):
    return re.search('"(min|max)Length"', compact(schema))


def with_type(kind):
    return {"type": kind, "properties": {"a": {"type": "null"}}}


ITEMS = {"type": "array", "items": {"type": "boolean"}}
LISTS = [
    *(({**ITEMS, "minItems": least}, text)
      for text in (b"[true ,true]", b"[true,true ,true]", b"[true ,true,true]") for least in (0, 2)),
    ({**ITEMS, "minItems": 3}, b"[true,true ,true]"),
]  # fmt: skip
VALUES = {"integer": b"12", "array": b"[]", "string": b'"ab"', "boolean": b"false"}
DECLARED = {"type": "object", "properties": {"onEnded": {"type": "boolean"}}}
MORE = {"type": "object", "additionalProperties": True, "properties": {"name": {"type": "null"}}}
BRANCH = {"type": "object", "properties": {"b": {"type": "boolean"}}}
SIGNED = {"type": "string", "pattern": "^A[-+]0$"}
BELOW = {"type": "array", "items": {"type": "number", "maximum": 0}}

ONE = {
    "an instant, however its zone is written": (
        "false_acceptance",
        refuses(rb'^"\d{4}-\d\d-\d\dT\d\d:\d\d:60(Z|[+-]\d\d:\d\d)("$)', "format", group=2),
        [({"type": "string", "const": "no instant"}, b'"2024-05-06T07:08:60%s"' % zone)
         for zone in (b"Z", b"+00:00", b"-00:00", b"-11:30")],
        {b'"0000-00-00T00:00:60Z"'},
    ),
    "a bound, where its fraction does not matter": (
        "false_acceptance", bound_of_any_number,
        [({"type": "number", "minimum": least}, b"0") for least in (0.3, 1, 7.5, 20)], None,
    ),
    "white space, or what comes after it": ("false_rejection", before_a_comma, LISTS, {b"[0 ,0]"}),
    "an escape, wherever it stands in a key": (
        "false_rejection", escape_in_a_key,
        [(DECLARED, text)
         for text in (rb'{"onEnde\u0064":true}', rb'{"\u006fnEnded":true}', rb'{"o\u006E":0}')],
        None,
    ),
    "a further member, whether another comes before it": (
        "false_rejection", further_member,
        [(MORE, text) for text in (b'{"name":null,"x":1}', b'{"x":1}')], None,
    ),
    "a value of a type that nothing is about": (
        "false_rejection", value_of_a_type,
        [(with_type(kind), text) for kind, text in VALUES.items()], None,
    ),
    "an item of a type that nothing is about": (
        "false_rejection", value_of_a_type,
        [({"items": with_type(kind)}, b"[%s]" % text) for kind, text in VALUES.items()], None,
    ),
    "exactly one branch, or any": (
        "false_rejection",
        refuses(rb"^{(})$", "start of key: 7d", lambda schema: {"anyOf", "oneOf"} & schema.keys(), 1),
        [({name: [{"type": "object", "minProperties": 0}]}, b"{}") for name in ("anyOf", "oneOf")],
        None,
    ),
    "a branch beside one that only the value in the text needs": (
        "false_rejection", named_in_a_branch,
        [({"type": "object", "properties": {}, "anyOf": [BRANCH]}, b'{"b":true}'),
         ({"type": "object", "properties": {}, "anyOf": [BRANCH, {"type": "object"}]}, b'{"b":0}')],
        None,
    ),
    "two signs that are refused": (
        "false_rejection",
        refuses(rb"[-+]", lambda match: f"inside string: {match[0].hex()}"),
        [(SIGNED, text) for text in (b'"A+0"', b'"A-0"')], None,
    ),
    "an escape anywhere in a string": (
        "false_rejection",
        refuses(rb"(?<=.)\\", ESCAPE, lambda schema: schema.get("format") == "date"),
        [({"type": "string", "format": "date"}, text)
         for text in (rb'"\u0032024-05-06"', rb'"2024\u002d05-06"', rb'"2024-05-0\u0036"',
                      rb'"2024\/05"')],
        None,
    ),
    "an escape under whatever pattern": (
        "false_rejection", refuses(rb"^.(\\)", ESCAPE, lambda schema: "pattern" in schema, 1),
        [({"type": "string", "pattern": pattern}, text) for pattern, text in (
            ("^[A-Z]", rb'"\u0050"'), ("^0", rb'"\u0030"'), ("^Mo", rb'"\u004do"'))],
        None,
    ),
    "white space around the whole": (
        "false_rejection",
        refuses(rb"^\S.*?(\s)\s*\Z", lambda match: f"end: {sort_of(match[1])}", group=1),
        [({"type": kind}, text) for kind, text in (
            ("object", b"{}\n"), ("array", b"[]\t"), ("integer", b"7\t"), ("object", b"{} "))],
        {b"true "},
    ),
    "a number, whatever its sign": (
        "false_rejection",
        refuses(rb"(?<=.)e", "inside number: letter", lambda schema: "enum" in schema),
        [({"enum": enum}, text)
         for enum, text in (([1], b"1e0"), ([-1], b"-1e0"), ([-25], b"-25e0"))],
        None,
    ),
    "what stands after an item, whether another follows": (
        "false_rejection",
        refuses(rb"^\[-0([,\]])", lambda match: f"after value: {sort_of(match[1])}", group=1),
        [(BELOW, text) for text in (b"[-0]", b"[-0,0]")], None,
    ),
    "an escape, however deep in values of which nothing is said": (
        "false_rejection", refuses(rb"(?<=\\u)(?!000)", "inside escape"),
        [*(({"type": "object"}, text) for text in (
            rb'{"\u4e00":0}', rb'{"":[{"a":"\u4e00"}]}', rb'{"a":{"b":{"\u4e00":1}}}')),
         ({"type": "array"}, rb'["\u4e00"]'), ({"type": "string"}, rb'"\u4e00"')],
        None,
    ),
    "an escape, whatever the bound and the surroundings": (
        "false_rejection", refuses(rb"\\", ESCAPE, is_bounded),
        [({"type": "string", "maxLength": 7}, rb'"ab\/c"'),
         ({"items": {"minLength": 2, "type": "string", "title": "a name"}}, rb'["ab", "\u0041\\"]'),
         ({"properties": {"name": {"maxLength": 30, "type": "string"}, "n": {"type": "number"}}},
          rb'{"n": 1.5, "name": "\n"}')],
        {rb'"\""'},
    ),
    "any character of a string": (
        "false_rejection",
        refuses(rb'(?<=")[^"]', lambda match: f"inside string: {sort_of(match[0])}", is_bounded),
        [({"type": "string", "maxLength": 4}, text)
         for text in (rb'"\/"', b'"7"', b'"-"', '"é"'.encode())],
        None,
    ),
}  # fmt: skip
"""Of an error its kind, what shows it, the forms in which it was met, and the smallest texts."""


@pytest.mark.parametrize("name", ONE)
def test_an_error_is_one_bug_in_whatever_form_it_was_met(name):
    kind, shows, forms, texts = ONE[name]
    bugs = [Engine(shows, kind).bug(schema, text) for schema, text in forms]
    assert len({bug for bug, _ in bugs}) == 1
    assert texts is None or {case.text for _, case in bugs} == texts


def test_white_space_stays_where_nothing_else_is_refused():
    shows = refuses(rb" ", "after value: 20", after_space="2c")
    _, case = Engine(shows).bug({"type": "array"}, b"[true ,true]")
    assert b" " in case.text


def test_a_name_that_is_needed_and_has_an_escape_is_made_short():
    schema = {"type": "object", "properties": {"onEnded": {}}, "required": ["onEnded"]}
    engine = Engine(lambda *case: escape_in_a_key(*case) if "required" in case[0] else None)
    _, case = engine.bug(schema, rb'{"on\u0045nded":true}')
    assert case.text == rb'{"\u0061":true}'
    assert case.parsed["required"] == ["a"]


def test_a_type_that_a_keyword_is_about_stays():
    shows = refuses(rb"^", "start of value", lambda part: {"properties", "minimum"} <= part.keys())
    _, case = Engine(shows).bug({"type": "integer", "properties": {}, "minimum": 0}, b"3")
    assert case.parsed["type"] == "integer"


def test_a_sign_that_alone_is_refused_is_not_the_other():
    minus = refuses(rb"-", "inside string: 2d")
    assert b"-" in Engine(minus).bug(SIGNED, b'"A-0"')[1].text


def test_names_that_a_dependency_lists_are_the_authors():
    def case(name, other):
        schema = {"type": "object", "dependencies": {name: [other]}}
        return ErrorCase("engine", "false_acceptance", compact(schema), b'{"%s":0}' % name.encode())

    assert bug_id(case("card", "Street 2"), 9) == bug_id(case("a", "b"), 6)


@pytest.mark.parametrize("failing", [0, MOST_FAILURES])
def test_an_engine_that_fails_on_the_way_is_asked_for_the_common_form_all_the_same(failing):
    """It fails on what is tried first, so often that no more than the common form is tried."""

    class Fails(Engine):
        def reproduce_all(self, cases):
            if self.failures < failing:
                self.failures += 1
                return iter([None] * len(cases))
            return super().reproduce_all(cases)

    schema = {"items": {"type": "object", "properties": {}}, "type": "array"}
    case = ErrorCase("engine", "false_rejection", compact(schema), b"[{} ,{}]")
    smallest = shrink(Fails(before_a_comma), case, before_a_comma(schema, case.text))
    whole = Engine(before_a_comma).bug(schema, case.text)
    assert (bug_id(smallest.case, smallest.symptom.at), smallest.case) == whole
