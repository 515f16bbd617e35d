"""What the service inside a host does with its engine, held to the obvious way of doing it."""

import json
import mmap
import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.completion.rollout import ROLLOUT_OUTCOMES
from harness.engines.requests import (
    NO_CONTINUATION,
    TOKEN_REFUSED,
    Check,
    Checked,
    Compile,
    Confirm,
    Done,
    FindRefused,
    Follow,
    Goto,
    Open,
    PositionRequest,
    Probe,
    Prove,
    RollOut,
    Walk,
)
from harness.engines.service import EngineService
from harness.engines.text_probe import NOT_FORCED
from harness.inputs.vocabulary import byte_vocabulary
from harness.protocol import follow_by_mask, token_ids
from harness.workers import wire
from harness.workers.outcomes import AdapterFault, Compiled, MaskViolation, Refusal
from harness.workers.wire import MaskBuffer, size_of
from tests import miniatures
from tests.inprocess import default_options, travelled

VOCABULARY = byte_vocabulary([b'"a', b'a"', b"ab", b", ", b"12", b"23", b"ab"], [b"<pad>"])
EOS = VOCABULARY.eos
SCHEMA = {"enum": ["ab", "abab", ["ab", 12], 123, 12]}


def ids(*texts):
    """Token ids: of each text the first token that is exactly it, or end of sequence."""
    return [EOS if text == "<eos>" else VOCABULARY.ids_of(text.encode())[0] for text in texts]


def opened(kind):
    service = EngineService()
    service.vocabulary = VOCABULARY
    service.shared_masks = MaskBuffer(bytearray(size_of(VOCABULARY.words)), VOCABULARY.words)
    service.engine = kind(VOCABULARY, default_options(kind))
    return service


def ask(service, request):
    """The answer to a request; without a position it is about the end of the walk."""
    if isinstance(request, PositionRequest) and request.at is None:
        request = replace(request, at=len(service._walked))
    return request.answer(travelled(service.handle(travelled(request.message()))))


def array(tokens):
    return np.array(tokens, dtype=np.int32)


def step(service, *tokens):
    """Walk on by some tokens; with none, have the mask written of where the walk stands."""
    service.shared_masks.progress[0] = 0
    return ask(service, Walk(array(tokens or [-1]), len(service._walked), 0))


def mask(service):
    """The mask of where the walk stands."""
    assert step(service) == Done()
    return service.shared_masks.masks[0, 0]


def allowed(service):
    """The tokens of that mask."""
    return set(token_ids(mask(service), VOCABULARY.size).tolist())


def standing(kind, schema, text=""):
    """A service whose engine stands behind `text`."""
    service = opened(kind)
    ask(service, Compile(json.dumps(schema)))
    for byte in text.encode():
        assert step(service, byte) == Done()
    return service


def prove(service, questions, continuations, members, at=None):
    """The choices for `questions`, triples of a token, its list and the rank to begin at."""
    columns = array(questions).reshape(-1, 3).T
    lists = wire.Ragged.of_ints(continuations), wire.Ragged.of_ints(members)
    return ask(service, Prove(*columns, *lists, at=at)).values.tolist()


def obvious(service, token, continuations, members, start):
    """`prove` for one token, by looking at every mask."""
    here = service._ahead.clone()
    if not here.consume(token):
        return TOKEN_REFUSED
    for rank in range(start, len(members)):
        tokens = continuations[members[rank]]
        if follow_by_mask(here, tokens, VOCABULARY.words) == len(tokens):
            return rank
    return NO_CONTINUATION


def confirm(service, tokens, continuations):
    request = Confirm(array(tokens), wire.Ragged.of_ints(continuations))
    reached = ask(service, request).reached.tolist()
    return [count > len(one) for count, one in zip(reached, continuations, strict=True)]


