"""What adapters share: states that cannot be copied, calls that libraries have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from harness.protocol import (
    FollowingMatcher,
    LibraryCalls,
    Mask,
    Masks,
    Vocabulary,
    allows,
    copied,
)


class EndingMatcher(FollowingMatcher):
    """A matcher that keeps itself whether it has ended, after which it allows nothing."""

    _ended = False

    def mask(self, out: Mask) -> None:
        if self._ended:
            out[:] = 0
        else:
            self._write(out)

    def _write(self, out: Mask) -> None:
        """Write the mask of a state before the end."""


class ReplayedMatcher(EndingMatcher):
    """A library's state that cannot be copied: a clone's is made again when it is wanted.

    Where the library knows one end of sequence the others mean the same.
    """

    def __init__(self, start: Callable[[], Any], vocabulary: Vocabulary) -> None:
        self._start, self._vocabulary = start, vocabulary
        self._made: Any = None
        self._consumed: tuple[int, ...] = ()

    @property
    def native(self) -> Any:
        """The library's state after the tokens that were consumed."""
        if self._made is None:
            made = self._start()
            for token in self._consumed:
                self._lead(made, token)
            self._made = made
        return self._made

    def mask(self, out: Mask) -> None:
        super().mask(out)
        if len(self._vocabulary.eos_ids) > 1 and allows(out, self._vocabulary.eos):
            np.bitwise_or(out, self._vocabulary.eos_mask, out=out)

    def consume(self, token: int) -> bool:
        if self._ended or not 0 <= token < self._vocabulary.size:  # libraries overflow on others
            return False
        if token in self._vocabulary.eos_ids:
            self._ended = self._may_end()
            return self._ended
        if not self._advance(token):
            return False
        self._consumed += (token,)
        return True

    def clone(self) -> Self:
        return copied(self, _made=None)

    def _write(self, out: Mask) -> None:
        write_mask(self.native, out)

    def _may_end(self) -> bool:
        return bool(self.native.is_accepting())

    def _advance(self, token: int) -> bool:
        return self._lead(self.native, token)

    def _lead(self, native: Any, token: int) -> bool:
        """Have a state of the library advance; False where it refuses, and is as it was."""
        return advanced(native, token)


def write_mask(guide: Any, out: Mask) -> None:
    """The mask of a guide, as outlines-core and oc-earley have them."""
    guide.write_mask_into(out.ctypes.data, out.size, out.itemsize)


def advanced(guide: Any, token: int) -> bool:
    """Whether a guide takes a token; one that it refuses leaves it as it was."""
    try:
        guide.advance(token, return_tokens=False)
    except ValueError:
        return False
    return True


def guide_calls(guide: Any, completed: str, terminated: str | None = None) -> LibraryCalls:
    """What a guide offers a server; two of its calls have other names in each library."""

    def fill_row(rows: Masks, row: int) -> None:
        write_mask(guide, rows[row])

    def validate(tokens: Sequence[int]) -> int:
        some = list(tokens)
        return next(n for n in range(len(some), -1, -1) if guide.accepts_tokens(some[:n]))

    return LibraryCalls(
        mask=lambda out: write_mask(guide, out),
        consume=lambda token: advanced(guide, token),
        native=guide,
        attempt=lambda token: advanced(guide, token),
        rollback=getattr(guide, "rollback_state", None),
        reset=getattr(guide, "reset", None),
        completed=getattr(guide, completed),
        terminated=getattr(guide, terminated) if terminated else None,
        validate=validate if hasattr(guide, "accepts_tokens") else None,
        fill_row=fill_row,
    )
