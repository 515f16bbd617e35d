"""Final answers: what is taken out of a text, and what counts as the same."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.impact.math_answers import (
    boxed,
    gsm8k_reference,
    last_number,
    normalized_expression,
    same_expression,
)

PIECES = (
    r"\frac \dfrac \sqrt \left \text { } { cm} ( ) [ ] \{ \} , . / - = x a 1 2 10 \$ \% ^\circ \in"
)
EXPRESSIONS = st.lists(st.sampled_from([*PIECES.split(), " ", r"\ ", r"\,"]), max_size=9).map(
    "".join
)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("18", 18),
        ("She pays $1,234.50.", "1234.5"),
        ("3 + 4 = 7 apples", 7),
        ("1,2", 2),
        ("20%", 20),
        ("-5 degrees", -5),
        ("in 2023-05", 5),
        (".5", "0.5"),
        ("it was 3 #### 72", 72),
        (r"\boxed{7}, of 9", 7),
    ],
)
def test_the_last_number_of_a_text_counts(text, number):
    assert last_number(text) == Fraction(number)


def test_a_text_without_a_number_has_none():
    assert last_number("seven") is None


def test_the_reference_of_gsm8k_is_behind_its_mark():
    assert gsm8k_reference("4 + 3 = <<4+3=7>>7\n#### 1,007") == "1,007"


def test_the_last_box_that_closes_counts():
    assert boxed(r"first \boxed{1}, then \boxed{\frac{1}{2}}, and \boxed{3") == r"\frac{1}{2}"
    assert boxed("1") is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"\frac12", "0.5"),
        (r"\dfrac{1}{2}", "1/2"),
        (r"\frac{-1}{2}", r"-\frac{1}{2}"),
        (r"2\frac{1}{2}", "2.5"),
        (r"\left( 3, \frac{\pi}{2} \right)", r"(3,\frac{\pi}{2})"),
        ("(0.5,1)", r"(\frac12, 1)"),
        ("10,000", "10000"),
        (r"\$32,348", "32348"),
        (r"50\%", "50"),
        ("x = 5", "5"),
        (r"x \in [-2,7]", "[-2,7]"),
        (r"5\text{ cm}^2", "5"),
        (r"90^\circ", "90"),
        (r"\text{Evelyn}", "Evelyn"),
        ("1,-2", "-2, 1"),
        (r"\{1,2\}", r"\{2,1\}"),
        (r"11\sqrt2", r"11\sqrt{2}"),
        ("6 - 5i", "6-5i"),
    ],
)
def test_spelling_makes_no_difference(one, other):
    assert same_expression(one, other)
    assert same_expression(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("(1,2)", "(2,1)"),
        ("[1,2)", "(1,2)"),
        ("(1,2)", "1,2"),
        ("1,2", "12"),
        ("5", "-5"),
        (r"\frac12", r"\frac13"),
        ("2+3", "5"),
        (r"\pi", "3.14"),
        ("", "5"),
    ],
)
def test_other_answers_are_wrong(one, other):
    assert not same_expression(one, other)
    assert not same_expression(other, one)


@given(EXPRESSIONS)
def test_to_normalize_again_changes_nothing(text):
    once = normalized_expression(text)
    assert normalized_expression(once) == once


@given(EXPRESSIONS, EXPRESSIONS)
def test_an_answer_is_the_same_as_itself_and_both_ways(one, other):
    assert same_expression(one, one)
    assert same_expression(one, other) == same_expression(other, one)
