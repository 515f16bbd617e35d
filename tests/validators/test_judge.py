"""The judge decides what both validators prove, and survives what ends them."""

import json
import os
import signal
import threading
from typing import ClassVar

import pytest

from harness.errors import MaskcourtError
from harness.validators.format_rules import FORMAT_RULES
from harness.validators.judge import (
    CHUNK,
    CONTESTED,
    INVALID,
    SUSPECT,
    UNDECIDED,
    VALID,
    VERDICTS,
    Judge,
    Ruling,
    Unjudgeable,
)
from harness.validators.service import ValidatorService
from harness.workers import hosts
from harness.workers.outcomes import Crashed, OutOfMemory
from tests.inprocess import Died, InProcessJudge

MEMORY = 2 << 30
COLOUR = json.dumps({"properties": {"a/b": {"items": {"enum": ["red", 1]}}}, "maxProperties": 2})
EXPLODING = json.dumps({"type": "string", "pattern": "^(a+)+$"})
BOMB = b'"' + b"a" * 40 + b'!"'


DIED = Ruling(UNDECIDED, "validator_died")
BOTH_VALID = Ruling(VALID, "", "", "", "", "valid", "valid")


def both_invalid(keyword: str, schema: str, instance: str) -> Ruling:
    return Ruling(INVALID, "", keyword, schema, instance, "invalid", "invalid")


@pytest.fixture(scope="module")
def shared_judge():
    judge = Judge(MEMORY, seconds=1.0)
    yield judge
    judge.close()


@pytest.fixture(params=[pytest.param("in a host", marks=pytest.mark.processes), "in process"])
def judge(request):
    if request.param == "in a host":
        return request.getfixturevalue("shared_judge")
    return InProcessJudge()


class TestRulings:
    def test_of_many_texts_come_in_their_order(self, judge):
        assert judge.open(COLOUR) is None
        rulings = {
            b"{}": BOTH_VALID,
            b'{"a/b": ["red", 1, "blue"]}': both_invalid(
                "enum", "/properties/a~1b/items/enum", "/a~1b/2"
            ),
            b'{"x": 1, "x": 2}': Ruling(CONTESTED, "duplicate_keys"),
            b'{"a/b": ["red"': Ruling(INVALID, "not_json", "json"),
            b'{"x": 1e999}': Ruling(UNDECIDED, "number_range"),
            b'{"a": 1, "b": 2, "c": 3}': both_invalid("maxProperties", "/maxProperties", ""),
        }
        assert judge.judge(list(rulings)) == list(rulings.values())

    def test_the_first_error_is_the_one_that_jsonschema_names_first(self, judge):
        """The other validator names ``type`` first."""
        assert judge.open('{"minimum": 5, "type": "string"}') is None
        assert judge.judge([b"1"]) == [both_invalid("minimum", "/minimum", "")]

    def test_where_the_validators_differ_the_error_is_of_the_one_that_says_invalid(self, judge):
        schema = {"items": {"format": "hostname"}, "properties": {"d": {"format": "date-time"}}}
        assert judge.open(json.dumps(schema)) is None
        texts = [b'["a", "ab--c"]', b'{"d": "2098-12-31T23:59:60Z"}']
        named = ("format", "/items/format", "/1"), ("format", "/properties/d/format", "/d")
        assert judge.judge(texts) == [
            Ruling(CONTESTED, "validators_differ", *named[0], "valid", "invalid"),
            Ruling(CONTESTED, "validators_differ", *named[1], "invalid", "valid"),
        ]

    @pytest.mark.parametrize("ask", [Judge.judge, Judge.screen])
    def test_formats_are_asserted_or_forbid_nothing(self, ask):
        texts = [b'"2020-01-01"', b'"2020-13-01"', b'"2"', b"1"]
        verdicts = {}
        for rule in FORMAT_RULES:
            judge = InProcessJudge(formats=rule)
            assert judge.open('{"type": "string", "format": "date", "minLength": 2}') is None
            verdicts[rule] = [VERDICTS[one.verdict] != "valid" for one in ask(judge, texts)]
        asserted, annotated = [False, True, True, True], [False, False, True, True]
        assert verdicts == {"assertion": asserted, "annotation": annotated}

    def test_screening_names_what_the_fast_validator_says(self, judge):
        """Of two errors it names another one first than jsonschema does."""
        assert judge.open('{"minimum": 5, "type": "string"}') is None
        texts = [b"1", b'"a"', b"nul", b'{"x": 1, "x": 2}', b"[1e999]"]
        assert judge.screen(texts) == [
            Ruling(SUSPECT, "", "type", "/type", "", "", "invalid"),
            *judge.judge(texts[1:]),
        ]

    def test_nothing_is_suspect_under_patterns_that_need_backtracking(self, judge):
        assert judge.open('{"pattern": "^(?=a)"}') is None
        assert judge.screen([b'"b"']) == [both_invalid("pattern", "/pattern", "")]

    def test_screening_in_more_than_one_request(self, judge):
        assert judge.open('{"items": {"pattern": "[05]$"}}') is None
        texts = (b'["%d"]' % number for number in range(CHUNK + 10))
        expected = [number % 5 == 0 for number in range(CHUNK + 10)]
        assert [ruling.verdict == VALID for ruling in judge.screen(texts)] == expected

    def test_of_no_texts_are_none(self, judge):
        assert judge.open(COLOUR) is None
        assert judge.judge([]) == judge.screen([]) == []

    def test_errors_name_keyword_and_both_places(self, judge):
        assert judge.open(COLOUR) is None
        faults = judge.errors(b'{"a/b": ["red", "blue"]}')
        enum = ("enum", ("a/b", 1), ("properties", "a/b", "items", "enum"))
        assert set(faults) == {enum}
        assert judge.errors(b"{}") == []

    def test_another_schema_takes_the_place_of_the_first(self, judge):
        judge.open('{"const": 1}')
        assert judge.judge([b"1"])[0].verdict == VALID
        judge.open('{"const": 2}')
        assert judge.judge([b"1"])[0].verdict == INVALID


