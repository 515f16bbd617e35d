"""The usual spellings of a value, and which texts have one value."""

from __future__ import annotations

import pytest

from harness.jsontext.usual_spellings import value_key

DIGITS = "123456789012345678901234567890"


@pytest.mark.parametrize(
    ("text", "other", "are_one"),
    [
        ("1", "1.0", True),
        ("1", "10e-1", True),
        ("0", "-0.0", True),
        ('{"a": 1, "b": 2}', '{"b":2,"a":1}', True),
        ('"\\u0061"', '"a"', True),
        ("1", '"1"', False),
        ("1", "true", False),
        ("[1]", "[[1]]", False),
        (f"{DIGITS}1", f"{DIGITS}2", False),
        (f"{DIGITS}.1", f"{DIGITS}.2", False),
        ("1e9999999", "10e9999998", True),
        ("1e99999999999999999999", '"1e99999999999999999999"', False),
    ],
)
def test_texts_of_one_value_have_one_key(text, other, are_one):
    assert (value_key(text.encode()) == value_key(other.encode())) is are_one
