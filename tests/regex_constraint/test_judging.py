"""Planted faults are found, each wrong bit of them, and the honest engine is not charged."""

from contextlib import closing

import pytest

from harness.inputs.vocabulary import byte_vocabulary
from harness.regex_constraint.judging import ACCEPTANCE, REJECTION, PatternJudge
from harness.regex_constraint.opinions import SecondOpinions, say
from tests import regex_miniatures as miniatures
from tests.inprocess import InProcessPanel
from tests.regex_miniatures import pattern_case

VOCABULARY = byte_vocabulary(extra=[b"ab", "\u00e9".encode(), b"\n\n"], specials=[b"<pad>"])
CASES = [
    pattern_case("empty", ""),
    pattern_case("literal", "ab1", ("ab1",), ("ab", "b")),
    pattern_case("dot", "a.", ("a1",), ("a\n", "a")),
    pattern_case("optional", "a(b(1b)?)?", ("ab1b", "a"), ("b",)),
    pattern_case("beyond", "[\u00e8\u00e9]1?", ("\u00e91", "\u00e8")),
    pattern_case("branches", "a|ab|1"),
]


def judged(engine, cases=CASES, ask=say):
    panel = InProcessPanel([engine], VOCABULARY)
    judge = PatternJudge(panel, VOCABULARY, [engine.REGEX_DIALECT], ask)
    return {case.id: one for case in cases for one in judge.judge(case, [0])}


def wrong(found):
    """What is wrong of each case that has something wrong."""
    return {id_: one.wrong for id_, one in found.items() if any(map(any, one.wrong.values()))}


def test_the_honest_engine_is_not_charged():
    found = judged(miniatures.Honest)
    # it does not know all characters of a dot, and says nothing wrong of the others
    assert wrong(found).keys() <= {"dot"}
    assert {one.status for one in found.values()} == {"judged"}
    assert sum(one.refused for one in found.values()) == 0
    assert found["optional"].positions == 5  # "", a, ab, ab1, ab1b


def test_an_engine_that_takes_what_dot_excludes():
    found = judged(miniatures.DotTakesLineFeeds)["dot"]
    assert found.wrong[ACCEPTANCE] == {"whole": 1}
    (shown,) = (one for one in found.witnesses if one["kind"] == ACCEPTANCE)
    assert (shown["text"], shown["token"], shown["whole"]) == ("a", "\n", "a\n")


def test_an_engine_that_stops_at_the_first_match():
    found = wrong(judged(miniatures.StopsAtTheFirstMatch))
    assert found["optional"] == {ACCEPTANCE: {}, REJECTION: {"whole": 2}}  # b after a, 1 after ab
    assert found["branches"][REJECTION] == {"whole": 1}
    assert "literal" not in found


def test_parts_of_characters_count_apart():
    found = wrong(judged(miniatures.ForbidsPartsOfCharacters))
    assert found["beyond"] == {ACCEPTANCE: {}, REJECTION: {"partial": 1}}  # the first byte of both


def test_the_end_and_special_tokens_count_apart():
    found = judged(miniatures.EndsEarly)["literal"]
    assert found.wrong == {ACCEPTANCE: {"end": 1}, REJECTION: {}}  # after ab
    found = judged(miniatures.TakesSpecialTokens)["literal"]
    assert found.wrong[ACCEPTANCE] == {"special": found.positions}


def test_what_is_not_judged_says_why():
    cases = [
        pattern_case("look", "a(?=b)"),
        pattern_case("dot", "."),
        pattern_case("group", "(?<x>a)"),
    ]
    found = judged(miniatures.DiesOfDots, cases)
    assert [one.status for one in found.values()] == ["not_judged", "crashed", "refused"]
    assert "looks around" in found["look"].message
    assert "a dot" in found["dot"].message
    (skipped,) = judged(miniatures.NoPatterns, cases[1:2]).values()
    assert (skipped.status, skipped.wrong) == ("skipped", {})


def test_where_an_opinion_differs_nobody_is_charged():
    def mistaken(opinions, text):
        return [say(opinions, text)[0], False]

    found = judged(miniatures.StopsAtTheFirstMatch, ask=mistaken)
    assert {one.status for one in found.values()} == {"contested"}
    assert wrong(found) == {}


@pytest.mark.processes
def test_a_pattern_that_explodes_is_not_judged_and_the_next_one_is():
    exploding = pattern_case("explodes", "(1*)*b", ("b",), ("1" * 40,))
    with closing(SecondOpinions(1 << 30, seconds=0.5)) as ask:
        found = judged(miniatures.Honest, [exploding, *CASES[:1]], ask)
    assert [one.status for one in found.values()] == ["not_judged", "judged"]
    assert "over the limit" in found["explodes"].message


def test_texts_are_made_where_a_case_has_none():
    found = judged(miniatures.Honest, [pattern_case("x", "a|ab|1")])["x"]
    assert found.valid > 1


def test_where_a_text_stops_to_match_the_bits_are_compared_too():
    case = pattern_case("x", "a.1|b", ("b",), ("a\n1",))
    found = judged(miniatures.DotTakesLineFeeds, [case])["x"]
    assert found.wrong[ACCEPTANCE] == {"whole": 1}  # after a, where no text that matches leads


def test_a_text_of_too_many_tokens_is_not_walked():
    found = judged(miniatures.Honest, [pattern_case("long", "1*", ("1" * 300,))])["long"]
    assert found.status == "not_judged"
    assert "tokens" in found.message
