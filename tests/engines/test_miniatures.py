"""The honest miniature keeps the contract; each liar lies as told; the contract finds it out."""

import json

import numpy as np
import pytest

from harness.inputs.vocabulary import byte_vocabulary
from harness.inputs.vocabulary_hostile import hostile_vocabulary
from harness.protocol import complete_options
from harness.protocol_checks.smoke import ContractBroken, check_identity, known_bytes
from tests import miniatures
from tests.adapterchecks import NotAllowed, check_adapter

VOCABULARY = byte_vocabulary([b"red", b'"red"', b", ", b"ab", b"xyz"], [b"<pad>"])
COLOURS = {"type": "array", "items": {"enum": ["red", "blue"]}, "minItems": 1, "maxItems": 2}


def make(kind, **options):
    return kind(VOCABULARY, complete_options(kind.OPTIONS, options))


class TestEnumerator:
    def test_keeps_the_contract(self):
        vocabulary = hostile_vocabulary(2)
        engine = miniatures.Enumerator(vocabulary, {"compact": True})
        texts = {json.dumps(COLOURS): ['["red", "blue"]', '["red","blue"]', '["blue"]']}
        check_adapter(engine, vocabulary, {**texts, '{"enum": [1, 12, "é"]}': ["1", "12", '"é"']})
        check_identity(engine)
        assert known_bytes(engine, vocabulary) == (vocabulary.ordinary, [])


class TestTheContractFinds:
    """Nothing here is about the miniatures: each of these breaks a rule that adapters keep."""

    @pytest.mark.parametrize(
        ("kind", "message"),
        [(miniatures.MaskLies, "and is consumed"), (miniatures.ConsumeLies, "and is refused")],
    )
    def test_masks_that_lie(self, kind, message):
        forbidden = json.dumps([["[", '"red"']])
        texts = {f'{{"const": ["red"], "x-forbidden": {forbidden}}}': ['["red"]']}
        with pytest.raises(ContractBroken, match=rf"mask_consume: .*{message}"):
            check_adapter(make(kind), VOCABULARY, texts)

    @pytest.mark.parametrize(("const", "text"), [(1, "12"), (12, "1")])
    def test_a_text_that_cannot_be_written_or_cannot_end(self, const, text):
        with pytest.raises(NotAllowed, match="is allowed after '1'"):
            check_adapter(
                make(miniatures.Enumerator), VOCABULARY, {f'{{"const": {const}}}': [text]}
            )

    def test_special_tokens_that_are_text(self, monkeypatch):
        every = VOCABULARY.ordinary_mask | VOCABULARY.special_mask
        kind = miniatures.AllowsEverything.Matcher
        monkeypatch.setattr(kind, "allowed", lambda self, _: every * np.uint32(not self.ended))
        engine, texts = make(miniatures.AllowsEverything), {"{}": ["x"]}
        check_adapter(engine, VOCABULARY, texts, special_is_text=True)
        with pytest.raises(ContractBroken, match=r"special: .*b'<pad>'"):
            check_adapter(engine, VOCABULARY, texts)
