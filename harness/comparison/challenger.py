"""The challenger: what JSON itself allows, held against engines that are all of one mind.

Where engines agree nobody disputes a token, and what all get wrong stays unseen. The challenger
allows every token that goes on to some JSON text, so it opens two further disputes at a position:
about tokens that all engines forbid and it allows, and about those that all allow though no JSON
text goes on so. It is never on trial: it is no engine, and nothing is asked, said or counted of it
but that it has allowed a completion that is valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

import numpy as np

from harness.comparison.disputes import Dispute, draw
from harness.comparison.json_masks import json_masks
from harness.comparison.walk import Position
from harness.completion.continuations import Context
from harness.completion.other_spellings import other_spellings
from harness.inputs.vocabulary import Vocabulary
from harness.jsontext.lexer import Mode, State
from harness.protocol import Mask, allows, token_ids
from harness.schemas.probable_values import in_turn

NUMBER = -1
"""Stands for the challenger among the numbers of engines."""

Probable = Mapping[int, Sequence[bytes]]
"""Tokens behind which a valid text is probable, each with what would follow it."""


def challenged(position: Position, mask: Mask) -> Position:
    """The position with the challenger behind its engines, allowing the tokens of `mask`."""
    masks = np.concatenate([position.masks, mask[None, :]])
    return replace(position, engines=(*position.engines, NUMBER), masks=masks)


class Challenger:
    """Finds what the engines of a position are agreed on and JSON is not.

    Args:
        cap: Tokens resolved per dispute; None resolves all. Up to half of them are chosen for
            their chance of being valid, the others are a uniform sample.
    """

    def __init__(self, vocabulary: Vocabulary, cap: int | None) -> None:
        self._vocabulary = vocabulary
        self._cap = cap
        self._masks = json_masks(vocabulary)

    def forbidden(self, position: Position, state: State, *, ends: bool) -> Mask | None:
        """The tokens that all engines forbid though JSON goes on so, if there is one."""
        return self._some(self._masks.at(state) & ~np.bitwise_or.reduce(position.masks), ends)

    def allowed(self, position: Position, state: State, *, ends: bool) -> Mask | None:
        """The tokens that all engines allow though no JSON goes on so, if there is one.

        Of reserved tokens only ends of generation are among them: whether another one may come as
        the text that it is spelled as is not for JSON to say.
        """
        mask = np.bitwise_and.reduce(position.masks) & ~self._masks.at(state)
        mask &= self._vocabulary.ordinary_mask | self._vocabulary.eos_mask
        return self._some(mask, ends)

    def dispute_forbidden(self, position: Position, mask: Mask, probable: Probable) -> Dispute:
        """The dispute about the tokens of `mask`, which all engines forbid."""
        tokens = token_ids(mask, self._vocabulary.size)
        chosen = list(probable) if self._cap is None else list(probable)[: self._cap // 2]
        always = (*position.path, *self._vocabulary.eos_ids, *chosen)
        sample = draw(tokens, self._cap, always, f"{position.key}/forbidden")
        return Dispute((), position.engines, tokens, *sample)

    def dispute_allowed(self, position: Position, mask: Mask) -> Dispute:
        """The dispute about the tokens of `mask`, which all engines allow."""
        tokens = token_ids(mask, self._vocabulary.size)
        always = self._vocabulary.eos_ids
        sample = draw(tokens, self._cap, always, f"{position.key}/allowed")
        return Dispute(position.engines, (), tokens, *sample)

    def probable_tokens(self, mask: Mask, state: State, context: Context, rest: bytes) -> Probable:
        """The tokens of `mask` that begin texts which are probably valid, likeliest first.

        These are the rest of the reference in other spellings and layouts, and what the schema
        makes probable: its names, values and bounds.
        """
        vocabulary = self._vocabulary
        made = [lead + one for lead in _leads(state) for one in context.candidates(lead)]
        texts = in_turn([other_spellings(state, rest), made])
        found: dict[int, list[bytes]] = {}
        chains = {one: vocabulary.starts(one)[::-1] for one in filter(None, texts)}
        for tokens in zip_longest(*chains.values(), fillvalue=-1):
            for text, token in zip(chains, tokens, strict=True):
                if token >= 0 and allows(mask, token):
                    found.setdefault(token, []).append(text[len(vocabulary.tokens[token]) :])
        return found

    def _some(self, mask: Mask, ends: bool) -> Mask | None:
        mask = mask if ends else mask & ~self._vocabulary.eos_mask
        return mask if mask.any() else None


def _leads(state: State) -> Iterable[bytes]:
    """What to begin with for more names than continuations have of themselves."""
    if state.mode in (Mode.KEY, Mode.KEY_OR_CLOSE):
        return (b"", b'"')
    if state.mode is Mode.AFTER and state.stack.endswith(b"{"):
        return (b"", b', "')
    return (b"",)
