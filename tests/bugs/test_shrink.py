"""Shrinking, with an engine that is a function: no process is started."""

from __future__ import annotations

import json

import pytest

from harness.bugs.error_case import ErrorCase, compact
from harness.bugs.identity import bug_id
from harness.bugs.passes import used_only
from harness.bugs.shrink import MOST, shrink
from harness.bugs.trial import Symptom
from harness.validators.drafts import draft_of

LARGE = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "An order",
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^[0-9]+$"},
        "lines": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "count": {"type": "integer", "minimum": 12, "maximum": 500},
                    "what": {"type": "string", "maxLength": 40},
                },
                "required": ["count", "what"],
            },
        },
    },
    "required": ["id", "lines"],
}
TEXT = b'{"id": "17", "lines": [{"count": 3, "what": "tea"}, {"count": 13, "what": "cups"}]}'


class ForgetsMinimum:
    """Allows every JSON text: shows false acceptances of what breaks `minimum`."""

    failures = 0
    seconds = 0.0

    def __init__(self, keyword="minimum"):
        self.keyword = keyword
        self.asked = 0

    def reproduce_all(self, cases):
        for one in cases:
            self.asked += 1
            yield self.reproduce(one)

    def reproduce(self, case):
        draft = draft_of(case.parsed)
        try:
            validator = draft.repaired(case.parsed)
            value = json.loads(case.text)
        except ValueError:
            return None
        broken = [error.validator for error in validator.iter_errors(value)]
        if not broken or broken[0] != self.keyword:
            return None
        return Symptom(-1, "bug", broken[0], broken[0])


def shrunk(schema=LARGE, text=TEXT, keyword="minimum"):
    trial = ForgetsMinimum(keyword)
    case = ErrorCase("engine", "false_acceptance", compact(schema), text)
    return shrink(trial, case, trial.reproduce(case)), trial


def test_ends_at_the_smallest_schema_and_text():
    found, _ = shrunk()
    assert found.case.schema == '{"type":"integer","minimum":1}'
    assert found.case.text == b"0"
    assert found == shrunk()[0]


def test_another_rule_is_another_bug():
    text = TEXT.replace(b'"tea"', b'"' + b"t" * 41 + b'"').replace(b" 3,", b" 30,")
    one, _ = shrunk()
    other, _ = shrunk(text=text, keyword="maxLength")
    assert other.case.schema == '{"type":"string","maxLength":0}'
    assert bug_id(one.case, one.symptom.at) != bug_id(other.case, other.symptom.at)


def test_a_smaller_case_without_the_effect_is_not_taken():
    class Loses(ForgetsMinimum):
        def effect(self, case, _):
            return "lost_value" if b"tea" in case.text else "spelling"

    trial = Loses()
    case = ErrorCase("engine", "false_acceptance", compact(LARGE), TEXT)
    found = shrink(trial, case, trial.reproduce(case), effect="lost_value")
    assert b"tea" in found.case.text
    assert len(found.case.text) < len(TEXT)


def test_gives_up_on_an_engine_that_fails_again_and_again():
    class Fails(ForgetsMinimum):
        def reproduce_all(self, cases):
            self.failures += len(cases)
            yield from (None for _ in cases)

    trial = Fails()
    case = ErrorCase("engine", "false_acceptance", compact(LARGE), TEXT)
    found = shrink(trial, case, trial.reproduce(case))
    assert found.case == case
    assert found.attempts < MOST


@pytest.mark.parametrize("name", ["a", "other", "type"])
def test_the_id_does_not_depend_on_names_and_values(name):
    def case(key, least, word):
        schema = {"type": "object", "properties": {key: {"minimum": least}}, "required": [key]}
        return ErrorCase("engine@1", "false_acceptance", compact(schema), word)

    one = case("x", 3, b'{"x":1}')
    assert bug_id(one, -1) == bug_id(case(name, 70, b'{"%s":12}' % name.encode()), -1)
    assert bug_id(one, -1) != bug_id(case(name, 0.5, b'{"%s":12}' % name.encode()), -1)
    assert bug_id(one, -1) == bug_id(ErrorCase("engine@2", one.kind, one.schema, one.text), -1)


def test_nothing_more_is_tried_once_it_is_stopped():
    trial = ForgetsMinimum()
    case = ErrorCase("engine", "false_acceptance", compact(LARGE), TEXT)
    shrink(trial, case, trial.reproduce(case), lambda: trial.asked >= 3)
    assert trial.asked < 3 + 24  # what goes to the engine at once is not cut


@pytest.mark.parametrize("text", [b'{"\xed\xa0\x80":1}', b'{"a":"\xff"}', b'{"a":'])
def test_what_is_no_text_in_utf_8_has_no_parts_to_leave_out(text):
    """Half of a surrogate pair in UTF-8: an engine may let it through."""
    schema = '{"type":"object","properties":{"a":{},"b":{"type":"integer"}}}'
    case = ErrorCase("tests.miniatures:Enumerator", "false_acceptance", schema, text)
    assert all(one.text == text for one in used_only(case))
