"""A logits processor over any adapter, fed with tensors as transformers would."""

import json

import pytest

from harness.errors import UsageError
from harness.impact.logits_processor import MaskLogitsProcessor, open_processor
from harness.inputs.vocabulary import byte_vocabulary
from tests.miniatures import Enumerator

VOCABULARY = byte_vocabulary([b"12"])
PROMPT = [7, 7]
END = VOCABULARY.eos


def processor(*values):
    matcher = Enumerator(VOCABULARY, {"compact": True}).compile(json.dumps({"enum": list(values)}))
    return MaskLogitsProcessor(matcher, VOCABULARY, len(PROMPT))


def allowed(found, *rows):
    """The tokens that are left of each row, of one more column than the vocabulary has."""
    import torch  # seconds, which no collection of tests should take

    scores = torch.ones(len(rows), VOCABULARY.size + 1)
    out = found(torch.tensor([[*PROMPT, *row] for row in rows]), scores)
    return [torch.isfinite(one).nonzero().flatten().tolist() for one in out]


ONE, TWO = VOCABULARY.ids_of(b"1")[0], VOCABULARY.ids_of(b"2")[0]
BOTH = VOCABULARY.ids_of(b"12")[0]


def test_only_what_the_mask_allows_is_left():
    found = processor(1, 12)
    assert allowed(found, []) == [sorted([ONE, BOTH])]
    assert allowed(found, [ONE]) == [sorted([TWO, END])]


def test_rows_go_their_own_ways_and_may_change_places():
    found = processor(1, 12, 2)
    assert allowed(found, [], []) == [sorted([ONE, TWO, BOTH])] * 2
    assert allowed(found, [ONE], [TWO]) == [sorted([TWO, END]), [END]]
    assert allowed(found, [TWO, END], [ONE, TWO])[1] == [END]


def test_a_row_that_was_not_met_is_led_there():
    assert allowed(processor(12), [ONE, TWO]) == [[END]]


def test_a_row_at_its_end_keeps_its_scores():
    assert len(allowed(processor(1), [ONE, END])[0]) == VOCABULARY.size + 1


def test_a_token_that_was_forbidden_is_told():
    with pytest.raises(UsageError, match="token 50 is no text"):
        allowed(processor(1), [TWO])


def test_any_engine_by_its_spec():
    found = open_processor("tests.miniatures:Enumerator", '{"enum": [1]}', VOCABULARY, 2)
    assert allowed(found, []) == [[ONE]]
    with pytest.raises(UsageError, match="leave out the version"):
        open_processor("tests.miniatures:Enumerator@1", '{"enum": [1]}', VOCABULARY, 2)
