"""Instances as evidence: what a case's own instances prove about each engine beside the walks."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from harness.inputs.cases import Case, Instance
from harness.inputs.vocabulary import byte_vocabulary
from tests.inprocess import case, records, run_case, study
from tests.miniatures import (
    AcceptsExtra,
    CrashesOnMask,
    Enumerator,
    ForbidsOne,
    RaisesOnMask,
    RefusesAll,
)
from tests.oracle import VALUES, is_valid, trials

BYTES = replace(byte_vocabulary(), pattern=r"(?s:.)")
"""Each byte is a token, and these are the canonical tokens of every text."""


def proven(engines, one, vocabulary=BYTES):
    """The instance verdicts as (instance, engine, kind, consumed)."""
    rows = run_case(engines, one, vocabulary)
    return [
        (row["instance"], row["engine"], row["kind"], row["consumed"])
        for row in records(rows, "instance_verdicts")
    ]


def expected(trial, engine, text):
    """What one instance proves about an engine, by its language alone: kinds and tokens before."""
    right = is_valid(trial.schema, text)
    for at in range(len(text) + 1):
        token = text[at] if at < len(text) else trial.vocabulary.eos
        wrong = [("mask_consume_mismatch", at)] if trial.violates(engine, text[:at], token) else []
        if wrong and trial.shows(engine, text[:at], token):
            return wrong
        if not trial.shows(engine, text[:at], token):
            missing = "never_stops" if at == len(text) else "false_rejection"
            return [(missing, at), *wrong] if right else wrong
    return [] if right else [("false_acceptance", len(text) + 1)]


@given(trials(), st.lists(st.sampled_from(VALUES), max_size=6))
def test_all_is_proven_that_instances_can_prove_and_nothing_else(trial, values):
    trial = replace(trial, longer=())
    right = [one for one in values if is_valid(trial.schema, json.dumps(one).encode())]
    wrong = [one for one in values if one not in right]
    one = case(trial.schema, trial.value, *right, invalid=wrong)
    vocabulary = replace(trial.vocabulary, pattern=BYTES.pattern)
    found = set(proven(trial.engines, one, vocabulary))
    texts = [instance.text for instance in (*one.valid, *one.invalid)]
    assert found == {
        (number, kind.__name__, *verdict)
        for number, text in enumerate(texts)
        for engine, kind in enumerate(trial.engines)
        for verdict in expected(trial, engine, text)
    }


def test_an_invalid_instance_that_is_accepted_to_its_end_is_a_false_acceptance():
    one = case({"enum": [1, 12], "x-extra": ["120"]}, 1, invalid=[2, 120])
    rows = run_case([AcceptsExtra], one, BYTES)
    (verdict,) = records(rows, "instance_verdicts")
    assert (verdict["instance"], verdict["kind"]) == (2, "false_acceptance")
    assert (verdict["keyword"], verdict["schema_pointer"]) == ("enum", "/enum")
    assert verdict["jsonschema"] == verdict["jsonschema_rs"] == "invalid"


def test_a_valid_instance_that_is_refused_is_a_false_rejection_where_it_was_refused():
    one = case({"enum": [1, 12], "x-forbidden": [["1", "2"]]}, 1, 12)
    rows = run_case([ForbidsOne], one, BYTES)
    (verdict,) = records(rows, "instance_verdicts")
    assert (verdict["instance"], verdict["kind"]) == (1, "false_rejection")
    assert (verdict["consumed"], verdict["token"]) == (1, ord("2"))
    assert (verdict["keyword"], verdict["category"]) == ("enum", "number")


def test_no_false_rejection_without_the_canonical_tokens():
    one = case({"enum": [1, 12], "x-forbidden": [["1", "2"]]}, 1, 12)
    rows = run_case([ForbidsOne], one, byte_vocabulary())
    (verdict,) = records(rows, "instance_verdicts")
    assert (verdict["kind"], verdict["reason"]) == ("unresolved", "unusual_tokenisation")


def test_an_instance_that_is_accepted_although_it_is_not_finished():
    broken = Case(
        "case",
        "family",
        '{"enum": [[1]], "x-extra": ["[1"]}',
        (Instance.of([1]),),
        (Instance(b"[1"),),
        "case.json",
    )
    assert proven([AcceptsExtra], broken) == [(1, "AcceptsExtra", "stops_too_early", 3)]


def test_what_the_validators_leave_open_convicts_nobody():
    twice = Instance(b'{"a": 1, "a": 1}')
    schema = '{"enum": [{"a": 1}], "x-extra": ["{\\"a\\": 1, \\"a\\": 1}"]}'
    one = Case("case", "family", schema, (Instance.of({"a": 1}),), (twice,), "case.json")
    rows = run_case([AcceptsExtra, Enumerator], one, BYTES)
    found = [(row["kind"], row["reason"]) for row in records(rows, "instance_verdicts")]
    assert found == [("contested", "duplicate_keys")] * 2


def test_the_walk_takes_the_first_instance_that_both_validators_call_valid():
    engines = [Enumerator, AcceptsExtra]
    twice = b'{"a": 1, "a": 1}'
    one = case({"enum": [1, 2, {"a": 1}]}, 3, 2, 1, invalid=[1, 4])
    one = replace(one, valid=(Instance(twice), *one.valid))
    rows = run_case(engines, one, BYTES, study(cap=None, walks=3))
    (found,) = records(rows, "cases")
    assert (found["status"], found["reason"]) == ("walked", "")
    assert found["references"] == [b"2", b"1", b"2"]
    assert found["message"] == "the reference 3 is not valid under its schema: enum at its root"
    labels = [(row["label"], row["verdict"]) for row in records(rows, "instances")]
    assert labels.count(("valid", "invalid")) == labels.count(("invalid", "valid")) == 1


def test_an_instance_that_is_valid_and_labelled_invalid_is_remarked_on():
    (found,) = records(
        run_case([Enumerator, AcceptsExtra], case({"enum": [1, 2]}, 1, invalid=[2]), BYTES), "cases"
    )
    assert found["status"] == "walked"
    assert found["message"] == "2 is labelled invalid, and is valid under its schema"


def test_a_case_without_any_instance_that_is_valid_is_set_aside():
    rows = run_case([Enumerator, AcceptsExtra], case({"type": "null"}, 1, 2), BYTES)
    (found,) = records(rows, "cases")
    assert (found["status"], found["reason"]) == ("set_aside", "reference_invalid")
    assert found["message"] == "the reference 1 is not valid under its schema: type at its root"


def test_every_engine_that_compiled_is_fed_though_there_is_nothing_to_compare():
    one = case({"enum": [1], "x-extra": ["2"]}, 1, invalid=[2])
    rows = run_case([RefusesAll, AcceptsExtra], one, BYTES)
    assert records(rows, "cases")[0]["status"] == "not_compared"
    assert [row["engine"] for row in records(rows, "instance_verdicts")] == ["AcceptsExtra"]


def test_invalid_instances_count_without_any_valid_one():
    one = case({"enum": [1], "x-extra": ["2"]}, invalid=[2])
    rows = run_case([AcceptsExtra], one, BYTES)
    assert records(rows, "cases")[0]["reason"] == "no_reference"
    assert [row["kind"] for row in records(rows, "instance_verdicts")] == ["false_acceptance"]


def test_an_engine_that_fails_over_an_instance_is_noted_and_not_blamed():
    one = case({"enum": [1, 12], "x-crash": 1}, 12)
    rows = run_case([CrashesOnMask, Enumerator], one, BYTES)
    assert records(rows, "instance_verdicts") == []
    stages = [row["stage"] for row in records(rows, "engines") if row["outcome"] == "crashed"]
    assert stages[-1] == "instances"


class RaisesBehindExtra(AcceptsExtra, RaisesOnMask):
    """Allows the texts of ``x-extra``; behind so many tokens of any text it raises an exception."""

    fail = RaisesOnMask.fail


def test_an_exception_at_one_instance_leaves_what_the_others_prove():
    extra = ["2", "3333", "4"]
    one = case({"enum": [1], "x-extra": extra, "x-crash": 3}, invalid=[2, 3333, 4])
    rows = run_case([RaisesBehindExtra], one, BYTES)
    found = records(rows, "instance_verdicts")
    assert [(row["instance"], row["kind"]) for row in found] == [
        (0, "false_acceptance"),
        (2, "false_acceptance"),
    ]
    failed = [row["stage"] for row in records(rows, "engines") if row["outcome"] == "crashed"]
    assert failed == ["instances"]


class SpoiltByAnException(RaisesBehindExtra):
    """Its copies share what an exception spoils: from then on all of them refuse every token."""

    class Matcher(RaisesBehindExtra.Matcher):
        spoilt: dict[str, bool]

        def mask(self, out):
            if self.count == self.after:
                self.spoilt["all"] = True
            super().mask(out)

        def consume(self, token):
            return not self.spoilt and super().consume(token)

    def matcher(self, schema):
        matcher = super().matcher(schema)
        matcher.spoilt = {}
        return matcher


def test_an_engine_that_raised_compiles_anew_before_it_is_asked_again():
    one = case({"enum": [1], "x-extra": ["3333"], "x-crash": 3}, 1, invalid=[3333, 2])
    rows = run_case([SpoiltByAnException], one, BYTES)
    assert records(rows, "instance_verdicts") == []
    failed = [row["stage"] for row in records(rows, "engines") if row["outcome"] == "crashed"]
    assert failed == ["instances"]
