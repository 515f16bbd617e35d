"""Faults of adapters during a run: what a matcher says of one state, asked again and in other ways.

Masks prove something as long as there is one of each state. Where an adapter hands over bits beyond
the vocabulary, leaves the array as it was, says something else when it is asked again, makes clones
that stand elsewhere or has a faster way that does not keep to the masks, nothing is said of its
engine. This runs inside the host, next to the engine, on the matchers that a walk has anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from harness.completion.rollout import keyed_index
from harness.inputs.vocabulary import Vocabulary
from harness.protocol import Mask, Matcher, allows, calls_of, mask_by, token_ids
from harness.protocol_checks.trial import led, named, unlike, unwritten
from harness.workers.outcomes import AdapterFault

EVERY = 16
"""Of so many positions of a walk one is looked at, and the first always."""


class FaultFound(Exception):
    """An adapter was found to be at fault."""

    def __init__(self, status: str, detail: str) -> None:
        self.fault = AdapterFault(status, detail)
        super().__init__(self.fault.message)


def is_examined(key: str, number: int) -> bool:
    """Whether a position of the walk of this key is looked at; nothing else is drawn from this."""
    return number == 0 or keyed_index(f"{key}/{number}/asked again", EVERY) == 0


class StateExaminer:
    """Asks matchers again; each method raises `FaultFound` where an adapter is at fault.

    `asks` is called before each thing that is asked, which may take as long as a mask. A mask that
    was `seen` has shape ``(words,)``.
    """

    def __init__(self, vocabulary: Vocabulary, asks: Callable[[], object] = lambda: None) -> None:
        self.vocabulary = vocabulary
        self._asks = asks
        self._within = vocabulary.ordinary_mask | vocabulary.special_mask
        self._last = int(self._within[-1])

    def examine(self, matcher: Matcher, seen: Mask | None = None) -> None:
        """Ask a matcher for the mask of where it stands, and a clone of it; it stays there."""
        if seen is None:
            self._asks()
            seen = mask_by(matcher.mask, len(self._within))
        self.ask_again(matcher, seen)
        clone = matcher.clone()
        self.ask_again(clone, seen, "clone_differs")
        for token in token_ids(seen & self._within, self.vocabulary.size)[:1].tolist():
            clone.consume(token)
            self.ask_again(matcher, seen, "clone_differs")

    def ask_again(self, matcher: Matcher, seen: Mask, status: str = "mask_changes") -> None:
        """Ask a matcher for the mask of where it stands, which was `seen` before."""
        self._asks()
        differing = unlike(calls_of(matcher), seen) & self._within
        if not differing.any():
            return
        if count := unwritten(differing, self._within):
            raise FaultFound("mask_not_written", f"{count} of {len(seen)} words")
        token = int(token_ids(differing, 32 * len(differing))[0])
        many = int(np.bitwise_count(differing).sum())
        detail = f"{many} bits, {self._before(token, was=allows(seen, token))}"
        raise FaultFound(status, detail)

    def cut_off(self, mask: Mask, *, known: bool) -> None:
        """Take bits beyond the vocabulary out of a mask, in place; a known fault is not raised."""
        if int(mask[-1]) > self._last:
            beyond = int(mask[-1]) & ~self._last
            mask[-1] &= np.uint32(self._last)
            if not known:
                raise FaultFound("bits_beyond", f"{beyond.bit_count()} of them")

    def hold(self, matcher: Matcher, tokens: Iterable[int], allowed: Iterable[bool]) -> None:
        """Ask a clone of a matcher whether tokens are allowed, of which that is known already."""
        known = dict(zip(tokens, allowed, strict=True))
        untouched = np.zeros_like(self._within)  # what is not written reads as the opposite
        for token, was in known.items():
            untouched[token >> 5] |= np.uint32((not was) << (token & 31))
        clone = matcher.clone()
        for _ in range(2):
            self._asks()
            clone.mask(mask := untouched.copy())
            for token, was in known.items():
                if allows(mask, token) != was:
                    self.examine(matcher)
                    raise FaultFound("mask_changes", self._before(token, was=was))

    def try_faster_way(
        self, matcher: Matcher, path: Sequence[int], masks: Sequence[Mask], key: str
    ) -> None:
        """Hold the faster way of a matcher that has one to the masks along a walk.

        `masks` are those before each token of `path`, and the one after the last. What else is
        tried than the path depends on `key`.
        """
        calls = calls_of(matcher)
        if calls.validate is None:
            return
        path = path[:8]  # of the walk so many tokens are followed
        drawn = partial(keyed_index, count=1 + len(path))
        size, eos = self.vocabulary.size, self.vocabulary.eos
        strays = [keyed_index(f"{key}/stray {number}", size) for number in range(3)]  # led astray
        lists = [
            (*path[: drawn(f"{key}/behind {token}")], token)
            for token in dict.fromkeys([eos, *strays])
        ]
        for tokens in (path, *lists):
            allowed = [allows(masks[at], token) for at, token in enumerate(tokens)]
            lead = [*allowed, False].index(False)
            self._asks()
            taken = calls.validate(tokens)
            at = min(taken, lead)
            # where mask and `consume` differ that is another error
            consumed = taken != lead and led(calls_of(matcher.clone()), tokens[: at + 1]) > at
            if taken != lead and consumed == (lead > at):
                detail = f"it takes {taken} of {list(tokens)}, {lead} are allowed"
                raise FaultFound("faster_way", detail)

    def _before(self, token: int, *, was: bool) -> str:
        return f"{named(self.vocabulary, token)} {'was' if was else 'was not'} allowed before"
