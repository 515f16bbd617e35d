"""What a prefix of a JSON text has written, and how unfinished strings and numbers may go on."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.completion.value_suffixes import (
    first_characters,
    least_rest,
    number_rests,
    spelled_rest,
)
from harness.jsontext.lexer import START, Mode, advance
from harness.jsontext.partial import (
    CONTAINER,
    Cursor,
    Frame,
    Layout,
    feed,
    layout_of,
    load,
    path_of,
)
from tests.jsonvalues import json_values

VALUES = json_values(st.text(max_size=4), st.integers())


def after(text):
    return feed(Cursor(), text.encode())


def test_members_items_and_the_path_are_known():
    cursor = after('{"a": "x", "b": [1, {"c": tr')
    outer, array, inner = cursor.frames
    assert outer == Frame(True, (("a", "x"),), key="b")
    assert (array.size, inner.key, cursor.atom) == (1, "c", b"tr")
    assert path_of(cursor.frames) == ("b", 1)


def test_a_finished_container_keeps_no_content():
    assert after('{"a": [1], "b": 2.50,').frames[0].members[0] == ("a", CONTAINER)


def test_a_number_ends_only_with_what_follows():
    assert after("[1, 23").frames[0].size == 1
    assert after("[1, 23 ").frames[0].size == 2


def test_what_no_text_begins_with_has_no_cursor():
    assert after("[1}") is None


@given(VALUES, st.data())
def test_feeding_in_pieces_is_feeding_at_once(value, data):
    text = json.dumps(value, ensure_ascii=False).encode()
    cut = data.draw(st.integers(0, len(text)))
    assert feed(feed(Cursor(), text[:cut]), text[cut:]) == feed(Cursor(), text)


def test_numbers_keep_their_spelling():
    assert Layout().dump(load("[1.50, 1e400, -0, 12]"), 0) == b"[1.50, 1e400, -0, 12]"


@given(VALUES, st.sampled_from([{}, {"indent": 2}, {"indent": 1}, {"separators": (",", ":")}]))
def test_a_value_is_written_as_its_own_text_is_laid_out(value, style):
    text = json.dumps({"k": [value, 1], "l": {"m": 2}}, ensure_ascii=False, **style).encode()
    assert layout_of(text).dump(load(text), 0) == text


@pytest.mark.parametrize(
    ("pending", "rest", "end"),
    [
        (b"", "aé", "aé".encode()),
        (b"\xc3", "éa", b"\xa9a"),
        (b"\xc3", "a", None),
        (b"\\", '"', b'"'),
        (b"\\", "a", b"u0061"),
        (b"\\u00", "é", b"e9"),
        (b"\\u00E", "é", b"9"),
        (b"\\ud83d", "😀", b"\\ude00"),
        (b"\\u", "", None),
    ],
)
def test_a_started_character_is_finished_as_the_wanted_one(pending, rest, end):
    assert spelled_rest(pending, rest, Layout()) == end


@given(st.binary(max_size=3) | st.from_regex(rb"\A\\(u[0-9a-fA-F]{0,4}(\\(u[0-9a-f]{0,3})?)?)?\Z"))
def test_every_started_character_can_be_finished(pending):
    state = advance(START, b'"' + pending)
    if state is None or state.mode is not Mode.STRING:
        return
    assert advance(state, least_rest(state.part)).part == b"" or state.part.startswith(b"\\u")
    for char in first_characters(state.part):
        rest = spelled_rest(state.part, char, Layout())
        if rest is not None:
            assert advance(state, rest + b'"').can_end


@pytest.mark.parametrize(
    ("atom", "mode", "wanted", "rest"),
    [
        (b"3", Mode.INT, lambda v: v >= 300, "00"),
        (b"-", Mode.MINUS, lambda v: v == -7, "7"),
        (b"1.", Mode.DOT, lambda v: v == 1.25, "25"),
        (b"2e", Mode.E, lambda v: v == 200, "2"),
        (b"0", Mode.ZERO, lambda v: False, ""),
    ],
)
def test_a_started_number_goes_on_so_that_it_fits(atom, mode, wanted, rest):
    assert number_rests(atom, mode, wanted)[0] == rest
