"""What engines were found to allow at a position, and what validators say of it.

A text is the position's text, a disputed token and a completion; it is named by the token's column
and the completion's number. Rulings are kept as numbers into a list of distinct ones, so that
thousands of tokens that share a completion are handled as arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from harness.comparison.findings import Completion
from harness.validators.judge import Ruling
from harness.workers import wire

Columns = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Attempts:
    """One engine's completions (by number) of some disputed tokens, none twice; shapes ``(k,)``."""

    row: int
    columns: Columns
    numbers: Numbers


@dataclass(frozen=True)
class ViolationWitness:
    """An engine was found to consume what its mask forbids: the last of `tokens` after `token`.

    `consumes` says whether it consumes that one by itself, as it did in a longer text.
    """

    row: int
    token: int
    tokens: tuple[int, ...]
    consumes: bool


@dataclass(frozen=True)
class AttemptLists:
    """The completions that are attempted, and how far each entry has come.

    Attributes:
        list_of: Which list belongs to a column, shape ``(n,)``.
        rank: Where in its list an entry goes on, shape ``(e, n)``.
    """

    list_of: npt.NDArray[np.int32]
    members: wire.Ragged
    lists: Sequence[Sequence[int]]
    rank: npt.NDArray[np.int32]


def by_row(found: Sequence[Attempts]) -> list[Attempts]:
    """One entry per row, its columns ascending."""
    rows: dict[int, list[Attempts]] = {}
    for attempts in found:
        rows.setdefault(attempts.row, []).append(attempts)
    out = []
    for row, parts in sorted(rows.items()):
        columns = np.concatenate([part.columns for part in parts])
        order = np.argsort(columns, kind="stable")
        numbers = np.concatenate([part.numbers for part in parts])
        out.append(Attempts(row, columns[order], numbers[order]))
    return out


@dataclass(frozen=True)
class AttemptRulings:
    """The rulings on some texts: `which` each has, shape ``(k,)``, and their verdicts, int8."""

    rulings: Sequence[Ruling]
    verdicts: npt.NDArray[np.int8]
    which: Numbers


@dataclass
class RulingCache:
    """The rulings of a position's completed tokens; validators are asked once about each text.

    Attributes:
        ask: `Judge.screen_many` or `Judge.judge_many`.
        tokens: The bytes of every disputed token.
    """

    ask: Callable[
        [bytes, Sequence[bytes], Sequence[bytes], Numbers], tuple[Sequence[Ruling], Numbers]
    ]
    text: bytes
    tokens: Sequence[bytes]
    completions: Sequence[Completion]
    _place: dict[Ruling, int] = field(default_factory=dict)
    _keys: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _which: Numbers = field(default_factory=lambda: np.zeros(0, dtype=np.int32))

    def look(self, attempts: Sequence[Attempts]) -> list[AttemptRulings]:
        """The rulings on the texts of each of the attempts."""
        count = max(len(self.tokens), 1)
        keys = [one.numbers.astype(np.int64) * count + one.columns for one in attempts]
        if not keys:
            return []
        wanted = np.unique(np.concatenate(keys))
        new = wanted[~np.isin(wanted, self._keys, assume_unique=True)]
        if len(new):
            numbers, columns = np.divmod(new, count)
            self._learn(new, columns, numbers)
        rulings = list(self._place)
        verdicts = np.array([ruling.verdict for ruling in rulings], dtype=np.int8)
        which = [self._which[np.searchsorted(self._keys, one)] for one in keys]
        return [AttemptRulings(rulings, verdicts, one) for one in which]

    def _learn(self, keys: npt.NDArray[np.int64], columns: Columns, numbers: Columns) -> None:
        used, suffix = np.unique(numbers, return_inverse=True)
        suffixes = [self.completions[number].text for number in used.tolist()]
        middles = [self.tokens[column] for column in columns.tolist()]
        found, which = self.ask(self.text, middles, suffixes, suffix.astype(np.int32))
        places = [self._place.setdefault(ruling, len(self._place)) for ruling in found]
        every = np.concatenate([self._keys, keys])
        order = np.argsort(every, kind="stable")
        self._keys = every[order]
        self._which = np.concatenate([self._which, np.array(places, dtype=np.int32)[which]])[order]
