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

ESCAPE = sort_of(b"\\")


class Engine:
    """An engine with one error.

    Args:
        shows: The error that it shows on a schema and a text, if any.
        kind: The error's kind.
    """

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
        (shown,) = self.reproduce_all([case])
        found = shrink(self, case, shown)
        return bug_id(found.case, found.symptom.at), found.case


def test_an_instant_is_one_however_its_zone_is_written():
    def shows(_, text):
        found = re.fullmatch(rb'"\d{4}-\d\d-\d\dT\d\d:\d\d:60(Z|[+-]\d\d:\d\d)"', text)
        return Symptom(len(text) - 1, "bug", "format", "format") if found else None

    engine = Engine(shows, "false_acceptance")
    schema = {"type": "string", "const": "no instant"}
    zones = (b"Z", b"+00:00", b"-00:00", b"-11:30")
    found = [engine.bug(schema, b'"2024-05-06T07:08:60%s"' % zone) for zone in zones]
    assert {case.text[-4:] for _, case in found} == {b'60Z"'}
    assert len({bug for bug, _ in found}) == 1


def test_a_bound_with_a_fraction_is_whole_where_the_fraction_does_not_matter():
    def shows(schema, text):
        broken = isinstance(schema.get("minimum"), int | float)
        return Symptom(-1, "bug", "minimum", "minimum") if broken and text.isdigit() else None

    engine = Engine(shows, "false_acceptance")
    bounds = (0.3, 1, 7.5, 20)
    found = {engine.bug({"type": "number", "minimum": one}, b"0")[0] for one in bounds}
    assert len(found) == 1


def before_a_comma(schema, text):
    """White space is refused before a comma: itself, or the comma where it might be the last."""
    found = re.match(rb"\[[^ ]*( +),", text)
    if found is None or schema.get("type") != "array":
        return None
    space, comma = "behind value: 20", "behind value: 2c"
    if text[: found.start(1)].count(b",") + 1 < schema.get("minItems", 0):
        return Symptom(found.start(1), "bug", "", space, after_space="2c")
    return Symptom(found.end(1), "bug", "", comma)


def test_white_space_is_one_whether_it_is_refused_or_what_comes_behind_it():
    engine = Engine(before_a_comma)
    items = {"type": "array", "items": {"type": "boolean"}}
    texts = (b"[true ,true]", b"[true,true ,true]", b"[true ,true,true]")
    found = [engine.bug({**items, "minItems": least}, text) for text in texts for least in (0, 2)]
    found.append(engine.bug({**items, "minItems": 3}, texts[1]))
    assert {case.text for _, case in found} == {b"[0 ,0]"}
    assert len({bug for bug, _ in found}) == 1


def test_the_white_space_stays_where_nothing_else_is_refused():
    def shows(_, text):
        at = text.find(b" ")
        return Symptom(at, "bug", "", "behind value: 20", after_space="2c") if at >= 0 else None

    _, case = Engine(shows).bug({"type": "array"}, b"[true ,true]")
    assert b" " in case.text


def refused_escape(schema, text):
    """An escape is refused in a key that a declared name begins with."""
    found = re.search(rb'"[^"\\]*(\\u)[^"]*"', text)
    key = json.loads(found[0]) if found is not None else ""
    if not any(key and name.startswith(key) for name in schema.get("properties", {})):
        return None
    return Symptom(found.start(1), "bug", "", "inside key: 5c")


def test_an_escape_is_one_wherever_it_stands_in_a_key():
    schema = {"type": "object", "properties": {"onEnded": {"type": "boolean"}}}
    texts = (rb'{"onEnde\u0064":true}', rb'{"\u006fnEnded":true}', rb'{"o\u006E":0}')
    found = [Engine(refused_escape).bug(schema, text) for text in texts]
    assert len({bug for bug, _ in found}) == 1


