"""The challenger: what JSON itself allows, held against engines that are all of one mind.

Where engines agree nobody disputes a token, and what all get wrong stays unseen. The challenger
allows every token that goes on to some JSON text, so it opens two further disputes at a position:
about tokens that all engines forbid and it allows, and about those that all allow though no JSON
text goes on so. It is never on trial: it is no engine, and nothing is asked, said or counted of it
but that it has allowed a completion that is valid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np

from harness.comparison.disputes import Dispute, draw
from harness.comparison.walk import CHALLENGER_NUMBER, Position
from harness.inputs.vocabulary import Vocabulary, packed_mask
from harness.jsontext.lexer import State, advance
from harness.protocol import Mask, token_ids

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


_OUTSIDE = re.compile(rb'[ \t\n\r{}\[\]:,\-+.0-9Eaeflnrstu]*+(?:".*)?', re.DOTALL)
"""What may come outside strings: nothing else is in numbers, literals and between tokens."""


class JsonMasks:
    """Gives the mask of JSON itself after every text that is a beginning of JSON.

    Most tokens of a string are plain, and few are of use outside strings, so that of a large
    vocabulary not many are looked at for each state; what was found is kept.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._mask = lru_cache(1024)(self._mask_of)
        # containers that a token may close, and one around them
        self._levels = 1 + max(one.count(b"}") + one.count(b"]") for one in vocabulary.tokens)

    def at(self, state: State) -> Mask:
        """The mask after a text in `state`, shape ``(words,)``, read-only.

        Of ordinary tokens those are in it after which some JSON text goes on, ends of generation
        where the text may end, and no other special token.
        """
        return self._mask(state._replace(stack=state.stack[-self._levels :]))

    def _mask_of(self, state: State) -> Mask:
        vocabulary = self._vocabulary
        allowed = np.zeros(vocabulary.size, dtype=np.bool_)
        looked_at = vocabulary.ordinary
        if not state.mode.in_string:
            looked_at = self._outside
        elif not state.part:
            allowed = vocabulary.plain_first >= 0
            looked_at = self._not_plain
        allowed[[one for one, text in looked_at.items() if advance(state, text)]] = True
        if state.can_end:
            allowed[list(vocabulary.eos_ids)] = True
        return packed_mask(allowed)

    @cached_property
    def _outside(self) -> dict[int, bytes]:
        """The tokens that may come outside strings."""
        ordinary = self._vocabulary.ordinary.items()
        return {one: text for one, text in ordinary if _OUTSIDE.fullmatch(text)}

    @cached_property
    def _not_plain(self) -> dict[int, bytes]:
        """The tokens that are not plain inside a string."""
        plain = self._vocabulary.plain_first >= 0
        return {one: text for one, text in self._vocabulary.ordinary.items() if not plain[one]}


@lru_cache(maxsize=2)
def json_masks(vocabulary: Vocabulary) -> JsonMasks:
    """Those of a vocabulary, shared by all who ask."""
    return JsonMasks(vocabulary)
