"""Each fault breaks the one rule that it is planted against; honest libraries keep every rule."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.inputs.vocabulary import Vocabulary
from harness.protocol_checks.rules import RULES
from harness.protocol_checks.trial import (
    Subject,
    Thoroughness,
    hold,
    judged,
    places_of,
    read_result,
)
from tests.served import FAULTS, Served, library_of_texts

TEXTS = (b"1", b"12", b"123", b'"ab"', b'"abc"', b"[true, 2]")
VOCABULARY = Vocabulary.from_tokens(
    "two ends",
    [*(bytes([one]) for one in range(256)), b"<eos>", b"12", b"ab", b'"a', b"true", b"</s>", b""],
    [262],
    [256, 261],
)


def results_of(texts, kind=Served, rules=RULES, vocabulary=VOCABULARY, **about):
    """By rule: how it is kept, along every text."""
    subject = Subject(library_of_texts(vocabulary, texts, kind, **about), vocabulary)
    routes = [(*vocabulary.encode_greedy(text), vocabulary.eos) for text in texts]
    return {
        name: hold(RULES[name], subject, places_of(routes, vocabulary, Thoroughness(), name))
        for name in rules
    }


def test_an_honest_library_keeps_every_rule():
    for name, result in results_of(TEXTS).items():
        assert result.checks, name
        assert not result.broken, (name, result.violated)
        assert not result.failed, (name, result.words)


def test_every_rule_has_a_planted_fault():
    assert list(FAULTS) == list(RULES)


@pytest.mark.parametrize("rule", FAULTS)
def test_a_fault_breaks_its_rule_and_no_other(rule):
    found = results_of(TEXTS, FAULTS[rule])
    assert {name for name, result in found.items() if result.broken} == {rule}
    assert all(one.again for one in found[rule].violated)
    one = found[rule].violated[0]  # which shows again from nothing
    for kind, shows in ((FAULTS[rule], True), (Served, False)):
        subject = Subject(library_of_texts(VOCABULARY, TEXTS, kind), VOCABULARY)
        assert bool(judged(RULES[rule], subject, one.consumed, one.tokens)) is shows


def test_the_smallest_violation_is_told_first():
    first, *others = results_of(TEXTS, FAULTS["rollback"], ["rollback"])["rollback"].violated
    assert first.tokens == (256,)  # the end alone, though longer drafts show it, too
    assert all(len(first.consumed) <= len(one.consumed) for one in others)


def test_what_raises_is_no_violation_of_another_rule():
    found = results_of(TEXTS, FAULTS["answers"])
    assert found["forced_bytes"].failed
    assert found["forced_bytes"].words.startswith("UnicodeDecodeError: ")


class Poor(Served):
    def calls(self, without=()):
        return super().calls(("attempt", "clone", "rollback", "validate", "forced_bytes"))


def test_what_a_library_has_not_is_missing_and_not_kept():
    found = results_of(TEXTS, Poor)
    assert {name for name, result in found.items() if result.missing} == {
        *("attempt", "clone", "rollback", "validate", "forced_bytes", "branches")
    }
    assert found["clone"].words == "no clone"
    assert found["branches"].words == "no rollback and no clone"
    assert not any(result.broken for result in found.values())


class PoorAndLying(FAULTS["mask_consume"], Poor):
    pass


def test_masks_are_held_against_consuming_without_clones_and_attempts():
    assert results_of(TEXTS, PoorAndLying, ["mask_consume"])["mask_consume"].broken


def test_what_was_told_to_a_library_is_not_held_against_it(vocabulary):
    result = results_of(TEXTS, FAULTS["special"], ["special"], special_is_text=True)["special"]
    assert (result.missing, result.words) == (True, "it was told that special tokens are text")
    result = results_of([b"12"], rules=["ends_agree"], vocabulary=vocabulary)["ends_agree"]
    assert result.words == "it knows one end of sequence"


class MovedOnce(Served):
    asked = 0

    def completed(self) -> bool:
        MovedOnce.asked += 1
        return super().completed() != (MovedOnce.asked == 1)


def test_what_shows_once_only_is_told_so():
    (one,) = results_of(TEXTS, MovedOnce, ["completed"])["completed"].violated
    assert not one.again


def test_what_was_held_travels():
    for result in results_of(TEXTS, FAULTS["rollback"]).values():
        assert read_result(json.loads(json.dumps(asdict(result)))) == result


@settings(max_examples=5)
@given(st.sets(st.binary(min_size=1, max_size=6), min_size=1, max_size=5), st.integers(0, 9))
def test_honest_libraries_of_any_language_keep_every_rule(texts, seed):
    subject = Subject(library_of_texts(VOCABULARY, sorted(texts)), VOCABULARY)
    routes = [(*VOCABULARY.encode_greedy(text), VOCABULARY.eos) for text in sorted(texts)]
    how = Thoroughness(seed, positions=3)
    for name, rule in RULES.items():
        result = hold(rule, subject, places_of(routes[:2], VOCABULARY, how, name))
        assert (result.broken, result.failed) == (0, 0), (name, result)


def test_a_large_vocabulary_is_swept_whole_at_few_places_and_by_sample_elsewhere():
    tokens = [*(bytes([one]) for one in range(256)), *(b"word%d" % one for one in range(5000))]
    large = Vocabulary.from_tokens("large", [*tokens, b"<eos>"], [], [5256])
    routes = [(*large.encode_greedy(b"word77word88"), large.eos)]
    how = Thoroughness(whole=1, tokens=100)
    places = list(places_of(routes, large, how, "key"))
    assert [place.sweep for place in places] == [None, *[100] * (len(places) - 1)]
    result = results_of([b"word77word88"], rules=["mask_consume"], vocabulary=large)["mask_consume"]
    assert result.checks > 2 * 5256