class TestOpening:
    def test_the_engine_says_which_one_it_is(self, tmp_path):
        VOCABULARY.save(tmp_path / "vocabulary")
        memory = os.memfd_create("masks")
        os.ftruncate(memory, size_of(VOCABULARY.words))
        service = EngineService()
        path, options = str(tmp_path / "vocabulary"), {"compact": False}
        handed = os.dup(memory)
        answer = ask(service, Open("tests.miniatures:Enumerator", options, path, handed))
        with pytest.raises(OSError):
            os.fstat(handed)
        assert answer.name == "Enumerator"
        assert answer.options == {"compact": False}
        assert answer.sha256 == VOCABULARY.sha256
        assert answer.words == VOCABULARY.words
        ask(service, Compile('{"const": 5}'))
        step(service)
        shared = MaskBuffer(mmap.mmap(memory, size_of(VOCABULARY.words)), VOCABULARY.words)
        assert shared.progress[0] == 1
        assert token_ids(shared.masks[0, 0], VOCABULARY.size).tolist() == [ord("5")]
        os.close(memory)

    def test_which_bytes_an_engine_holds(self):
        class Odd(miniatures.Enumerator):
            bytes_differ_on_purpose = True

            def token_bytes(self, ids):
                other = {0: None, 5: b"other", 257: b'"a '}
                return [other.get(one, VOCABULARY.tokens[one]) for one in ids]

        ordinary = int((~VOCABULARY.special).sum())
        honest = Checked(ordinary, [], on_purpose=False)
        assert ask(opened(miniatures.Enumerator), Check()) == honest
        assert ask(opened(Odd), Check()) == Checked(ordinary - 1, [5, 257], True)


class TestCompiling:
    def test_the_first_mask_belongs_to_compilation(self):
        service = opened(miniatures.RaisesOnMask)
        with pytest.raises(RuntimeError, match="on purpose"):
            ask(service, Compile('{"const": 1, "x-crash": 0}'))

    def test_after_one_that_is_refused_the_old_schema_is_gone(self):
        service = opened(miniatures.Enumerator)
        answer = ask(service, Compile(json.dumps(SCHEMA)))
        assert isinstance(answer, Compiled)
        assert min(answer.compile_seconds, answer.first_mask_seconds) > 0
        assert isinstance(ask(service, Compile('{"type": "string"}')), Refusal)
        with pytest.raises(AttributeError):
            step(service)


class TestWalking:
    def test_a_batch_of_steps_writes_every_mask_on_the_way(self):
        service = standing(miniatures.Enumerator, SCHEMA)
        assert step(service, -1, *ids("1", "2")) == Done()
        assert service.shared_masks.progress[0] == 3
        expected = [ids('"', '"a', "[", "1", "12"), ids("2", "23"), ids("3", "<eos>")]
        for written, tokens in zip(service.shared_masks.masks[0], expected, strict=False):
            assert set(token_ids(written, VOCABULARY.size)) == set(tokens)
        assert (service.shared_masks.times[0, :3, 0] > 0).all()

    def test_a_token_that_is_refused_is_told_and_changes_nothing(self):
        service = standing(miniatures.Enumerator, SCHEMA, "1")
        before = mask(service).copy()
        assert step(service, *ids("2", "9")) == MaskViolation(
            "refused to consume a token that its mask allows"
        )
        assert service.shared_masks.progress[0] == 1, "the buffer tells how far it came"
        ask(service, Walk(array([-1]), 1, 0))
        assert np.array_equal(service.shared_masks.masks[0, 0], before)

    def test_turning_back_to_take_another_way(self):
        service = standing(miniatures.Enumerator, SCHEMA, '["ab')
        assert ask(service, Walk(array(ids("1", "2")), 0, 0)) == Done()
        assert set(token_ids(service.shared_masks.masks[0, 1], VOCABULARY.size)) == set(
            ids("3", "<eos>")
        )

    def test_what_is_asked_about_a_position_behind_the_walk(self):
        service = standing(miniatures.Enumerator, SCHEMA, '["ab')
        rest = [ids("b", '"', ", ", "12", "]", "<eos>")]
        for at, answer in ((3, TOKEN_REFUSED), (2, 0), (3, TOKEN_REFUSED), (1, TOKEN_REFUSED)):
            assert prove(service, [(*ids("a"), 0, 0)], rest, [[0]], at=at) == [answer]
        assert allowed(service) == set(ids('"'))

    def test_going_to_a_position_from_anywhere(self):
        service = standing(miniatures.Enumerator, SCHEMA, '["')
        assert ask(service, Goto(array(ids("1")))) == Done()
        strayed = ask(service, Goto(array(ids("1", "2", "9", "9"))))
        assert strayed == AdapterFault("second_way", "after 2 tokens")
        assert allowed(service) == set(ids("2", "23"))
        service._walked[0] = ord("9")  # as if the engine went another way the second time
        another = ask(service, Goto(array(ids("9"))))
        assert another == AdapterFault("second_way", "after 0 tokens")


