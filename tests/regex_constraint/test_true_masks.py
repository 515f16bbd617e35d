"""The true mask of a vocabulary against its slow, obvious definition."""

import itertools
import re

import numpy as np
import pytest

from harness.inputs.vocabulary import byte_vocabulary
from harness.regex_constraint.automata import PatternAutomaton
from harness.regex_constraint.dialects import read
from harness.regex_constraint.true_masks import TextState, TokenTexts, TrueMasks

EMOJI, CJK = "\U0001f600".encode(), "\u4f60".encode()
PARTS = [b"a" + CJK[:2], CJK[1:], EMOJI[2:] + b"b", b"\xff\xfe"]
EXTRA = [b"ab", b"aab", "\u00e9".encode(), CJK, EMOJI, *PARTS]
VOCABULARY = byte_vocabulary(extra=EXTRA, specials=[b"a", b"<pad>"])
CHARACTERS = "ab1\n\u00e9\u00e8\u4f60\u4f61\U0001f600\U0001f601"


def obvious(pattern, data):
    """Allowed: what goes on to a text that matches by at most three of the characters above."""
    texts = ("".join(some) for n in range(4) for some in itertools.product(CHARACTERS, repeat=n))
    matching = [text.encode() for text in texts if re.fullmatch(pattern, text)]
    begun_by = {one[:at] for one in matching for at in range(len(one) + 1)}
    found = {token for token, text in VOCABULARY.ordinary.items() if data + text in begun_by}
    return found | ({VOCABULARY.eos} if data in matching else set())


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("a{0,2}b", [b"", b"a", b"aa", b"aab"]),
        ("[ab\u00e9]{1,3}", [b"", b"\xc3", "\u00e9".encode(), b"abb"]),
        ("[\u4f60-\u4f61]a?", [b"", CJK[:1], CJK[:2], CJK]),
        ("a\u4f60b|\U0001f600b?", [b"", b"a", b"a" + CJK[:2], EMOJI[:2], EMOJI]),
    ],
)
def test_a_mask_has_the_tokens_that_lead_to_a_match(pattern, texts):
    masks = TrueMasks(PatternAutomaton(read(pattern, "ecma").narrow), TokenTexts(VOCABULARY))
    for data in texts:
        place = masks.after(TextState(0), data)
        found = set(np.flatnonzero(masks.mask(place)).tolist())
        assert found == obvious(pattern, data), data
        written = data[: len(data) - len(place.rest)].decode()
        assert masks.automaton.matches(written + masks.finish(place))


def test_special_tokens_and_bytes_that_are_no_utf_8_lead_nowhere():
    masks = TrueMasks(PatternAutomaton(read(r"[\s\S]*", "ecma").narrow), TokenTexts(VOCABULARY))
    mask = masks.mask(TextState(0))
    named = {VOCABULARY.tokens[one]: one for one in range(257, VOCABULARY.size)}
    assert not mask[named[b"\xff\xfe"]]
    assert not mask[named[b"<pad>"]]
    assert not mask[0x80]
    assert mask[VOCABULARY.eos]
    assert masks.after(TextState(0), b"\xed\xa0\x80") is None, "half of a surrogate pair"