def test_a_name_that_is_needed_and_has_an_escape_is_made_short():
    schema = {"type": "object", "properties": {"onEnded": {}}, "required": ["onEnded"]}
    engine = Engine(lambda *case: refused_escape(*case) if "required" in case[0] else None)
    _, case = engine.bug(schema, rb'{"on\u0045nded":true}')
    assert case.text == rb'{"\u0061":true}'
    assert case.parsed["required"] == ["a"]


def test_a_member_that_is_refused_is_one_whether_another_comes_before_it():
    def shows(schema, text):
        named, keys = schema.get("properties"), re.findall(rb'(?:^\{|,)"([a-z]+)":', text)
        if schema.get("additionalProperties") is not True or not keys or not named:
            return None
        if keys[0].decode() not in named:
            return Symptom(2, "bug", "", "inside key: letter")
        return Symptom(text.index(b","), "bug", "", "behind member: 2c") if keys[1:] else None

    named = {"properties": {"name": {"type": "null"}}}
    schema = {"type": "object", "additionalProperties": True, **named}
    found = [Engine(shows).bug(schema, text) for text in (b'{"name":null,"x":1}', b'{"x":1}')]
    assert len({bug for bug, _ in found}) == 1


@pytest.mark.parametrize("where", [lambda part: part, lambda part: {"items": part}])
def test_a_type_that_nothing_is_about_does_not_matter(where):
    def shows(schema, text):
        part = schema.get("items", schema)
        text = text.strip(b"[]") or text
        if "properties" not in part or not isinstance(part.get("type"), str) or text[:1] == b"{":
            return None
        return Symptom(0, "bug", "", "start of value")

    texts = {"integer": b"12", "array": b"[]", "string": b'"ab"', "boolean": b"false"}
    found = set()
    for kind, text in texts.items():
        schema = where({"type": kind, "properties": {"a": {"type": "null"}}})
        found.add(Engine(shows).bug(schema, text if "type" in schema else b"[" + text + b"]")[0])
    assert len(found) == 1


def test_a_type_that_a_keyword_is_about_stays():
    def shows(schema, text):
        if not {"properties", "minimum"} <= schema.keys():
            return None
        return Symptom(0, "bug", "", "start of value")

    _, case = Engine(shows).bug({"type": "integer", "properties": {}, "minimum": 0}, b"3")
    assert case.parsed["type"] == "integer"


def test_exactly_one_branch_is_any_where_that_does_not_matter():
    def shows(schema, text):
        if not {"anyOf", "oneOf"} & schema.keys() or text != b"{}":
            return None
        return Symptom(1, "bug", "", "start of key: 7d")

    branches = [{"type": "object", "minProperties": 0}]
    found = {Engine(shows).bug({one: branches}, b"{}")[0] for one in ("anyOf", "oneOf")}
    assert len(found) == 1


def test_a_branch_that_only_the_value_in_the_text_needs_is_left_out():
    def shows(schema, text):
        parts = schema.get("anyOf", []) if "properties" in schema else []
        keys = [key for one in parts for key in one.get("properties", {}) if one["properties"][key]]
        at = max((text.find(b'"%s"' % key.encode()) for key in keys), default=-1)
        return Symptom(at + 1, "bug", "", "inside key: letter") if at >= 0 else None

    branch = {"type": "object", "properties": {"b": {"type": "boolean"}}}
    schema = {"type": "object", "properties": {}, "anyOf": [branch]}
    other = {**schema, "anyOf": [branch, {"type": "object"}]}
    found = {Engine(shows).bug(schema, b'{"b":true}'), Engine(shows).bug(other, b'{"b":0}')}
    assert len({bug for bug, _ in found}) == 1


def test_of_two_signs_that_are_refused_the_plus_is_shown():
    def shows(refused):
        def found_in(schema, text):
            found = re.search(refused, text)
            if found is None:
                return None
            return Symptom(found.start(), "bug", "", f"inside string: {found[0].hex()}")

        return found_in

    schema, both = {"type": "string", "pattern": "^A[-+]0$"}, shows(rb"[-+]")
    assert len({Engine(both).bug(schema, text)[0] for text in (b'"A+0"', b'"A-0"')}) == 1
    assert b"-" in Engine(shows(rb"-")).bug(schema, b'"A-0"')[1].text


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
    engine = Fails(before_a_comma)
    case = ErrorCase("engine", "false_rejection", compact(schema), b"[{} ,{}]")
    found = shrink(engine, case, before_a_comma(schema, case.text))
    whole = Engine(before_a_comma).bug(schema, case.text)
    assert (bug_id(found.case, found.symptom.at), found.case) == whole


