"""Masks as sets of token ids, following by mask, and options with their defaults."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.inputs.vocabulary import byte_vocabulary
from harness.protocol import (
    CONFIG,
    Option,
    allows,
    complete_options,
    follow_by_mask,
    nth_token,
    set_bits,
    settle_switches,
    switch,
    token_ids,
)
from tests.miniatures import ConsumeLies, Enumerator, MaskLies

WORDS = 4
SETS = st.sets(st.integers(0, WORDS * 32 - 1))


class TestMasks:
    @given(SETS)
    def test_a_mask_is_a_set_of_ids(self, ids):
        mask = set_bits(ids, WORDS)
        assert mask.dtype == np.uint32
        assert mask.shape == (WORDS,)
        assert token_ids(mask, WORDS * 32).tolist() == sorted(ids)
        assert {one for one in range(WORDS * 32) if allows(mask, one)} == ids

        if ids:
            assert nth_token(mask, len(ids) // 2) == sorted(ids)[len(ids) // 2]

    @given(SETS, st.integers(0, WORDS * 32))
    def test_ids_beyond_the_vocabulary_do_not_count(self, ids, size):
        found = token_ids(set_bits(iter(ids), WORDS), size)
        assert found.tolist() == sorted(one for one in ids if one < size)
        assert found.dtype == np.int32

    def test_which_bit_is_which_token(self):
        assert set_bits([0, 33, 63, 33], 2).tolist() == [1, 2 | 1 << 31]
        with pytest.raises(IndexError):
            set_bits([64], 2)


class TestFollowing:
    VOCABULARY = byte_vocabulary([b"23"])
    SCHEMA = json.dumps({"enum": [12, 123], "x-forbidden": [["1", "23"]]})

    def follow(self, kind, *tokens):
        matcher = kind(self.VOCABULARY, {"compact": True}).compile(self.SCHEMA)
        count = follow_by_mask(matcher, tokens, self.VOCABULARY.words)
        assert (matcher.written, matcher.ended) == (b"", False), "the state is unchanged"
        return count

    def test_as_far_as_it_is_allowed(self):
        eos, long = self.VOCABULARY.eos, 257
        assert self.follow(Enumerator) == 0
        assert self.follow(Enumerator, *b"12", eos) == 3
        assert self.follow(Enumerator, *b"1", long, eos) == 3
        assert self.follow(Enumerator, *b"129") == 2
        assert self.follow(Enumerator, *b"1", eos) == 1
        assert self.follow(Enumerator, *b"12", eos, eos) == 3, "nothing comes after the end"
        assert self.follow(Enumerator, *b"9") == 0
        assert [self.follow(Enumerator, one) for one in (-1, 32 * self.VOCABULARY.words)] == [0, 0]

    def test_both_mask_and_consume_must_agree(self):
        assert self.follow(MaskLies, *b"1", 257) == 1
        assert self.follow(ConsumeLies, *b"1", 257) == 1


KNOWN = {
    "config": CONFIG,
    "strict": switch("close every object"),
    "depth": Option(3, "levels of recursion"),
    "fast": Option(False, "be quick"),
}


class TestOptions:
    def test_defaults_are_filled_in_in_the_order_of_the_adapter(self):
        options = complete_options(KNOWN, {"fast": True, "strict": "false"})
        expected = {"config": "spec", "strict": "false", "depth": 3, "fast": True}
        assert list(options.items()) == list(expected.items())

    def test_an_unknown_option(self):
        with pytest.raises(KeyError, match="colour"):
            complete_options(KNOWN, {"depth": 1, "colour": "red"})

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"depth": True}, "depth=True is not of type int"),
            ({"fast": 1}, "fast=1 is not of type bool"),
            ({"strict": True}, "strict=True is not of type str"),
            ({"strict": "maybe"}, "strict='maybe' is not one of auto, true, false"),
            ({"config": "fastest"}, "config='fastest' is not one of spec, shipped"),
        ],
    )
    def test_a_wrong_value(self, given, message):
        with pytest.raises(ValueError, match=message):
            complete_options(KNOWN, given)


@pytest.mark.parametrize(
    ("config", "strict", "lazy", "settled"),
    [
        ("spec", "auto", "auto", (False, True)),
        ("shipped", "auto", "auto", (True, True)),
        ("shipped", "false", "auto", (False, True)),
        ("spec", "true", "false", (True, False)),
    ],
)
def test_an_explicit_switch_wins_over_the_configuration(config, strict, lazy, settled):
    presets = {one: {"strict": one == "shipped", "lazy": True} for one in ("spec", "shipped")}
    options = {"lazy": lazy, "config": config, "strict": strict}
    assert settle_switches(options, presets) == dict(zip(("strict", "lazy"), settled, strict=True))
