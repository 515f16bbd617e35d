"""A check at work: each engine in a thread of its own, on bytes first, then on the vocabulary.

What is proven on a vocabulary of bytes is proven, since the larger ones hold these tokens, too. It
comes within seconds, and the whole vocabulary confirms and widens it.
"""

from __future__ import annotations

import ctypes
import json
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from harness.bugs.listing import bug_of
from harness.bugs.shrink import Shrinker
from harness.bugs.trial import Trial
from harness.check.advice import remedies
from harness.check.answers import Answer, ProvenError, read_answers
from harness.check.request import CheckRequest
from harness.classification.departures import Catalogue
from harness.engines.panel import Panel
from harness.engines.specs import EngineSpec
from harness.errors import MaskcourtError, UsageError
from harness.execution.bench import Executor, lane_here, run_with
from harness.execution.lanes import Lane, LaneSettings, default_lanes
from harness.execution.progress import RunProgress
from harness.execution.request import BenchRequest
from harness.inputs.schema_inputs import read_instance
from harness.inputs.tools import NamedSchema
from harness.inputs.vocabulary_names import BYTES
from harness.inputs.vocabulary_readers import open_vocabulary
from harness.interrupts import SIGNALS
from harness.runs.directory import RunDirectory
from harness.runs.made_with import engines_of, vocabulary_of
from harness.validators.judge import Judge

CASES = "schemas.jsonl"
"""The cases of a check, in its directory."""

AT_ONCE = 3
"""Engines that are at work at a time, or more where there is room."""

_Lost = tuple[MaskcourtError, list[Answer]]
"""Why an engine gave no answer at all, and that as its answers."""

_ON_BYTES: Mapping[str, Any] = {"cap": 40, "generated": 64, "samples": 64}
"""Rules for bytes, where a text costs next to nothing."""

_PATIENCE = 2.0
"""Seconds in which an engine's thread is to end by itself."""

_LOOK = 0.1
"""Seconds for which a wait for answers cannot be interrupted."""


class SchemaCheck:
    """A check while it is at work; its runs go to a directory, made where it is not there."""

    def __init__(
        self,
        request: CheckRequest,
        schemas: Sequence[NamedSchema],
        directory: Path,
        catalogue: Catalogue,
    ) -> None:
        self._request, self._directory, self._catalogue = request, directory, catalogue
        self._cases = "".join(_lines(schemas, request))
        self._specs = request.specs
        self._schemas = {one.name: one.text for one in schemas}
        self._told: queue.SimpleQueue[Answer | _Lost | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(max(AT_ONCE, default_lanes(1)))
        self._threads: set[int] = set()

    def __enter__(self) -> Self:
        self._directory.mkdir(parents=True, exist_ok=True)
        (self._directory / CASES).write_text(self._cases, "utf-8")
        self._vocabulary = open_vocabulary(self._request.vocabulary)
        self._works = [self._pool.submit(self._work, spec) for spec in self._specs]
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
        wait(self._works, _PATIENCE)
        for thread in tuple(self._threads):  # it computes, and heeds nothing
            error = ctypes.py_object(KeyboardInterrupt)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), error)
        self._pool.shutdown()

    def answers(self) -> Iterator[Answer]:
        """What is known of each engine and schema, as it becomes known; the whole comes last.

        Raises:
            MaskcourtError: None of the engines can be started or installed.
        """
        working, is_any = len(self._specs), False
        lost: list[MaskcourtError] = []
        waiting: list[Answer] = []  # those of engines that are lost wait for another's
        while working:
            try:
                told = self._told.get(timeout=_LOOK)
            except queue.Empty:
                continue
            match told:
                case None:
                    working -= 1
                case Answer():
                    is_any = True
                    waiting.append(told)
                case error, answers:
                    lost.append(error)
                    waiting += answers
            if is_any:
                yield from waiting
                waiting = []
        if waiting:
            reasons = "; ".join(map(str, lost))
            raise lost[0] if len(lost) == 1 else UsageError(f"no engine can be had: {reasons}")

    def _work(self, spec: EngineSpec) -> None:
        """All that is asked of one engine."""
        # what is started from here on hears nothing of a Ctrl-C: the main thread decides
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        self._threads.add(threading.get_ident())
        answered = set()

        def failed(message: str) -> list[Answer]:
            names = (name for name in self._schemas if name not in answered)
            return [Answer(name, spec.name, message=message, whole=True) for name in names]

        try:
            for answer in self._answered(spec):
                answered.add(answer.schema if answer.whole else "")
                self._told.put(answer)
        except KeyboardInterrupt:
            pass
        except MaskcourtError as error:
            for lost in failed(str(error)) if answered else [(error, failed(str(error)))]:
                self._told.put(lost)
        except Exception as error:  # noqa: BLE001 - what others found is told all the same
            for one in failed(f"an error of maskcourt itself: {type(error).__name__}: {error}"):
                self._told.put(one)
        finally:
            self._threads.discard(threading.get_ident())
            self._told.put(None)

    def _answered(self, spec: EngineSpec) -> Iterator[Answer]:
        known: dict[str, Answer] = {}
        judge = Judge(self._request.limits.memory, formats=self._request.rules.formats)
        with ExitStack() as stack:
            stack.callback(judge.close)
            panels: list[Panel] = []

            def ran(spelled: str) -> RunDirectory:
                def opened(settings: LaneSettings) -> Lane:
                    if not panels:
                        words, path = self._vocabulary.words, settings.vocabulary_path
                        panels.append(Panel(settings.specs, path, words, settings.limits))
                        stack.callback(panels[0].close)
                    vocabulary = self._vocabulary if spelled != BYTES else open_vocabulary(BYTES)
                    return Lane(settings, (vocabulary, judge, panels[0]), self._heed)

                return self._run(spec, spelled, lane_here(opened))

            if self._request.vocabulary != BYTES:
                known = read_answers(ran(BYTES), self._catalogue)
                yield from known.values()
            run = ran(self._request.vocabulary)
            (spec,) = engines_of(run)
            panel = panels[0] if panels else None
            trial = Trial(spec, judge, self._catalogue, panel=panel)
            stack.callback(trial.close)
            cases = _SmallestCases(trial, self._catalogue)
            for name, answer in read_answers(run, self._catalogue).items():
                whole, schema = answer, self._schemas[name]
                if name in known:
                    whole = known[name].joined(answer)
                errors, skipped = cases.of(whole.errors, schema, self._stopper())
                whole = replace(whole, errors=errors, skipped=skipped, whole=True)
                advice = tuple(remedies(spec, trial, whole, schema, self._stopper()))
                yield replace(whole, advice=advice)

    def _stopper(self) -> Callable[[], bool]:
        """What tells that nothing more is to be begun about a schema."""
        ends = time.monotonic() + self._request.seconds
        return lambda: self._stop.is_set() or time.monotonic() > ends

    def _heed(self) -> None:
        if self._stop.is_set():
            raise KeyboardInterrupt

    def _run(self, spec: EngineSpec, vocabulary: str, executor: Executor) -> RunDirectory:
        request = self._request
        name = "".join(one if one.isalnum() or one in ".@" else "-" for one in spec.name)
        asked = BenchRequest(
            engines=[spec.name],
            cases=str(self._directory / CASES),
            out=self._directory / f"{name}-{vocabulary.rpartition('/')[2]}",
            vocabulary=vocabulary,
            rules=replace(request.rules, **(_ON_BYTES if vocabulary == BYTES else {})),
            limits=request.limits,
        )
        run = run_with(executor, asked, progress=_Quiet)
        return RunDirectory(run.path, run.manifest, trusted=True)


