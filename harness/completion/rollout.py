"""Roll-outs: let an engine continue by itself, through tokens it allows, to the end.

It prefers the end of generation, then tokens that close what is open, then the smallest values,
and chooses among equals by a hash of its key. It runs inside the host, next to the engine.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from harness.inputs.vocabulary import Vocabulary
from harness.protocol import Mask, Matcher, mask_by, nth_token, set_bits

LIMIT = 500
"""A roll-out of more tokens than this proves nothing (the limit of the original study)."""

_FEW = 8
"""Of a mask whose words are zero but for one in so many only the others are looked at."""

RolloutOutcome = Literal["complete", "too_long", "dead_end", "mask_consume_mismatch"]

ROLLOUT_OUTCOMES: tuple[RolloutOutcome, ...] = get_args(RolloutOutcome)

_PREFERENCES = (
    rb'["}\]]+',
    rb"null|true|false|[0-9]|\{\}|\[\]|\"\"",
    rb'[:,{\[]|": ?|": ?"',
    rb"[A-Za-z0-9]{1,3}|[-.+/@_]",
    rb'[^\s\\"\x00-\x20]+',
    rb"[^\s]+",
    rb".+",
)
"""Whole-token patterns, the most welcome first; a token belongs to the first that it matches."""


@dataclass(frozen=True)
class Preferences:
    """The vocabulary's ordinary tokens by how soon they bring a text to its end.

    `classes` are masks, most welcome first; every ordinary token is in exactly one of them.
    """

    eos: Mask
    classes: tuple[Mask, ...]

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Preferences:
        first = re.compile(b"|".join(b"(%b)" % one for one in _PREFERENCES), re.DOTALL).fullmatch
        ids: list[list[int]] = [[] for _ in (*_PREFERENCES, "special")]
        special = vocabulary.special.tolist()
        for token, text in enumerate(vocabulary.tokens):
            if not special[token]:
                if (match := first(text)) is not None:
                    ids[(match.lastindex or 0) - 1].append(token)
            elif token not in vocabulary.eos_ids:
                ids[-1].append(token)
        masks = tuple(set_bits(members, vocabulary.words) for members in ids)
        return cls(set_bits(vocabulary.eos_ids, vocabulary.words), masks)

    def choose(self, mask: Mask, key: str) -> int | None:
        """The token to take under `mask`; None when it is empty."""
        for words, members in self._by_word:
            both = (mask if words is None else mask[words]) & members
            if np.count_nonzero(both):
                many = int(np.bitwise_count(both).sum())
                at = nth_token(both, keyed_index(key, many))
                return at if words is None else int(words[at >> 5]) * 32 + (at & 31)
        return None

    @cached_property
    def _by_word(self) -> list[tuple[npt.NDArray[np.intp] | None, Mask]]:
        """Each class, of those with few words beside zero these alone, and where they stand."""
        return [
            (words, mask[words]) if len(words) < len(mask) / _FEW else (None, mask)
            for mask in (self.eos, *self.classes)
            for words in [np.flatnonzero(mask)]
        ]


@dataclass(frozen=True)
class Rollout:
    """What an engine allowed from a state to the end; `tokens` ends with end-of-sequence."""

    outcome: RolloutOutcome
    tokens: tuple[int, ...]


def roll_out(
    matcher: Matcher, preferences: Preferences, eos_ids: Sequence[int], key: str, limit: int = LIMIT
) -> Rollout:
    """Continue `matcher` (which is consumed by it) until it allows the end of generation."""
    taken: list[int] = []
    while len(taken) <= limit:
        mask = mask_by(matcher.mask, len(preferences.eos))
        token = preferences.choose(mask, f"{key}/{len(taken)}")
        if token is None:
            return Rollout("dead_end", tuple(taken))
        if not matcher.consume(token):
            return Rollout("mask_consume_mismatch", (*taken, token))
        taken.append(token)
        if token in eos_ids:
            return Rollout("complete", tuple(taken))
    return Rollout("too_long", tuple(taken[:limit]))


def keyed_index(key: str, count: int) -> int:
    """A number below `count` that depends on `key` alone, the same on every machine."""
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % count