class TestUnjudgeable:
    @pytest.mark.parametrize(
        ("schema", "reason"), [("{", "not_json"), ('{"type": "colour"}', "both_refuse")]
    )
    def test_a_schema_without_validators(self, judge, schema, reason):
        problem = judge.open(schema)
        assert isinstance(problem, Unjudgeable)
        assert problem.reason == reason
        assert problem.message
        assert judge.open("{}") is None, "the next schema is judged"
        assert judge.judge([b"1"])[0].verdict == VALID


@pytest.mark.processes
def test_an_exploding_pattern_leaves_its_texts_undecided_and_the_judge_usable():
    judge = Judge(MEMORY, seconds=0.3)
    try:
        assert judge.open(EXPLODING) is None
        assert judge.judge([b'"aa"'])[0].verdict == VALID
        assert judge.judge([b'"aa"', BOMB]) == [DIED, DIED]
        assert judge.judge([b'"aa"', b'"b"', b"1"]) == [
            BOTH_VALID,
            both_invalid("pattern", "/pattern", ""),
            both_invalid("type", "/type", ""),
        ]
        assert judge.errors(BOMB) == []
        assert judge.open("{}") is None
        assert judge.judge([BOMB])[0].verdict == VALID
    finally:
        judge.close()


class Brittle(ValidatorService):
    """Dies of every text and every schema in which there is a bomb."""

    made = 0

    def __init__(self):
        type(self).made += 1

    def handle(self, message):
        if any(b"bomb" in array.tobytes() for array in message.arrays.values()):
            raise Died(Crashed("died of SIGSEGV", signal="SIGSEGV"))
        if "bomb" in message.head.get("schema", ""):
            raise Died(OutOfMemory("over the memory limit"))
        return super().handle(message)


