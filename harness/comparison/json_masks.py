"""The mask of JSON itself: which tokens go on to some JSON text, whatever a schema says.

Most tokens of a string are plain, and few are of use outside strings, so that of a large vocabulary
not many are looked at for each state; what was found is kept.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

import numpy as np

from harness.inputs.vocabulary import Vocabulary, packed_mask
from harness.jsontext.lexer import State, advance
from harness.protocol import Mask

_OUTSIDE = re.compile(rb'[ \t\n\r{}\[\]:,\-+.0-9Eaeflnrstu]*+(?:".*)?', re.DOTALL)
"""What may come outside strings: nothing else is in numbers, literals and between tokens."""


class JsonMasks:
    """Gives the mask after every text that is a beginning of JSON."""

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
