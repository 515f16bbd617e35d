"""The search for the bugs of a run: shrink what must be shrunk, until every verdict is explained.

Hosts do the work; a thread each waits for the engine and the validators of one lane. What is found
is kept beside the run and used again, so that a search goes on where it was interrupted.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from harness.bugs.from_verdict import Shrinker
from harness.bugs.groups import ErrorRows, Explanation, explain, read_verdicts
from harness.bugs.samples import SampleFile, ShrunkVerdict, smallest
from harness.classification.departures import Catalogue, classify
from harness.counting.counts import Classify
from harness.inputs.vocabulary import Vocabulary
from harness.replay.witness import verdict_name
from harness.replay.witness_reader import Choice, named, witnesses
from harness.runs.directory import RunDirectory
from harness.runs.made_with import engines_of, limits_of, vocabulary_at_hand, vocabulary_of
from harness.runs.tables import VERDICT_TABLES
from harness.validators.format_rules import format_rule
from harness.verdict_kinds import CLASSES

_Work = Callable[[Shrinker, Callable[[], bool]], ShrunkVerdict]
"""What is done with a shrinker until it is told to stop."""

Progress = Callable[[int, int, int], None]
"""Told how many verdicts were shrunk, how many more are known to be wanted, and bugs so far."""


@dataclass(frozen=True)
class Found:
    """The bugs of a run, as far as they are known.

    Attributes:
        verdicts: All errors of the run.
        among: Which of them were looked at.
        explanation: Which bug each of these is.
        samples: What was shrunk.
    """

    verdicts: ErrorRows
    among: npt.NDArray[np.int64]
    explanation: Explanation
    samples: Mapping[str, ShrunkVerdict]


def search(
    run: RunDirectory,
    catalogue: Catalogue,
    *,
    classes: Sequence[str],
    seed: int,
    lanes: int,
    progress: Progress,
    seconds: float | None = None,
    rule: Classify | None = None,
) -> Found:
    """Shrink samples of a finished run until they explain all errors of some classes.

    Args:
        run: The run.
        catalogue: The declared departures.
        classes: What verdicts count as that are looked at.
        seed: By which samples are drawn.
        lanes: How many verdicts are shrunk at a time.
        progress: Told how far it is.
        seconds: After so long nothing more is begun; None for no end before all is explained.
        rule: Gives verdicts the classes of the catalogue, where they are known already.

    Raises:
        MaskcourtError: The run, its engines or its vocabulary cannot be used.
    """
    ends = None if seconds is None else time.monotonic() + seconds
    vocabulary = vocabulary_of(run)
    verdicts, among = _read(run, rule or _rule(catalogue, vocabulary), vocabulary, classes, seed)
    file = SampleFile(run, catalogue, seed)
    samples = file.read()
    began, bugs = len(samples), {one.bug for one in samples.values()} - {""}
    with ExitStack() as stack:
        pool: _Pool | None = None
        while (explanation := explain(verdicts, samples, among)).wanted:
            if ends is not None and time.monotonic() > ends:
                break
            if pool is None:
                file.begin()
                pool = stack.enter_context(_pool(run, catalogue, vocabulary, lanes))
            wanted = {
                verdicts.name(one): CLASSES[verdicts.class_[one]] for one in explanation.wanted
            }
            for sample in pool.shrunk(run, dict(wanted), ends):
                samples[sample.verdict] = sample
                file.append(sample)
                done = len(samples) - began
                del wanted[sample.verdict]
                bugs |= {sample.bug} - {""}
                progress(done, len(wanted), len(bugs))
        if not explanation.wanted and file.seed != seed:
            file.begin()  # that nothing is left to shrink is known, too
        alone = [one for one in smallest(samples.values()).values() if one.others is None]
        if alone and not explanation.wanted:
            pool = pool or stack.enter_context(_pool(run, catalogue, vocabulary, lanes))
            for sample in pool.with_others(alone, ends):
                samples[sample.verdict] = sample
                file.append(sample)
    return Found(verdicts, among, explanation, samples)


def known(
    run: RunDirectory,
    catalogue: Catalogue,
    *,
    classes: Sequence[str],
    rule: Classify | None = None,
) -> Found | None:
    """What a search found so far; nothing is started, shrunk or written; see `search`.

    Returns:
        None where nothing was searched for yet, or the run's vocabulary is not at hand.

    Raises:
        RunDirectoryError: The run is damaged.
    """
    file = SampleFile(run, catalogue)
    seed = file.seed
    vocabulary = None if seed is None else vocabulary_at_hand(run)
    if vocabulary is None or seed is None:
        return None
    samples = file.read()
    verdicts, among = _read(run, rule or _rule(catalogue, vocabulary), vocabulary, classes, seed)
    return Found(verdicts, among, explain(verdicts, samples, among), samples)


def _rule(catalogue: Catalogue, vocabulary: Vocabulary) -> Classify:
    return lambda run, evidence: classify(catalogue, run, evidence, vocabulary)


def _read(
    run: RunDirectory,
    rule: Classify,
    vocabulary: Vocabulary,
    classes: Sequence[str],
    seed: int,
) -> tuple[ErrorRows, npt.NDArray[np.int64]]:
    """The errors of a run, and which of them are of some classes."""
    verdicts = read_verdicts(run, rule, vocabulary, seed)
    wanted = [CLASSES.index(one) for one in classes]
    return verdicts, np.flatnonzero(np.isin(verdicts.class_, wanted))


def minimized(run: RunDirectory, catalogue: Catalogue, verdict: str) -> ShrunkVerdict:
    """One verdict of a run, shrunk.

    Raises:
        MaskcourtError: There is no such verdict, or the run's engines cannot be used.
    """
    vocabulary = vocabulary_of(run)
    with _pool(run, catalogue, vocabulary, 1) as pool:
        (sample,) = pool.shrunk(run, {verdict: ""})
    return sample


class _Pool:
    """Threads with a shrinker each."""

    def __init__(
        self,
        make: Callable[[], Shrinker],
        vocabulary: Vocabulary,
        lanes: int,
    ) -> None:
        self._make = make
        self._vocabulary = vocabulary
        self._idle: queue.SimpleQueue[Shrinker] = queue.SimpleQueue()
        self._made: list[Shrinker] = []
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._threads = ThreadPoolExecutor(lanes)

    def shrunk(
        self, run: RunDirectory, classes: Mapping[str, str], ends: float | None = None
    ) -> Iterator[ShrunkVerdict]:
        """What becomes of verdicts, begun in their order; after a time nothing more is begun.

        Args:
            run: The run.
            classes: What each verdict counts as, by its name; empty where that is not asked for.
            ends: The time, as `time.monotonic` has it; None for no end.
        """
        choice = named(run, list(classes))
        attributed = _keywords(run, choice)
        cases = witnesses(run, choice, self._vocabulary)
        at_hand = {one.name: (one, case.schema) for case in cases for one in case.witnesses}

        def work(name: str) -> _Work:
            witness, schema = at_hand[name]
            of = (witness, schema, attributed[name], classes[name])
            return lambda shrinker, stopped: shrinker.sample(*of, stopped)

        yield from self._done([work(name) for name in classes], ends)

    def with_others(
        self, samples: Sequence[ShrunkVerdict], ends: float | None
    ) -> Iterator[ShrunkVerdict]:
        """Samples with what the other engines do with their smallest cases."""

        def work(sample: ShrunkVerdict) -> _Work:
            assert sample.error is not None
            error = sample.error
            return lambda shrinker, _: replace(sample, others=shrinker.others(error))

        yield from self._done([work(one) for one in samples], ends)

    def _done(self, works: Sequence[_Work], ends: float | None) -> Iterator[ShrunkVerdict]:
        futures = [self._threads.submit(self._one, work, ends) for work in works]
        try:
            for future in as_completed(futures):
                if (one := future.result()) is not None:
                    yield one
        except BaseException:
            self._ended.set()
            raise
        finally:
            for future in futures:
                future.cancel()

    def _one(self, work: _Work, ends: float | None) -> ShrunkVerdict | None:
        """What comes of a piece of work; None where it is stopped before that is known."""

        def stopped() -> bool:
            return self._ended.is_set() or (ends is not None and time.monotonic() > ends)

        if stopped():
            return None
        try:
            shrinker = self._idle.get_nowait()
        except queue.Empty:
            shrinker = self._make()
            with self._lock:
                self._made.append(shrinker)
        try:
            found = work(shrinker, stopped)
            return None if stopped() else found
        finally:
            self._idle.put(shrinker)

    def close(self) -> None:
        """End threads and hosts."""
        self._ended.set()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for shrinker in self._made:
            shrinker.close()


@contextmanager
def _pool(
    run: RunDirectory, catalogue: Catalogue, vocabulary: Vocabulary, lanes: int
) -> Iterator[_Pool]:
    specs = {one.name: one for one in engines_of(run)}
    memory, formats = limits_of(run).memory, format_rule(run.manifest["identity"])
    made_with = run.manifest["identity"]["engines"]

    def make() -> Shrinker:
        return Shrinker(specs, made_with, catalogue, vocabulary, memory, formats)

    pool = _Pool(make, vocabulary, lanes)
    try:
        yield pool
    finally:
        pool.close()


def _keywords(run: RunDirectory, choice: Choice) -> dict[str, str]:
    """The keywords that verdicts were attributed to, by their names."""
    out: dict[str, str] = {}
    for evidence, table in VERDICT_TABLES.items():
        rows = choice.of(evidence)
        keywords = run.table(table, ["keyword"])["keyword"].take(rows).to_pylist()
        names = (verdict_name(evidence, row) for row in rows)
        out |= {name: one or "" for name, one in zip(names, keywords, strict=True)}
    return out
