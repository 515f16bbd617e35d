"""How far a matcher lets a text, by mask and by consuming, and what holds where it stops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass

import numpy as np
import numpy.typing as npt

from harness.protocol import Mask, Matcher, allows


@dataclass(frozen=True)
class Probed:
    """What a matcher did with a text: how many leading tokens its masks allow and it consumes.

    And of where that ends: whether the mask forbids the next token, whether that is `taken` all the
    same, whether the mask is wholly `empty` (as after an end of sequence), and whether it `ends`:
    allows an end of sequence.
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
) -> Probed:
    """Lead a clone of `matcher` along `tokens`; `eos` is the mask of the ends of sequence.

    `stopped` is given the matcher and its mask where it goes no further, or ends; it may raise.
    """
    here = matcher.clone()
    mask = np.zeros_like(eos)
    for count, token in enumerate(tokens):
        mask.fill(0)  # one that is not written allows nothing
        here.mask(mask)
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
    mask.fill(0)
    here.mask(mask)
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
