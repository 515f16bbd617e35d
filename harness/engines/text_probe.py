"""How far a matcher lets a text, by mask and by consuming, and what holds where it stops.

It runs inside the host, next to the engine, and needs nothing but numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.protocol import Mask, Matcher, allows

COLUMNS: Mapping[str, type[np.generic]] = {
    "allowed": np.int32,
    "forbidden": np.bool_,
    "taken": np.bool_,
    "empty": np.bool_,
    "ends": np.bool_,
}
"""The fields of `Probed` in a message, each of shape ``(n,)``."""


@dataclass(frozen=True)
class Probed:
    """What a matcher did with a text.

    Attributes:
        allowed: How many of its leading tokens the masks allow and are consumed.
        forbidden: Whether the mask there forbids the next token; False where there is no next.
        taken: Whether the next token is consumed there, though the mask forbids it; False where
            there is no next.
        empty: Whether the mask there is wholly empty; true behind an end of sequence.
        ends: Whether the mask there allows an end of sequence.
    """

    allowed: int
    forbidden: bool
    taken: bool
    empty: bool
    ends: bool


def probe(matcher: Matcher, tokens: Sequence[int], eos: Mask) -> Probed:
    """Lead a clone of `matcher` along `tokens`; `eos` is the mask of the ends of sequence."""
    here = matcher.clone()
    mask = np.zeros_like(eos)
    for count, token in enumerate(tokens):
        here.mask(mask)
        forbidden = not allows(mask, token)
        # Consuming what is forbidden may spoil the state: only a clone is asked to.
        taken = (here.clone() if forbidden else here).consume(token)
        if forbidden or not taken:
            return Probed(count, forbidden, taken, not mask.any(), bool((mask & eos).any()))
    if tokens and allows(eos, tokens[-1]):  # behind the end there is nothing to ask for
        return Probed(len(tokens), False, False, True, False)
    here.mask(mask)
    return Probed(len(tokens), False, False, not mask.any(), bool((mask & eos).any()))


def arrays_of(probed: Iterable[Probed]) -> dict[str, npt.NDArray[Any]]:
    """As arrays to go into a message, see `COLUMNS`."""
    columns = list(zip(*map(astuple, probed), strict=True)) or [()] * len(COLUMNS)
    return {
        name: np.array(values, dtype=kind)
        for (name, kind), values in zip(COLUMNS.items(), columns, strict=True)
    }


def from_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> list[Probed]:
    """What `arrays_of` put into a message."""
    columns = [arrays[name].tolist() for name in COLUMNS]
    return [Probed(*values) for values in zip(*columns, strict=True)]
