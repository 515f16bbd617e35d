"""Faults of adapters: what a matcher says of one state, asked again and in other ways.

Masks prove something as long as there is one of each state. Where an adapter hands over bits beyond
the vocabulary, leaves the array as it was, says something else when it is asked again, makes clones
that stand elsewhere or has a faster way that does not keep to the masks, nothing is said of its
engine. This runs inside the host, next to the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from harness.completion.rollout import keyed_index
from harness.inputs.vocabulary import Vocabulary
from harness.protocol import (
    FollowingMatcher,
    LeadingMatcher,
    Mask,
    Matcher,
    allows,
    token_ids,
)
from harness.workers.outcomes import AdapterFault

EVERY = 16
"""Of so many positions of a walk one is looked at, and the first one always."""

_FOLLOWED = 8
"""Tokens of the walk that the faster way is led along."""
_STRAYS = 3
"""Tokens that are drawn to lead it astray."""


class FaultFound(Exception):
    """An adapter was found to be at fault."""

    def __init__(self, fault: AdapterFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def is_examined(key: str, number: int) -> bool:
    """Whether a position of the walk of this key is looked at; nothing else is drawn from this."""
    return number == 0 or keyed_index(f"{key}/{number}/asked again", EVERY) == 0


class StateExaminer:
    """Asks matchers again.

    Args:
        vocabulary: The shared one.
        asks: Called before each thing that is asked, which may take as long as a mask.
    """

    def __init__(self, vocabulary: Vocabulary, asks: Callable[[], object] = lambda: None) -> None:
        self.vocabulary = vocabulary
        self._asks = asks
        self.within = vocabulary.ordinary_mask | vocabulary.special_mask
        self._last = int(self.within[-1])

    def examine(self, matcher: Matcher, seen: Mask | None = None) -> None:
        """Ask a matcher for the mask of where it stands, and a clone of it.

        Args:
            matcher: Where it stands; it stays there.
            seen: What it said of this state before, shape ``(words,)``.

        Raises:
            FaultFound: They do not say the same, or the clone moves its original.
        """
        if seen is None:
            seen = self._asked(matcher, np.zeros_like(self.within))
        self.ask_again(matcher, seen)
        clone = matcher.clone()
        self._compare(seen, self._asked(clone, ~seen), "clone_differs")
        for token in token_ids(seen & self.within, self.vocabulary.size)[:1].tolist():
            clone.consume(token)
            self._compare(seen, self._asked(matcher, ~seen), "clone_differs")

    def ask_again(self, matcher: Matcher, seen: Mask) -> None:
        """Ask a matcher for the mask of where it stands, which was `seen` before.

        Raises:
            FaultFound: It is another one now.
        """
        self._compare(seen, self._asked(matcher, ~seen), "mask_changes")

    def cut_off(self, mask: Mask, *, told: bool) -> None:
        """Take bits beyond the vocabulary out of a mask.

        Args:
            mask: Changed in place.
            told: Whether that there are any is known.

        Raises:
            FaultFound: There are some.
        """
        if int(mask[-1]) > self._last:
            beyond = int(mask[-1]) & ~self._last
            mask[-1] &= np.uint32(self._last)
            if not told:
                raise _found("bits_beyond", f"{beyond.bit_count()} of them")

    def hold(self, matcher: Matcher, tokens: Iterable[int], allowed: Iterable[bool]) -> None:
        """Ask a clone of a matcher whether tokens are allowed, of which that is known already.

        Raises:
            FaultFound: One of them is not as it was.
        """
        known = list(zip(tokens, allowed, strict=True))
        untouched = np.zeros_like(self.within)  # what is not written reads as the opposite
        for token, was in known:
            untouched[token >> 5] |= np.uint32((not was) << (token & 31))
        clone = matcher.clone()
        for _ in range(2):
            mask = self._asked(clone, untouched.copy())
            odd = next((one for one in known if allows(mask, one[0]) != one[1]), None)
            if odd is not None:
                self.examine(matcher)
                raise _found("mask_changes", self._told(odd[0], was=odd[1]))

    def try_faster_way(
        self, matcher: Matcher, path: Sequence[int], masks: Sequence[Mask], key: str
    ) -> None:
        """Hold the faster way of a matcher that has one to the masks along a walk.

        Args:
            matcher: Where the walk was.
            path: The tokens that it took from there.
            masks: Those before each of them, and the one behind the last.
            key: On which it depends what else is tried than the path.

        Raises:
            FaultFound: They do not say the same, and what is consumed goes by the masks.
        """
        if not isinstance(matcher, FollowingMatcher):
            return
        path = path[:_FOLLOWED]
        size, eos = self.vocabulary.size, self.vocabulary.eos
        drawn = partial(keyed_index, count=1 + len(path))
        strays = [keyed_index(f"{key}/stray {one}", size) for one in range(_STRAYS)]
        lists = [
            (*path[: drawn(f"{key}/behind {one}")], one) for one in dict.fromkeys([eos, *strays])
        ]
        for tokens in (path, *lists):
            lead = next(
                (at for at, one in enumerate(tokens) if not allows(masks[at], one)), len(tokens)
            )
            self._hold_faster_way(matcher, tokens, lead)

    def _hold_faster_way(self, matcher: FollowingMatcher, tokens: Sequence[int], lead: int) -> None:
        self._asks()
        answers = [matcher.follow(tokens)]
        if tokens and isinstance(matcher, LeadingMatcher):
            answers.append(matcher.follow_behind(tokens[0], tokens[1:]))
        for taken in answers:
            if taken == lead:
                continue
            at = min(taken, lead)
            trial = matcher.clone()
            goes = all(map(trial.consume, tokens[:at])) and trial.consume(tokens[at])
            if goes == (lead > at):  # else mask and `consume` differ: another error
                detail = f"it takes {taken} of {list(tokens)}, {lead} are allowed"
                raise _found("faster_way", detail)

    def _asked(self, matcher: Matcher, buffer: Mask) -> Mask:
        self._asks()
        matcher.mask(buffer)
        return buffer

    def _compare(self, seen: Mask, other: Mask, what: str) -> None:
        """Raise what two masks of one state show where they differ; `other` was the inverse."""
        differ = (seen ^ other) & self.within
        words = np.flatnonzero(differ)
        if not len(words):
            return
        if np.array_equal(other[words], ~seen[words]):
            raise _found("mask_not_written", f"{len(words)} of {len(seen)} words")
        bits = np.unpackbits(differ[words[:1]].view(np.uint8), bitorder="little")
        token = int(words[0]) * 32 + int(np.flatnonzero(bits)[0])
        many = int(np.bitwise_count(differ).sum())
        raise _found(what, f"{many} bits, {self._told(token, was=allows(seen, token))}")

    def _told(self, token: int, *, was: bool) -> str:
        text = self.vocabulary.tokens[token]
        return f"token {token} {text!r} {'was' if was else 'was not'} allowed before"


def _found(what: str, detail: str) -> FaultFound:
    return FaultFound(AdapterFault(what, detail))
