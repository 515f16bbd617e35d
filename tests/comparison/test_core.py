"""The whole method in small: each test runs a few cases of which all is known."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from harness.inputs.cases import Case, Instance
from harness.inputs.vocabulary import byte_vocabulary
from harness.runs.tables import Rows
from harness.validators.service import ValidatorService
from tests.comparison.test_case_run import AllowsOnlyExtra, ForbidsEnd, kinds
from tests.comparison.test_exact import assert_witnesses_replay
from tests.comparison.test_flaws import LiesAndAccepts
from tests.comparison.test_instances import BYTES, proven
from tests.comparison.test_sample_verdicts import proven as errors_of_samples
from tests.inprocess import InProcessJudge, case, make_run, records, run_case, study
from tests.miniatures import (
    AcceptsExtra,
    AllowsEverything,
    ConsumeLies,
    Enumerator,
    ForbidsOne,
    ForgetsMaxItems,
    NeverEnds,
)
from tests.oracle import ForbidsAndAccepts, Trial


def test_witnesses_replay() -> None:
    schema = {"enum": [12, 20], "x-extra": ["13", "1.2e1", " 20"], "x-forbidden": [["1", "2"]]}
    engines = (Enumerator, AcceptsExtra, ForbidsOne)
    trial = Trial(schema, 12, (b"12",), engines)
    rows = trial.run()
    assert {kind for _, kind in kinds(rows)} == {"false_acceptance", "false_rejection", "dead_end"}
    assert_witnesses_replay(trial, rows)


def test_one_engine_alone_has_nobody_to_differ_from() -> None:
    (found,) = records(run_case([Enumerator], case({"const": 1}, 1)), "cases")
    assert (found["status"], found["reason"]) == ("not_compared", "fewer_than_two_engines")


def test_the_end_belongs_to_a_completion() -> None:
    """Behind the blank this engine does not end, but goes on to what is no JSON."""
    rows = run_case([Enumerator, AcceptsExtra], case({"const": 1, "x-extra": ["1 0"]}, 1))
    assert kinds(rows) == {("AcceptsExtra", "false_acceptance")}


def test_one_valid_completion_clears_for_all() -> None:
    schema = {"enum": [12, 20], "x-extra": ["13", "20"], "x-forbidden": [["", "1"]]}
    rows = run_case([Enumerator, AllowsOnlyExtra, ForbidsOne], case(schema, 20))
    assert kinds(rows) == {("ForbidsOne", "false_rejection")}


def test_what_is_left_open_convicts_nobody() -> None:
    twice = case({"enum": [{"a": 1}], "x-extra": ['{"a": 1, "a": 1}']}, {"a": 1})
    assert kinds(run_case([Enumerator, AcceptsExtra], twice)) == {("AcceptsExtra", "contested")}


class Contrary:
    """A validator that says the opposite of one value, and explains nothing about it."""

    def __init__(self, genuine: Any, value: Any) -> None:
        self.genuine = genuine
        self.value = value

    def is_valid(self, value: Any) -> bool:
        return bool(self.genuine.is_valid(value)) != (value == self.value)

    def iter_errors(self, value: Any) -> Iterator[Any]:
        return iter(()) if value == self.value else self.genuine.iter_errors(value)

    def validate(self, value: Any) -> None:
        if value != self.value:
            self.genuine.validate(value)
        elif self.genuine.is_valid(value):
            self.genuine.validate(object)


def rigged(which: str, value: Any) -> Rows:
    """The rows of a case about 12 and 13, in which one validator errs about one value."""

    class Rigged(ValidatorService):
        def open(self, message):
            answer = super().open(message)
            setattr(self.validators, which, Contrary(getattr(self.validators, which), value))
            return answer

    run = make_run([Enumerator, AcceptsExtra])
    run.judge = InProcessJudge(Rigged)
    return run.run(case({"enum": [12], "x-extra": ["12.0", "13"]}, 12))


def test_both_validators_are_needed() -> None:
    honest = {("Enumerator", "false_rejection"), ("AcceptsExtra", "false_acceptance")}
    assert kinds(rigged("_fast", "nothing")) == honest
    for which in ("_fast", "_slow"):
        assert kinds(rigged(which, 13)) == {
            ("Enumerator", "false_rejection"),
            ("AcceptsExtra", "contested"),
        }


def test_errors_are_located() -> None:
    schema = {"type": "array", "items": {"enum": [1]}, "maxItems": 1, "x-extra": ["[ 1, 1]"]}
    for engine, expected in [
        (ForgetsMaxItems, [(2, ord(","), True)]),
        (AcceptsExtra, [(1, ord(" "), False)]),
    ]:
        rows = run_case([Enumerator, engine], case(schema, [1]))
        found = [(one["position"], one["token"], one["located"]) for one in verdicts_of(rows)]
        assert found == expected
    rows = run_case([Enumerator, AcceptsExtra], case({"const": 12, "x-extra": ["1"]}, 12))
    assert [one["located"] for one in verdicts_of(rows)] == [True]


def verdicts_of(rows: Rows) -> list[dict[str, Any]]:
    return records(rows, "verdicts")


def test_instances_are_what_the_validators_say() -> None:
    mislabelled = Case(
        "case", "family", '{"enum": [1, 12]}', (Instance.of(1),), (Instance.of(12),), "case.json"
    )
    assert proven([Enumerator], mislabelled) == []


def test_mask_violations_have_a_witness() -> None:
    schema = {"const": 1, "x-extra": ["2345"], "x-forbidden": [["234", "5"]]}
    rows = run_case([Enumerator, LiesAndAccepts], case(schema, 1))
    assert kinds(rows) == {("LiesAndAccepts", "mask_consume_mismatch")}
    assert records(rows, "completions")[0]["tokens"] == [*b"345"]


def test_a_sample_depends_on_the_tokens_alone() -> None:
    """Another disputed token changes the sample at most by coming into it."""

    def sample(extra: list[str]) -> set[tuple[int, int]]:
        schema = {"const": 1, "x-extra": extra}
        rows = run_case([Enumerator, AcceptsExtra], case(schema, 1), rules=study(cap=3))
        return {(one["position"], one["token"]) for one in records(rows, "verdicts")}

    letters = [f"1{letter}" for letter in "abcdefghijklmnopqrst"]
    whole = sample(letters)
    for letter in letters:
        left_out = (1, ord(letter[1]))
        less = sample([one for one in letters if one != letter])
        assert whole - {left_out} <= less


def test_what_never_ends_stays_open() -> None:
    endless = case({"const": "ab", "x-open": ['"a'], "x-letters": "bc"}, "ab")
    assert kinds(run_case([Enumerator, NeverEnds], endless)) == {("NeverEnds", "unresolved")}
    schema = {"const": "ab", "x-extra": ['"\\u0061b"'], "x-open": ['"\\'], "x-letters": "bc"}
    rows = run_case([Enumerator, AcceptsExtra, NeverEnds], case(schema, "ab"))
    assert kinds(rows) == {("Enumerator", "false_rejection")}


def test_every_disputed_token_is_resolved() -> None:
    rows = run_case([Enumerator, AllowsEverything], case({"const": True}, True))
    disputed = sum(one["disputed_tokens"] for one in records(rows, "positions"))
    assert rows.count("verdicts") == disputed > 500
    assert kinds(rows) == {
        ("AllowsEverything", "false_acceptance"),
        ("AllowsEverything", "stops_too_early"),
        ("Enumerator", "false_rejection"),
    }


def test_every_error_has_one_witness() -> None:
    schema = {"const": 12, "x-extra": ["12x"], "x-forbidden": [["12", "x"]]}
    rows = run_case([Enumerator, AcceptsExtra, LiesAndAccepts], case(schema, 12))
    assert [one["kind"] for one in verdicts_of(rows)] == [
        "false_acceptance",
        "mask_consume_mismatch",
    ]


def test_samples_prove_what_is_so() -> None:
    """Whoever wrote a text: those that let it through or refuse it are told, and nobody else."""
    engines = [AcceptsExtra, ForbidsOne, Enumerator]
    schema = {"enum": [1, 12], "x-extra": ["2"], "x-forbidden": [["1", "2"]]}
    assert of_samples(engines, schema) == {
        ("AcceptsExtra", "false_acceptance", b"2"),
        ("ForbidsOne", "false_rejection", b"12"),
    }


def test_samples_are_fed_as_they_were_written() -> None:
    vocabulary = replace(byte_vocabulary([b"33"]), pattern=r"(?s:.+)")
    schema = {"enum": [1], "x-extra": ["33"], "x-forbidden": [["", "33"]]}
    assert of_samples([ForbidsAndAccepts], schema, vocabulary) == {
        ("ForbidsAndAccepts", "false_acceptance", b"33")
    }


def test_samples_without_an_end() -> None:
    assert of_samples([ForbidsEnd], {"const": 1}) == {("ForbidsEnd", "dead_end", b"1")}
    schema = {"const": "ab", "x-forbidden": [['"a', "b"]]}
    assert of_samples([ConsumeLies], schema) == {("ConsumeLies", "mask_consume_mismatch", b'"ab')}
    assert of_samples([NeverEnds], {"const": 1, "x-open": ['"']}) == set()


def of_samples(engines, schema, vocabulary=BYTES) -> set[tuple[str, str, bytes]]:
    """The errors that samples prove from a bare schema: engine, kind and text."""
    return errors_of_samples(run_case(engines, case(schema), vocabulary, study(samples=32)))