def test_an_escape_that_is_refused_anywhere_in_a_string_is_one():
    def shows(schema, text):
        at = text.find(b"\\")
        found = schema.get("format") == "date" and at > 0
        return Symptom(at, "bug", "format", f"inside string: {ESCAPE}") if found else None

    engine = Engine(shows)
    schema = {"type": "string", "format": "date"}
    texts = (rb'"\u0032024-05-06"', rb'"2024\u002d05-06"', rb'"2024-05-0\u0036"', rb'"2024\/05"')
    found = [engine.bug(schema, text) for text in texts]
    assert len({bug for bug, _ in found}) == 1


def test_an_escape_is_one_whatever_pattern_it_stands_under():
    def shows(schema, text):
        at = text.find(b"\\")
        found = at == 1 and "pattern" in schema
        return Symptom(at, "bug", "pattern", f"inside string: {ESCAPE}") if found else None

    engine = Engine(shows)
    cases = (("^[A-Z]", rb'"\u0050"'), ("^0", rb'"\u0030"'), ("^Mo", rb'"\u004do"'))
    found = {engine.bug({"type": "string", "pattern": one}, text)[0] for one, text in cases}
    assert len(found) == 1


def test_white_space_around_the_whole_is_one_whatever_it_is_around():
    def shows(_, text):
        at = len(text.rstrip())
        found = 0 < at < len(text) and not text[:1].isspace()
        return Symptom(at, "bug", "type", f"end: {sort_of(text[at : at + 1])}") if found else None

    engine = Engine(shows)
    cases = (("object", b"{}\n"), ("array", b"[]\t"), ("integer", b"7\t"), ("object", b"{} "))
    found = [engine.bug({"type": type_}, text) for type_, text in cases]
    assert {case.text for _, case in found} == {b"true "}
    assert len({bug for bug, _ in found}) == 1


def test_a_number_is_one_whatever_its_sign():
    def shows(schema, text):
        at = text.find(b"e")
        found = "enum" in schema and at > 0
        return Symptom(at, "bug", "enum", "inside number: letter") if found else None

    engine = Engine(shows)
    cases = (([1], b"1e0"), ([-1], b"-1e0"), ([-25], b"-25e0"))
    assert len({engine.bug({"enum": enum}, text)[0] for enum, text in cases}) == 1


def test_what_may_not_stand_behind_an_item_is_one_whether_another_follows():
    def shows(_, text):
        found = re.match(rb"\[-0([,\]])", text)
        return Symptom(3, "bug", "maximum", f"behind value: {sort_of(found[1])}") if found else None

    engine = Engine(shows)
    schema = {"type": "array", "items": {"type": "number", "maximum": 0}}
    assert len({engine.bug(schema, text)[0] for text in (b"[-0]", b"[-0,0]")}) == 1


def test_an_escape_is_one_however_deep_in_values_of_which_nothing_is_said():
    def shows(_, text):
        found = re.search(rb"\\u(?!000)", text)
        return Symptom(found.start() + 2, "bug", "type", "inside escape") if found else None

    engine = Engine(shows)
    texts = (rb'{"\u4e00":0}', rb'{"":[{"a":"\u4e00"}]}', rb'{"a":{"b":{"\u4e00":1}}}')
    found = {engine.bug({"type": "object"}, text)[0] for text in texts}
    found.add(engine.bug({"type": "array"}, rb'["\u4e00"]')[0])
    found.add(engine.bug({"type": "string"}, rb'"\u4e00"')[0])
    assert len(found) == 1
