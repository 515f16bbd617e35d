"""A number that a double cannot hold is noticed before anybody judges by it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.jsontext.strict_json import keeps_numbers


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("0.1", True),
        ("123456789012345678901234567890", True),
        ("0.30000000000000004", True),
        ("0.3000000000000000444", False),
        ("1.00000000000000000", True),
        ("1.00000000000000001", False),
        ("9007199254740993.0", False),
        ("1e22", True),
        ("1e23", False),
        ("1e-400", False),
        ("5e-324", True),
        ('"0.3000000000000000444"', True),
    ],
)
def test_survive_or_not(text, kept):
    assert keeps_numbers(text.encode()) is kept


@given(st.floats(-1e15, 1e15).filter(lambda number: number == 0 or abs(number) > 1e-300))
def test_the_shortest_spelling_of_a_double_survives(number):
    assert keeps_numbers(json.dumps(number).encode())


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,8})\.[0-9]{1,20}", fullmatch=True))
def test_a_survivor_is_spelt_the_same_but_for_zeros(text):
    digits = repr(float(text)) if "e" not in repr(float(text)) else f"{float(text):.30f}"
    if keeps_numbers(text.encode()) and "e" not in repr(float(text)):
        assert text.rstrip("0").rstrip(".") == digits.rstrip("0").rstrip(".")
