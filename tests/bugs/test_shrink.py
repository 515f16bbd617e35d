"""Shrinking with engines that are functions: to the smallest case."""

import json
from contextlib import closing, nullcontext
from types import SimpleNamespace

import pytest

from harness.bugs.error_case import ErrorCase, compact
from harness.bugs.identity import bug_id
from harness.bugs.passes import used_only
from harness.bugs.shrink import MOST, Known, Shrinker, shrink
from harness.bugs.text_edits import sort_of
from harness.bugs.trial import Symptom, Trial
from harness.replay.witness import Witness
from harness.validators.drafts import draft_of
from harness.workers.outcomes import Compiled, TimedOut
from tests.bugs.fake_trial import Fake
from tests.inprocess import InProcessJudge

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


class ForgetsMinimum(Fake):
    """Allows every JSON text: shows false acceptances of what breaks `minimum`."""

    def __init__(self, keyword="minimum"):
        self.keyword = keyword
        self.asked = 0

    def reproduce_all(self, cases):
        for one in cases:
            self.asked += 1
            yield self.shown(one)

    def shown(self, case):
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


def test_what_another_came_through_is_not_shrunk_again():
    known, trial = Known(), ForgetsMinimum()
    case = ErrorCase("engine", "false_acceptance", compact(LARGE), TEXT)
    longer = ErrorCase("engine", "false_acceptance", compact({**LARGE, "title": "Two"}), TEXT)
    symptom = trial.reproduce(case)
    first = shrink(trial, case, symptom, known=known)
    stopped = shrink(trial, longer, symptom, lambda: trial.asked > first.attempts / 2)
    again = shrink(trial, longer, symptom, known=known)
    assert again.case == first.case == shrink(trial, longer, symptom).case != stopped.case
    assert again.attempts < first.attempts / 2


def test_what_makes_a_text_no_json_does_not_matter_where_a_letter_does_so_too():
    class EndsStringsAnywhere(Fake):
        def reproduce_all(self, cases):
            yield from map(self.shown, cases)

        def shown(self, case):
            try:
                json.loads(case.text)
            except ValueError as error:
                at = min(error.pos, len(case.text) - 1)
                return Symptom(at, "bug", "json", f"json: {sort_of(case.text[at : at + 1])}")
            return None

    trial, smallest = EndsStringsAnywhere(), set()
    for text in (b'{"a":""+"}', b'{"a":"":"}', b'{"a":""0"}'):
        case = ErrorCase("engine", "false_acceptance", '{"type":"object"}', text)
        smallest.add(shrink(trial, case, trial.reproduce(case)).case)
    assert len(smallest) == 1


def test_what_took_too_long_costs_no_host_again():
    class Panel(SimpleNamespace):
        infos = (None,)

        def change(self, *_): ...
        def close(self): ...
        def output(self, _):
            return ""

        def compile(self, schema):
            self.compiled.append(schema)
            return [TimedOut("too long") if schema == "{}" else Compiled(0.5, 0.0)]

    panel, spec = Panel(compiled=[]), SimpleNamespace(name="slow")
    with closing(Trial(spec, InProcessJudge(), panel=panel)) as trial:
        assert [trial.compiles(schema) for schema in ("{}", "true", "{}")] == [False, True, False]
        assert (trial.failures, trial.seconds, panel.compiled) == (2, 0.5, ["{}", "true"])


def test_a_smaller_case_without_the_effect_is_not_taken():
    class Loses(ForgetsMinimum):
        def effect(self, case, _):
            return "lost_value" if b"tea" in case.text else "spelling"

    trial = Loses()
    case = ErrorCase("engine", "false_acceptance", compact(LARGE), TEXT)
    found = shrink(trial, case, trial.reproduce(case), effect="lost_value")
    assert b"tea" in found.case.text
    assert len(found.case.text) < len(TEXT)


class ForgetsT(Fake):
    """Refuses every `t` in a text, and what comes before it as `also` says."""

    at_issue = ""

    def __init__(self, also=b""):
        self.refuses = b"t" + also

    def with_token(self, _):
        return nullcontext(self)

    def reproduce_all(self, cases):
        for one in cases:
            at = min((at for char in self.refuses if (at := one.text.find(char, 1)) > 0), default=0)
            sort = "escape" if one.text[at : at + 1] == b"\\" else "letter"
            yield Symptom(at, "bug", "type", sort) if at and self.is_valid(one) else None

    def effect(self, case, _):
        return self.at_issue if b"t" in case.text or b"\\u0074" in case.text else "spelling"


@pytest.mark.parametrize(
    ("effect", "also", "escaped"),
    [
        ("lost_value", b"\\", False),
        ("spelling", b"\\", True),
        ("lost_value", b"\\ ", True),  # it takes less of the usual spelling
    ],
)
def test_a_lost_value_is_shown_as_programs_write_it(vocabulary, effect, also, escaped):
    text = b'{\t"a"\t:"\\u0074"}'
    before = tuple(vocabulary.tokens.index(bytes([byte])) for byte in text[:8])
    token = vocabulary.tokens.index(b"\\")
    witness = Witness("walk", 0, "case", 0, "engine", "false_rejection", "", "", before, token, (),
                      text, effect=effect)  # fmt: skip
    run = SimpleNamespace(manifest={"identity": {"engines": {}, "limits": {}}})
    shrinker = Shrinker(run, (), vocabulary, ForgetsT(also))
    with closing(shrinker):
        found = shrinker.sample(witness, "{}")
    assert (found.effect, b"\\" in found.error.text) == (effect, escaped)


def test_gives_up_on_an_engine_that_fails_again_and_again():
    class Fails(ForgetsMinimum):
        def reproduce_all(self, cases):
            self.failures += len(cases)
            yield from (None for _ in cases)

    trial = Fails()
    case = ErrorCase("engine", "false_acceptance", compact(LARGE), TEXT)
    found = shrink(trial, case, trial.shown(case))
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
