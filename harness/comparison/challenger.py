"""The challenger: what JSON itself allows, held against engines that are all of one mind.

Where engines agree nobody disputes a token, and what all get wrong stays unseen. The challenger
allows every token that goes on to some JSON text, so it opens two further disputes at a position:
about tokens that all engines forbid and it allows, and about those that all allow though no JSON
text goes on so. It is never on trial: it is no engine, and nothing is asked, said or counted of it
but that it has allowed a completion that is valid.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from harness.comparison.disputes import Dispute, draw
from harness.comparison.json_masks import json_masks
from harness.comparison.walk import CHALLENGER_NUMBER, Position
from harness.inputs.vocabulary import Vocabulary
from harness.jsontext.lexer import State
from harness.protocol import token_ids

ATTEMPTS = 2
"""Invalid completions after which a token that the challenger alone allows is left."""


def challenges(
    vocabulary: Vocabulary, cap: int | None, position: Position, state: State, *, ends: bool
) -> Iterator[tuple[Position, Dispute]]:
    """What the challenger disputes at a position, which has it among the engines if it allows.

    With `ends` the end of generation, too: what all say of it is not proven wrong already.
    """
    json = json_masks(vocabulary).at(state)
    # whether another reserved token may come as the text it is spelled as JSON does not say
    sides = vocabulary.ordinary_mask | vocabulary.eos_mask if ends else vocabulary.ordinary_mask
    forbidden = json & ~np.bitwise_or.reduce(position.masks) & sides
    if forbidden.any():
        tokens = token_ids(forbidden, vocabulary.size)
        always = (*position.path, *vocabulary.eos_ids)
        sample = draw(tokens, cap, always, f"{position.key}/forbidden")
        engines = (*position.engines, CHALLENGER_NUMBER)
        masks = np.concatenate([position.masks, forbidden[None, :]])
        challenged = replace(position, engines=engines, masks=masks)
        yield challenged, Dispute((), position.engines, tokens, sample)
    allowed = np.bitwise_and.reduce(position.masks) & ~json & sides
    if allowed.any():
        tokens = token_ids(allowed, vocabulary.size)
        sample = draw(tokens, cap, vocabulary.eos_ids, f"{position.key}/allowed")
        yield position, Dispute(position.engines, (), tokens, sample)
