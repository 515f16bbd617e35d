"""Which byte of a token an engine refuses: byte by byte, and along tokens that it forces.

An engine may *force* tokens: where the bytes are certain, its mask holds one token alone. Asked
byte by byte it refuses every other token at its first byte, be it the only right one. So the bytes
are compared with those of the forced token, and of the one that is forced behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from harness.inputs.vocabulary import Vocabulary
from harness.protocol import Mask, Matcher, allows, token_ids

UNKNOWN = -1
"""The vocabulary has no token for a byte before the refused one."""
NOT_FORCED = -1


class RefusedByte:
    """Finds the refused byte of tokens at one place.

    Args:
        here: The matcher there; clones of it are led on.
        vocabulary: Of the engine.
        follow: How many leading tokens of a list are allowed there one after another.
    """

    def __init__(
        self, here: Matcher, vocabulary: Vocabulary, follow: Callable[[Sequence[int]], int]
    ) -> None:
        self._here = here
        self._vocabulary = vocabulary
        self._follow = follow

    def of(self, token: int, forced: int) -> int:
        """How many bytes of a refused token go before the byte that is refused.

        Args:
            token: The token.
            forced: The one token that the mask holds, `NOT_FORCED` where it holds more.

        Returns:
            The token's length where all bytes are taken and the token as a whole is refused;
            `UNKNOWN` where the vocabulary lacks a byte. Of a token that only cuts forced bytes
            in another way, as many as are taken one by one.
        """
        text, spelled = self._vocabulary.tokens[token], self._vocabulary.spelled(token)
        taken = self._follow(spelled)
        if taken == len(spelled):
            return taken if taken == len(text) else UNKNOWN
        return taken if taken or forced == NOT_FORCED else self._along_forced(text, forced)

    def _along_forced(self, text: bytes, forced: int) -> int:
        """Where `text` leaves what is forced, as far as that goes; 0 where it does not leave it."""
        trial, at = self._here.clone(), 0
        while True:
            step, single = forced, self._vocabulary.byte_ids[text[at]]
            if forced == NOT_FORCED:
                if single < 0:
                    return 0
                if not allows(self._mask(trial), single):
                    return at
                step = single
            bytes_ = self._vocabulary.tokens[step]
            same = _alike(bytes_, text[at:])
            at += same
            if at == len(text):
                return 0
            if same < len(bytes_):
                return at
            if not trial.consume(step):
                return 0
            forced = forced_token(self._mask(trial), self._vocabulary)

    def _mask(self, matcher: Matcher) -> Mask:
        mask = np.zeros(self._vocabulary.words, dtype=np.uint32)
        matcher.mask(mask)
        return mask


def _alike(one: bytes, other: bytes) -> int:
    """How many bytes two texts begin with alike."""
    differ = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differ, min(len(one), len(other)))


def forced_token(mask: Mask, vocabulary: Vocabulary) -> int:
    """The ordinary token that a mask holds alone, `NOT_FORCED` where there is none."""
    if int(np.bitwise_count(mask).sum()) != 1:
        return NOT_FORCED
    (token,) = token_ids(mask, vocabulary.size).tolist() or [NOT_FORCED]
    return token if token in vocabulary.ordinary and vocabulary.tokens[token] else NOT_FORCED
