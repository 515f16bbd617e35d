"""Strict JSON: what is refused, as what, and where."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.jsontext.spans import raw_members
from harness.jsontext.strict_json import (
    MAX_DEPTH,
    DuplicateKeys,
    JsonError,
    LoneSurrogate,
    NumberOverflow,
    TooDeep,
    keeps_numbers,
    parse,
)
from tests.jsonvalues import LETTERS, json_values


def fault(text, reader=parse):
    """The error that `text` is refused with."""
    with pytest.raises(JsonError) as caught:
        reader(text)
    return caught.value


@given(json_values(), st.booleans(), st.sampled_from([None, 1]))
def test_reads_what_json_writes(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert parse(text) == value
    assert parse(text.encode()) == value


def refusal(text):
    """As what `text` is refused, if it is."""
    try:
        parse(text)
    except JsonError as error:
        return type(error)
    return None


@given(st.text(alphabet='{}[]":,\\u0dD8eE-+.1at \n', max_size=12))
def test_accepts_no_more_than_json_does_and_no_less_without_a_reason(text):
    try:
        value = json.loads(text)
    except ValueError:
        assert refusal(text) is JsonError
    else:
        assert refusal(text) in (None, DuplicateKeys, LoneSurrogate, NumberOverflow)
        assert refusal(text) or parse(text) == value


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("", 0),
        ("[1 2]", 3),
        ("01", 1),
        ('{"a" 1}', 5),
        ('"tab\there"', 4),
        ("true false", 5),
        ("[\n1,\n x]", 6),
        ("﻿1", 0),
        (b"\xef\xbb\xbf1", 0),
        (b'["\xff"]', 2),
        (b'"\xed\xa0\x80"', 1),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(text, offset):
    error = fault(text)
    assert type(error) is JsonError
    assert error.offset == offset


def test_a_place_has_a_line_and_a_column():
    assert "line 2, column 8" in str(fault('{"a": 1,\n  "b": x}'))


@pytest.mark.parametrize("text", ["1e400", "-1e400", '{"big": [1, 1E+999]}', "7" * 5000])
def test_a_number_that_python_cannot_hold_is_an_overflow(text):
    assert type(fault(text)) is NumberOverflow


@pytest.mark.parametrize(
    "text", [r'"\ud800"', r'"\uDFFF"', r'"\ude00\ud83d"', r'{"\ud83dx":1}', '"\ud800"']
)
def test_half_a_surrogate_pair_is_refused(text):
    assert type(fault(text)) is LoneSurrogate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud83d\ude00"', "😀"),
        (r'"\\ud800"', r"\ud800"),
        (r'"\u00e9"', "é"),
        ("7" * 400, int("7" * 400)),
        ("1e-999", 0.0),
        ("-0.0", 0.0),
    ],
)
def test_what_is_only_nearly_a_half_pair_or_an_overflow_is_read(text, value):
    assert parse(text) == value


def test_lone_surrogates_pass_where_they_are_allowed():
    assert parse(r'["\ud800", 1]', lone_surrogates=True) == ["\ud800", 1]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"NaN":NaN}', JsonError),
        ("[-Infinity]", JsonError),
        (r'[0, {"a":1,"\u0061":2}]', DuplicateKeys),
        ('{"a":1,"a":2', JsonError),
        ('["\\ud800", 1e400', JsonError),
        ('{"a":"\\ud800","a":1e400}', LoneSurrogate),
        ('{"a":1,"a":1e400}', DuplicateKeys),
    ],
)
def test_of_several_faults_the_gravest_is_reported(text, kind):
    assert type(fault(text)) is kind


@pytest.mark.parametrize("pair", ["[]", '{"a":}'])
def test_depth_is_limited_exactly(pair):
    opening, closing = pair[:-1], pair[-1]
    assert parse(opening * MAX_DEPTH + "1" + closing * MAX_DEPTH)
    assert type(fault(opening * (MAX_DEPTH + 1) + "1" + closing * (MAX_DEPTH + 1))) is TooDeep


def test_brackets_within_strings_and_beside_one_another_are_not_depth():
    assert parse(json.dumps(["[{" * MAX_DEPTH, '"[' * MAX_DEPTH])) is not None
    assert len(parse(json.dumps([[{}]] * MAX_DEPTH))) == MAX_DEPTH


@given(st.dictionaries(LETTERS, json_values(), max_size=5), st.sampled_from([None, 2]))
def test_raw_members_are_the_members_as_they_are_written(members, indent):
    raw = raw_members(json.dumps(members, indent=indent, ensure_ascii=False).encode())
    assert {name: json.loads(text) for name, text in raw.items()} == members
    assert list(raw) == list(members)


def test_raw_members_keep_every_character():
    text = b' { "a" : [ 1.0 , "]\\"" ] ,\n"\\u0062":{"c":{}} , "d":-1e5, "e":"}" }\n'
    assert raw_members(text) == {
        "a": b'[ 1.0 , "]\\"" ]',
        "b": b'{"c":{}}',
        "d": b"-1e5",
        "e": b'"}"',
    }


def test_raw_members_carry_what_is_too_deep_to_parse():
    deep = b'{"a":[' * 10_000 + b"]}" * 10_000
    assert raw_members(b'{"id": 1, "schema": ' + deep + b"}")["schema"] == deep


@pytest.mark.parametrize(
    "text",
    b'[] 1 { {"a"} {"a":} {"a":1,} {"a":1}x {"a":[} {"a":[1,{"b":2]} {"a":["x} {"a":"x}'.split()
    + b'{"a":nul} {"a":01} {a:1} {"\\x":1} \xef\xbb\xbf{} {"a":"\xff"}'.split()
    + [b"", b'{"a":1 "b":2}', b'{"a":["\xff"]}'],
)
def test_raw_members_refuse_a_malformed_top_level(text):
    assert type(fault(text, raw_members)) is JsonError


def test_raw_members_refuse_a_name_given_twice():
    assert type(fault(rb'{"a":1,"\u0061":2}', raw_members)) is DuplicateKeys


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
        *((text, False) for text in ("1e-400", "1e-30000000000000000000000")),
        ("5e-324", True),
        ('"0.3000000000000000444"', True),
    ],
)
def test_survive_or_not(text, kept):
    assert keeps_numbers(text.encode()) is kept


@given(st.floats(-1e15, 1e15).filter(lambda number: number == 0 or abs(number) > 1e-300))
def test_the_shortest_spelling_of_a_double_survives(number):
    assert keeps_numbers(json.dumps(number).encode())
