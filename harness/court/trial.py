"""One trial: a rule, held against a library's fresh matchers behind some consumed tokens.

Whatever a rule compares, it compares with a matcher that is new and was led to the place by nothing
but consuming. So a complaint rests on what is in the trial alone, and repeating it is repeating the
trial. This runs inside the host, next to the library, and needs nothing but numpy.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.inputs.vocabulary import Vocabulary
from harness.protocol import Library, LibraryCalls, Mask, Masks, allows, token_ids

Tokens = tuple[int, ...]


class Unreachable(Exception):
    """The library does not consume the tokens that lead to where a rule is to be tried."""


_KEPT = 1 << 14
"""Answers of fresh matchers that are kept."""
_KEPT_WORDS = 1 << 23
"""Words of masks that are kept: 32 MiB."""


def _unmarked(_consumed: Tokens, _tokens: Tokens | None) -> None:
    pass


@dataclass(frozen=True, eq=False)
class Subject:
    """A schema as one library has compiled it.

    Attributes:
        library: It.
        vocabulary: The tokens that the library was given.
        mark: Told what is going to be tried behind which tokens, as `Bookmark.put`.
    """

    library: Library
    vocabulary: Vocabulary
    mark: Callable[[Tokens, Tokens | None], None] = _unmarked
    _masks: dict[Tokens, Mask] = field(default_factory=dict)
    _reached: dict[Tokens, bool] = field(default_factory=dict)

    def at(self, consumed: Sequence[int]) -> LibraryCalls:
        """A fresh matcher behind `consumed`.

        Raises:
            Unreachable: It does not get there.
        """
        calls = self.library.fresh()
        if led(calls, consumed) < len(consumed):
            raise Unreachable
        return calls

    def reaches(self, consumed: Sequence[int]) -> bool:
        """Whether a fresh matcher, which may take milliseconds, consumes all of `consumed`."""
        key = tuple(consumed)
        if key not in self._reached:
            if len(self._reached) >= _KEPT:
                self._reached.clear()
            self._reached[key] = led(self.library.fresh(), key) == len(key)
        return self._reached[key]

    def mask(self, calls: LibraryCalls) -> Mask:
        """What a matcher says may come next, shape ``(words,)``, with all bits that it sets."""
        out = np.zeros(self.vocabulary.words, dtype=np.uint32)
        calls.mask(out)
        return out

    def mask_at(self, consumed: Sequence[int]) -> Mask:
        """The mask of a fresh matcher behind `consumed`; read-only. Raises as `at` does."""
        key = tuple(consumed)
        if key not in self._masks:
            if len(self._masks) * self.vocabulary.words >= _KEPT_WORDS:
                self._masks.clear()
            mask = self._masks[key] = self.mask(self.at(key))
            mask.setflags(write=False)
        return self._masks[key]

    def ends_at(self, consumed: Sequence[int]) -> bool:
        """Whether the mask behind `consumed` allows an end of sequence."""
        mask = self.mask_at(consumed)
        return any(allows(mask, end) for end in self.library.ends)

    def named(self, token: int) -> str:
        """A token, for people."""
        known = 0 <= token < self.vocabulary.size
        return f"token {token} {self.vocabulary.tokens[token]!r}" if known else f"id {token}"

    def differ(self, found: Mask, expected: Mask) -> str:
        """How a mask differs from the expected one, in words; empty where it does not."""
        differing = found ^ expected
        if not differing.any():
            return ""
        first = int(token_ids(differing, 32 * len(differing))[0])
        many = int(np.bitwise_count(differing).sum())
        which = "allowed" if allows(found, first) else "forbidden"
        return f"{many} bits differ: {self.named(first)} is {which} there"


def written(vocabulary: Vocabulary, consumed: Tokens) -> str:
    """The text of tokens, for people."""
    return b"".join([vocabulary.tokens[one] for one in consumed]).decode("utf-8", "replace")


def led(calls: LibraryCalls, tokens: Sequence[int]) -> int:
    """How many of the leading `tokens` a matcher consumes; it stays behind them."""
    return next((at for at, one in enumerate(tokens) if not calls.consume(one)), len(tokens))


@dataclass(frozen=True)
class TrialPlace:
    """Where rules are tried.

    Attributes:
        consumed: What leads there.
        rest: Tokens that may go on from there, as the way does, with the end of sequence if the
            way comes to it.
        draws: For what is sampled.
        sweep: How many tokens are tried one by one; None for the whole vocabulary.
    """

    consumed: Tokens
    rest: Tokens
    draws: random.Random
    sweep: int | None


@dataclass(frozen=True)
class Offered:
    """What a rule is to be tried with at a place.

    Attributes:
        trials: The tokens of each trial.
        checks: How many things were looked at to find these; None where each trial is one.
    """

    trials: Sequence[Tokens]
    checks: int | None = None

    @property
    def count(self) -> int:
        """How many checks these trials are."""
        return len(self.trials) if self.checks is None else self.checks


@dataclass(frozen=True)
class Rule:
    """Something that a server relies on.

    Attributes:
        name: Its word in tables and files.
        says: What holds where it is kept.
        needs: The calls (fields of `LibraryCalls`) without which it cannot be tried.
        offer: With what it is to be tried at a place.
        judge: Tries it behind consumed tokens with some more; a complaint, or None. May raise
            `Unreachable`, and whatever the library raises.
        applies: Whether it can be held against a library at all; else why not.
        shrinks: Whether fewer tokens make a trial of it, too.
    """

    name: str
    says: str
    needs: tuple[str, ...]
    offer: Callable[[Subject, TrialPlace], Offered]
    judge: Callable[[Subject, Tokens, Tokens], str | None]
    applies: Callable[[Library], str] = lambda _: ""
    shrinks: bool = False

    def missing(self, library: Library) -> str:
        """What keeps the rule from being tried, in words; empty where nothing does."""
        calls = library.fresh()
        lacking = [name for name in self.needs if getattr(calls, name) is None]
        return f"no {' and no '.join(lacking)}" if lacking else self.applies(library)


_UNTOUCHED = 0xA5A5A5A5


def empty_rows(subject: Subject, count: int) -> Masks:
    """Rows for masks, shape ``(count, words)``, in which it shows whether they are written to."""
    return np.full((count, subject.vocabulary.words), _UNTOUCHED, dtype=np.uint32)


def untouched(row: Mask) -> bool:
    """Whether nothing was written to a row."""
    return bool((row == _UNTOUCHED).all())


def nothing_more(_subject: Subject, _place: TrialPlace) -> Offered:
    """One trial at the place itself."""
    return Offered([()])
