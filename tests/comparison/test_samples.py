"""Samples as evidence: what texts prove that engines write themselves, and what they never prove."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.completion.rollout import LIMIT, Preferences
from harness.completion.text_writer import START_PLACE, TEMPERAMENTS, Base, TextWriter
from harness.inputs.vocabulary import byte_vocabulary
from harness.jsonschemas.hints import hints
from harness.jsontext.lexer import Mode
from harness.runs.tables import SCHEMAS
from harness.verdict_kinds import ERRORS
from tests.comparison.test_case_run import ForbidsEnd
from tests.inprocess import case, default_options, records, run_case, study
from tests.miniatures import (
    AcceptsExtra,
    ConsumeLies,
    CrashesOnMask,
    Enumerator,
    ForbidsOne,
    NeverEnds,
)
from tests.oracle import ForbidsAndAccepts, is_valid, trials

# The validators raise the limit for good, and hypothesis remarks on it.
pytestmark = pytest.mark.filterwarnings("ignore:The recursion limit will not be reset")

BYTES = replace(byte_vocabulary(), pattern=r"(?s:.)")
"""Each byte is a token, and these are the canonical tokens of every text."""
OF_SAMPLES = {"samples", "sample_verdicts"}


def sampled(engines, schema, *valid, vocabulary=BYTES, samples=8, **rules):
    return run_case(engines, case(schema, *valid), vocabulary, study(samples=samples, **rules))


def proven(rows):
    """The errors as (engine, kind, text)."""
    texts = {row["sample"]: row["text"] for row in records(rows, "samples")}
    return {
        (row["engine"], row["kind"], texts[row["sample"]])
        for row in records(rows, "sample_verdicts")
        if row["kind"] in ERRORS
    }


@given(trials(), st.booleans())
def test_an_honest_engine_is_never_convicted(trial, bare):
    values = [] if bare else [trial.value]
    rows = sampled([Enumerator], trial.schema, *values, vocabulary=trial.vocabulary)
    assert proven(rows) == set()
    texts = records(rows, "samples")
    assert texts or not bare
    assert all(one["verdict"] == "valid" and is_valid(trial.schema, one["text"]) for one in texts)


@given(trials())
def test_what_is_proven_is_so(trial):
    """Whoever lies: what is called wrong is wrong, and texts that are let through are invalid."""
    rows = sampled(trial.engines, trial.schema, vocabulary=trial.vocabulary)
    for _, kind, text in proven(rows):
        assert kind in ("dead_end", "mask_lies") or is_valid(trial.schema, text) == (
            kind in ("false_rejection", "never_stops")
        )
    honest = {f"{one.__name__}" for one in trial.engines if one is Enumerator}
    assert honest.isdisjoint(engine for engine, _, _ in proven(rows))


class TestOneEngineAlone:
    def test_that_lets_a_text_through_is_convicted_from_the_bare_schema(self):
        rows = sampled([AcceptsExtra], {"enum": [1, 2], "x-extra": ["3"]})
        assert proven(rows) == {("AcceptsExtra", "false_acceptance", b"3")}

    def test_in_tokens_that_are_not_the_canonical_ones(self):
        vocabulary = replace(byte_vocabulary([b"33"]), pattern=r"(?s:.+)")
        schema = {"enum": [1], "x-extra": ["33"], "x-forbidden": [["", "33"]]}
        rows = sampled([ForbidsAndAccepts], schema, vocabulary=vocabulary)
        (own,) = (row for row in records(rows, "samples") if row["label"] == "own")
        assert (own["tokens"][:-1], own["text"], own["canonical"]) == ([51, 51], b"33", False)
        assert proven(rows) == {("ForbidsAndAccepts", "false_acceptance", b"33")}

    def test_that_leads_to_nowhere(self):
        rows = sampled([ForbidsEnd], {"const": 1})
        assert {kind for _, kind, _ in proven(rows)} == {"dead_end"}
        assert {row["outcome"] for row in records(rows, "samples")} == {"dead_end"}

    def test_whose_mask_lies(self):
        rows = sampled([ConsumeLies], {"const": "ab", "x-forbidden": [['"a', "b"]]})
        assert {kind for _, kind, _ in proven(rows)} == {"mask_lies"}

    def test_that_never_ends_proves_nothing(self):
        rows = sampled([NeverEnds], {"const": 1, "x-open": ['"']})
        left = [row for row in records(rows, "samples") if row["outcome"] == "too_long"]
        assert left
        assert all(len(row["tokens"]) == LIMIT for row in left)
        assert proven(rows) == set()

    def test_that_fails_is_noted(self):
        rows = sampled([CrashesOnMask], {"const": 12, "x-crash": 1})
        stages = [row["stage"] for row in records(rows, "engines") if row["outcome"] == "crashed"]
        assert stages == ["samples"]
        assert records(rows, "samples") == []


def test_a_valid_text_convicts_those_that_refuse_it():
    schema = {"enum": [1, 12], "x-forbidden": [["1", "2"]]}
    rows = sampled([ForbidsOne, Enumerator], schema)
    assert proven(rows) == {("ForbidsOne", "false_rejection", b"12")}
    (wrong,) = (one for one in records(rows, "samples") if one["text"] == b"12")
    assert (wrong["writers"], wrong["label"]) == (0b10, "shared")


@given(trials())
def test_they_take_nothing_away_and_change_nothing_else(trial):
    without, beside = (trial.run(rules=study(samples=many, cap=5)) for many in (0, 8))
    assert records(without, "samples") == records(without, "sample_verdicts") == []
    for table in SCHEMAS.keys() - OF_SAMPLES - {"timings", "costs"}:
        assert records(without, table) == records(beside, table)


def test_no_text_is_fed_twice():
    schema = {"enum": [1, 2, 3]}
    rows = sampled([Enumerator, Enumerator], schema, 1, samples=32)
    texts = [row["text"] for row in records(rows, "samples")]
    assert sorted(texts) == [b"2", b"3"]
    assert {row["writers"] for row in records(rows, "samples")} == {0b11}


def test_more_of_them_begin_with_the_same():
    schema = {"enum": [json.loads(f"{number}") for number in range(100)]}
    few, many = (
        [row["text"] for row in records(sampled([Enumerator], schema, samples=some), "samples")]
        for some in (8, 24)
    )
    assert many[: len(few)] == few
    assert len(many) > len(few)
    assert [row["text"] for row in records(sampled([Enumerator], schema), "samples")] == few
    assert few != [row["text"] for row in records(sampled([Enumerator], schema, seed=1), "samples")]


class TestBases:
    TEXT = b'{"a": [1, 20], "b": "x"}'

    def base(self, vocabulary):
        return Base.of(vocabulary, vocabulary.encode_greedy(self.TEXT))

    @given(st.integers(0, 24))
    def test_are_cut_at_any_byte(self, at):
        vocabulary = byte_vocabulary([b'{"', b'": [', b", ", b'"}'])
        base = self.base(vocabulary)
        for tokens, text in (
            (base.begun(vocabulary, at), self.TEXT[:at]),
            (base.rest(vocabulary, at), self.TEXT[at:]),
        ):
            assert b"".join(vocabulary.tokens[one] for one in tokens) == text

    def test_know_what_stands_alike(self):
        base = self.base(byte_vocabulary())
        values = [self.TEXT[at : at + 1] for at in base.places([Mode.VALUE])]
        assert values == [b"{", b" ", b"[", b"1", b" ", b"2", b" ", b'"']
        behind = [self.TEXT[at : at + 1] for at in base.places([Mode.AFTER])]
        assert behind == [b",", b"]", b",", b"}"]

    def test_know_which_member_is_written(self):
        place = START_PLACE
        for text, name in [
            (b'{"a":', b'"a"'),
            (b"[1,", b'"a"'),
            (b'{"c\\n":', b'"c\\n"'),
            (b'2},"', b'"a"'),
            (b'"],"b"', b'"b"'),
            (b":", b'"b"'),
        ]:
            place = place.behind(text)
            assert place is not None
            assert place.name == name


def test_hints_know_what_is_said_of_which_member():
    schema = {
        "properties": {"a": {"minimum": 3}, "b": {"items": {"enum": ["x"]}}},
        "required": ["a"],
        "maxProperties": 2,
    }
    found = hints(schema)
    assert {("a", "2"), ("a", "4"), ("b", '"x"'), ("", '"a"'), ("", '"b"'), ("", "null")} <= set(
        found
    )
    assert len(found) == len(set(found))


def test_each_manner_is_taken_in_turn():
    """What departs stays near its base; what is short is short."""
    vocabulary = BYTES
    writer = TextWriter(vocabulary, Preferences.of(vocabulary))
    engine = Enumerator(vocabulary, default_options(Enumerator))
    start = engine.compile(json.dumps({"enum": [1, 12, [1, 2]]}))
    (base,) = ([*b"[1, 2]"],)
    texts = list(writer.write(start, [base], [], "key", range(3 * len(TEMPERAMENTS))))
    assert {one.outcome for one in texts} == {"complete"}
    assert texts[0].tokens[:-1] in {(*b"1",), (*b"12",), (*b"[1,2]",), (*b"[1, 2]",)}
    assert len({one.tokens for one in texts}) > 2