class _SmallestCases:
    """Shrinks errors of one engine until that `stops`; then a case stays as it is."""

    def __init__(self, trial: Trial, catalogue: Catalogue) -> None:
        self._trial, self._catalogue = trial, catalogue
        self._shrinkers: dict[RunDirectory, Shrinker] = {}

    def of(
        self, errors: Sequence[ProvenError], schema: str, stops: Callable[[], bool]
    ) -> tuple[tuple[ProvenError, ...], int]:
        """Errors under a schema with their smallest cases, the worst first; each bug once.

        What is not shrunk stays where all others are about something else. With it comes how many
        there was no time for.
        """
        skipped = 0
        ordered = sorted(errors, key=lambda one: one.order)
        first = {one.effect: one for one in reversed(ordered)}  # the worst of each before others
        shrunk: dict[str, ProvenError] = {}
        rest: list[ProvenError] = []
        for one in dict.fromkeys([*reversed(first.values()), *ordered]):
            late = not one.is_spelling and stops()
            skipped += late
            error = one if one.is_spelling or late else self._shrunk(one, schema, stops)
            if error.bug is None:
                rest.append(error)
            else:
                shrunk.setdefault(error.bug.id, error)
        known = {one.about for one in shrunk.values()}
        alone = {one.about: one for one in reversed(rest) if one.about not in known}
        every = (*shrunk.values(), *alone.values())
        return tuple(sorted(every, key=lambda one: one.order)), skipped

    def _shrunk(self, one: ProvenError, schema: str, stops: Callable[[], bool]) -> ProvenError:
        """An error with its smallest case, where that shows it."""
        run, witness = one.run, one.witness
        assert run is not None
        assert witness is not None
        if run not in self._shrinkers:
            about = (engines_of(run), self._catalogue, vocabulary_of(run), self._trial)
            self._shrinkers[run] = Shrinker.of(run, *about)
        sample = self._shrinkers[run].sample(witness, schema, one.class_, stops)
        return one if sample.error is None else replace(one, bug=bug_of(run, sample))


class _Quiet(RunProgress):
    """Tells nothing: the answers say it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def plain(self, line: str) -> None: ...

    def say(self, line: str) -> None: ...

    def update(self, done: int, note: str | None = None, total: int | None = None) -> None: ...


def _lines(schemas: Sequence[NamedSchema], request: CheckRequest) -> Iterator[str]:
    """The cases as lines of JSON, each schema as its author spelled it but for ends of lines."""
    files = {"valid": request.valid, "invalid": request.invalid}
    texts = {
        label: [{"text": read_instance(file, is_json=label == "valid").decode()} for file in given]
        for label, given in files.items()
    }
    for one in schemas:
        schema = one.text.replace("\n", " ").replace("\r", " ")
        head = json.dumps({"id": one.name, **texts}, ensure_ascii=False)
        yield f'{head[:-1]}, "schema": {schema}}}\n'