class TestDeaths:
    @pytest.fixture
    def judge(self, monkeypatch):
        monkeypatch.setattr(Brittle, "made", 0)
        return InProcessJudge(Brittle)

    def test_only_the_request_with_the_text_is_undecided(self, judge):
        judge.open('{"type": "string"}')
        texts = [b'"a"'] * CHUNK + [b'"bomb"'] + [b'"b"'] * CHUNK
        verdicts = [ruling.verdict for ruling in judge.judge(texts)]
        assert verdicts == [VALID] * CHUNK + [UNDECIDED] * CHUNK + [VALID]

    def test_after_three_deaths_the_rest_of_the_case_is_not_asked(self, judge):
        judge.open("{}")
        for _ in range(3):
            assert judge.judge([b'"a"'])[0].verdict == VALID
            assert judge.judge([b'"bomb"']) == [DIED]
        started = Brittle.made
        assert judge.judge([b'"a"']) == [DIED]
        assert judge.screen([b'"a"']) == [DIED]
        assert judge.errors(b'"a"') == []
        assert Brittle.made == started
        assert judge.open('{"type": "null"}') is None, "the next case has patience anew"
        assert judge.judge([b'"a"'])[0].verdict == INVALID

    def test_a_schema_that_ends_the_validators_is_unjudgeable(self, judge):
        died = Unjudgeable("validators_out_of_memory", "over the memory limit")
        assert judge.open('{"title": "bomb"}') == died
        assert judge.open("{}") is None


class Hunted(ValidatorService):
    """Somebody kills it, at the first requests of each kind."""

    kills: ClassVar[dict[str, int]] = {}

    def handle(self, message):
        what = message.head["do"]
        self.kills[what] = self.kills.get(what, 0) - 1
        if self.kills[what] >= 0:
            raise Died(Crashed("died of SIGKILL", signal="SIGKILL"))
        return super().handle(message)


class TestKilledBySomebodyElse:
    @pytest.mark.parametrize(
        "kills", [{"open": 2}, {"judge": 3}, {"open": 1, "judge": 1, "screen": 1, "opinions": 2}]
    )
    def test_it_is_asked_again_and_nothing_is_lost(self, monkeypatch, kills):
        monkeypatch.setattr(Hunted, "kills", dict(kills))
        judge = InProcessJudge(Hunted)
        assert judge.open('{"type": "string"}') is None
        assert [one.verdict for one in judge.judge([b'"a"', b"1"])] == [VALID, INVALID]
        assert judge.screen([b'"a"'])[0].verdict == VALID
        assert {keyword for keyword, _, _ in judge.errors(b"1")} == {"type"}

    @pytest.mark.parametrize("what", ["open", "judge"])
    def test_again_and_again_it_ends_the_run_and_not_the_case(self, monkeypatch, what):
        monkeypatch.setattr(Hunted, "kills", {what: 100})
        judge = InProcessJudge(Hunted)
        with pytest.raises(MaskcourtError, match="died of SIGKILL 6 times over one case"):
            judge.judge([b"1"] if judge.open("{}") is None else [])


@pytest.mark.processes
def test_a_host_that_is_killed_or_stopped_is_replaced_and_asked_again(monkeypatch):
    monkeypatch.setattr(hosts, "STOPPED_SECONDS", 2.0)
    judge = Judge(1 << 30)
    try:
        assert judge.open("{}") is None
        os.kill(judge._host._process.pid, signal.SIGKILL)
        assert judge.judge([b"1"])[0].verdict == VALID
        os.kill(judge._host._process.pid, signal.SIGSTOP)
        threading.Timer(1.0, os.kill, [judge._host._process.pid, signal.SIGKILL]).start()
        assert judge.judge([b"2"])[0].verdict == VALID
        os.kill(judge._host._process.pid, signal.SIGSTOP)
        assert judge.judge([b"3"])[0].verdict == VALID
    finally:
        judge.close()
