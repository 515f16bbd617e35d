"""Engines compared by paired answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.impact.summary import compared, share

ANSWERS = st.dictionaries(st.sampled_from("abcdefghij"), st.booleans(), min_size=1)


def answers(right, wrong=0, *, first=0):
    """So many right answers, then so many wrong ones, to items from number `first` on."""
    return {str(first + at): at < right for at in range(right + wrong)}


def test_accuracy_is_the_share_of_right_answers_with_its_interval():
    interval = share(answers(30, 70).values())
    assert 0.2 < interval["low"] < interval["value"] == 0.3 < interval["high"] < 0.4


class TestPairs:
    def test_who_is_right_where_the_other_is_wrong_is_better(self):
        (pair,) = compared({"a": answers(10), "b": answers(0, 10)})
        assert (pair["only_first"], pair["only_second"], pair["difference"]) == (10, 0, 1.0)
        assert pair["p"] == pytest.approx(2 / 2**10, rel=1e-5)
        assert pair["verdict"] == "a is better than b (10 items, p = 0.002)"

    def test_few_items_cannot_tell_and_more_pairs_need_more(self):
        (pair,) = compared({"a": answers(5), "b": answers(0, 5)})
        assert pair["verdict"] == "cannot tell a and b apart (5 items, p = 0.062)"
        a, b = answers(7), answers(0, 7)
        assert compared({"a": a, "b": b})[0]["verdict"].startswith("a is better than b")
        first, *_ = compared({"a": a, "b": b, **{str(n): b for n in range(9)}})
        assert first["verdict"].startswith("cannot tell")

    def test_only_common_items_count(self):
        (pair,) = compared({"a": answers(10), "b": answers(10, first=8)})
        assert (pair["items"], pair["both"], pair["difference"]) == (2, 2, 0)

    def test_without_a_common_item_nothing_is_said_and_nothing_corrected(self):
        apart = {"a": answers(8), "b": answers(0, 8), "c": answers(3, first=99)}
        first, *others = compared(apart)
        assert first["p_holm"] == first["p"]
        names = ("p", "p_holm", "difference", "low")
        assert {one[name] for one in others for name in names} == {None}
        assert others[0]["verdict"] == "a and c answered no item in common"

    @given(ANSWERS)
    def test_equal_answers_never_differ(self, given_answers):
        (pair,) = compared({"a": given_answers, "b": dict(given_answers)})
        assert (pair["difference"], pair["p_holm"], pair["low"]) == (0, 1, None)

    @given(ANSWERS, ANSWERS)
    def test_the_order_of_the_engines_only_turns_the_sign(self, one, other):
        (pair,), (turned,) = compared({"a": one, "b": other}), compared({"b": other, "a": one})
        assert pair["p"] == turned["p"]
        assert (pair["difference"] or 0) == -(turned["difference"] or 0)
        assert ("better" in pair["verdict"]) == ("better" in turned["verdict"])
