"""One error in many forms is one bug, and does not become another: engines that are functions."""

import json
import re
from contextlib import suppress

import pytest

from harness.bugs.error_case import ErrorCase, compact
from harness.bugs.identity import bug_id
from harness.bugs.shrink import MOST_FAILURES, shrink
from harness.bugs.text_edits import sort_of
from harness.bugs.trial import Symptom
from harness.validators.drafts import draft_of
from tests.bugs.fake_trial import Fake

ESCAPE = "inside string: " + sort_of(b"\\")


class Engine(Fake):
    """An engine with one error: what it shows on a schema and a text, if any."""

    def __init__(self, shows, kind="false_rejection"):
        self._shows = shows
        self._kind = kind

    def reproduce_all(self, cases):
        for case in cases:
            yield self._shows(case.parsed, case.text) if self.may_be(case) else None

    def bug(self, schema, text):
        """The id of what a case shrinks to, and that."""
        case = ErrorCase("engine", self._kind, compact(schema), text)
        (symptom,) = self.reproduce_all([case])
        smallest = shrink(self, case, symptom)
        return bug_id(smallest.case, smallest.symptom.at), smallest.case


def refuses(pattern, mark, when=lambda schema: True, group=0):
    """What shows a symptom where a pattern is found in the text and the schema is such."""

    def shows(schema, text):
        match = re.search(pattern, text)
        if match is None or not when(schema):
            return None
        shown = mark(match) if callable(mark) else mark
        return Symptom(match.start(group), "bug", "", shown)

    return shows


def bound_of_any_number(schema, text):
    broken = isinstance(schema.get("minimum"), int | float) and text.isdigit()
    return Symptom(-1, "bug", "minimum", "minimum") if broken else None


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


def key_of_no_pattern(schema, text):
    key = re.match(rb'{"([^"]+)"', text)
    patterns = schema.get("patternProperties", {})
    if key is None or not patterns or any(re.search(one, key[1].decode()) for one in patterns):
        return None
    return Symptom(2, "bug", "", f"inside key: {sort_of(key[1][:1])}")


def ill_formed_below_an_object(schema, text):
    bad = re.search(rb"(?<=\")[\x80-\xff]", text)
    with suppress(ValueError):
        if isinstance(json.loads(text.decode(errors="replace")), dict) and bad:
            return Symptom(bad.start(), "bug", "json", "json")
    return None


def broken_where(is_forgotten):
    """What shows the first error of a validator where the engine forgets its rule.

    `is_forgotten` is given the schema, the rule's path in it and the value's in the text.
    """

    def shows(schema, text):
        with suppress(ValueError):
            value = json.loads(text)
            for one in draft_of(schema).repaired(schema).iter_errors(value):
                paths = tuple(one.absolute_schema_path), tuple(one.absolute_path)
                if is_forgotten(schema, *paths):
                    return Symptom(-1, "bug", one.validator, one.validator, broken=paths)
        return None

    return shows


def under_an_umlaut(schema, rule, value):
    return any("ö" in str(step) for step in value)


def beside_an_enum(schema, rule, value):
    return len(rule) == 1 and "enum" in schema


def is_bounded(schema):
    return re.search('"(min|max)Length"', compact(schema))


def with_type(kind):
    return {"type": kind, "properties": {"a": {"type": "null"}}}


def under(name, part):
    return {"type": "object", "properties": {name: part}}


