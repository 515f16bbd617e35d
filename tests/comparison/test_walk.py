"""Which text is walked, in which tokens, depends on the seed, the case and what all accept."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from harness.comparison.resolvers import Effort, RolloutResolver, SharedResolver
from harness.comparison.walk import Position, choose, choose_for_most, path_tokens
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.protocol import set_bits
from tests.inprocess import case, make_run, records, run_case, study
from tests.miniatures import AcceptsExtra, Enumerator, ForbidsOne, NeverEnds

VOCABULARY = byte_vocabulary([b"ab", b"abc", b"bc", b"ab"], [b"abcd"])
PATH = (97, 257, 258, 260)
IDS = st.sets(st.integers(0, VOCABULARY.size - 1) | st.sampled_from(PATH))


def at(*masks, key="0/case/0/0", path=PATH, engines=None):
    """A position at the start of ``abcd`` where the engines allow these ids."""
    engines = tuple(range(len(masks))) if engines is None else engines
    stacked = np.array([set_bits(ids, VOCABULARY.words) for ids in masks], dtype=np.uint32)
    stacked = stacked.reshape(len(masks), VOCABULARY.words)
    return Position(key, 0, (), b"abcd", 0, path, engines, stacked)


class TestPath:
    def test_the_tokens_that_the_rest_begins_with(self):
        a, ab, abc = ord("a"), 257, 258
        assert path_tokens(VOCABULARY, b"xabcd", 1) == (a, ab, 260, abc)
        assert path_tokens(VOCABULARY, b"xab", 1) == (a, ab, 260)
        assert path_tokens(VOCABULARY, b"xabcd", 2) == (ord("b"), 259)

    def test_reserved_tokens_are_no_text(self):
        assert 261 not in path_tokens(VOCABULARY, b"abcd", 0)

    def test_behind_the_text_only_the_end_goes_on(self):
        two = Vocabulary.from_tokens("two", [b"a", b"<e>", b"<f>"], [], [2, 1])
        assert path_tokens(two, b"a", 1) == (2, 1)
        assert path_tokens(two, b"a", 0) == (0,)

    def test_where_no_token_fits_there_is_none(self):
        letters = Vocabulary.from_tokens("letters", [b"a", b"<e>"], [], [1])
        assert path_tokens(letters, b"ab", 1) == ()


class TestChoices:
    @given(st.lists(IDS, min_size=1, max_size=4), st.integers())
    def test_a_token_of_the_path_that_all_accept(self, masks, seed):
        chosen = choose(at(*masks, key=f"{seed}/case/0/0"))
        common = set(PATH).intersection(*masks)
        assert (chosen in common) if common else (chosen is None)

    @given(st.permutations([set(PATH) - {97}, set(PATH) - {258, 5}, set(PATH) | {1, 2}]))
    def test_the_order_of_the_engines_does_not_matter(self, masks):
        assert choose(at(*masks)) == choose(at(*sorted(masks, key=len)))

    def test_every_token_has_its_chance(self):
        taken = {choose(at(PATH, key=f"{seed}/case/0/0")) for seed in range(60)}
        assert taken == set(PATH)


class TestSurvivors:
    @given(st.lists(IDS, min_size=1, max_size=4), st.integers())
    def test_as_many_as_possible_go_along(self, masks, seed):
        here = at(*masks, key=f"{seed}/case/0/0")
        votes = {token: sum(token in mask for mask in masks) for token in PATH}
        chosen, accepters = choose_for_most(here)
        if not any(votes.values()):
            assert (chosen, accepters) == (None, ())
        else:
            assert votes[chosen] == max(votes.values())
            assert accepters == tuple(at for at, mask in enumerate(masks) if chosen in mask)

    @given(st.lists(IDS, min_size=1, max_size=4), st.integers())
    def test_where_all_agree_both_rules_take_the_same_token(self, masks, seed):
        here = at(*masks, key=f"{seed}/case/0/0")
        if choose(here) is not None:
            assert choose_for_most(here)[0] == choose(here)


class TestWalkedText:
    """On whole cases: nothing but the masks' agreement changes which tokens are taken."""

    CASE = case(
        {
            "const": ["abcab", "abcabc", ["abc"]],
            "x-extra": ['["abcab", "abcabc"]', '["abd"]'],
            "x-forbidden": [['["abcab", "', "c"], ["", "]"]],
            "x-open": ['["abcab", "abc'],
        },
        ["abcab", "abcabc", ["abc"]],
    )
    ENGINES = (Enumerator, AcceptsExtra, ForbidsOne, NeverEnds)

    BRIEF = Effort(limit=15, rollouts=2)

    def walked(self, engines=ENGINES, resolver=None, cases=(CASE,), **rules):
        resolver = resolver or SharedResolver(self.BRIEF)
        runner = make_run(engines, VOCABULARY, study(**{"cap": None, **rules}), resolver)
        rows = [runner.run(one) for one in cases][-1]
        assert [row["status"] for row in records(rows, "cases")] == ["walked"]
        return [row["token"] for row in records(rows, "positions")]

    def test_to_the_end_of_the_reference(self):
        tokens = self.walked()
        assert tokens[-1] == VOCABULARY.eos
        written = b"".join(VOCABULARY.tokens[one] for one in tokens[:-1])
        assert written == self.CASE.valid[0].text

    def test_neither_resolver_nor_cap_nor_panel_nor_order_changes_it(self):
        tokens = self.walked()
        assert self.walked(resolver=RolloutResolver(self.BRIEF)) == tokens
        assert self.walked(cap=1) == tokens
        assert self.walked(on_dropout="continue") == tokens
        assert self.walked(self.ENGINES[::-1]) == tokens
        assert self.walked(self.ENGINES[:2]) == tokens
        before = case({"const": 5}, 5, name="before")
        assert self.walked(cases=(before, before, self.CASE)) == tokens

    def test_the_seed_and_the_name_do(self):
        honest = (Enumerator, Enumerator)
        seeds = {tuple(self.walked(honest, seed=seed)) for seed in range(8)}
        assert len(seeds) > 4
        other = replace(self.CASE, id="other")
        assert self.walked(honest, cases=(other,)) != self.walked(honest)

    def test_an_engine_that_rejects_the_reference_stops_all_or_drops_out(self):
        there = case({"const": "ab", "x-forbidden": [['"', "a"], ['"', "ab"]]}, "ab")
        engines = (Enumerator, ForbidsOne, Enumerator)
        common = run_case(engines, there, VOCABULARY)
        assert [row["token"] for row in records(common, "positions")] == [ord('"'), -1]
        going_on = run_case(engines, there, VOCABULARY, study(cap=None, on_dropout="continue"))
        judged = [row["judged"] for row in records(going_on, "positions")]
        assert judged[:2] == [0b111, 0b111]
        assert set(judged[2:]) == {0b101}
        assert records(going_on, "positions")[-1]["token"] == VOCABULARY.eos
