"""The search for the bugs of a run: shrink what must be shrunk, until every verdict is explained.

Hosts do the work; a thread each waits for the engine and the validators of one lane. What is found
is kept beside the run and used again, so that a search goes on where it was interrupted.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from functools import cached_property, partial

from harness.bugs.groups import Explanation, explain, read_verdicts
from harness.bugs.pattern_trial import PatternTrial
from harness.bugs.pattern_witnesses import pattern_rows, shrunk_witness, witnesses_of
from harness.bugs.samples import SampleFile, ShrunkVerdict, smallest
from harness.bugs.shrink import Known, Shrinker
from harness.bugs.trial import Trial
from harness.engines.specs import EngineSpec
from harness.inputs.vocabulary import Vocabulary
from harness.regex_constraint.work import RegexRun
from harness.replay.witness_reader import named, witnesses
from harness.runs.directory import RunDirectory
from harness.runs.made_with import engines_of, vocabulary_of
from harness.verdict_kinds import CLASSES

_Work = Callable[..., ShrunkVerdict]
"""What is done with a shrinker until it is to stop, which its argument `stopped` tells."""


def search(
    run: RunDirectory,
    *,
    classes: Sequence[str],
    seed: int,
    lanes: int,
    progress: Callable[[int, int, int], None],
    seconds: float | None = None,
) -> Explanation:
    """Shrink samples of a finished run until they explain all errors of some classes.

    Errors that are not shown to cost a value are left out. After `seconds` nothing more is begun.
    `progress` is given how many verdicts were shrunk, how many more are known to be wanted, and
    bugs so far.

    Raises:
        MaskcourtError: The run, its engines or its vocabulary cannot be used.
    """
    ends = math.inf if seconds is None else time.monotonic() + seconds
    vocabulary = vocabulary_of(run)
    if isinstance(run, RegexRun):
        verdicts = pattern_rows(run)
    else:
        verdicts = read_verdicts(run, vocabulary, seed)
    among = verdicts.among(classes)
    file = SampleFile(run, seed)
    samples, seed_before = file.read()
    began = len(samples)

    def keep(sample: ShrunkVerdict) -> None:
        samples[sample.verdict] = sample
        file.append(sample)

    with closing(_Pool(run, vocabulary, lanes, ends)) as pool:
        while (explanation := explain(verdicts, samples, among)).wanted and not pool.stopped():
            file.begin()
            rows = explanation.wanted
            wanted = {verdicts.name(row): CLASSES[verdicts.class_[row]] for row in rows}
            for done, sample in enumerate(pool.shrunk(wanted), 1):
                keep(sample)
                bugs = {sample.bug for sample in samples.values()} - {""}
                progress(len(samples) - began, len(wanted) - done, len(bugs))
        if not explanation.wanted:
            if seed_before != seed:
                file.begin()  # that nothing is left to shrink is known, too
            for sample in pool.with_others(smallest(samples.values()).values()):
                keep(sample)
    return explanation


class _Pool:
    """Threads with a shrinker each, made as they are needed; after `ends` no work is begun."""

    def __init__(self, run: RunDirectory, vocabulary: Vocabulary, lanes: int, ends: float) -> None:
        self._run, self._vocabulary = run, vocabulary
        self._idle: queue.SimpleQueue[Shrinker] = queue.SimpleQueue()
        self._ended, self._ends = threading.Event(), ends
        self._threads = ThreadPoolExecutor(lanes)
        self._known = Known()

    def stopped(self) -> bool:
        return self._ended.is_set() or time.monotonic() > self._ends

    def shrunk(self, classes: Mapping[str, str]) -> Iterator[ShrunkVerdict]:
        """What becomes of verdicts, begun in their order; `classes` says what each counts as."""
        works: dict[str, _Work] = {}
        if isinstance(self._run, RegexRun):
            shown = witnesses_of(self._run)
            works = {x: partial(shrunk_witness, name=x, shown=shown[int(x)]) for x in classes}
            return self._done(list(works.values()))
        for case in witnesses(self._run, named(self._run, list(classes)), self._vocabulary):
            for witness in case.witnesses:
                counts_as = classes[witness.name]
                works[witness.name] = partial(
                    Shrinker.sample, witness=witness, schema=case.schema, class_=counts_as
                )
        return self._done([works[name] for name in classes])

    def with_others(self, samples: Iterable[ShrunkVerdict]) -> Iterator[ShrunkVerdict]:
        """Samples with what the other engines do with their smallest cases, where not known."""
        alone = [sample for sample in samples if sample.others is None]
        return self._done([partial(Shrinker.with_others, sample=sample) for sample in alone])

    @cached_property
    def _specs(self) -> Sequence[EngineSpec]:
        return engines_of(self._run)

    def _done(self, works: Sequence[_Work]) -> Iterator[ShrunkVerdict]:
        specs = self._specs if works else ()
        futures = [self._threads.submit(self._result, work, specs) for work in works]
        try:
            for future in as_completed(futures):
                if (sample := future.result()) is not None:
                    yield sample
        except BaseException:
            self._ended.set()
            raise
        finally:
            for future in futures:
                future.cancel()

    def _result(self, work: _Work, specs: Sequence[EngineSpec]) -> ShrunkVerdict | None:
        """What comes of a piece of work; None where it is stopped before that is known."""
        if self.stopped():
            return None
        try:
            shrinker = self._idle.get_nowait()
        except queue.Empty:
            shrinker = Shrinker(self._run, specs, self._vocabulary, known=self._known)
            shrinker.trial_type = PatternTrial if isinstance(self._run, RegexRun) else Trial
        try:
            sample = work(shrinker, stopped=self.stopped)
            return None if self.stopped() else sample
        finally:
            self._idle.put(shrinker)

    def close(self) -> None:
        self._ended.set()
        self._threads.shutdown(wait=True, cancel_futures=True)
        while not self._idle.empty():
            self._idle.get().close()
