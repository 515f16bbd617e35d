"""Screening: what the validators say of completed tokens, each distinct text asked about once.

A text is the position's text, a disputed token and a completion; it is named by the token's column
and the completion's number. Rulings are kept as numbers into a list of distinct ones, so that
thousands of tokens that share a completion are handled as arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from harness.validators.judge import Ruling

Columns = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]

Rulings = tuple[Sequence[Ruling], npt.NDArray[np.int32]]
"""Distinct rulings, and which of them each text has, shape ``(n,)``."""

Ask = Callable[[Columns, Numbers], Rulings]
"""Given columns and completion numbers, the rulings on each pair's text."""


class RulingCache:
    """The rulings on the texts of one position.

    Args:
        count: How many columns there are.
        ask: Asks the validators.

    Attributes:
        rulings: The distinct rulings so far.
        verdicts: Their verdicts, shape ``(len(rulings),)`` int8.
    """

    def __init__(self, count: int, ask: Ask) -> None:
        self.rulings: list[Ruling] = []
        self.verdicts: npt.NDArray[np.int8] = np.zeros(0, dtype=np.int8)
        self._count = max(count, 1)
        self._ask = ask
        self._place: dict[Ruling, int] = {}
        self._keys: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._said: Numbers = np.zeros(0, dtype=np.int32)

    def look(self, pairs: Sequence[tuple[Columns, Numbers]]) -> list[Numbers]:
        """For each pair of arrays, which ruling each text has; both arrays of shape ``(k,)``."""
        keys = [numbers.astype(np.int64) * self._count + columns for columns, numbers in pairs]
        if not keys:
            return []
        wanted = np.unique(np.concatenate(keys))
        self._learn(wanted[~np.isin(wanted, self._keys, assume_unique=True)])
        return [self._said[np.searchsorted(self._keys, one)] for one in keys]

    def _learn(self, keys: npt.NDArray[np.int64]) -> None:
        """Ask about texts that were not asked about before."""
        if not len(keys):
            return
        numbers, columns = np.divmod(keys, self._count)
        found, which = self._ask(columns, numbers.astype(np.int32))
        places = [self._place.setdefault(ruling, len(self._place)) for ruling in found]
        self.rulings = list(self._place)
        self.verdicts = np.array([ruling.verdict for ruling in self.rulings], dtype=np.int8)
        said = np.array(places, dtype=np.int32)[which]
        every = np.concatenate([self._keys, keys])
        order = np.argsort(every, kind="stable")
        self._keys = every[order]
        self._said = np.concatenate([self._said, said])[order]
