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
    are resolved: all of them, or under a cap a sample, with few of `Quota`.
    """

    accepters: tuple[int, ...]
    rejecters: tuple[int, ...]
    tokens: Tokens
    drawn: Tokens


_ENOUGH: Final = 4
"""So many proven rejections show what an engine does with spellings at such a place."""
_ALIKE: Final = 2
"""So many tokens of one shape show what an engine does with it at a position."""
_LOOKED: Final = 8
"""So many times more tokens are looked at to find enough that do not look alike."""
_FEW: Final = 32
"""So many tokens of a dispute are all resolved, whatever their shapes."""
_AT_PLACE: Final = 128
"""So many tokens show what engines split on at one place of a value, in all its positions."""


@dataclass
class Quota:
    """How many tokens are still resolved in a case that are like others.

    Of those that only spell a value otherwise a few are enough for each engine and place; where
    engines split at many positions of one place, such as a long string, a few at the later ones.
    `respelling` are the tokens that only spell, outside of strings and inside, and `shapes` numbers
    that tokens which look alike share (`Vocabulary.shapes`), ``(size,)`` each.
    """

    respelling: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]
    shapes: npt.NDArray[np.int32]
    _proven: Counter[tuple[int, str]] = field(default_factory=Counter)
    _drawn: Counter[tuple[object, ...]] = field(default_factory=Counter)

    def of(self, tokens: Tokens, place: str) -> npt.NDArray[np.bool_]:
        """Which tokens only spell a value otherwise at a place (see `place_of`)."""
        return self.respelling[place in ("inside string", "inside key")][tokens]

    def note(self, engine: int, tokens: Tokens, place: str) -> None:
        self._proven[engine, place] += int(self.of(tokens, place).sum())

    def draw(
        self,
        tokens: Tokens,
        cap: int,
        always: Sequence[int],
        key: str,
        split: tuple[Sequence[int], Sequence[int]],
        where: tuple[str, object],
    ) -> Tokens:
        """The tokens to resolve that accepters and rejecters `split` on at a place of a value."""
        accepters, rejecters = split
        alike, here = self.of(tokens, where[0]), (tuple(accepters), *where)
        most = min(cap, max(_ENOUGH, _AT_PLACE - self._drawn[here]))
        values = draw(tokens[~alike], most, always, key, self.shapes)
        self._drawn[here] += len(values)
        spellings = draw(tokens[alike], self.left(rejecters, where[0]), always, key, self.shapes)
        return np.sort(np.concatenate([values, spellings]))

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
    quota: Quota | None = None,
    where: tuple[str, object] = ("", ()),
) -> list[Dispute]:
    """Every dispute among `masks`, shape ``(len(engines), words)``, over ids below `size`.

    In the order of their accepters. Of each `cap` tokens are drawn (None: all), never without those
    among `always`; the sample depends on `key` and the dispute's own engines. Under a cap a `quota`
    says how many are like others that are drawn, here or at an earlier position of the same place:
    the word for it (`place_of`), and where in the value it is.
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
        how = always, f"{key}/{name}"
        if cap is None or quota is None:
            drawn = draw(tokens, cap, *how)
        else:
            drawn = quota.draw(tokens, cap, *how, (accepters, rejecters), where)
        out.append(Dispute(accepters, rejecters, tokens, drawn))
    return sorted(out, key=lambda dispute: dispute.accepters)


def _split(
    disputed: Mask, masks: npt.NDArray[np.uint32], engines: Sequence[int]
) -> list[tuple[tuple[int, ...], Mask]]:
    parts: list[tuple[tuple[int, ...], Mask]] = [((), disputed)]
    for engine, mask in zip(engines, masks, strict=True):
        sides = [
            side
            for accepters, bits in parts
            for side in (((*accepters, engine), bits & mask), (accepters, bits & ~mask))
        ]
        parts = [(accepters, bits) for accepters, bits in sides if bits.any()]
    return parts


def draw(
    tokens: Tokens,
    cap: int | None,
    always: Sequence[int],
    key: str,
    shapes: npt.NDArray[np.int32] | None = None,
) -> Tokens:
    """A sample of at most `cap` of `tokens`, ascending, that depends on nothing but the key.

    Tokens among `always` are in by right, others uniformly, without replacement. With `shapes`,
    where there are more than a few tokens, not more than `_ALIKE` of each shape are in.
    """
    if cap is None or len(tokens) <= (cap if shapes is None else min(cap, _FEW)):
        return tokens
    among = np.unique(np.asarray(always, dtype=np.int32))
    at = np.minimum(np.searchsorted(tokens, among), len(tokens) - 1)
    at = at[tokens[at] == among]
    others = np.delete(tokens, at)
    salted = others.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    salted += np.uint64(keyed_index(key, 1 << 63))
    wanted, ranks = max(cap - len(at), 0), mixed(salted)
    looked = wanted if shapes is None else _LOOKED * max(wanted, 1)
    while True:
        chosen = others[_least(ranks, looked)]
        if shapes is not None:
            chosen = chosen[_first_alike(shapes[chosen])]
        if len(chosen) >= wanted or looked >= len(others):
            return np.sort(np.concatenate([tokens[at], chosen[:wanted]]))
        looked *= _LOOKED


def _least(values: npt.NDArray[np.uint64], count: int) -> npt.NDArray[np.intp]:
    """Where so many least values stand, ascending by value; no two values are the same."""
    count = min(count, len(values))
    at = np.arange(len(values)) if count == len(values) else np.argpartition(values, count)[:count]
    return at[np.argsort(values[at])]


def _first_alike(shapes: npt.NDArray[np.int32]) -> npt.NDArray[np.intp]:
    """Where the first `_ALIKE` of each shape stand, ascending."""
    order = np.argsort(shapes, kind="stable")
    _, starts, counts = np.unique(shapes[order], return_index=True, return_counts=True)
    ranks = np.arange(len(order)) - np.repeat(starts, counts)
    return np.sort(order[ranks < _ALIKE])


def mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Numbers that look random (SplitMix64's finaliser; Steele, Lea and Flood, OOPSLA 2014)."""
    value = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
