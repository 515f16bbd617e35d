"""No beginning of a valid number or string is called lost."""

from __future__ import annotations

import json
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.explain.earliest_failure import WIDE_FORMATS, lost_at, may_become
from harness.schemas.format_values import format_values
from harness.schemas.formats import FORMAT_PATTERNS
from harness.validators.validate import Validators


@lru_cache(maxsize=64)
def validators(schema: str) -> Validators:
    return Validators(schema)


class TestNumbers:
    @given(st.decimals(-(10**9), 10**9, allow_nan=False, places=3), st.integers(-9, 9))
    def test_every_beginning_of_every_spelling_may_become_the_number(self, number, shift):
        spellings = [format(number, "f"), format(number.scaleb(-shift), "f") + f"e{shift}"]
        for spelling in spellings:
            assert all(may_become(spelling[:end], number) for end in range(1, len(spelling) + 1))


class TestFormats:
    @pytest.mark.parametrize("name", sorted(WIDE_FORMATS))
    def test_no_valid_text_is_lost(self, name):
        assert lost_at(WIDE_FORMATS[name], format_values(name).valid[0]) is None

    @given(st.data())
    def test_no_text_that_both_validators_take_is_lost(self, data):
        name = data.draw(st.sampled_from(sorted(WIDE_FORMATS)))
        text = data.draw(st.from_regex(FORMAT_PATTERNS[name], fullmatch=True))
        text = data.draw(st.sampled_from([text, text.lower(), text.upper(), text[1:], text + " "]))
        judged = validators(json.dumps({"format": name})).judge(json.dumps(text).encode())
        if judged.verdict == "valid":
            assert lost_at(WIDE_FORMATS[name], text) is None


class TestPatterns:
    @pytest.mark.parametrize(
        ("expression", "text", "expected"),
        [
            ("^a+b$", "aabb", 3),
            ("^\\d{3}$", "12\u0663", 2),
            ("^[^\\s]+$", "a\u00a0", 1),
            ("^(a)\\1$", "ab", None),
            ("(", "a", None),
        ],
    )
    def test_are_lost_where_no_match_can_follow(self, expression, text, expected):
        assert lost_at(expression, text) == expected

    def test_look_around_is_taken_for_granted(self):
        assert lost_at("^(?!x)[a-z]$", "x") is None
        assert lost_at("^(?!x)[a-z]$", "1") == 0
