"""Disputes: at one position, the tokens on which the engines split, by who accepts them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.method.rollout import keyed_index
from harness.protocol import Mask, token_ids

Tokens = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Dispute:
    """The tokens that exactly `accepters` allow, of the engines judged at this position.

    Engines are numbers in the order of the run. `tokens` are ascending. `drawn` are those that
    are resolved: all of them, or under a cap the tokens in `census`, which are always resolved,
    and a uniform sample of the others.
    """

    accepters: tuple[int, ...]
    rejecters: tuple[int, ...]
    tokens: Tokens
    drawn: Tokens
    census: int


def find_disputes(
    masks: npt.NDArray[np.uint32],
    engines: Sequence[int],
    size: int,
    cap: int | None,
    always: Sequence[int],
    key: str,
) -> list[Dispute]:
    """Every dispute among `masks`, shape ``(len(engines), words)``, over ids below `size`.

    Args:
        masks: One mask per engine, in the order of `engines`.
        engines: The numbers of the engines judged here.
        size: The vocabulary's size.
        cap: Resolve a sample of this many tokens per dispute; None resolves all.
        always: Tokens that a sample never leaves out (those on the reference's path, and the
            end of generation).
        key: What the sample depends on, besides the dispute's own engines.

    Returns:
        The disputes, ordered by their accepters.
    """
    differing = np.bitwise_or.reduce(masks) & ~np.bitwise_and.reduce(masks)
    if not differing.any():
        return []
    disputed = token_ids(differing, size)
    pattern = np.zeros(len(disputed), dtype=np.int64)
    for bit, mask in enumerate(masks):
        pattern |= _bits(mask, disputed).astype(np.int64) << bit
    out = []
    for one in np.unique(pattern).tolist():
        accepters = tuple(engine for bit, engine in enumerate(engines) if one >> bit & 1)
        rejecters = tuple(engine for bit, engine in enumerate(engines) if not one >> bit & 1)
        tokens = disputed[pattern == one]
        name = ",".join(map(str, accepters))
        drawn, census = draw(tokens, cap, always, f"{key}/{name}")
        out.append(Dispute(accepters, rejecters, tokens, drawn, census))
    return sorted(out, key=lambda dispute: dispute.accepters)


def draw(tokens: Tokens, cap: int | None, always: Sequence[int], key: str) -> tuple[Tokens, int]:
    """A sample of `cap` of `tokens`, ascending, and how many of it are there by right.

    Tokens among `always` are in by right; the others are the first by a keyed hash, which is a
    uniform sample without replacement that depends on nothing but the key.
    """
    if cap is None or len(tokens) <= cap:
        return tokens, len(tokens)
    by_right = tokens[np.isin(tokens, np.asarray(always, dtype=np.int32))]
    others = np.setdiff1d(tokens, by_right, assume_unique=True)
    count = max(cap - len(by_right), 0)
    order = np.argsort(_mixed(others, keyed_index(key, 1 << 63)), kind="stable")
    drawn = np.concatenate([by_right, others[order[:count]]])
    return np.sort(drawn).astype(np.int32), len(by_right)


def _mixed(tokens: Tokens, salt: int) -> npt.NDArray[np.uint64]:
    """SplitMix64's finaliser of each token, salted (Steele, Lea and Flood, OOPSLA 2014)."""
    with np.errstate(over="ignore"):
        value = tokens.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return value ^ (value >> np.uint64(31))


def _bits(mask: Mask, ids: Tokens) -> npt.NDArray[np.uint32]:
    bits: npt.NDArray[np.uint32] = (mask[ids >> 5] >> (ids & 31).astype(np.uint32)) & np.uint32(1)
    return bits
