"""What validators are asked about the completed tokens of one position, each distinct text once.

A text is the position's text, a disputed token and a completion; it is named by the token's column
and the completion's number. Rulings are kept as numbers into a list of distinct ones, so that
thousands of tokens that share a completion are handled as arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.comparison.attempts import Attempts, Columns, Numbers
from harness.comparison.findings import Completion
from harness.schemas.schema import Fault
from harness.validators.judge import Judge, Ruling

_Ask = Callable[
    [bytes, Sequence[bytes], Sequence[bytes], Numbers], tuple[Sequence[Ruling], Numbers]
]
"""As `Judge.screen_many` and `Judge.judge_many`."""


@dataclass(frozen=True)
class AttemptRulings:
    """The rulings on some texts.

    Attributes:
        verdicts: Their verdicts, shape ``(len(rulings),)`` int8.
        which: The ruling of each text, shape ``(k,)``.
    """

    rulings: Sequence[Ruling]
    verdicts: npt.NDArray[np.int8]
    which: Numbers

    def only(self, chosen: npt.NDArray[np.bool_]) -> AttemptRulings:
        """Those on the chosen texts."""
        return AttemptRulings(self.rulings, self.verdicts, self.which[chosen])


class ValidatorQueries:
    """The validators at one position.

    Args:
        tokens: The bytes of every disputed token.
    """

    def __init__(
        self, judge: Judge, text: bytes, tokens: Sequence[bytes], completions: Sequence[Completion]
    ) -> None:
        self._judge = judge
        self._text = text
        self._tokens = tokens
        self._completions = completions
        self._screened = _RulingCache(len(tokens), self._asked(judge.screen_many))
        self._confirmed = _RulingCache(len(tokens), self._asked(judge.judge_many))

    def screen(self, attempts: Sequence[Attempts]) -> list[AttemptRulings]:
        """What the fast validator says, and both where it does not say invalid."""
        return self._screened.look(attempts)

    def confirm(self, attempts: Attempts) -> AttemptRulings:
        """What both validators say."""
        return self._confirmed.look([attempts])[0]

    def errors(self, column: int, number: int) -> list[Fault]:
        """The errors that the validators name in a completed token."""
        return self._judge.errors(
            self._text + self._tokens[column] + self._completions[number].text
        )

    def _asked(self, ask: _Ask) -> Callable[[Columns, Numbers], tuple[Sequence[Ruling], Numbers]]:
        """`ask`, given columns and completion numbers in place of texts."""

        def asked(columns: Columns, numbers: Numbers) -> tuple[Sequence[Ruling], Numbers]:
            used = np.unique(numbers)
            which: Numbers = np.searchsorted(used, numbers).astype(np.int32)
            suffixes = [self._completions[number].text for number in used.tolist()]
            middles = [self._tokens[column] for column in columns.tolist()]
            return ask(self._text, middles, suffixes, which)

        return asked


class _RulingCache:
    """The rulings on the texts of one position.

    Args:
        ask: Given columns and completion numbers, the distinct rulings and which each text has.
    """

    def __init__(
        self, count: int, ask: Callable[[Columns, Numbers], tuple[Sequence[Ruling], Numbers]]
    ) -> None:
        self._rulings: list[Ruling] = []
        self._verdicts: npt.NDArray[np.int8] = np.zeros(0, dtype=np.int8)
        self._count = max(count, 1)
        self._ask = ask
        self._place: dict[Ruling, int] = {}
        self._keys: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._which: Numbers = np.zeros(0, dtype=np.int32)

    def look(self, attempts: Sequence[Attempts]) -> list[AttemptRulings]:
        """The rulings on the texts of each of the attempts."""
        keys = [one.numbers.astype(np.int64) * self._count + one.columns for one in attempts]
        if not keys:
            return []
        wanted = np.unique(np.concatenate(keys))
        self._learn(wanted[~np.isin(wanted, self._keys, assume_unique=True)])
        found = [self._which[np.searchsorted(self._keys, one)] for one in keys]
        return [AttemptRulings(self._rulings, self._verdicts, which) for which in found]

    def _learn(self, keys: npt.NDArray[np.int64]) -> None:
        """Ask about texts that were not asked about before."""
        if not len(keys):
            return
        numbers, columns = np.divmod(keys, self._count)
        found, which = self._ask(columns, numbers.astype(np.int32))
        places = [self._place.setdefault(ruling, len(self._place)) for ruling in found]
        self._rulings = list(self._place)
        self._verdicts = np.array([ruling.verdict for ruling in self._rulings], dtype=np.int8)
        every = np.concatenate([self._keys, keys])
        order = np.argsort(every, kind="stable")
        self._keys = every[order]
        self._which = np.concatenate([self._which, np.array(places, dtype=np.int32)[which]])[order]
