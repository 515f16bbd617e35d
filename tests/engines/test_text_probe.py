"""Probing: how far a text is let, and what holds where it stops."""

import json

import numpy as np
import pytest

from harness.engines.text_probe import (
    UNKNOWN,
    Probed,
    ProbedTexts,
    RefusedByte,
    forced_token,
    probe,
)
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.protocol import follow_by_mask
from tests import miniatures
from tests.inprocess import default_options
from tests.miniatures import ConsumeLies, Enumerator, ForbidsOne, LanguageMatcher, MaskLies
from tests.replaying import EOS, VOCABULARY

SCHEMA = json.dumps({"enum": ["ab"], "x-forbidden": [['"a', "b"]]})


@pytest.mark.parametrize(
    ("engine", "text", "more", "expected"),
    [
        pytest.param(Enumerator, b'"ab"', [EOS], (5, False, False, True, False), id="to its end"),
        pytest.param(Enumerator, b'"ab"', [], (4, False, False, False, True), id="may end there"),
        pytest.param(Enumerator, b'"ac"', [], (2, True, False, False, False), id="forbidden"),
        pytest.param(ForbidsOne, b'"ab"', [], (2, True, False, True, False), id="nothing allowed"),
        pytest.param(ForbidsOne, b'"a', [], (2, False, False, True, False), id="nothing after"),
        pytest.param(MaskLies, b'"ab"', [], (2, True, True, True, False), id="taken all the same"),
        pytest.param(ConsumeLies, b'"ab"', [], (2, False, False, False, False), id="not taken"),
    ],
)
def test_how_far_a_text_is_let(engine, text, more, expected):
    matcher, tokens = engine(VOCABULARY, default_options(engine)).compile(SCHEMA), [*text, *more]
    assert probe(matcher, tokens, VOCABULARY.eos_mask) == Probed(*expected)
    known = follow_by_mask(matcher, tokens, VOCABULARY.words)
    assert probe(matcher, tokens, VOCABULARY.eos_mask, known=known) == Probed(*expected)


def test_masks_of_what_is_known_to_be_allowed_are_not_looked_at():
    seen = []

    class Counted(LanguageMatcher):
        def mask(self, out):
            seen.append(self.written)
            super().mask(out)

    language = Enumerator(VOCABULARY, default_options(Enumerator)).language(json.loads(SCHEMA))
    matcher = Counted(VOCABULARY, language, language)
    for tokens, known, looked_at in (
        ([*b'"ab"', EOS], 5, []),
        ([*b'"ab"', EOS], 2, [b'"a', b'"ab', b'"ab"']),
        (b'"ac"', 2, [b'"a']),
        (b'"a', 2, [b'"a']),
    ):
        probe(matcher, list(tokens), VOCABULARY.eos_mask, known=known)
        assert seen == looked_at
        seen.clear()


def test_nothing_is_asked_behind_the_end_and_the_matcher_stays_where_it_is():
    class Touchy(LanguageMatcher):
        def mask(self, out):
            assert not self.ended, "asked behind the end"
            super().mask(out)

    language = Enumerator(VOCABULARY, default_options(Enumerator)).language(json.loads(SCHEMA))
    matcher = Touchy(VOCABULARY, language, language)
    assert probe(matcher, [*b'"ab"', EOS], VOCABULARY.eos_mask).allowed == 5
    assert matcher.written == b""


def test_what_is_found_travels_as_arrays():
    found = [Probed(number, True, False, True, False) for number in range(3)]
    assert (ProbedTexts.of(found).each(), ProbedTexts.of([]).each()) == (found, [])


CERTAIN = {"enum": [{"name": [1]}, {"name": [2]}]}
"""Of the bytes ``{"name":`` all are certain; behind them may come a space."""

TOKENS = [b'{"nam', b'{"na', b"{\n", b'"x', b'{"namx', b'{"name?', b'{"name":x', b'{"name":[']
FORCING = byte_vocabulary(TOKENS)


def refused(kind, token, vocabulary=FORCING, schema=CERTAIN, *, looks_on=True):
    """How many bytes of a token go before the refused one, at the start of a text."""
    matcher = kind(vocabulary, default_options(kind)).compile(json.dumps(schema))
    mask = np.zeros(vocabulary.words, dtype=np.uint32)
    matcher.mask(mask)
    finder = RefusedByte(
        matcher,
        vocabulary,
        lambda tokens: follow_by_mask(matcher, tokens, vocabulary.words),
        forced_token(mask, vocabulary),
        looks_on=looks_on,
    )
    return finder.of(vocabulary.ids_of(token)[0])


class TestByteByByte:
    @pytest.mark.parametrize(("token", "before"), [(b'"x', 0), (b"{\n", 1), (b'{"name":x', 8)])
    def test_it_is_the_first_that_is_not_taken(self, token, before):
        assert refused(miniatures.Enumerator, token) == before

    def test_it_is_none_where_the_token_as_a_whole_is_refused(self):
        assert refused(miniatures.Enumerator, b'{"na') == len(b'{"na')

    def test_it_is_not_known_behind_a_byte_without_a_token(self):
        tokens = [b"{", b'"', b'{"na', b"<eos>"]
        small = Vocabulary.from_tokens("small", tokens, special_ids=[], eos_ids=[3])
        assert refused(miniatures.Enumerator, b'{"na', small) == UNKNOWN


class TestAlongForcedTokens:
    @pytest.mark.parametrize(
        ("token", "before"),
        [
            pytest.param(b'"x', 0, id="another text"),
            pytest.param(b"{\n", 1, id="leaves the forced token"),
            pytest.param(b'{"namx', 5, id="leaves the one behind it"),
            pytest.param(b'{"name?', 6, id="leaves the one behind that"),
            pytest.param(b'{"name":x', 8, id="leaves what may follow"),
        ],
    )
    def test_it_is_the_first_that_may_not_come(self, token, before):
        assert refused(miniatures.Forces, token) == before

    @pytest.mark.parametrize("token", [b'{"na', b'{"name":['])
    def test_another_cut_is_refused_from_its_start(self, token):
        assert refused(miniatures.Forces, token) == 0

    @pytest.mark.parametrize(("looks_on", "before"), [(True, 4), (False, 1)])
    def test_behind_bytes_that_are_taken_another_mask_is_looked_at(self, looks_on, before):
        """At the start nothing is certain; behind ``[`` the token ``"axy`` is."""
        schema = {"enum": [["axy", 1], ["axy", 2], 3]}
        vocabulary = byte_vocabulary([b'"axy', b'["axz'])
        assert refused(miniatures.Forces, b'["axz', vocabulary, schema, looks_on=looks_on) == before
