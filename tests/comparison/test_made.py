"""Made instances: cases that bring none are walked and fed, and nobody is convicted by belief."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.comparison.generated_instances import Made, make
from harness.comparison.text_facts import TextFacts
from harness.schemas.values import Values
from harness.validators.service import ValidatorService
from harness.workers.outcomes import Crashed
from tests.comparison.test_instances import BYTES
from tests.inprocess import (
    EFFECT,
    UNCAPPED,
    Died,
    InProcessJudge,
    case,
    make_run,
    records,
    run_case,
)
from tests.miniatures import AcceptsExtra, CrashesOnMask, Enumerator, ForbidsOne
from tests.oracle import is_valid, trials
from tests.worlds import Allows

MAKING = replace(UNCAPPED, generated=16)
ENGINES = [Enumerator, AcceptsExtra]


def of_schema(schema, given=()):
    judge = InProcessJudge()
    assert judge.open(json.dumps(schema)) is None
    return make(judge, schema, given, {})


def texts(ruled):
    return [one.text.decode() for one in ruled]


class TestMaking:
    def test_both_validators_decide_what_is_valid(self):
        # The generator takes no notice of look-ahead: most of what it believes is wrong.
        schema = {"type": "string", "pattern": "^(?!a).$"}
        found = of_schema(schema)
        assert found.attempted > len(found.valid) > 0
        assert all(not json.loads(text).startswith("a") for text in texts(found.valid))
        assert {one.ruling.jsonschema for one in found.valid} == {"valid"}
        assert {one.ruling.jsonschema_rs for one in found.invalid} == {"invalid"}

    def test_texts_come_in_the_order_of_what_they_add(self):
        schema = {
            "type": "object",
            "properties": {"a": {"enum": [1, 2]}, "b": {"anyOf": [{"const": 3}, {"type": "null"}]}},
            "additionalProperties": False,
        }
        first, second, *_ = texts(of_schema(schema).valid)
        assert json.loads(first).keys() == json.loads(second).keys() | {"a", "b"}
        found = texts(of_schema(schema).invalid)
        assert len({one.ruling.keyword for one in of_schema(schema).invalid[:4]}) > 2, found

    def test_what_is_everyday_does_not_stand_beside_what_is_not_alone(self):
        """A name with quotes is told apart from the member of the items that nobody declared."""
        item = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
        name = {"type": "string", "minLength": 1}
        schema = {
            "type": "object",
            "properties": {"name": name, "items": {"type": "array", "items": item, "minItems": 1}},
            "required": ["name", "items"],
        }
        facts = TextFacts(json.dumps(schema), schema, None)
        valid = of_schema(schema).valid
        sorts = [facts.shown_by(one.text, "false_rejection") for one in valid]
        assert sorts[:8] == ["plain", "plain", "plain", "rare"] * 2
        quoted = [sort for sort, one in zip(sorts, valid, strict=True) if b'\\"' in one.text]
        assert "plain" in quoted[:2]

    def test_bounds_that_are_missed_by_one_come_first_of_their_keyword(self):
        found = texts(of_schema({"type": "integer", "minimum": 3, "maximum": 5}).invalid)
        assert {"2", "6"} <= set(found[:3])

    def test_what_is_given_is_broken_too(self):
        schema = {"type": "string", "pattern": "^(?=b)(?!a)b$", "not": {"enum": ["a", "b!"]}}
        assert '"b!"' in texts(of_schema(schema, [b'"b"']).invalid)

    def test_nothing_is_drawn(self):
        schema = {"properties": {"a": {"type": "integer"}, "b": {"items": {"minLength": 2}}}}
        assert of_schema(schema) == of_schema(schema)

    def test_long_texts_are_walked_last(self):
        long = {"type": "string", "minLength": 900}
        found = of_schema({"anyOf": [long, {"type": "null"}]}).references()
        assert found[0] == b"null"
        assert len(found[-1]) > 900

    def test_half_of_what_is_fed_is_valid_if_there_is_enough(self):
        found = of_schema({"type": "integer", "minimum": 3})
        verdicts = [one.ruling.verdict for one in found.fed(6, ())]
        assert verdicts == [0] * 3 + [1] * 3
        assert len(found.fed(4, {one.text for one in found.valid})) == 4
        assert texts(of_schema({"const": 1}).fed(6, ()))[0] == "1"
        assert len(of_schema({"const": 1}).fed(4, ())) == 4 == len(of_schema({}).fed(4, ()))
        assert found.fed(0, ()) == Made().fed(3, ()) == []

    def test_validators_that_die_over_made_texts_take_nothing_from_the_case(self):
        class Fragile(ValidatorService):
            def reached(self, message):
                raise Died(Crashed("died of SIGSEGV", signal="SIGSEGV"))

        judge = InProcessJudge(Fragile)
        judge.open("{}")
        assert make(judge, {}, (), {}).valid
        for _ in range(3):
            make(judge, {}, (), {})
        assert judge.judge([b"1"])[0].jsonschema == "valid"


def walked_along_a_made_one(rows):
    """The row of a case, for which 12 was made."""
    (found,) = records(rows, "cases")
    outcome = found["status"], found["references"], found["generated"]
    assert outcome == ("walked", [b"12"], True)
    return found


class TestWalks:
    def test_a_case_without_instances_is_walked_along_a_made_one(self):
        rows = run_case(ENGINES, case({"enum": [12], "x-extra": ["120"]}), BYTES, MAKING)
        walked_along_a_made_one(rows)
        (verdict,) = records(rows, "verdicts")
        assert (verdict["engine"], verdict["kind"]) == ("AcceptsExtra", "false_acceptance")

    def test_so_is_one_whose_instances_are_not_valid(self):
        rows = run_case(ENGINES, case({"enum": [12]}, 13), BYTES, MAKING)
        found = walked_along_a_made_one(rows)
        assert (
            found["message"] == "the reference 13 is not valid under its schema: enum at its root"
        )

    def test_walks_go_through_the_made_ones(self):
        rules = replace(MAKING, walks=3)
        (found,) = records(run_case(ENGINES, case({"enum": [1, 2]}), BYTES, rules), "cases")
        assert found["references"] == [b"1", b"2", b"1"]

    def test_a_case_with_a_valid_instance_is_walked_along_that(self):
        (found,) = records(run_case(ENGINES, case({"enum": [1, 2]}, 2), BYTES, MAKING), "cases")
        assert (found["references"], found["generated"]) == ([b"2"], False)

    def test_where_nothing_valid_is_found_the_case_is_set_aside(self):
        unknown = {"enum": [1], "not": {"const": 1}}
        (found,) = records(run_case(ENGINES, case(unknown), BYTES, MAKING), "cases")
        assert (found["status"], found["reason"]) == ("set_aside", "no_reference")
        assert found["message"] == (
            "the case has no valid instance, and none of 1 made of the schema is"
        )

    def test_none_are_made_the_study_s_way(self):
        rows = run_case(ENGINES, case({"enum": [1]}), BYTES, UNCAPPED)
        (found,) = records(rows, "cases")
        assert (found["reason"], found["generated"]) == ("no_reference", False)
        assert found["message"] == "the case has no valid instance"
        assert records(rows, "instances") == []


class TestFed:
    @given(st.sets(st.sampled_from(["1", "12", '"ab"', '{"a": 1}']), min_size=1), st.data())
    def test_engines_are_convicted_of_exactly_what_they_get_wrong(self, right, data):
        schema = {"enum": [json.loads(one) for one in sorted(right)]}
        made = {one["text"].decode() for one in fed(schema)}
        assert right <= made
        extra = data.draw(st.sets(st.sampled_from(sorted(made - right)), max_size=3))
        missing = data.draw(st.sets(st.sampled_from(sorted(right)), max_size=2))
        allowed = sorted((right - missing) | extra)
        rows = run_case([Allows], case({**schema, "x-allows": allowed}), BYTES, MAKING)
        instances = [one["text"].decode() for one in records(rows, "instances")]
        found = {
            (instances[one["instance"]], one["kind"])
            for one in records(rows, "instance_verdicts")
            if one["kind"] != "never_stops"
        }
        begun = {one for one in missing if any(more.startswith(one) for more in allowed)}
        assert found == {
            *((one, "false_acceptance") for one in extra),
            *((one, "false_rejection") for one in missing - begun),
        }

    @given(trials(), st.booleans())
    def test_what_is_proven_without_them_is_proven_with_them(self, trial, instance):
        given = (trial.value,) if instance else ()
        one = case(trial.schema, *given)
        runner = make_run(trial.engines, replace(trial.vocabulary, pattern=BYTES.pattern), UNCAPPED)
        plain = runner.run(one)
        runner.rules = MAKING
        more = runner.run(one)
        for table in ("instances", "instance_verdicts", "verdicts", "disputes", "completions"):
            here, there = (records(rows, table, without=EFFECT) for rows in (plain, more))
            assert [row for row in here if row not in there] == []
            if instance and not table.startswith("instance"):
                assert here == there

    @given(trials())
    def test_no_honest_engine_is_convicted(self, trial):
        # Its language is finite: what is valid of what is made belongs to it.
        valid = [one["text"].decode() for one in fed(trial.schema) if one["verdict"] == "valid"]
        assert all(is_valid(trial.schema, one.encode()) for one in valid)
        schema = {**trial.schema, "x-allows": valid}
        rows = run_case([Allows, Allows], case(schema), BYTES, MAKING)
        assert records(rows, "instance_verdicts") == records(rows, "verdicts") == []

    def test_an_engine_that_fails_over_one_was_fed_with_the_case_s_own(self):
        schema = {"enum": [1, 123], "x-crash": 2, "x-forbidden": [["", "1"]]}
        own = case(schema, 1, invalid=[2])
        rows = run_case([CrashesOnMask, ForbidsOne], own, BYTES, MAKING)
        failed = {
            (one["engine"], one["stage"])
            for one in records(rows, "engines")
            if one["outcome"] != "compiled"
        }
        assert failed == {("CrashesOnMask", "generated")}
        plain = run_case([CrashesOnMask, ForbidsOne], own, BYTES, UNCAPPED)
        verdicts = records(rows, "instance_verdicts")
        assert [one for one in verdicts if one["instance"] < 2] == records(
            plain, "instance_verdicts"
        )
        assert {one["engine"] for one in verdicts} == {"ForbidsOne"}

    def test_what_the_case_brings_is_not_fed_again(self):
        rows = run_case(ENGINES, case({"enum": [1, 2]}, 2, invalid=[3]), BYTES, MAKING)
        instances = records(rows, "instances")
        assert [one["label"] for one in instances[:2]] == ["valid", "invalid"]
        written = [one["text"] for one in instances]
        assert len(set(written)) == len(written) <= 18


def fed(schema):
    """The rows of what is fed of a case that is a schema alone."""
    return records(run_case([Enumerator], case(schema), BYTES, MAKING), "instances")


class TestWalksAlongSamples:
    def rows(self, monkeypatch, **rules):
        monkeypatch.setattr(Values, "values", lambda _: [])
        one = case({"enum": [12], "x-extra": ["120"]})
        return run_case(ENGINES, one, BYTES, replace(MAKING, **rules))

    def test_where_nothing_valid_could_be_made(self, monkeypatch):
        rows = self.rows(monkeypatch, samples=4)
        walked_along_a_made_one(rows)
        (verdict,) = records(rows, "verdicts")
        assert (verdict["engine"], verdict["kind"]) == ("AcceptsExtra", "false_acceptance")
        assert b"12" in [one["text"] for one in records(rows, "samples")]

    @pytest.mark.parametrize("rules", [{"samples": 0}, {"samples": 4, "generated": 0}])
    def test_only_if_such_may_be_walked(self, monkeypatch, rules):
        (found,) = records(self.rows(monkeypatch, **rules), "cases")
        assert (found["status"], found["reason"]) == ("set_aside", "no_reference")
