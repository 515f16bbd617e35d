"""Probing: how far a text is let, and what holds where it stops."""

from __future__ import annotations

import json

import pytest

from harness.engines.text_probe import Probed, ProbedTexts, probe
from tests.inprocess import default_options
from tests.miniatures import ConsumeLies, Enumerator, ForbidsOne, LanguageMatcher, MaskLies
from tests.replaying import EOS, VOCABULARY

SCHEMA = json.dumps({"enum": ["ab"], "x-forbidden": [['"a', "b"]]})


def probed(engine: type, text: bytes, *more: int) -> Probed:
    matcher = engine(VOCABULARY, default_options(engine)).compile(SCHEMA)
    return probe(matcher, [*text, *more], VOCABULARY.eos_mask)


def test_a_text_that_is_allowed_to_its_end():
    assert probed(Enumerator, b'"ab"', EOS) == Probed(5, False, False, True, False)


def test_a_text_that_may_end_there():
    assert probed(Enumerator, b'"ab"') == Probed(4, False, False, False, True)


def test_a_token_that_is_forbidden():
    assert probed(Enumerator, b'"ac"') == Probed(2, True, False, False, False)


def test_a_token_behind_which_nothing_is_allowed():
    assert probed(ForbidsOne, b'"ab"') == Probed(2, True, False, True, False)
    assert probed(ForbidsOne, b'"a') == Probed(2, False, False, True, False)


def test_a_token_that_is_forbidden_and_consumed():
    assert probed(MaskLies, b'"ab"') == Probed(2, True, True, True, False)


def test_a_token_that_is_allowed_and_not_consumed():
    assert probed(ConsumeLies, b'"ab"') == Probed(2, False, False, False, False)


def test_nothing_is_asked_behind_the_end_and_the_matcher_stays_where_it_is():
    class Touchy(LanguageMatcher):
        def mask(self, out):
            assert not self.ended, "asked behind the end"
            super().mask(out)

    language = Enumerator(VOCABULARY, default_options(Enumerator)).language(json.loads(SCHEMA))
    matcher = Touchy(VOCABULARY, language, language)
    assert probe(matcher, [*b'"ab"', EOS], VOCABULARY.eos_mask).allowed == 5
    assert matcher.written == b""


@pytest.mark.parametrize("count", [0, 1, 3])
def test_what_is_found_travels_as_arrays(count):
    found = [Probed(number, True, False, True, False) for number in range(count)]
    assert ProbedTexts.of(found).each() == found