class TestProving:
    ENDS = (
        ids("<eos>"),
        ids("3", "<eos>"),
        ids("2", "3", "<eos>"),
        ids("23"),
        ids("b", '"', "<eos>"),
    )

    def test_the_first_continuation_that_is_allowed(self):
        service = standing(miniatures.Enumerator, SCHEMA)
        one, twelve, quote = ids("1", "12", '"a')
        members = [[0, 1, 2], [4], []]
        questions = [(one, 0, 0), (twelve, 0, 0), (twelve, 0, 1), (twelve, 0, 2), (quote, 1, 0)]
        questions += [(one, 1, 0), (one, 2, 0)]
        none = NO_CONTINUATION
        expected = [2, 0, 1, none, 0, none, none]
        assert prove(service, questions, self.ENDS, members) == expected

    def test_it_moves_nothing(self):
        service = standing(miniatures.Enumerator, SCHEMA, "1")
        before = mask(service).copy()
        prove(service, [(ord("2"), 0, 0)] * 3, self.ENDS, [[0, 1]])
        assert np.array_equal(mask(service), before)

    @given(st.data())
    def test_as_the_obvious_way(self, data):
        kind = data.draw(st.sampled_from([miniatures.Enumerator, miniatures.ConsumeLies]))
        texts = [json.dumps(value) for value in SCHEMA["enum"]]
        schema = {**SCHEMA, "x-forbidden": [["1", "23"], ['"', "ab"], ['"ab', "a"]]}
        text = data.draw(st.sampled_from(texts))
        service = standing(kind, schema)
        place = text.encode()[: data.draw(st.integers(0, len(text)))]
        for byte in place:
            if step(service, byte) != Done():
                break
        pieces = st.sampled_from(sorted({*token_ids_of(texts), EOS}))
        tails = st.lists(pieces, max_size=5) | st.sampled_from(tails_of(texts))
        continuations = data.draw(st.lists(tails, min_size=1, max_size=6))
        numbers = st.lists(st.integers(0, len(continuations) - 1), max_size=4)
        members = data.draw(st.lists(numbers, min_size=1, max_size=3))
        question = st.tuples(pieces, st.integers(0, len(members) - 1), st.integers(0, 4))
        questions = data.draw(st.lists(question, max_size=8))
        expected = [
            obvious(service, token, continuations, members[which], start)
            for token, which, start in questions
        ]
        assert prove(service, questions, continuations, members) == expected


def token_ids_of(texts):
    return {
        token
        for text in texts
        for at in range(len(text))
        for token in VOCABULARY.starts(text.encode(), at)
    }


def tails_of(texts):
    return [
        [*VOCABULARY.encode_greedy(text.encode()[at:]), EOS]
        for text in texts
        for at in range(len(text))
    ]


class TestConfirming:
    GOOD, BAD = ids("2", "<eos>"), ids("9", "<eos>")

    def test_looks_at_every_mask(self):
        service = standing(miniatures.Enumerator, SCHEMA)
        tokens, texts = [*b"119"], [self.GOOD, self.BAD, self.GOOD]
        assert confirm(service, tokens, texts) == [True, False, False]
        assert confirm(service, [], []) == []

    def test_finds_out_a_mask_that_forbids_what_is_consumed(self):
        service = standing(miniatures.MaskLies, {"const": 12, "x-forbidden": [["1", "2"]]})
        tokens = [ord("1"), ids("12")[0]]
        assert confirm(service, tokens, [self.GOOD, ids("<eos>")]) == [False, True]

    def test_the_faster_way_decides_where_the_engine_is_trusted(self):
        service = opened(miniatures.Hasty)
        for strict, rank in ((False, 0), (True, 1), (False, 0)):
            ask(service, Compile(json.dumps(SCHEMA), strict))
            asked = miniatures.Hasty.Matcher.asked
            lists = [self.BAD, self.GOOD], [[0, 1]]
            assert prove(service, [(ord("1"), 0, 0)], *lists) == [rank]
            assert (miniatures.Hasty.Matcher.asked == asked) is strict
            assert confirm(service, [ord("1")] * 2, [self.BAD, self.GOOD]) == [False, True]


