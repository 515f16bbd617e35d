"""The walk: the way through a reference, token by token, that all engines take together.

Every choice is keyed by seed, case, walk and position, joined by slashes, so that no resolver, cap
or panel rule changes which text is walked or how it is cut into tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from harness.completion.rollout import keyed_index
from harness.inputs.vocabulary import Vocabulary
from harness.protocol import allows


@dataclass(frozen=True)
class Position:
    """One step of a walk, before its token is chosen; `offset` bytes of the reference are consumed.

    `walked` has the tokens before it, and may go on. `path` has those that go on along the
    reference: ordinary ones whose bytes are a prefix of what remains; at the end, the
    end-of-sequence ids. Masks have the shape ``(e, words)``.
    """

    key: str
    number: int
    walked: Sequence[int]
    reference: bytes
    offset: int
    path: tuple[int, ...]
    engines: tuple[int, ...]
    masks: npt.NDArray[np.uint32]

    @property
    def text(self) -> bytes:
        return self.reference[: self.offset]

    @cached_property
    def consumed(self) -> tuple[int, ...]:
        return tuple(self.walked[: self.number])

    @property
    def at_end(self) -> bool:
        return self.offset == len(self.reference)


def path_tokens(vocabulary: Vocabulary, reference: bytes, offset: int) -> tuple[int, ...]:
    if offset == len(reference):
        return tuple(vocabulary.eos_ids)
    return tuple(vocabulary.starts(reference, offset))


def choose(position: Position, *, differ: bool = True) -> int | None:
    """One token of the path that all engines accept, or None; `differ` says whether masks do."""
    candidates: Sequence[int] = position.path
    for mask in position.masks if differ else position.masks[:1]:
        candidates = [token for token in candidates if allows(mask, token)]
    return predicted_token(position.key, candidates) if candidates else None


def predicted_token(key: str, path: Sequence[int]) -> int:
    """The token that is taken at the position of this key where all of `path` are allowed."""
    return path[keyed_index(f"{key}/walk", len(path))]


def choose_for_most(position: Position) -> tuple[int | None, tuple[int, ...]]:
    """A token of the path that as many engines as possible accept, and these; None without any."""
    accepters = {
        token: tuple(
            engine
            for engine, mask in zip(position.engines, position.masks, strict=True)
            if allows(mask, token)
        )
        for token in position.path
    }
    most = max(map(len, accepters.values()), default=0)
    if most == 0:
        return None, ()
    token = predicted_token(position.key, [one for one in accepters if len(accepters[one]) == most])
    return token, accepters[token]
