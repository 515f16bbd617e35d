"""The honest miniature keeps the contract; each liar lies as told; the contract finds it out."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.inputs.vocabulary import byte_vocabulary
from harness.inputs.vocabulary_hostile import hostile_vocabulary
from harness.protocol import Refused, allows, complete_options, token_ids
from harness.protocol_checks.adapters import (
    NotAllowed,
    check_adapter,
    check_identity,
    known_bytes,
)
from harness.protocol_checks.smoke import ContractBroken
from tests import miniatures
from tests.inprocess import mask_of

VOCABULARY = byte_vocabulary([b"red", b'"red"', b", ", b"ab", b"xyz"], [b"<pad>"])
RED, COMMA = VOCABULARY.ids_of(b"red")[0], VOCABULARY.ids_of(b", ")[0]
FAILING = [
    kind
    for kind in vars(miniatures).values()
    if isinstance(kind, type) and issubclass(kind, miniatures.Enumerator) and "fail" in vars(kind)
]
COLOURS = {"type": "array", "items": {"enum": ["red", "blue"]}, "minItems": 1, "maxItems": 2}


def make(kind, **options):
    return kind(VOCABULARY, complete_options(kind.OPTIONS, options))


def behind(engine, schema, text):
    """The matcher behind `text`; None where it is refused."""
    matcher = engine.compile(json.dumps(schema))
    return matcher if all(matcher.consume(byte) for byte in text.encode()) else None


def accepts(engine, schema, text):
    matcher = behind(engine, schema, text)
    return matcher is not None and matcher.consume(VOCABULARY.eos)


def allowed(engine, schema, text):
    """The tokens allowed behind `text`, as bytes."""
    matcher = behind(engine, schema, text)
    return {VOCABULARY.tokens[i] for i in token_ids(mask_of(matcher, VOCABULARY), VOCABULARY.size)}


class TestEnumerator:
    def test_keeps_the_contract(self):
        vocabulary = hostile_vocabulary(2)
        engine = miniatures.Enumerator(vocabulary, {"compact": True})
        texts = {json.dumps(COLOURS): ['["red", "blue"]', '["red","blue"]', '["blue"]']}
        check_adapter(engine, vocabulary, {**texts, '{"enum": [1, 12, "é"]}': ["1", "12", '"é"']})
        check_identity(engine)
        assert known_bytes(engine, vocabulary) == (vocabulary.ordinary, [])

    def test_the_mask_holds_the_beginnings_of_what_is_missing(self):
        engine, colours = make(miniatures.Enumerator), {"enum": ["red", "rose"]}
        assert allowed(engine, colours, "") == {b'"', b'"red"'}
        assert allowed(engine, colours, '"') == {b"r", b"red"}
        assert allowed(engine, {"enum": [1, 12]}, "1") == {b"2", b"<eos>"}

    @given(
        st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=8)
    )
    def test_allows_a_const_in_both_styles_and_nothing_else(self, value):
        engine = make(miniatures.Enumerator)
        assert accepts(engine, {"const": value}, json.dumps(value, ensure_ascii=False))
        assert not accepts(engine, {"const": value}, json.dumps([value, 0], ensure_ascii=False))

    def test_one_style_can_be_left_out(self):
        engine = make(miniatures.Enumerator, compact=False)
        assert accepts(engine, COLOURS, '["red", "blue"]')
        assert not accepts(engine, COLOURS, '["red","blue"]')

    @pytest.mark.parametrize(
        ("text", "accepted"), [("[]", False), ('["red"]', True), ('["red", "red", "red"]', False)]
    )
    def test_counts_items(self, text, accepted):
        assert accepts(make(miniatures.Enumerator), COLOURS, text) is accepted

    @pytest.mark.parametrize(
        "schema", [{}, {"type": "string"}, {"pattern": "a", "const": "a"}, True]
    )
    def test_refuses_what_it_does_not_understand(self, schema):
        with pytest.raises(Refused, match=r"no miniature understands|a miniature needs"):
            make(miniatures.Enumerator).compile(json.dumps(schema))


class TestLiars:
    def test_accepts_extra(self):
        schema = {"const": "red", "x-extra": ['"blue"']}
        assert accepts(make(miniatures.AcceptsExtra), schema, '"blue"')
        assert not accepts(make(miniatures.Enumerator), schema, '"blue"')

    def test_forgets_max_items(self):
        text = '["red", "red", "red"]'
        assert accepts(make(miniatures.ForgetsMaxItems), COLOURS, text)
        assert not accepts(make(miniatures.ForgetsMaxItems), COLOURS, text[:-1] + ', "red", "red"]')

    @pytest.mark.parametrize(
        ("kind", "shown", "taken"),
        [
            (miniatures.ForbidsOne, False, False),
            (miniatures.MaskLies, False, True),
            (miniatures.ConsumeLies, True, False),
        ],
    )
    def test_one_token_at_one_place(self, kind, shown, taken):
        schema = {"const": ["red", "red"], "x-forbidden": [['["', "red"]]}
        matcher = behind(make(kind), schema, '["')
        assert allows(mask_of(matcher, VOCABULARY), RED) is shown
        assert matcher.consume(RED) is taken
        assert allowed(make(kind), schema, '["red", "') == {b"r", b"red"}

    def test_never_ends(self):
        schema = {"const": "red", "x-open": ['"']}
        engine = make(miniatures.NeverEnds)
        assert accepts(engine, schema, '"red"')
        assert b"xyz" in allowed(engine, schema, '"')
        assert all(text.isalpha() for text in allowed(engine, schema, '"x' + "ab" * 300))


class TestTheContractFinds:
    """Nothing here is about the miniatures: each of these breaks a rule that adapters keep."""

    @pytest.mark.parametrize(
        ("kind", "message"),
        [(miniatures.MaskLies, "and is consumed"), (miniatures.ConsumeLies, "and is refused")],
    )
    def test_masks_that_lie(self, kind, message):
        texts = {'{"const": ["red"], "x-forbidden": [["", "["]]}': ['["red"]']}
        with pytest.raises(ContractBroken, match=f"mask_consume: .*{message}|no token|allowed"):
            check_adapter(make(kind), VOCABULARY, texts)

    @pytest.mark.parametrize(("const", "text"), [(1, "12"), (12, "1")])
    def test_a_text_that_cannot_be_written_or_cannot_end(self, const, text):
        with pytest.raises(NotAllowed, match="is allowed after '1'"):
            check_adapter(
                make(miniatures.Enumerator), VOCABULARY, {f'{{"const": {const}}}': [text]}
            )

    @pytest.mark.parametrize(
        ("kind", "rule"),
        [
            (miniatures.LeavesMask, "nothing that goes on so is allowed after '1'"),
            (miniatures.ChangesMask, "mask_written"),
            (miniatures.LosesInClones, "clone"),
            (miniatures.ClonesMove, "clone"),
            (miniatures.GoesBeyond, "beyond"),
            (miniatures.FollowsAll, "validate"),
        ],
    )
    def test_adapters_that_contradict_themselves(self, kind, rule):
        texts = {'{"enum": [123, 129, 23], "x-fault": "1"}': ["123", "129", "23"]}
        with pytest.raises(ContractBroken, match=f": {rule}"):
            check_adapter(make(kind), VOCABULARY, texts)

    def test_special_tokens_that_are_text(self, monkeypatch):
        every = VOCABULARY.ordinary_mask | VOCABULARY.special_mask
        kind = miniatures.AllowsEverything.Matcher
        monkeypatch.setattr(kind, "allowed", lambda self, _: every * np.uint32(not self.ended))
        engine, texts = make(miniatures.AllowsEverything), {"{}": ["x"]}
        check_adapter(engine, VOCABULARY, texts, special_is_text=True)
        with pytest.raises(ContractBroken, match=r"special: .*b'<pad>'"):
            check_adapter(engine, VOCABULARY, texts)


class TestFailures:
    """Those that fail do so where ``x-crash`` says, and nowhere else."""

    @pytest.mark.parametrize("kind", FAILING)
    def test_without_the_annotation_they_are_honest(self, kind):
        assert accepts(make(kind), COLOURS, '["red", "blue"]')

    def test_raising(self):
        with pytest.raises(RuntimeError, match="on purpose"):
            make(miniatures.RaisesOnCompile).compile('{"const": 1, "x-crash": true}')
        matcher = behind(make(miniatures.RaisesOnMask), {"const": 123, "x-crash": 2}, "1")
        assert mask_of(matcher, VOCABULARY).any()
        assert matcher.consume(ord("2"))
        with pytest.raises(RuntimeError, match="on purpose"):
            mask_of(matcher, VOCABULARY)