REFUSED = ("mask_consume_mismatch", [])
LONG = {"enum": [12, 123]}
FORBIDDEN = {"const": 123, "x-forbidden": [["12", "3"]]}


class TestRollingOut:
    def roll(self, kind, schema, text, tokens, limit=20, key="key"):
        service = standing(kind, schema, text)
        answer = ask(service, RollOut(array(tokens), key, limit))
        pairs = zip(answer.outcomes, answer.taken.ints(), strict=True)
        return [(ROLLOUT_OUTCOMES[one], tail) for one, tail in pairs]

    @pytest.mark.parametrize(
        ("kind", "schema", "text", "tokens", "rolled"),
        [
            (miniatures.Enumerator, LONG, "1", ids("2", "23"), [("complete", [EOS])] * 2),
            (miniatures.Enumerator, {"const": 1}, "1", [EOS], [("complete", [])]),
            (miniatures.Enumerator, {"const": 12}, "1", [ord("9"), EOS], [REFUSED] * 2),
            (miniatures.Enumerator, {"const": 12}, "1", ids("2"), [("complete", [EOS])]),
            (
                miniatures.ForbidsOne,
                FORBIDDEN,
                "1",
                ids("2", "23"),
                [("dead_end", []), ("complete", [EOS])],
            ),
            (miniatures.ConsumeLies, FORBIDDEN, "1", ids("2"), [(REFUSED[0], ids("3"))]),
        ],
        ids=["to the end", "the end itself", "refused", "taken", "into a dead end", "over a lie"],
    )
    def test_how_it_ends(self, kind, schema, text, tokens, rolled):
        assert self.roll(kind, schema, text, tokens) == rolled

    def test_without_end(self):
        schema = {"const": "a", "x-open": ['"']}
        ((ending, taken),) = self.roll(miniatures.NeverEnds, schema, '"', ids("b"), limit=7)
        assert ending == "too_long"
        assert len(taken) == 7

    def test_depends_on_the_key_and_the_token_alone(self):
        schema = {"const": "a", "x-open": ['"']}
        tokens = [*b"bcdefgh"]
        alone = [self.roll(miniatures.NeverEnds, schema, '"', [one])[0] for one in tokens]
        assert self.roll(miniatures.NeverEnds, schema, '"', tokens) == alone
        assert self.roll(miniatures.NeverEnds, schema, '"', tokens[::-1]) == alone[::-1]
        assert self.roll(miniatures.NeverEnds, schema, '"', tokens, key="other") != alone
        assert len({tuple(taken) for _, taken in alone}) > 1

    def test_every_token_taken_was_allowed(self):
        service = standing(miniatures.Enumerator, SCHEMA)
        tokens = token_ids(mask(service), VOCABULARY.size)
        taken = ask(service, RollOut(tokens, "k", 20)).taken.ints()
        assert confirm(service, tokens.tolist(), taken) == [True] * len(tokens)


@pytest.mark.parametrize("strict", [False, True])
def test_following_lists_from_where_it_stands(strict):
    service = standing(miniatures.Enumerator, SCHEMA, "1")
    service._strict = strict
    lists = [ids("23", "<eos>"), ids("2", "9"), ids("9"), []]
    for _ in range(2):  # nothing is moved by it
        assert ask(service, Follow(wire.Ragged.of_ints(lists))).values.tolist() == [2, 1, 0, 0]


@pytest.mark.parametrize("strict", [False, True])
def test_which_byte_of_tokens_is_refused_where_it_stands(strict):
    service = standing(miniatures.Enumerator, SCHEMA, "1")
    service._strict = strict
    tokens = array([*ids("23", "12"), *VOCABULARY.ids_of(b"ab")])
    found = ask(service, FindRefused(tokens, NOT_FORCED, looks_on=True)).values.tolist()
    assert found == [2, 0, 0, 0]  # the first is not refused


@pytest.mark.parametrize("follows", [False, True])
@pytest.mark.parametrize("strict", [False, True])
def test_probing_whole_texts(follows, strict):
    service = standing(miniatures.Enumerator, SCHEMA, "1")
    service._strict = strict
    texts = [ids("1", "23", "<eos>"), ids("1", "9", "<eos>"), ids("1", "2"), []]
    found = ask(service, Probe(wire.Ragged.of_ints(texts), follows)).each()
    assert [one.allowed for one in found] == [3, 1, 2, 0]
