"""The mask of JSON itself: which tokens go on to some JSON text, whatever a schema says.

Most tokens of a string are plain, and the others are worth only what stands after their plain
beginning; outside strings few tokens are of use at all, and white space is worth the same however
much it is. So of a large vocabulary few texts are looked at for each state, and what was found is
kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from harness.inputs.vocabulary import Vocabulary, packed_mask
from harness.jsontext.lexer import State, advance, plain_end
from harness.protocol import Mask

_OUTSIDE = re.compile(rb'[ \t\n\r{}\[\]:,\-+.0-9Eaeflnrstu]*+(?:".*)?', re.DOTALL)
"""What may come outside strings: nothing else is in numbers, literals and between tokens."""

_SPACE = re.compile(rb"[ \t\n\r]+")
_CLOSING = re.compile(rb"[\]}]")
_MAX_KEPT = 1024
"""Masks that are kept; each is as long as one of the engines'."""

_Texts = list[tuple[bytes, list[int]]]
"""Distinct texts, and the tokens to which each of them comes."""


class JsonMasks:
    """Gives the mask after every text that is a beginning of JSON."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._ordinary = np.flatnonzero(~vocabulary.special).tolist()
        tokens = [vocabulary.tokens[one] for one in self._ordinary]
        self._levels = max(len(_CLOSING.findall(text)) for text in tokens) + 1
        self._mask = lru_cache(_MAX_KEPT)(self._mask_of)
        self._steady = lru_cache(_MAX_KEPT)(self._sorted_out)

    def at(self, state: State) -> Mask:
        """The mask after a text in `state`, shape ``(words,)``, read-only.

        Of ordinary tokens those are in it after which some JSON text goes on, ends of generation
        where the text may end, and no other special token.
        """
        return self._mask(state._replace(stack=state.stack[-self._levels :]))

    def _mask_of(self, state: State) -> Mask:
        steady, closing = self._steady(state._replace(stack=state.stack[-1:]))
        allowed = steady.copy()
        for text, ids in closing:
            if advance(state, text) is not None:
                allowed[ids] = True
        if state.can_end:
            allowed[list(self._vocabulary.eos_ids)] = True
        return packed_mask(allowed)

    def _sorted_out(self, state: State) -> tuple[npt.NDArray[np.bool_], _Texts]:
        """The tokens allowed whatever is open around the innermost container, ``(size,)``.

        And the texts that may close that container.
        """
        in_string = state.mode.in_string
        texts = self._outside
        allowed = np.zeros(self._vocabulary.size, dtype=np.bool_)
        if in_string and state.part:
            texts = self._in_character
        elif in_string:
            texts = self._in_string
            allowed = self._vocabulary.plain_first >= 0
        closing = []
        for byte, some in texts.items():
            if advance(state, byte) is None:
                continue
            for text, ids in some:
                if _CLOSING.search(text):
                    closing.append((text, ids))
                elif advance(state, text) is not None:
                    allowed[ids] = True
        return allowed, closing

    @cached_property
    def _outside(self) -> dict[bytes, _Texts]:
        """What tokens are outside strings, by its first byte."""
        tokens = self._vocabulary.tokens
        found = ((tokens[one], one) for one in self._ordinary)
        return _by_first_byte((spaced(x), one) for x, one in found if _OUTSIDE.fullmatch(x))

    @cached_property
    def _in_string(self) -> dict[bytes, _Texts]:
        """What tokens that are not plain are inside a string, by its first byte."""
        tokens, plain = self._vocabulary.tokens, self._vocabulary.plain_first >= 0
        found = (
            (tokens[one][plain_end(tokens[one]) :], one) for one in self._ordinary if not plain[one]
        )
        return _by_first_byte(
            (b'"' + spaced(rest[1:]) if rest.startswith(b'"') else rest, one) for rest, one in found
        )

    @cached_property
    def _in_character(self) -> dict[bytes, _Texts]:
        """What tokens are inside an escape or a character, by its first byte."""
        tokens = self._vocabulary.tokens
        groups: dict[bytes, _Texts] = {bytes((byte,)): [] for byte in range(256)}
        for one in self._ordinary:
            groups[tokens[one][:1]].append((tokens[one], [one]))
        return groups


@lru_cache(maxsize=2)
def json_masks(vocabulary: Vocabulary) -> JsonMasks:
    """Those of a vocabulary, shared by all who ask."""
    return JsonMasks(vocabulary)


def spaced(text: bytes) -> bytes:
    """A text outside strings, up to the first of which white space is shortened to one space.

    To JSON it is the same.
    """
    outside, quote, after = text.partition(b'"')
    return _SPACE.sub(b" ", outside) + quote + after


def _by_first_byte(texts: Iterable[tuple[bytes, int]]) -> dict[bytes, _Texts]:
    """Distinct texts by their first byte, none of them empty, with the ids of each."""
    ids: dict[bytes, list[int]] = {}
    for text, one in texts:
        ids.setdefault(text, []).append(one)
    groups: dict[bytes, _Texts] = {}
    for text, some in ids.items():
        groups.setdefault(text[:1], []).append((text, some))
    return groups
