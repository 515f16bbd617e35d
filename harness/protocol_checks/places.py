"""Where the rules are tried: places along given texts and along texts that an engine writes itself.

The routes are led through the masks of the adapter, which keeps the same rules; what is asked there
is the library's matter again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from harness.completion.rollout import Preferences
from harness.completion.text_writer import TextWriter
from harness.inputs.vocabulary import Vocabulary
from harness.protocol import Matcher, allows
from harness.protocol_checks.trial import Tokens, TrialPlace

SMALL = 4096
"""Ids of a vocabulary that is always gone through as a whole."""
_ALONG = 5
"""Tokens of the way that may be taken from a place."""


@dataclass(frozen=True)
class Thoroughness:
    """How much is tried of a case; all choices depend on the seed."""

    seed: int = 0
    samples: int = 2  # texts that the engine writes itself
    positions: int = 6  # of each way
    whole: int = 2  # places of a case at which the whole vocabulary is tried
    tokens: int = 1000  # that are tried at the others


def routes_of(
    start: Matcher,
    vocabulary: Vocabulary,
    references: Sequence[tuple[bytes, Mapping[int, int]]],
    how: Thoroughness,
    key: str,
) -> list[Tokens]:
    """The routes of a case: along each reference as far as it is allowed, then the samples.

    A reference is a text, and the token with which a model would go on, by offset. A way that comes
    to the end has an end of sequence as its last token. `start` stays where it is.
    """

    def usual(text: bytes, own: Mapping[int, int], offset: int) -> Sequence[int]:
        first = [own[offset]] if offset in own else []
        return (*first, *vocabulary.starts(text, offset)[::-1])

    routes = [
        along(start.clone(), vocabulary, text, partial(usual, text, own))
        for text, own in references
    ]
    if how.samples:
        writer = TextWriter(vocabulary, Preferences.of(vocabulary))
        written = writer.write(start, [], f"{how.seed}/{key}", range(how.samples))
        routes += [one.tokens for one in written]
    return list(dict.fromkeys(routes))


def along(
    matcher: Matcher, vocabulary: Vocabulary, text: bytes, tokens_at: Callable[[int], Sequence[int]]
) -> Tokens:
    """Along a text, by the first allowed of the tokens that are named for each offset."""
    mask = np.zeros(vocabulary.words, dtype=np.uint32)
    way: list[int] = []
    at = 0
    while True:
        mask.fill(0)
        matcher.mask(mask)
        if at == len(text):
            return (*way, vocabulary.eos) if allows(mask, vocabulary.eos) else tuple(way)
        token = next((one for one in tokens_at(at) if allows(mask, one)), -1)
        if token < 0 or not matcher.consume(token):
            return tuple(way)
        way.append(token)
        at += len(vocabulary.tokens[token])


def places_of(
    routes: Sequence[Tokens], vocabulary: Vocabulary, how: Thoroughness, key: str
) -> Iterator[TrialPlace]:
    """Places along routes, each once: the start and the end of each, and some between.

    The choice of tokens depends on `key`, the places on `how` alone.
    """
    places: dict[Tokens, Tokens] = {}
    for number, way in enumerate(routes or [()]):
        last = len(way) - (way[-1:] != () and way[-1] in vocabulary.eos_ids)
        draws = random.Random(f"{how.seed}/{number}/{last}")  # noqa: S311 - to be repeated
        between = draws.sample(range(1, last), min(max(last - 1, 0), max(how.positions - 2, 0)))
        for at in (0, *between, last):
            places.setdefault(way[:at], way[at : at + _ALONG])
    small = vocabulary.size <= SMALL
    for number, (consumed, rest) in enumerate(places.items()):
        draws = random.Random(f"{how.seed}/{key}/{number}")  # noqa: S311 - as above
        yield TrialPlace(consumed, rest, draws, None if small or number < how.whole else how.tokens)
