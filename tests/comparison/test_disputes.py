"""Disputes are the exact patterns of who accepts; samples of them are fair and keyed."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.comparison.disputes import Quota, draw, find_disputes
from harness.inputs.vocabulary import byte_vocabulary
from harness.protocol import set_bits

SIZE = 70
WORDS = 3
MASKS = st.lists(st.sets(st.integers(0, WORDS * 32 - 1)), min_size=1, max_size=5)
IDS = st.sets(st.integers(0, 999), max_size=60)


def found(masks, engines=None, cap=None, always=(), key="key", size=SIZE):
    engines = range(len(masks)) if engines is None else engines
    stacked = np.array([set_bits(ids, WORDS) for ids in masks], dtype=np.uint32)
    return find_disputes(stacked, list(engines), size, cap, always, key)


def drawn(ids, cap, always=(), key="key"):
    tokens = draw(np.array(sorted(ids), dtype=np.int32), cap, always, key)
    assert tokens.dtype == np.int32
    assert tokens.tolist() == sorted(set(tokens.tolist()))
    return set(tokens.tolist())


class TestDisputes:
    @given(MASKS)
    def test_are_the_disputed_tokens_by_who_accepts_them(self, masks):
        expected = {}
        for token in range(SIZE):
            who = tuple(engine for engine, mask in enumerate(masks) if token in mask)
            if 0 < len(who) < len(masks):
                expected.setdefault(who, []).append(token)
        disputes = found(masks)
        assert {one.accepters: one.tokens.tolist() for one in disputes} == expected
        assert [one.accepters for one in disputes] == sorted(expected)
        for one in disputes:
            assert sorted(one.accepters + one.rejecters) == list(range(len(masks)))

    @given(MASKS, st.randoms(use_true_random=False))
    def test_the_order_of_the_engines_changes_nothing(self, masks, random):
        order = list(range(len(masks)))
        random.shuffle(order)
        before = {frozenset(one.accepters): one.tokens.tolist() for one in found(masks)}
        shuffled = found([masks[engine] for engine in order], order)
        assert {frozenset(one.accepters): one.tokens.tolist() for one in shuffled} == before

    def test_engines_keep_their_numbers_of_the_run(self):
        (one,) = found([{1}, {1, 2}, {1}], engines=[0, 3, 7])
        assert (one.accepters, one.rejecters) == ((3,), (0, 7))

    def test_where_all_agree_there_are_none(self):
        assert found([{1, 2}, {1, 2}]) == []
        assert found([{1, 2}]) == []
        assert found([set(), set()]) == []

    def test_bits_beyond_the_vocabulary_are_nobodys(self):
        assert found([{SIZE, SIZE + 3}, set()]) == []


class TestCaps:
    MASKS = ({*range(60)}, {*range(0, 60, 2)}, {*range(0, 60, 3)})

    def test_are_for_each_dispute(self):
        disputes = found(self.MASKS, cap=4)
        assert [(one.accepters, len(one.tokens), len(one.drawn)) for one in disputes] == [
            ((0,), 20, 4),
            ((0, 1), 20, 4),
            ((0, 2), 10, 4),
        ]

    def test_what_is_on_the_path_is_never_left_out(self):
        for one in found(self.MASKS, cap=4, always=(1, 2, 4, 6, 99)):
            assert {1, 2, 4, 6} & set(one.tokens.tolist()) <= set(one.drawn.tolist())

    def test_what_other_engines_there_are_in_the_run_does_not_change_a_sample(self):
        masks = [{*range(60)}, set()]
        (two,) = found(masks, engines=[0, 1], cap=5)
        (far,) = found(masks, engines=[0, 5], cap=5)
        assert two.drawn.tolist() == far.drawn.tolist()

    def test_two_disputes_are_sampled_apart(self):
        """The same tokens accepted by one engine or by another one: not the same sample."""
        everything = {*range(60)}
        (one,) = found([everything, set()], cap=10)
        (other,) = found([set(), everything], cap=10)
        assert one.drawn.tolist() != other.drawn.tolist()


class TestSpellings:
    """Tokens 0 to 19 are white space; engine 1 rejects all tokens."""

    MASKS = ({*range(60)}, set())

    def quota(self, proven=0, place="after value"):
        quota = Quota((np.arange(SIZE) < 20, np.zeros(SIZE, dtype=np.bool_)), np.arange(SIZE))
        quota.note(1, np.arange(proven, dtype=np.int32), place)
        return quota

    def blanks(self, quota, cap=30, always=()):
        stacked = np.array([set_bits(ids, WORDS) for ids in self.MASKS], dtype=np.uint32)
        (one,) = find_disputes(
            stacked, [0, 1], SIZE, cap, always, "key", quota, where=("after value", ())
        )
        assert len(one.drawn) == len(set(one.drawn.tolist()))
        return sum(token < 20 for token in one.drawn.tolist()), len(one.drawn)

    def test_is_resolved_a_few_times_for_each_engine_and_place(self):
        assert self.blanks(self.quota()) == (4, 34)
        assert self.blanks(self.quota(proven=3)) == (1, 31)
        assert self.blanks(self.quota(proven=9)) == (0, 30)
        assert self.blanks(self.quota(proven=9, place="start of key")) == (4, 34)

    def test_of_several_that_reject_the_one_that_is_known_least_decides(self):
        quota = self.quota(proven=9)
        assert quota.left([1], "after value") == 0
        assert quota.left([1, 2], "after value") == quota.left([2], "after value") == 4

    def test_inside_strings_others_are_meant(self):
        quota = self.quota(proven=9, place="inside string")
        assert not quota.of(np.arange(SIZE, dtype=np.int32), "inside string").any()
        assert quota.left([1], "inside string") == 4

    def test_on_the_path_it_is_never_left_out(self):
        assert self.blanks(self.quota(proven=9), always=(7,)) == (1, 31)

    def test_is_resolved_as_all_else_without_a_cap(self):
        assert self.blanks(self.quota(proven=9), cap=None) == (20, 60)


class TestPlaces:
    def test_at_many_positions_of_one_place_a_few_are_enough(self):
        """A long string in which one engine refuses what the other takes, and a second string."""
        no_blanks = np.zeros(400, dtype=np.bool_)
        quota = Quota((no_blanks, no_blanks), np.arange(400))
        masks = np.array([set_bits(range(400), 13), set_bits([], 13)], dtype=np.uint32)

        def resolved(string, position, cap=100):
            where = ("inside string", string)
            (one,) = find_disputes(masks, [0, 1], 400, cap, (9,), str(position), quota, where)
            return len(one.drawn)

        assert [resolved("note", position) for position in range(4)] == [100, 28, 4, 4]
        assert resolved("name", 4) == 100
        assert resolved("name", 5, cap=None) == 400

    def test_what_others_accept_at_the_same_place_is_apart(self):
        no_blanks = np.zeros(400, dtype=np.bool_)
        quota = Quota((no_blanks, no_blanks), np.arange(400))
        every, none = set_bits(range(400), 13), set_bits([], 13)

        def resolved(*masks):
            rows, where = np.array(masks, dtype=np.uint32), ("inside string", "note")
            (one,) = find_disputes(rows, [0, 1], 400, 128, (), "key", quota, where)
            return len(one.drawn)

        assert [resolved(every, none), resolved(every, none)] == [128, 4]
        assert resolved(none, every) == 128


class TestShapes:
    """Sixty tokens of six shapes, by their tens."""

    TOKENS = np.arange(60, dtype=np.int32)

    def shapes(self, **how):
        sample = draw(
            self.TOKENS, how.pop("cap", 30), how.pop("always", ()), "key", self.TOKENS // 10
        )
        return [int((sample // 10 == ten).sum()) for ten in range(6)]

    def test_of_many_tokens_two_of_each_shape_are_resolved(self):
        assert self.shapes() == [2, 2, 2, 2, 2, 2]
        assert sum(self.shapes(cap=5)) == 5

    def test_what_is_on_the_path_comes_on_top(self):
        assert self.shapes(always=(20, 21, 22)) == [2, 2, 5, 2, 2, 2]

    def test_of_few_tokens_and_without_a_cap_all_are(self):
        few = np.arange(30, dtype=np.int32)
        assert len(draw(few, 30, (), "key", few * 0)) == 30
        assert self.shapes(cap=None) == [10] * 6

    def test_tokens_that_look_alike_share_one(self):
        tokens = [*b'ab xyz a 1a 2b !x ?y aB a" }'.split(), b" a", b"\n", b"\t"]
        words = byte_vocabulary(tokens)
        shapes = words.shapes[-len(tokens) :].tolist()
        assert shapes[0] == shapes[1] == shapes[2]
        assert shapes[3] == shapes[4]
        assert shapes[5] == shapes[6]
        assert len(set(shapes)) == 9


class TestDrawing:
    @given(IDS, st.none() | st.integers(1, 70), IDS, st.text(max_size=5))
    def test_a_sample(self, ids, cap, always, key):
        sample = drawn(ids, cap, tuple(always), key)
        assert sample <= ids
        if cap is None or len(ids) <= cap:
            assert sample == ids
        else:
            assert ids & always <= sample
            assert len(sample) == max(cap, len(ids & always))

    def test_a_sample_is_the_same_on_every_machine(self):
        sample = drawn(range(1000), 8, (5,), "0/case/0/3/0,1")
        assert sample == {5, 151, 394, 416, 765, 790, 906, 926}

    @given(IDS, st.integers(1, 30), st.integers(1, 30))
    def test_a_smaller_sample_is_part_of_a_larger_one(self, ids, one, other):
        small, large = (drawn(ids, cap) for cap in sorted((one, other)))
        assert small <= large

    @given(st.sets(st.integers(0, 999), min_size=20, max_size=60), st.integers(0, 999))
    def test_a_token_that_is_not_drawn_changes_nothing(self, ids, more):
        """What makes the sample comparable between two versions of an engine."""
        sample = drawn(ids, 10)
        after = drawn(ids | {more}, 10)
        assert len(after - sample) <= 1
        assert after <= sample | {more}

    @pytest.mark.parametrize("always", [pytest.param((), marks=pytest.mark.thorough), (0, 50, 99)])
    def test_every_other_token_has_the_same_chance(self, always):
        """4000 samples of 20 of 100 tokens: 800 expected, five standard deviations are 127."""
        counts = Counter(
            token for key in range(4000) for token in drawn(range(100), 20, always, str(key))
        )
        others = [token for token in range(100) if token not in always]
        expected = 4000 * (20 - len(always)) / len(others)
        assert all(counts[token] == 4000 for token in always)
        assert all(abs(counts[token] - expected) < 127 for token in others)

    @pytest.mark.thorough
    def test_pairs_are_drawn_as_if_independently(self):
        """Neighbours, and tokens that differ in one bit, are not drawn together more often."""
        together = Counter()
        for key in range(4000):
            sample = drawn(range(100), 20, (), str(key))
            together.update(step for step in (1, 2, 32, 64) if 3 in sample and 3 + step in sample)
        expected = 4000 * (20 * 19) / (100 * 99)
        assert all(abs(together[step] - expected) < 62 for step in (1, 2, 32, 64))
