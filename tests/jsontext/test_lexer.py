"""The incremental lexer agrees with a JSON parser, byte by byte."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.jsontext.lexer import START, Mode, State, advance, place_of
from tests.jsonvalues import json_values

VALUES = json_values(st.text(max_size=4))
NOISE = st.text(alphabet='{}[]",:0123456789.eE+-truefalsn\\ud89cDC \n\x1fé𝄞a', max_size=14)


def is_json(text: bytes) -> bool:
    def refuse(name):
        raise ValueError(name)

    try:
        json.loads(text.decode("utf-8"), parse_constant=refuse)
    except ValueError:
        return False
    return True


@given(NOISE.map(str.encode) | st.binary(max_size=6))
def test_a_text_can_end_exactly_when_it_is_json(text):
    state = advance(START, text)
    assert (state is not None and state.can_end) == is_json(text)


@given(VALUES, st.booleans(), st.sampled_from([None, 1]), st.data())
def test_every_prefix_of_json_goes_on_to_the_same_state(value, ascii_only, indent, data):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "replace")
    cut = data.draw(st.integers(0, len(text)))
    before = advance(START, text[:cut])
    assert before is not None
    assert advance(before, text[cut:]) == advance(START, text)


@given(NOISE.map(str.encode))
def test_a_prefix_that_is_accepted_can_always_be_finished(text):
    state = advance(START, text)
    if state is not None:
        assert is_json(text + finish(state))


def finish(state: State) -> bytes:
    """Some bytes that end the text, found by trying."""
    probes = [
        bytes((byte,))
        for byte in b'\xbf\x80\x9f\x8f\xa0\x90"}]1a:uel' + string.ascii_lowercase.encode()
    ]
    frontier = [(b"", state)]
    seen = {state}
    while frontier:
        out, here = frontier.pop(0)
        if here.can_end:
            return out
        for probe in probes:
            follow = advance(here, probe)
            if follow is not None and follow not in seen and len(follow.stack) <= len(state.stack):
                seen.add(follow)
                frontier.append((out + probe, follow))
    raise AssertionError(state)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", START),
        (b'{"a', State(b"{", Mode.KEY_STRING)),
        (b'{"a"', State(b"{", Mode.COLON)),
        (b'{"a": [', State(b"{[", Mode.ITEM_OR_CLOSE)),
        (b"[1", State(b"[", Mode.INT)),
        (b"[-0.5e+", State(b"[", Mode.ESIGN)),
        (b"[1 ", State(b"[", Mode.AFTER)),
        (b"[1,", State(b"[", Mode.VALUE)),
        (b"[tru", State(b"[", Mode.LITERAL, b"tru")),
        (b'"\\u00', State(b"", Mode.STRING, b"\\u00")),
        (b'"\\ud83d', State(b"", Mode.STRING, b"\\ud83d")),
        (b'"\\ud83d\\udc', State(b"", Mode.STRING, b"\\ud83d\\udc")),
        (b'"\\ud83d\\ude00', State(b"", Mode.STRING)),
        (b'"\\ud83dx', State(b"", Mode.STRING)),
        (b'"\xe2\x82', State(b"", Mode.STRING, b"\xe2\x82")),
        (b'"\xe2\x82\xac', State(b"", Mode.STRING)),
        (b'{"a":1} \n', State(b"", Mode.DONE)),
    ],
)
def test_states(text, expected):
    assert advance(START, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *b"01 1.. -a [, [1,] {] nulL {1".split(),
        b'{"a",',
        b'"\n',
        b'"\\x',
        b'"\xff',
        b'"\xed\xa0',
        b"1 2",
    ],
)
def test_what_no_json_text_begins_with(text):
    assert advance(START, text) is None


PLACES = {
    "start of value": ["", "[", "[1, ", '{"a": '],
    "start of key": ["{", '{"a": 1,'],
    "inside key": ['{"', '{"ab'],
    "after key": ['{"a"'],
    "after value": ['{"a": 1 ', '["a"', '{"a": {}'],
    "inside string": ['"', '"aé', '"\\n'],
    "inside escape": ['"a\\', '"\\u00', '{"\\u00'],
    "inside literal": ["nul", "[t"],
    "inside number": ["-", "0", "12.5e+3"],
    "end": ['"a"', "{} ", "true"],
}


@pytest.mark.parametrize(
    ("text", "place"), [(text, place) for place, texts in PLACES.items() for text in texts]
)
def test_places(text, place):
    assert place_of(advance(START, text.encode()), at_end=False) == place


def test_a_started_character_is_inside_the_string():
    assert place_of(advance(START, b'"\xc3'), at_end=False) == "inside string"


@pytest.mark.parametrize("text", ["12", '"a"', "[]", "null"])
def test_after_the_whole_reference_is_the_end(text):
    """A number could go on: whether it is over is for the reference to say."""
    assert place_of(advance(START, text.encode()), at_end=True) == "end"
