"""The mask of JSON is, of every state and vocabulary, what the lexer says of each token by itself."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.comparison.challenger import JsonMasks
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.jsontext.lexer import START, State, advance
from harness.protocol import token_ids

LONGER = (
    *(b'{"', b'":', b'": ', b'",', b'"}', b'"}]', b'"\n', b"},{", b"}}", b"]]", b"}]}", b"]}"),
    *(b",\n  ", b"  ", b"\n\t", b' "', b'","', b" ]", b"1]", b"10", b"1.", b".5", b"e+", b"-1"),
    *(b"true", b"nul", b"ls", b"e}", b" the", b"the", b"a\\", b"\\u", b"\\n", b"u00", b"\\ud8"),
    *(b"00\\", b"\xc3", b"\xa9", b"\xc3\xa9\xc3", b"\xed\xa0", b"a\x00", b"\n", b'n"', b'a", "b'),
)
VOCABULARY = byte_vocabulary(LONGER, [b"<pad>"])
MASKS = JsonMasks(VOCABULARY)

PIECES = st.sampled_from(
    [*(bytes([byte]) for byte in b'{}[],:" \\ua0-1.eE+tn'), *LONGER, b'"a"', b'{"a":', b"[[["]
)


@st.composite
def states(draw):
    """States that some beginning of a JSON text is in."""
    state = START
    for piece in draw(st.lists(PIECES, max_size=12)):
        state = advance(state, piece) or state
    return state


def allowed(vocabulary: Vocabulary, state: State) -> list[int]:
    """The tokens that may come, each looked at by itself."""
    ends = vocabulary.eos_ids if state.can_end else ()
    ordinary = [token for token in range(vocabulary.size) if not vocabulary.special[token]]
    goes_on = [one for one in ordinary if advance(state, vocabulary.tokens[one]) is not None]
    return sorted([*ends, *goes_on])


@given(states())
@example(State(b"[" * 40, START.mode))
@example(State(b"{[" * 20, START.mode))
def test_a_mask_is_what_the_lexer_says_of_each_token(state):
    assert token_ids(MASKS.at(state), VOCABULARY.size).tolist() == allowed(VOCABULARY, state)


@pytest.mark.parametrize("text", [b"", b'{"a', b'{"a":[1', b'["\\u', b"[true", b"12"])
def test_an_order_in_which_states_are_asked_for_changes_nothing(text):
    """What is kept of one state is not another's."""
    state = advance(START, text)
    assert (JsonMasks(VOCABULARY).at(state) == MASKS.at(state)).all()


def test_a_vocabulary_may_close_nothing():
    vocabulary = Vocabulary.from_tokens("small", [b"1", b" ", b'"', b"<eos>"], [3], [3])
    state = advance(START, b"[[1")
    assert token_ids(JsonMasks(vocabulary).at(state), 4).tolist() == [0, 1]


@pytest.mark.thorough
@pytest.mark.parametrize("text", [b"", b'{"a', b'{"a":[1', b'["\\u', b'["\xc3', b'{"a":[{"b":"c"'])
def test_of_a_large_vocabulary(vocabulary, text):
    state = advance(START, text)
    found = token_ids(JsonMasks(vocabulary).at(state), vocabulary.size).tolist()
    assert found == allowed(vocabulary, state)
