"""Each fault breaks the one rule that it is planted against; honest libraries keep every rule."""

import json
from dataclasses import asdict
from pkgutil import resolve_name

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.engines.specs import parse_spec
from harness.inputs.vocabulary import Vocabulary
from harness.inputs.vocabulary_hostile import hostile_vocabulary
from harness.protocol import complete_options
from harness.protocol_checks.rules import RULES
from harness.protocol_checks.trial import (
    Subject,
    Thoroughness,
    hold,
    judged,
    places_of,
    read_result,
    routes_of,
)
from tests.miniatures import Enumerator
from tests.served import FAULTS, HALF_FAULTS, Served, library_of_texts

TEXTS = (b"1", b"12", b"123", b'"ab"', b'"abc"', b"[true, 2]")
FEW_TEXTS = (b"1", b"12", b'"ab"', b'"abc"')
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
    found = results_of(FEW_TEXTS, FAULTS[rule])
    assert {name for name, result in found.items() if result.broken} == {rule}
    assert all(one.again for one in found[rule].violated)
    one = found[rule].violated[0]  # which shows again from nothing
    for kind, shows in ((FAULTS[rule], True), (Served, False)):
        subject = Subject(library_of_texts(VOCABULARY, TEXTS, kind), VOCABULARY)
        assert bool(judged(RULES[rule], subject, one.consumed, one.tokens)) is shows


@pytest.mark.parametrize(("rule", "library", "words"), HALF_FAULTS)
def test_each_half_of_a_rule_is_looked_at(rule, library, words):
    found = results_of(FEW_TEXTS, library, [rule])[rule]
    assert any(words in one.complaint for one in found.violated)


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


THREE = '{"enum": ["ab", 12, [true]]}'


def started(vocabulary):
    return Enumerator(vocabulary, complete_options(Enumerator.OPTIONS, {})).compile(THREE)


def test_a_reference_is_led_along_in_its_longest_tokens_to_the_end(vocabulary):
    texts = [b"[true]", b"123", b"?"]  # the others as far as they are allowed
    routes = routes_of(started(vocabulary), vocabulary, texts, Thoroughness(samples=0), "key")
    tokens = [[vocabulary.tokens[token] for token in way] for way in routes]
    assert tokens == [[b"[", b"true", b"]", b"<eos>"], [b"12"], []]


def test_samples_are_the_engines_own_and_depend_on_the_seed_alone(vocabulary):
    def samples(seed):
        return routes_of(started(vocabulary), vocabulary, [], Thoroughness(seed, samples=8), "key")

    assert samples(1) == samples(1)
    assert all(way[-1] == vocabulary.eos for way in samples(1))
    assert len({tuple(samples(seed)) for seed in range(5)}) > 1


def test_places_are_each_way_s_ends_and_some_between_each_once(vocabulary):
    routes = [(91, 116, 114, 117, 101, 93, 256), (91, 93)]
    places = list(places_of(routes, vocabulary, Thoroughness(positions=4), "key"))
    consumed = [place.consumed for place in places]
    assert len(set(consumed)) == len(consumed)
    assert {(), routes[0][:6], routes[1]} < set(consumed)
    assert len(consumed) == 4 + 2
    assert next(one for one in places if one.consumed == routes[0][:6]).rest == (256,)


def test_without_any_way_there_is_the_start(vocabulary):
    (place,) = places_of([], vocabulary, Thoroughness(), "key")
    assert (place.consumed, place.rest) == ((), ())


ARRAY = '{"type": "array", "items": {"enum": [12, "ab"]}, "maxItems": 2}'
FEW = Thoroughness(samples=0, positions=3)


@pytest.mark.engines
@pytest.mark.parametrize(
    ("name", "known", "missing"),
    [
        ("xgrammar", {"beyond"}, {"forced_tokens", "validate"}),
        ("llguidance", {"end_again", "attempt", "rollback", "validate"}, {"draft_tree"}),
        (
            "outlines",
            {"end_consume"},
            {
                *("clone", "terminated", "forced_bytes", "forced_tokens"),
                *("ends_agree", "drafts", "draft_tree", "rows_at_once"),
            },
        ),
        (
            "maskforge",
            {"end_again"},
            {
                *("clone", "rollback", "forced_bytes", "forced_tokens", "validate", "branches"),
                *("ends_agree", "drafts", "draft_tree", "row", "rows_at_once"),
            },
        ),
        (
            "glrmask",
            set(),
            {
                *("attempt", "rollback", "reset", "completed", "forced_bytes", "validate"),
                *("drafts", "draft_tree", "rows_at_once"),
            },
        ),
        (
            "oc-earley",
            {"validate"},
            {
                *("clone", "forced_bytes", "forced_tokens", "ends_agree"),
                *("drafts", "draft_tree", "rows_at_once"),
            },
        ),
    ],
)
def test_a_library_breaks_what_is_known_at_most_and_offers_what_it_has(name, known, missing):
    vocabulary = hostile_vocabulary(2)
    spec = parse_spec(name)
    engine = resolve_name(spec.reference)(vocabulary, dict(spec.options))
    subject = Subject(engine.library(ARRAY), vocabulary)
    texts = [b'[12, "ab"]', b'[12,"ab"]']  # as each has its layout
    routes = routes_of(engine.compile(ARRAY), vocabulary, texts, FEW, "key")
    result = {
        rule: hold(RULES[rule], subject, places_of(routes, vocabulary, FEW, rule)) for rule in RULES
    }
    assert max(map(len, routes)) > 3
    assert {rule for rule, one in result.items() if one.broken} <= known
    assert {rule for rule, one in result.items() if one.missing} == missing
    assert not [one.words for one in result.values() if one.failed]
