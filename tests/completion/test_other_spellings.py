"""Other spellings of what remains say the same, and begin otherwise."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.completion.other_spellings import other_spellings
from harness.inputs.cases import STYLES
from harness.jsontext.lexer import START, advance
from tests.jsonvalues import json_values

VALUES = json_values(st.text(max_size=4), st.integers(-999, 10**6) | st.floats(-1e9, 1e9), 6)


def behind(text: bytes, at: int) -> list[bytes]:
    return other_spellings(advance(START, text[:at]), text[at:])


@given(VALUES, st.sampled_from(sorted(STYLES)), st.booleans(), st.data())
def test_all_say_the_same_and_are_others(value, style, ascii_only, data):
    text = json.dumps(value, ensure_ascii=ascii_only, **STYLES[style])
    raw = text.encode()
    at = data.draw(st.integers(0, len(raw)))
    found = behind(raw, at)
    assert len(set(found)) == len(found)
    for rest in found:
        assert rest != raw[at:]
        assert json.loads(raw[:at] + rest) == value


@pytest.mark.parametrize(
    ("text", "at", "beginnings"),
    [
        (b'{"a": 1}', 1, [b' "a"', b'\n  "a"', b'"\\u0061']),
        (b'{"a": 1}', 2, [b"\\u0061"]),
        (b'{"a": 1}', 3, [b'" :', b'":\n', b'":1']),
        (b'{"a": 1}', 5, [b"1", b" 1.0", b" 1e0", b" 10e-1"]),
        (b'{"a": 1}', 7, [b".0}", b"e0}", b" }"]),
        (b"[12]", 2, []),
        (b"[1.5]", 4, [b"0]", b"e0]"]),
        (b"[0]", 1, [b"0.0", b"0e0"]),
        (b'["\\n"]', 2, [b"\\u000a"]),
        (b'["/"]', 2, [b"\\/"]),
        (b'["\\u00e9"]', 2, ["é".encode(), b"\\u00E9"]),
        ('["é"]'.encode(), 3, []),
        (b"true", 2, []),
        (b"true", 4, [b" ", b"\n"]),
    ],
)
def test_of_some_places(text, at, beginnings):
    found = behind(text, at)
    assert bool(found) == bool(beginnings)
    for beginning in beginnings:
        assert any(rest.startswith(beginning) for rest in found), beginning