VALUES = {"integer": b"12", "array": b"[]", "string": b'"ab"', "boolean": b"false"}
MORE = {"type": "object", "additionalProperties": True, "properties": {"name": {"type": "null"}}}
BRANCH = {"type": "object", "properties": {"b": {"type": "boolean"}}}
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
    "all rules under a name that is not kept": (
        "false_acceptance", broken_where(under_an_umlaut),
        [(under("größe", {"type": "array", "maxItems": 0}), '{"größe":[0]}'.encode()),
         (under("größe", {"const": 7}), '{"größe":8}'.encode()),
         (under("größe", under("b", {"type": "null"})), '{"größe":{"b":true}}'.encode())],
        {'{"größe":0}'.encode()},
    ),
    "all rules beside an enum": (
        "false_acceptance", broken_where(beside_an_enum),
        [({"type": "string", "enum": ["ab"], "minLength": 3}, b'"ab"'),
         ({"type": "string", "enum": ["b"], "pattern": "^a$"}, b'"b"')], None,
    ),
    "equal items, whatever they are": (
        "false_acceptance", broken_where(lambda schema, rule, value: rule[-1] == "uniqueItems"),
        [({"type": "array", "uniqueItems": True}, text)
         for text in (b'["ab","ab"]', b'[{"a":{}},{"a":{}}]', b"[[],[]]", b"[null,true,null]")],
        {b"[0,0]"},
    ),
    "ill-formed UTF-8, whatever stands around it": (
        "false_acceptance", ill_formed_below_an_object,
        [({"type": "object"}, text)
         for text in (b'{"":{"":null},"":"\xc0\x87"}', b'{"":"\xf4\xb4\x84\x94","":{}}',
                      b'{"":["\xe0\x89"]}', b'{"":{"a":[0],"b":["\xc0\x9a"]},"":true}')], None,
    ),
    "a value that holds none, where only those that do are taken": (
        "false_rejection",
        refuses(rb"^[^\[{]", lambda match: f"start of value: {sort_of(match[0])}"),
        [({"items": {}}, text) for text in (b"null", b"17", b"true", b'"a"')], None,
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
        None,
    ),
    "any character before what a pattern asks for": (
        "false_rejection",
        refuses(rb'^"([^0])', lambda match: f"inside string: {sort_of(match[1])}",
                lambda schema: "pattern" in schema, 1),
        [({"type": "string", "pattern": "0"}, text) for text in (b'"@0"', b'"}}0"', b'"A0"')], None,
    ),
    "any character before a capital that a pattern asks for": (
        "false_rejection",
        refuses(rb'^"([^A-Z])', lambda match: f"inside string: {sort_of(match[1])}",
                lambda schema: "pattern" in schema, 1),
        [({"type": "string", "pattern": "[A-Z]"}, text) for text in (b'"]A"', b'"zA"')], None,
    ),
    "a key that no pattern matches, whatever it is made of": (
        "false_rejection", key_of_no_pattern,
        [({"type": "object", "patternProperties": {"^[a-zA-Z]+$": {"type": "null"}}}, text)
         for text in (b'{"]":0}', b'{"-a":0}')], None,
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


def pattern_read_wrongly(schema, text):
    """Two errors: a pattern is matched against the whole string, and ``\\s`` is a space alone."""
    part = schema.get("properties", {}).get("a", schema)
    if not isinstance(pattern := part.get("pattern"), str):
        return None
    if b'"' not in text:
        return None
    start = text.index(b'":"') + 3 if b'":"' in text else 1
    at = next((at for at in range(start, text.rindex(b'"')) if text[at] > 127), -1)
    if r"\s" not in pattern:
        at = start if "^" not in pattern and text[start:].strip(b'"}') else -1
    return (
        Symptom(at, "bug", "pattern", f"inside string: {sort_of(text[at : at + 1])}")
        if at >= 0
        else None
    )


def required_or_bounded(schema, text):
    """Two errors: letters of a key are refused where one is required, and where there is a bound."""
    at = text.find(b'"') + 1
    if text[:1] != b"{" or not at or not {"required", "minProperties"} & schema.keys():
        return None
    return Symptom(at, "bug", "", f"inside key: {sort_of(text[at : at + 1])}")


def escape_or_any_letter(schema, text):
    """Two errors: an escape is refused in keys, and under ``required`` all that a key begins with."""
    at = text.find(b'"') + 1
    if text[at : at + 1] != b"\\" and not ("required" in schema and b'"b"' in text):
        return None
    return Symptom(at, "bug", "", f"inside key: {sort_of(text[at : at + 1])}")


SPACES = {"type": "object", "properties": {"a": {"type": "string", "pattern": r"^\s*\S+$"}}}
BOTH = {"type": "object", "minProperties": 1, "required": ["a"], "properties": {"a": {}, "b": {}}}


@pytest.mark.parametrize(
    ("shows", "schema", "text", "kept"),
    [
        (pattern_read_wrongly, SPACES, '{"a":"\u00a0x"}'.encode(), r"\s"),
        (pattern_read_wrongly, {"type": "string", "pattern": "b"}, b'"ab"', r'"pattern":""'),
        (required_or_bounded, BOTH, b'{"a":0}', '"required"'),
        (escape_or_any_letter, BOTH, rb'{"\u0061":0}', "{"),
    ],
)
def test_an_error_does_not_become_another_that_the_engine_has_as_well(shows, schema, text, kept):
    """What undoes it in the smallest case undoes it where it was met."""
    _, case = Engine(shows).bug(schema, text)
    assert kept in case.schema
    assert (b"\\" in text) == (b"\\" in case.text)
    assert text.isascii() == case.text.isascii()
    assert "minProperties" not in case.schema


def letter_under_two_patterns(schema, text):
    """Two errors: a Z is refused in the first string of the text under either of two patterns."""
    parts = schema.get("properties", {"": schema})
    for match in re.finditer(rb'(?:"([ab])":)?"(Z+)"', text):
        if parts.get((match[1] or b"").decode(), {}).get("pattern") in ("Z|X", "Z|Y"):
            return Symptom(match.start(2), "bug", "", "inside string: letter")
    return None


@pytest.mark.parametrize("patterns", [("Z|X", "Z|Y"), ("Z|Y", "Z|X")])
def test_of_several_errors_in_a_text_the_first_is_kept(patterns):
    parts = [{"type": "string", "pattern": pattern} for pattern in patterns]
    schema = {"type": "object", "properties": dict(zip("ab", parts, strict=True))}
    _, case = Engine(letter_under_two_patterns).bug(schema, b'{"a":"ZZ","b":"Z"}')
    assert patterns[0] in case.schema


def test_a_rule_that_is_forgotten_everywhere_is_not_one_of_its_place():
    """Two errors: all rules under a name are forgotten, and one rule wherever it stands."""

    def is_forgotten(schema, rule, value):
        return rule[-1] == "minLength" or under_an_umlaut(schema, rule, value)

    for rule, word, kept in (({"minLength": 2}, "", "minLength"), ({"maxLength": 0}, "a", "ö")):
        schema = under("größe", {"type": "string", **rule})
        text = f'{{"größe":"{word}"}}'.encode()
        _, case = Engine(broken_where(is_forgotten), "false_acceptance").bug(schema, text)
        assert kept in case.schema


def condition_or_pattern(schema, text):
    """Two errors: conditions are ignored, and patterns where no type stands beside."""

    def read(part):
        if not isinstance(part, dict):
            return part
        known = {name: read(inner) for name, inner in part.items() if name not in ("if", "then")}
        return {name: known[name] for name in known if name != "pattern" or "type" in known}

    with suppress(ValueError):
        value = json.loads(text)
        errors = (draft_of(one).repaired(one).iter_errors(value) for one in (schema, read(schema)))
        broken, allowed = ([error.validator for error in some] for some in errors)
        return None if allowed or not broken else Symptom(-1, "bug", broken[0], broken[0])


def test_a_value_is_not_let_through_for_want_of_a_type_where_it_was_not():
    digit = {"properties": {"z": {"pattern": "^[0-9]$"}}}
    schema = {"type": "object", "properties": {"z": {"type": "string"}}, "if": {}, "then": digit}
    _, case = Engine(condition_or_pattern, "false_acceptance").bug(schema, b'{"z":""}')
    assert '"then"' in case.schema
    _, case = Engine(condition_or_pattern, "false_acceptance").bug(digit, b'{"z":""}')
    assert '"type"' not in case.schema


def test_a_type_that_breaks_the_text_elsewhere_is_not_given():
    """Two errors: bounds inside ``oneOf`` are ignored, and the type beside it is."""

    def shows(schema, text):
        parts = schema.get("properties", {"": schema})
        if any("type" in part and "oneOf" in part for part in parts.values()):
            return Symptom(-1, "bug", "type", "type")
        return Symptom(-1, "bug", "oneOf", "oneOf") if '"minimum"' in compact(schema) else None

    branches = [{"type": "number", "minimum": 1}, {"type": "string"}]
    parts = {"a": {"oneOf": [{"type": "number"}]}, "b": {"oneOf": branches}}
    _, case = Engine(shows, "false_acceptance").bug({"properties": parts}, b'{"a":0,"b":0}')
    assert '"minimum"' in case.schema


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

    schema = {"items": {"type": "boolean"}, **MORE}
    case = ErrorCase("engine", "false_rejection", compact(schema), b'{"name":null,"x":1}')
    smallest = shrink(Fails(further_member), case, further_member(schema, case.text))
    whole, _ = Engine(further_member).bug(schema, case.text)
    assert bug_id(smallest.case, smallest.symptom.at) == whole
