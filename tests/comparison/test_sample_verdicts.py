"""Samples as evidence: what texts prove that engines write themselves, and what they never prove."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.completion.rollout import LIMIT, Preferences
from harness.completion.text_writer import TEMPERAMENTS, TextWriter, member_of
from harness.inputs.vocabulary import alike, byte_vocabulary
from harness.jsontext.partial import Cursor, feed
from harness.runs.tables import SCHEMAS
from harness.schemas.violations import odd_texts
from harness.verdict_kinds import ERRORS
from tests.comparison.test_instances import BYTES
from tests.inprocess import case, default_options, records, run_case, study
from tests.miniatures import AcceptsExtra, AllowsEverything, CrashesOnMask, Enumerator, NeverEnds
from tests.oracle import is_valid, trials

pytestmark = pytest.mark.thorough

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
        assert kind in ("dead_end", "mask_consume_mismatch") or is_valid(trial.schema, text) == (
            kind in ("false_rejection", "never_stops")
        )
    honest = {f"{one.__name__}" for one in trial.engines if one is Enumerator}
    assert honest.isdisjoint(engine for engine, _, _ in proven(rows))


class TestOneEngineAlone:
    def test_that_lets_a_text_through_is_convicted_from_the_bare_schema(self):
        rows = sampled([AcceptsExtra], {"enum": [[1], [1, 2]], "x-extra": ["[1, 1]"]})
        assert proven(rows) == {("AcceptsExtra", "false_acceptance", b"[1, 1]")}

    @pytest.mark.parametrize(
        "schema",
        [
            {"type": "integer"},
            {"type": "object", "required": ["name"]},
            {"properties": {"a": {"format": "date"}}, "not": {"required": ["b"]}},
            {"items": {"maximum": 3}, "uniqueItems": True, "type": "array"},
        ],
    )
    def test_that_lets_everything_through_is_convicted_from_any(self, schema):
        errors = {kind for _, kind, _ in proven(sampled([AllowsEverything], schema))}
        assert errors & {"false_acceptance", "stops_too_early"}

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


def test_depend_on_the_seed_and_the_engine_alone():
    schema = {"enum": list(range(100))}

    def texts(engines, writer=0, **rules):
        rows = records(sampled(engines, schema, **rules), "samples")
        return [row["text"] for row in rows if row["writers"] >> writer & 1]

    alone = texts([Enumerator])
    assert texts([Enumerator]) == alone
    assert texts([Enumerator], seed=1) != alone
    assert set(texts([Enumerator, AcceptsExtra])) == set(alone)
    assert len(texts([Enumerator], samples=24)) > len(alone)


@pytest.mark.parametrize("text", [b'{"a": [1, 20], "b": "xy"}', b"[]", b"1", b'"a"'])
def test_odd_texts_differ_in_one_place(text):
    some = list(odd_texts(text))
    assert bool(some) == (text != b"[]")
    assert len(set(some)) == len(some)
    for one in some:
        assert one != text
        assert one.endswith(text[alike(one, text) :])


def test_know_which_member_is_written():
    here = Cursor()
    for text, name in [
        (b'{"a":', b'"a"'),
        (b"[1,", b'"a"'),
        (b'{"c\\n":', b'"c\\n"'),
        (b'2},"', b'"a"'),
        (b'"],"b"', b'"b"'),
        (b":", b'"b"'),
    ]:
        here = feed(here, text)
        assert here is not None
        assert member_of(here) == name


def test_texts_are_written_in_several_manners():
    engine = Enumerator(BYTES, default_options(Enumerator))
    start = engine.compile(json.dumps({"enum": [1, 12, [1, 2], "abc"]}))
    writer = TextWriter(BYTES, Preferences.of(BYTES))
    texts = list(writer.write(start, [], "key", range(5 * len(TEMPERAMENTS))))
    assert {one.outcome for one in texts} == {"complete"}
    assert len({one.tokens for one in texts}) > 3


def test_what_is_forced_is_written_in_the_longest_token():
    vocabulary = byte_vocabulary([b"ab", b"abc", b'"a', b"c1"])
    engine = Enumerator(vocabulary, default_options(Enumerator))
    start = engine.compile(json.dumps({"enum": ["abc1", "abc2"]}))
    writer = TextWriter(vocabulary, Preferences.of(vocabulary))
    (text,) = writer.write(start, [], "key", range(1, 2))
    parts = [vocabulary.tokens[one] for one in text.tokens]
    assert parts[0] in (b'"', b'"a')
    assert b"abc" in parts or parts[0] == b'"a'


class WritesOnce:
    """A matcher whose masks are written at the start alone."""

    def __init__(self, inner):
        self.inner, self.written = inner, False

    def clone(self):
        return WritesOnce(self.inner.clone())

    def mask(self, mask):
        if not self.written:
            self.inner.mask(mask)
        self.written = True

    def consume(self, token):
        return self.inner.consume(token)


def test_a_mask_that_is_not_written_allows_nothing():
    """Not what the mask before it allowed."""
    start = Enumerator(BYTES, default_options(Enumerator)).compile('{"const": 1}')
    writer = TextWriter(BYTES, Preferences.of(BYTES))
    texts = writer.write(WritesOnce(start), [], "key", range(len(TEMPERAMENTS)))
    assert {one.outcome for one in texts} == {"dead_end"}
