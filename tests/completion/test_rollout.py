"""Roll-outs end soon, take only what is allowed, and depend on nothing but their key."""

from collections import Counter

import numpy as np
import pytest

from harness.completion.rollout import Preferences, Rollout, keyed_index, roll_out
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.inputs.vocabulary_hostile import hostile_vocabulary
from harness.protocol import set_bits, token_ids

VOCABULARY = byte_vocabulary([b"}]", b"null", b'": "', b"abc", b"abcd", b"a b", b" \n"], [b"<pad>"])
PREFERENCES = Preferences.of(VOCABULARY)
EOS, PAD = VOCABULARY.eos, VOCABULARY.size - 1


def ids(*texts):
    return [VOCABULARY.ids_of(text.encode())[0] for text in texts]


class Scripted:
    """A matcher whose masks are written down, and which refuses what it is told to."""

    def __init__(self, masks, refused=()):
        self.masks = masks
        self.refused = refused
        self.taken = []

    def mask(self, out):
        allowed = (
            self.masks(len(self.taken)) if callable(self.masks) else self.masks[len(self.taken)]
        )
        out[:] = set_bits(allowed, len(out))

    def consume(self, token):
        if token in self.refused:
            return False
        self.taken.append(token)
        return True


def rolled(masks, *, refused=(), limit=10, key="key"):
    return roll_out(Scripted(masks, refused), PREFERENCES, VOCABULARY.eos_ids, key, limit)


class TestEndings:
    def test_complete(self):
        assert rolled([ids("a"), ids("}"), [EOS, *ids("a")]]) == Rollout(
            "complete", (*ids("a", "}"), EOS)
        )

    def test_dead_end(self):
        assert rolled([ids("a"), []]) == Rollout("dead_end", tuple(ids("a")))

    def test_a_mask_that_lies(self):
        assert rolled([ids("a"), ids("b")], refused=ids("b")) == Rollout(
            "mask_consume_mismatch", tuple(ids("a", "b"))
        )

    @pytest.mark.parametrize("length", [0, 1, 9, 10])
    def test_as_many_tokens_as_the_limit_and_the_end_are_not_too_long(self, length):
        found = rolled(lambda at: ids("a") if at < length else [EOS])
        assert found == Rollout("complete", (*ids("a") * length, EOS))

    @pytest.mark.parametrize("length", [11, 12, 10**9])
    def test_more_are_too_long(self, length):
        found = rolled(lambda at: ids("a") if at < length else [EOS])
        assert found == Rollout("too_long", tuple(ids("a") * 10))


class TestPreferences:
    @pytest.mark.parametrize(
        ("wanted", "others"),
        [
            ("}]", ["null", "a", " ", ":"]),
            ('"', ["1", "{", "abc", "\\"]),
            ("null", ['": "', "{", "abc", " "]),
            ("7", ["[", "-", "a", "+"]),
            ('": "', ["abc", "/", "+", "\n"]),
            ("abc", ["abcd", " ", "\\", "\x01"]),
            ("abcd", ["\\", "\x01", " ", "a b"]),
            ("\\", [" ", "a b", " \n"]),
        ],
    )
    def test_what_brings_the_text_to_its_end_comes_first(self, wanted, others):
        mask = set_bits(ids(wanted, *others), VOCABULARY.words)
        for key in "abcdefgh":
            assert PREFERENCES.choose(mask, key) == ids(wanted)[0]
            ending = mask | set_bits([EOS], VOCABULARY.words)
            assert PREFERENCES.choose(ending, key) == EOS

    def test_reserved_tokens_come_last_but_come(self):
        assert PREFERENCES.choose(set_bits([PAD, *ids(" ")], VOCABULARY.words), "") == ids(" ")[0]
        assert PREFERENCES.choose(set_bits([PAD], VOCABULARY.words), "") == PAD

    def test_nothing_to_choose(self):
        assert PREFERENCES.choose(np.zeros(VOCABULARY.words, dtype=np.uint32), "key") is None

    @pytest.mark.parametrize(
        "vocabulary", [VOCABULARY, hostile_vocabulary(2)], ids=lambda v: v.name
    )
    def test_every_token_has_exactly_one_place(self, vocabulary):
        preferences = Preferences.of(vocabulary)
        places = Counter(
            token
            for members in (preferences.eos, *preferences.classes)
            for token in token_ids(members, vocabulary.size).tolist()
        )
        assert places == Counter(range(vocabulary.size))

    def test_several_ends(self):
        two = Vocabulary.from_tokens("two", [b"a", b"<e>", b"<f>"], [], [1, 2])
        preferences = Preferences.of(two)
        ends = {preferences.choose(set_bits([0, 1, 2], 1), str(key)) for key in range(30)}
        assert ends == {1, 2}


class TestKeys:
    def test_the_same_key_goes_the_same_way(self):
        letters = [*b"abcdefghijklmnopqrstuvwxyz"]
        ways = {key: rolled(lambda at: letters, key=key).tokens for key in "abcdef"}
        assert len(set(ways.values())) == 6
        assert all(rolled(lambda at: letters, key=key).tokens == way for key, way in ways.items())
        assert all(len(set(way)) > 1 for way in ways.values()), "every step chooses anew"

    def test_numbers_are_the_same_on_every_machine(self):
        assert keyed_index("0/case/0/5/walk", 1000) == 67
        assert keyed_index("", 1 << 63) == 3797230976420062948
        assert keyed_index("\ud800é", 10) == 7
