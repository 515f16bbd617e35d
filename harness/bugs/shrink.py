"""The reducer: from the case on which an error was found to the smallest that shows the same error.

Greedy: of the edits in the order of their passes the first that leaves the error as it was, and the
case smaller, is taken, until no edit is. The order is fixed and nothing is drawn, so that the same
case always shrinks to the same one. It knows neither schemas nor texts; `harness.bugs.passes` does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from harness.bugs.error_case import ErrorCase
from harness.bugs.passes import COMMON_FORMS, SMALLER, Pass
from harness.bugs.trial import Symptom, Trial

_BATCH = 24
"""Texts that are tried at a time under one schema."""

MOST = 4000
"""Cases that are tried at most."""

MOST_FAILURES, MOST_SECONDS = 8, 10.0
"""For one shrinking: failures of the engine, each costs it its host, and seconds of compilation."""

LAST_FAILURES, LAST_SECONDS = 2, 2.0
"""What is allowed of both for the common form where all was used up: the case is small by then."""


@dataclass(frozen=True)
class Shrunk:
    """The smallest case, what it shows, and how many cases were tried."""

    case: ErrorCase
    symptom: Symptom
    attempts: int


def shrink(
    trial: Trial, case: ErrorCase, symptom: Symptom, stopped: Callable[[], bool] = lambda: False
) -> Shrunk:
    """The smallest case with the same error; once `stopped` says so nothing more is tried."""
    return _Reduction(trial, case, symptom, stopped).run()


class _Reduction:
    def __init__(
        self, trial: Trial, case: ErrorCase, symptom: Symptom, stopped: Callable[[], bool]
    ) -> None:
        self._trial, self._stopped = trial, stopped
        self._best, self._symptom = case, symptom
        self._tried: set[tuple[object, ...]] = set()
        self._failures = trial.failures + MOST_FAILURES
        self._seconds = trial.seconds + MOST_SECONDS

    @property
    def _goes_on(self) -> bool:
        return (
            len(self._tried) < MOST
            and not self._stopped()
            and self._trial.failures < self._failures
            and self._trial.seconds < self._seconds
        )

    def run(self) -> Shrunk:
        self._until_smallest()
        if not self._goes_on:
            self._failures = self._trial.failures + LAST_FAILURES
            self._seconds = self._trial.seconds + LAST_SECONDS
        while self._changed(COMMON_FORMS, longer=True):
            self._until_smallest()
        return Shrunk(self._best, self._symptom, len(self._tried))

    def _until_smallest(self) -> None:
        while self._goes_on and self._changed(SMALLER):
            pass

    def _changed(self, passes: Sequence[Pass], *, longer: bool = False) -> bool:
        """Take all that some passes find; whether they found anything."""
        before = self._best
        for edits in passes:
            while self._goes_on and self._improved(edits, longer=longer):
                pass
        return self._best != before

    def _improved(self, edits: Pass, *, longer: bool) -> bool:
        """Take the first edit that is smaller and still the error; whether there was one."""
        for batch in _batches(self._untried(edits(self._best), longer=longer)):
            if not self._goes_on:
                return False
            for case, symptom in zip(batch, self._trial.reproduce_all(batch), strict=True):
                if symptom is not None and symptom.is_still(self._symptom):
                    self._best, self._symptom = case, symptom
                    return True
        return False

    def _untried(self, edited: Iterator[ErrorCase], *, longer: bool) -> Iterator[ErrorCase]:
        size = self._best.size
        for case in edited:
            key = (case.schema, case.text, case.token, case.token_at)
            if key not in self._tried and (longer or case.size < size):
                self._tried.add(key)
                yield case


def _batches(cases: Iterator[ErrorCase]) -> Iterator[Sequence[ErrorCase]]:
    """Neighbours with one schema together, some at a time."""
    for _, group in itertools.groupby(cases, key=lambda case: case.schema):
        while batch := list(itertools.islice(group, _BATCH)):
            yield batch
