"""Other orders of members are found from where one is refused; the value and what stands stay."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.jsontext.member_moves import OrderSearch
from harness.jsontext.usual_spellings import value_key
from tests.jsonvalues import LETTERS, json_values


def texts(text: str, fault: int, written: int = 0) -> list[str]:
    """What is tried first, without other spellings of the text."""
    tries = OrderSearch([(text.encode(), fault)], written).tries()
    return [one.text.decode() for one in tries if sorted(one.text) == sorted(text.encode())]


THREE = '{"a": 1, "b": 2, "c": 3}'


@pytest.mark.parametrize(
    ("fault", "written", "expected"),
    [
        # at the first key: others in its place
        (2, 0, ['{"b": 2, "a": 1, "c": 3}', '{"c": 3, "a": 1, "b": 2}']),
        # at the second key, or the comma before it: it goes first, the third in its place or first
        (
            8,
            0,
            ['{"b": 2, "a": 1, "c": 3}', '{"a": 1, "c": 3, "b": 2}', '{"c": 3, "a": 1, "b": 2}'],
        ),
        (
            7,
            0,
            ['{"b": 2, "a": 1, "c": 3}', '{"a": 1, "c": 3, "b": 2}', '{"c": 3, "a": 1, "b": 2}'],
        ),
        # within a value: its member goes first
        (22, 0, ['{"c": 3, "a": 1, "b": 2}']),
        (6, 0, []),
        # what is written stays
        (8, 4, ['{"a": 1, "c": 3, "b": 2}']),
        (10, 10, []),
        # at the end there is nothing to move
        (23, 0, []),
    ],
)
def test_the_refused_member_tells_what_to_move(fault, written, expected):
    assert texts(THREE, fault, written) == expected


def test_members_of_objects_around_a_value_go_to_the_front():
    assert texts('{"a": 1, "b": [{"c": 2, "d": 3}]}', 29) == [
        '{"b": [{"c": 2, "d": 3}], "a": 1}',
        '{"a": 1, "b": [{"d": 3, "c": 2}]}',
    ]


def test_a_text_is_gone_on_with_where_the_key_that_was_moved_is_taken():
    search = OrderSearch([(THREE.encode(), 2)])
    moved = search.tries()
    assert [one.text[: one.until].decode() for one in moved] == ['{"b": ', '{"c": ']
    search.refuse(moved[0], moved[0].until - 1)
    search.refuse(moved[1], 10)
    assert {one.text.decode()[:9] for one in search.tries()} == {
        '{"a": 1, ',
        '{"c": 3, ',
        '{"b": 2, ',
    }


def test_where_no_order_leads_on_the_furthest_is_spelled_otherwise():
    """The second is taken further, to its number; another spelling of that goes on being ordered."""
    search = OrderSearch([(b'{"a": 1, "b": 2.0}', 2), (b'{"b": 2.0, "a": 1}', 7)])
    spelled = {one.text: one for one in search.tries()}
    assert {b'{"b": 2, "a": 1}', b'{"b":2.0,"a":1}'} <= spelled.keys()
    one = spelled[b'{"b": 2, "a": 1}']
    search.refuse(one, 7)
    assert search.tries() == []
    search.refuse(one, 11)
    assert [one.text for one in search.tries()] == [b'{"a": 1, "b": 2}']


@given(st.dictionaries(LETTERS, json_values(), min_size=1), st.data())
def test_the_value_and_what_is_written_stay(value, data):
    text = json.dumps(value)
    fault = data.draw(st.integers(0, len(text)))
    written = data.draw(st.integers(0, fault))
    for one in texts(text, fault, written):
        assert value_key(one.encode()) == value_key(text.encode())
        assert one[:written] == text[:written]
