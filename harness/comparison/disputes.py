"""Disputes: at one position, the tokens on which the engines split, by who accepts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from harness.completion.rollout import keyed_index
from harness.protocol import Mask, token_ids

Tokens = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Dispute:
    """The tokens that exactly `accepters` allow, of the engines judged at this position.

    Engines are numbers in the order of the run. `tokens` are ascending. `drawn` are those that
    are resolved: all of them, or under a cap a sample, with few of `SpellingQuota`.
    """

    accepters: tuple[int, ...]
    rejecters: tuple[int, ...]
    tokens: Tokens
    drawn: Tokens

    @property
    def is_among_engines(self) -> bool:
        """Whether engines differ; else all of them say other than the challenger."""
        return bool(self.accepters and self.rejecters)


_ENOUGH: Final = 4
"""So many proven rejections show what an engine does with spellings at such a place."""


@dataclass
class SpellingQuota:
    """How many tokens that only spell a value otherwise are still resolved in a case.

    To refuse one costs a spelling and no value, so a few are enough for each engine and place.
    `respelling` are these tokens outside of strings and inside, shape ``(size,)`` each.
    """

    respelling: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]
    _proven: Counter[tuple[int, str]] = field(default_factory=Counter)

    def of(self, tokens: Tokens, place: str) -> npt.NDArray[np.bool_]:
        """Which tokens only spell a value otherwise at a place (see `place_of`)."""
        return self.respelling[place in ("inside string", "inside key")][tokens]

    def note(self, engine: int, tokens: Tokens, place: str) -> None:
        """Count proven rejections."""
        self._proven[engine, place] += int(self.of(tokens, place).sum())

    def left(self, engines: Sequence[int], place: str) -> int:
        """How many more to resolve that all of some engines reject."""
        return max(0, *(_ENOUGH - self._proven[engine, place] for engine in engines))


def find_disputes(
    masks: npt.NDArray[np.uint32],
    engines: Sequence[int],
    size: int,
    cap: int | None,
    always: Sequence[int],
    key: str,
    quota: SpellingQuota | None = None,
    place: str = "",
) -> list[Dispute]:
    """Every dispute among `masks`, shape ``(len(engines), words)``, over ids below `size`.

    In the order of their accepters. Of each `cap` tokens are drawn (None: all), never without those
    among `always`; the sample depends on `key` and the dispute's own engines. Under a cap, tokens
    that only spell a value otherwise have a `quota` of their own for each `place`.
    """
    differing = np.bitwise_or.reduce(masks) & ~np.bitwise_and.reduce(masks)
    if not differing.any():
        return []
    out = []
    for accepters, bits in _split(differing, masks, engines):
        tokens = token_ids(bits, size)
        if not len(tokens):  # of ids beyond the vocabulary
            continue
        rejecters = tuple(engine for engine in engines if engine not in accepters)
        name = ",".join(map(str, accepters))
        parts = [(tokens, cap)]
        if cap is not None and quota is not None:
            alike = quota.of(tokens, place)
            parts = [(tokens[~alike], cap), (tokens[alike], quota.left(rejecters, place))]
        drawn = [draw(some, most, always, f"{key}/{name}") for some, most in parts]
        out.append(Dispute(accepters, rejecters, tokens, np.sort(np.concatenate(drawn))))
    return sorted(out, key=lambda dispute: dispute.accepters)


def _split(
    disputed: Mask, masks: npt.NDArray[np.uint32], engines: Sequence[int]
) -> list[tuple[tuple[int, ...], Mask]]:
    """The disputed tokens by who accepts them, as masks."""
    parts: list[tuple[tuple[int, ...], Mask]] = [((), disputed)]
    for engine, mask in zip(engines, masks, strict=True):
        sides = [
            side
            for accepters, bits in parts
            for side in (((*accepters, engine), bits & mask), (accepters, bits & ~mask))
        ]
        parts = [(accepters, bits) for accepters, bits in sides if bits.any()]
    return parts


def draw(tokens: Tokens, cap: int | None, always: Sequence[int], key: str) -> Tokens:
    """A sample of `cap` of `tokens`, ascending.

    Tokens among `always` are in by right; the others are the first by a keyed hash, which is a
    uniform sample without replacement that depends on nothing but the key.
    """
    if cap is None or len(tokens) <= cap:
        return tokens
    among = np.unique(np.asarray(always, dtype=np.int32))
    at = np.minimum(np.searchsorted(tokens, among), len(tokens) - 1)
    at = at[tokens[at] == among]
    others = np.delete(tokens, at)
    count = max(cap - len(at), 0)
    values = _mixed(others, keyed_index(key, 1 << 63))  # no two are the same
    first = np.argpartition(values, count - 1)[:count] if 0 < count < len(others) else slice(count)
    return np.sort(np.concatenate([tokens[at], others[first]]))


def _mixed(tokens: Tokens, salt: int) -> npt.NDArray[np.uint64]:
    """SplitMix64's finaliser of each token, salted (Steele, Lea and Flood, OOPSLA 2014)."""
    value = tokens.astype(np.uint64)
    with np.errstate(over="ignore"):
        value *= np.uint64(0x9E3779B97F4A7C15)
        value += np.uint64(salt)
        value ^= value >> np.uint64(30)
        value *= np.uint64(0xBF58476D1CE4E5B9)
        value ^= value >> np.uint64(27)
        value *= np.uint64(0x94D049BB133111EB)
        value ^= value >> np.uint64(31)
    return value
