"""Probing: how far a text is let, and what holds where it stops."""

from __future__ import annotations

import json

import pytest

from harness.engines.text_probe import Probed, ProbedTexts, probe
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
    matcher = engine(VOCABULARY, default_options(engine)).compile(SCHEMA)
    assert probe(matcher, [*text, *more], VOCABULARY.eos_mask) == Probed(*expected)


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
