"""Where the rules are tried: places along references and along texts that an engine writes itself.

The routes are led through the masks of the adapter, which is held to a contract of its own; what is
asked there is the library's matter again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.completion.rollout import Preferences
from harness.completion.text_writer import TextWriter
from harness.court.trial import Tokens, TrialPlace
from harness.inputs.vocabulary import Vocabulary
from harness.protocol import Matcher, allows

SMALL = 4096
"""Ids of a vocabulary that is always gone through as a whole."""
_ALONG = 5
"""Tokens of the way that may be taken from a place."""


@dataclass(frozen=True)
class Reference:
    """A text to be led along, with the tokens that a model would write it in.

    Attributes:
        text: Its bytes.
        tokens: The token that begins at an offset, for some.
    """

    text: bytes
    tokens: Mapping[int, int]


@dataclass(frozen=True)
class Thoroughness:
    """How much is tried of a case.

    Attributes:
        seed: On which all choices depend.
        samples: Texts that the engine writes itself.
        positions: Places of each way.
        whole: Places of a case at which the whole vocabulary is tried.
        tokens: Tokens that are tried at the others.
    """

    seed: int = 0
    samples: int = 2
    positions: int = 6
    whole: int = 2
    tokens: int = 1000


def routes_of(
    start: Matcher,
    vocabulary: Vocabulary,
    references: Sequence[Reference],
    how: Thoroughness,
    key: str,
) -> list[Tokens]:
    """The routes of a case: along each reference as far as it is allowed, then the samples.

    A way that comes to the end has an end of sequence as its last token.

    Args:
        start: The engine at the start of a text; it stays there.
        vocabulary: The shared one.
        references: Texts to be led along.
        how: How many samples.
        key: On which the samples depend.
    """
    routes = [_along(start.clone(), vocabulary, one) for one in references]
    if how.samples:
        writer = TextWriter(vocabulary, Preferences.of(vocabulary))
        key, numbers = f"{how.seed}/{key}", range(how.samples)
        routes += [one.tokens for one in writer.write(start, [], key, numbers)]
    return list(dict.fromkeys(routes))


def _along(matcher: Matcher, vocabulary: Vocabulary, reference: Reference) -> Tokens:
    """Along a text, in the tokens that belong to it where these are allowed."""
    mask = np.zeros(vocabulary.words, dtype=np.uint32)
    way: list[int] = []
    at = 0
    while True:
        mask.fill(0)
        matcher.mask(mask)
        if at == len(reference.text):
            return (*way, vocabulary.eos) if allows(mask, vocabulary.eos) else tuple(way)
        canonical = reference.tokens.get(at, -1)
        if canonical < 0 or not allows(mask, canonical):
            going_on = vocabulary.starts(reference.text, at)
            canonical = next((one for one in going_on[::-1] if allows(mask, one)), -1)
        if canonical < 0 or not matcher.consume(canonical):
            return tuple(way)
        way.append(canonical)
        at += len(vocabulary.tokens[canonical])


def places_of(
    routes: Sequence[Tokens], vocabulary: Vocabulary, how: Thoroughness, key: str
) -> Iterator[TrialPlace]:
    """Places along routes, each once: the start and the end of each, and some between.

    Args:
        routes: As `routes_of` gives them.
        vocabulary: The shared one.
        how: How many places, and how much is tried at each.
        key: On which the choice of tokens depends; the places depend on `how` alone.
    """
    small = vocabulary.size <= SMALL
    for number, (consumed, rest) in enumerate(_chosen(routes, vocabulary, how).items()):
        draws = random.Random(f"{how.seed}/{key}/{number}")  # noqa: S311 - to be repeated
        sweep = None if small or number < how.whole else how.tokens
        yield TrialPlace(consumed, rest, draws, sweep)


def _chosen(
    routes: Sequence[Tokens], vocabulary: Vocabulary, how: Thoroughness
) -> dict[Tokens, Tokens]:
    """What goes on from each place; the start comes first, and then one amid the first way."""
    found: dict[Tokens, Tokens] = {}
    for number, way in enumerate(routes or [()]):
        last = len(way) - (way[-1:] != () and way[-1] in vocabulary.eos_ids)
        draws = random.Random(f"{how.seed}/{number}/{last}")  # noqa: S311 - as above
        between = draws.sample(range(1, last), min(max(last - 1, 0), max(how.positions - 2, 0)))
        for at in (0, *between, last):
            found.setdefault(way[:at], way[at : at + _ALONG])
    return found
