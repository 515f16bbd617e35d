"""How far a matcher lets a text, what holds where it stops, and which byte of a token it refuses.

An engine may *force* tokens: where the bytes are certain, its mask holds one token alone. Asked
byte by byte it refuses every other token at its first byte, be it the only right one. So the bytes
are compared with those of the forced token, and of the one that is forced after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, field

import numpy as np
import numpy.typing as npt

from harness.inputs.vocabulary import Vocabulary, alike
from harness.protocol import Mask, Matcher, allows, mask_by, nth_token


@dataclass(frozen=True)
class Probed:
    """What a matcher did with a text: how many leading tokens its masks allow and it consumes.

    And of where that ends: whether the mask forbids the next token, whether that is `taken` all the
    same, whether the mask is `empty` (as after an end of sequence), or `ends`: allows an end.
    """

    allowed: int
    forbidden: bool
    taken: bool
    empty: bool
    ends: bool


def probe(
    matcher: Matcher,
    tokens: Sequence[int],
    eos: Mask,
    stopped: Callable[[Matcher, Mask], object] = lambda *_: None,
    known: int = 0,
) -> Probed:
    """Lead a clone of `matcher` along `tokens`; `eos` is the mask of the ends of sequence.

    `stopped` is given the matcher and its mask where it goes no further, or ends; it may raise.
    Of the first `known` tokens it is known that masks allow them: there none is looked at.
    """
    if tokens and known == len(tokens) and allows(eos, tokens[-1]):
        return Probed(known, False, False, True, False)
    here = matcher.clone()
    for count, token in enumerate(tokens):
        if count < known and here.consume(token):
            continue
        mask = mask_by(here.mask, len(eos))
        forbidden = not allows(mask, token)
        if allows(eos, token) and not forbidden:
            stopped(here, mask)
        # Consuming what is forbidden may spoil the state: only a clone is asked to.
        taken = (here.clone() if forbidden else here).consume(token)
        if forbidden or not taken:
            stopped(here, mask)
            return Probed(count, forbidden, taken, not mask.any(), bool((mask & eos).any()))
    if tokens and allows(eos, tokens[-1]):  # after the end there is nothing to ask for
        return Probed(len(tokens), False, False, True, False)
    mask = mask_by(here.mask, len(eos))
    stopped(here, mask)
    return Probed(len(tokens), False, False, not mask.any(), bool((mask & eos).any()))


@dataclass(frozen=True)
class ProbedTexts:
    """What a matcher did with several texts: the fields of `Probed`, shape ``(n, 5)`` int32."""

    rows: npt.NDArray[np.int32]

    @classmethod
    def of(cls, probed: Iterable[Probed]) -> ProbedTexts:
        return cls(np.array(list(map(astuple, probed)), dtype=np.int32).reshape(-1, 5))

    def each(self) -> list[Probed]:
        return [Probed(allowed, *map(bool, rest)) for allowed, *rest in self.rows.tolist()]


UNKNOWN = -1
"""The vocabulary has no token for a byte before the refused one."""
NOT_FORCED = -1


@dataclass(frozen=True)
class RefusedByte:
    """Finds the refused byte of tokens where the matcher `here` stands; clones of it are led on.

    `follow` says how many leading tokens of a list are allowed there; `forced` is the one token
    that the mask there holds, `NOT_FORCED` where it holds more. With `looks_on` a mask is looked at
    for each place where bytes of a token were taken before one is refused.
    """

    here: Matcher
    vocabulary: Vocabulary
    follow: Callable[[Sequence[int]], int]
    forced: int
    looks_on: bool
    _known: dict[tuple[int, ...], int] = field(default_factory=dict, init=False)

    def of(self, token: int) -> int:
        """How many bytes of a refused token go before the byte that is refused.

        All where the token as a whole is refused; `UNKNOWN` where the vocabulary lacks a byte. Of a
        token that only cuts forced bytes in another way, as many as are taken one by one.
        """
        text, spelled = self.vocabulary.tokens[token], self.vocabulary.spelled(token)
        taken = self.follow(spelled)
        if taken == len(spelled):
            return taken if taken == len(text) else UNKNOWN
        taken_bytes = tuple(spelled[:taken])
        if self._forced_after(taken_bytes) == NOT_FORCED:
            return taken
        left = self._where_left(text, taken_bytes)
        return taken if left == len(text) else left

    def _forced_after(self, bytes_: tuple[int, ...]) -> int:
        if not bytes_:
            return self.forced
        if not self.looks_on:
            return NOT_FORCED
        if bytes_ not in self._known:
            trial = self._led(bytes_)
            self._known[bytes_] = NOT_FORCED if trial is None else self._forced_at(trial)[1]
        return self._known[bytes_]

    def _where_left(self, text: bytes, start: tuple[int, ...]) -> int:
        """How many bytes of `text` are as what is forced and what may follow, token by token."""
        trial, at = self._led(start), len(start)
        while trial is not None and at < len(text):
            mask, step = self._forced_at(trial)
            if step == NOT_FORCED:
                step = self.vocabulary.byte_ids[text[at]]
            if step < 0:
                return len(start)
            if not allows(mask, step):
                return at
            bytes_ = self.vocabulary.tokens[step]
            same = alike(bytes_, text[at:])
            at += same
            if same < len(bytes_):
                return at
            trial = trial if trial.consume(step) else None
        return at if at == len(text) else len(start)

    def _led(self, tokens: Sequence[int]) -> Matcher | None:
        """A clone after some tokens; None where it refuses one."""
        trial = self.here.clone()
        return trial if all(map(trial.consume, tokens)) else None

    def _forced_at(self, matcher: Matcher) -> tuple[Mask, int]:
        """The mask of a matcher, and its `forced_token`."""
        mask = mask_by(matcher.mask, self.vocabulary.words)
        return mask, forced_token(mask, self.vocabulary)


def forced_token(mask: Mask, vocabulary: Vocabulary) -> int:
    """The ordinary token that a mask holds alone, `NOT_FORCED` where there is none."""
    if int(np.bitwise_count(mask).sum()) != 1:
        return NOT_FORCED
    token = nth_token(mask, 0)
    return token if token in vocabulary.ordinary else NOT_FORCED
