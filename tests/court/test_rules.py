"""The protocol court convicts each fault of the one rule that it breaks, and honest ones of none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.court.rules import RULES, as_json, hold, judged, read_held
from harness.court.trial import Subject
from harness.court.ways import Thoroughness, places_of
from harness.inputs.vocabulary import Vocabulary
from tests.served import FAULTS, Served, library_of_texts

TEXTS = (b"1", b"12", b"123", b'"ab"', b'"abc"', b"[true, 2]")
VOCABULARY = Vocabulary.from_tokens(
    "two ends",
    [*(bytes([one]) for one in range(256)), b"<eos>", b"12", b"ab", b'"a', b"true", b"</s>", b""],
    [262],
    [256, 261],
)


def held_by(texts, kind=Served, rules=RULES, vocabulary=VOCABULARY, **about):
    """By rule: how it is kept, along every text."""
    subject = Subject(library_of_texts(vocabulary, texts, kind, **about), vocabulary)
    ways = [(*vocabulary.encode_greedy(text), vocabulary.eos) for text in texts]
    return {
        name: hold(RULES[name], subject, places_of(ways, vocabulary, Thoroughness(), name))
        for name in rules
    }


def test_an_honest_library_keeps_every_rule():
    for name, held in held_by(TEXTS).items():
        assert held.checks, name
        assert not held.broken, (name, held.violated)
        assert not held.failed, (name, held.words)


def test_every_rule_has_a_planted_fault():
    assert list(FAULTS) == list(RULES)


@pytest.mark.parametrize("rule", FAULTS)
def test_a_fault_breaks_its_rule_and_no_other(rule):
    found = held_by(TEXTS, FAULTS[rule])
    assert {name for name, held in found.items() if held.broken} == {rule}
    assert all(one.again for one in found[rule].violated)


@pytest.mark.parametrize("rule", FAULTS)
def test_a_violation_shows_again_from_nothing(rule):
    one = held_by(TEXTS, FAULTS[rule], [rule])[rule].violated[0]
    for kind, shows in ((FAULTS[rule], True), (Served, False)):
        subject = Subject(library_of_texts(VOCABULARY, TEXTS, kind), VOCABULARY)
        assert bool(judged(RULES[rule], subject, one.consumed, one.tokens)) is shows


def test_the_smallest_violation_is_told_first():
    first, *others = held_by(TEXTS, FAULTS["rollback"], ["rollback"])["rollback"].violated
    assert first.tokens == (256,)  # the end alone, though longer drafts show it, too
    assert all(len(first.consumed) <= len(one.consumed) for one in others)


def test_what_raises_is_no_violation_of_another_rule():
    found = held_by(TEXTS, FAULTS["answers"])
    assert found["forced_bytes"].failed
    assert found["forced_bytes"].words.startswith("UnicodeDecodeError: ")


class Poor(Served):
    def calls(self, without=()):
        return super().calls(("attempt", "clone", "rollback", "validate", "forced_bytes"))


def test_what_a_library_has_not_is_missing_and_not_kept():
    found = held_by(TEXTS, Poor)
    assert {name for name, held in found.items() if held.missing} == {
        *("attempt", "clone", "rollback", "validate", "forced_bytes")
    }
    assert found["clone"].words == "no clone"
    assert not any(held.broken for held in found.values())


class PoorAndLying(FAULTS["mask_consume"], Poor):
    pass


def test_masks_are_held_against_consuming_without_clones_and_attempts():
    assert held_by(TEXTS, PoorAndLying, ["mask_consume"])["mask_consume"].broken


def test_what_was_told_to_a_library_is_not_held_against_it(vocabulary):
    held = held_by(TEXTS, FAULTS["special"], ["special"], special_is_text=True)["special"]
    assert (held.missing, held.words) == (True, "it was told that special tokens are text")
    held = held_by([b"12"], rules=["ends_agree"], vocabulary=vocabulary)["ends_agree"]
    assert held.words == "it knows one end of sequence"


class MovedOnce(Served):
    asked = 0

    def completed(self) -> bool:
        MovedOnce.asked += 1
        return super().completed() != (MovedOnce.asked == 1)


def test_what_shows_once_only_is_told_so():
    (one,) = held_by(TEXTS, MovedOnce, ["completed"])["completed"].violated
    assert not one.again


def test_what_was_held_travels():
    for held in held_by(TEXTS, FAULTS["rollback"]).values():
        assert vars(read_held(as_json(held))) == {**vars(held), "violated": list(held.violated)}


@settings(max_examples=5)
@given(st.sets(st.binary(min_size=1, max_size=6), min_size=1, max_size=5), st.integers(0, 9))
def test_honest_libraries_of_any_language_keep_every_rule(texts, seed):
    subject = Subject(library_of_texts(VOCABULARY, sorted(texts)), VOCABULARY)
    ways = [(*VOCABULARY.encode_greedy(text), VOCABULARY.eos) for text in sorted(texts)]
    how = Thoroughness(seed, positions=3)
    for name, rule in RULES.items():
        held = hold(rule, subject, places_of(ways[:2], VOCABULARY, how, name))
        assert (held.broken, held.failed) == (0, 0), (name, held)


def test_a_large_vocabulary_is_swept_whole_at_few_places_and_by_sample_elsewhere():
    tokens = [*(bytes([one]) for one in range(256)), *(b"word%d" % one for one in range(5000))]
    large = Vocabulary.from_tokens("large", [*tokens, b"<eos>"], [], [5256])
    ways = [(*large.encode_greedy(b"word77word88"), large.eos)]
    how = Thoroughness(whole=1, tokens=100)
    places = list(places_of(ways, large, how, "key"))
    assert [place.sweep for place in places] == [None, *[100] * (len(places) - 1)]
    held = held_by([b"word77word88"], rules=["mask_consume"], vocabulary=large)["mask_consume"]
    assert held.checks > 2 * 5256
    assert np.array_equal([p.consumed for p in places][0], ())
