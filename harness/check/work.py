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
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
from harness.engines.panel import Panel
from harness.engines.specs import EngineSpec
from harness.errors import MaskcourtError, UsageError
from harness.execution.bench import Executor, lane_here, run_with
from harness.execution.lanes import CaseDone, Lane, LaneSettings, default_lanes
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

_ON_BYTES: Mapping[str, Any] = {"generated": 192, "samples": 32}
"""Rules for bytes, where a text costs next to nothing."""

_FIRST = 2
"""So many of many schemas are tried before the others, for a first answer."""

_ALIKE = 2
"""Errors that look alike and are shrunk, where there are many schemas."""

_PATIENCE = 2.0
"""Seconds in which an engine's thread is to end by itself."""

_LOOK = 0.1
"""Seconds for which a wait for answers cannot be interrupted."""


class SchemaCheck:
    """A check while it is at work; its runs go to a directory, made where it is not there.

    `heard` is told of each schema that was tried on single bytes, before there is an answer.
    """

    def __init__(
        self,
        request: CheckRequest,
        schemas: Sequence[NamedSchema],
        directory: Path,
        heard: Callable[[CaseDone], None] = lambda _: None,
    ) -> None:
        self._request, self._directory = request, directory
        self._specs = request.specs
        self._schemas = {one.name: one.text for one in schemas}
        first = {one.text: one.name for one in reversed(schemas)}
        self._alike: dict[str, list[str]] = {name: [] for name in first.values()}
        for one in schemas:  # one that occurs twice is asked about once
            self._alike[first[one.text]].append(one.name)
        self._heard = heard
        self._told: queue.SimpleQueue[Answer | _Lost | CaseDone | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(max(AT_ONCE, default_lanes(1)))
        self._threads: set[int] = set()
        self._budget, self._spent = request.compile_seconds, dict[str, float]()

    def __enter__(self) -> Self:
        self._directory.mkdir(parents=True, exist_ok=True)
        cases = "".join(_lines({one: self._schemas[one] for one in self._alike}, self._request))
        (self._directory / CASES).write_text(cases, "utf-8")
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
        """Answers as they become known, the whole ones last; MaskcourtError if no engine starts."""
        working, is_any = len(self._specs), False
        lost: list[MaskcourtError] = []
        known: dict[tuple[str, str], Answer] = {}
        waiting: list[Answer] = []  # those of engines that are lost wait for another's
        while working:
            try:
                told = self._told.get(timeout=_LOOK)
            except queue.Empty:
                continue
            match told:
                case None:
                    working -= 1
                case CaseDone():
                    self._heard(told)
                case Answer():
                    is_any = True
                    waiting.append(told)
                case error, answers:
                    lost.append(error)
                    waiting += answers
            if is_any:
                known |= {(one.engine, one.schema): one for one in waiting if one.whole}
                yield from waiting
                waiting = []
        if waiting:
            reasons = "; ".join(map(str, lost))
            raise lost[0] if len(lost) == 1 else UsageError(f"no engine can be had: {reasons}")
        if self._request.walks:
            yield from self._walked(known)

    def _walked(self, known: Mapping[tuple[str, str], Answer]) -> Iterator[Answer]:
        """What is known, with what masks show along values; who compiled for its time drops out."""
        names = [one.name for one in self._specs]
        up = [one for one in names if any(known[one, id_].version for id_ in self._alike)]
        if len(up) < 2:
            return
        left, apart = list(self._alike), {(engine, id_) for engine in up for id_ in self._alike}
        while left and len(up := [e for e in up if self._spent[e] < self._budget]) > 1:
            spent = dict(self._spent)
            run = self._walk(up, left)
            for number, engine in enumerate(up):
                for id_, walked in read_answers(run, number).items():
                    apart.remove((engine, id_))
                    for name in self._alike[id_]:
                        yield known[engine, name].with_walks(walked)
            left = [id_ for id_ in left if (up[0], id_) in apart]
            if self._spent == spent:
                break  # the run was there already
        late = self._left_out(max(self._spent.values()) < self._budget)
        for engine, id_ in sorted(apart):
            for one in (known[engine, name] for name in self._alike[id_]):
                yield replace(one, message=one.message or f"its masks: {late}")

    def _left_out(self, is_time: bool) -> str:
        """Why a schema was not tried: for the time that others took, or by the check before."""
        if is_time:
            return f"not tried by the check that is in {self._directory}: give another --out"
        return f"not tried: other schemas took {self._budget:g} s to compile (--compile-budget)"

    def _walk(self, engines: Sequence[str], wanted: Collection[str]) -> RunDirectory:
        """Walks under the schemas that are wanted, until an engine has compiled for its time."""
        with ExitStack() as stack:
            lanes: list[Lane] = []

            def opened(settings: LaneSettings) -> Lane:
                lanes.append(Lane(settings))
                stack.callback(lanes[0].close)
                return lanes[0]

            def compiled() -> dict[str, float]:
                some = zip(engines, lanes[0].panel.compiling, strict=True)
                return {engine: self._spent[engine] + seconds for engine, seconds in some}

            def is_time(name: str) -> bool:
                return name in wanted and max(compiled().values()) < self._budget

            name = f"walks-{len(engines)}"
            run = self._run(engines, name, self._request.vocabulary, lane_here(opened, is_time))
            self._spent |= compiled() if lanes else {}
            return run

    def _work(self, spec: EngineSpec) -> None:
        # what is started from here on hears nothing of a Ctrl-C: the main thread decides
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        self._threads.add(threading.get_ident())
        answered = set()

        def failed(message: str) -> list[Answer]:
            names = (name for name in self._schemas if name not in answered)
            return [Answer(name, spec.name, message=message, whole=True) for name in names]

        try:
            for answer in self._answered(spec):
                for name in self._alike[answer.schema]:
                    answered.add(name if answer.whole else "")
                    self._told.put(replace(answer, schema=name))
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

            def is_time(_: str) -> bool:
                return not panels or panels[0].compiling[0] < self._budget

            def ran(
                spelled: str, wanted: Callable[[str], bool], limit: int | None = None
            ) -> RunDirectory:
                def opened(settings: LaneSettings) -> Lane:
                    if not panels:
                        words, path = self._vocabulary.words, settings.vocabulary_path
                        panels.append(Panel(settings.specs, path, words, settings.limits))
                        stack.callback(panels[0].close)
                    vocabulary = self._vocabulary if spelled != BYTES else open_vocabulary(BYTES)
                    return Lane(settings, (vocabulary, judge, panels[0]), self._heed)

                name = "".join(one if one.isalnum() or one in ".@" else "-" for one in spec.name)
                name += f"-{spelled.rpartition('/')[2]}{'-first' * bool(limit)}"
                return self._run([spec.name], name, spelled, lane_here(opened, wanted), limit)

            if self._request.vocabulary != BYTES:
                for limit in [None] if len(self._alike) <= 2 * _FIRST else [_FIRST, None]:
                    told = known
                    known = read_answers(ran(BYTES, is_time, limit))
                    yield from (one for name, one in known.items() if name not in told)
            ends = time.monotonic() + self._request.whole_seconds

            def may_differ(name: str) -> bool:
                """Whether the whole vocabulary may say more of a schema, and there is time."""
                answered = name in known and known[name].status in ("errs", "no_error_found")
                return is_time(name) and (not known or (answered and time.monotonic() < ends))

            run = ran(self._request.vocabulary, may_differ)
            (spec,) = engines_of(run)
            panel = panels[0] if panels else None
            trial = Trial(spec, judge, panel=panel)
            stack.callback(trial.close)
            answers = {name: replace(one, whole=True, on_bytes=True) for name, one in known.items()}
            for name, answer in read_answers(run).items():
                joined = known[name].joined(answer) if name in known else answer
                answers[name] = replace(joined, whole=True)
            self._spent[spec.name] = panel.compiling[0] if panel else 0.0
            yield from self._explained(spec, trial, list(answers.values()))
            late = Answer("", spec.name, message=self._left_out(is_time("")), whole=True)
            yield from (replace(late, schema=name) for name in self._alike.keys() - answers.keys())

    def _explained(
        self, spec: EngineSpec, trial: Trial, answers: Sequence[Answer]
    ) -> Iterator[Answer]:
        """Answers with smallest cases and advice: of many, where values are at stake, at first."""
        many = len(answers)
        ends = time.monotonic() + self._request.seconds * (1 + (many - 1) / 100)

        def stops() -> bool:
            return self._stop.is_set() or time.monotonic() > ends

        cases = _SmallestCases(trial, _ALIKE if many > 1 else None)
        for one in sorted(answers, key=lambda one: one.standing[0] in (0, 4)):
            schema = self._schemas[one.schema]
            errors, skipped = cases.of(one.errors, schema, stops)
            whole = replace(one, errors=errors, skipped=skipped)
            if many == 1 or whole.status == "refuses" or any(error.bug for error in errors):
                whole = replace(whole, advice=tuple(remedies(spec, trial, whole, schema, stops)))
            yield whole

    def _heed(self) -> None:
        if self._stop.is_set():
            raise KeyboardInterrupt

    def _run(
        self,
        engines: Sequence[str],
        name: str,
        vocabulary: str,
        executor: Executor,
        limit: int | None = None,
    ) -> RunDirectory:
        request = self._request
        rules = replace(request.rules, **(_ON_BYTES if vocabulary == BYTES else {}))
        asked = BenchRequest(
            engines=engines,
            cases=str(self._directory / CASES),
            out=self._directory / name,
            limit=limit,
            vocabulary=vocabulary,
            rules=replace(rules, walks=request.walks) if engines[1:] else rules,
            limits=request.limits,
        )
        is_heard = vocabulary == BYTES and limit is None and not engines[1:]
        heard = self._told.put if is_heard else lambda _: None
        run = run_with(executor, asked, progress=lambda total: _Quiet(total, heard))
        return RunDirectory(run.path, run.manifest, trusted=True)


class _SmallestCases:
    """Shrinks errors of one engine, `alike` ones only so often; until that `stops`."""

    def __init__(self, trial: Trial, alike: int | None) -> None:
        self._trial, self._most = trial, alike
        self._alike: Counter[tuple[str, ...]] = Counter()
        self._shrinkers: dict[RunDirectory, Shrinker] = {}

    def of(
        self, errors: Sequence[ProvenError], schema: str, stops: Callable[[], bool]
    ) -> tuple[tuple[ProvenError, ...], int]:
        """Errors with their smallest cases, each bug once, and how many there was no time for.

        What is not shrunk stays where all others are about something else.
        """
        skipped = 0
        ordered = sorted(errors, key=lambda one: one.order)
        first = {one.effect: one for one in reversed(ordered)}  # the worst of each before others
        shrunk: dict[str, ProvenError] = {}
        rest: list[ProvenError] = []
        for one in dict.fromkeys([*reversed(first.values()), *ordered]):
            known = self._most is not None and self._alike[one.about] >= self._most
            left = one.is_spelling or known
            error = one if left or stops() else self._shrunk(one, schema, stops)
            skipped += error.bug is None and not left and stops()
            self._alike[one.about] += error.bug is not None
            if error.bug is None:
                rest.append(error)
            else:
                shrunk.setdefault(error.bug.id, error)
        alone = {one.about: one for one in reversed(rest) if one.adds_to(shrunk.values())}
        every = (*shrunk.values(), *alone.values())
        return tuple(sorted(every, key=lambda one: one.order)), skipped

    def _shrunk(self, one: ProvenError, schema: str, stops: Callable[[], bool]) -> ProvenError:
        """An error with its smallest case, where that shows it and was not cut short."""
        run, witness = one.run, one.witness
        assert run is not None
        assert witness is not None
        if run not in self._shrinkers:
            about = engines_of(run), vocabulary_of(run), self._trial
            self._shrinkers[run] = Shrinker(run, *about)
        sample = self._shrinkers[run].sample(witness, schema, one.class_, stops)
        return one if sample.error is None or stops() else replace(one, bug=bug_of(run, sample))


class _Quiet(RunProgress):
    """Prints nothing: the answers say it; of stored cases it is `heard`."""

    def __init__(self, total: int, heard: Callable[[CaseDone], None]) -> None:
        super().__init__(total)
        self._bar, self._heard = None, heard

    def case_stored(self, case: CaseDone) -> None:
        self._heard(case)

    def say(self, line: str) -> None: ...


def _lines(schemas: Mapping[str, str], request: CheckRequest) -> Iterator[str]:
    """The cases as lines of JSON, each schema as its author spelled it but for ends of lines."""
    files = {"valid": request.valid, "invalid": request.invalid}
    texts = {
        label: [{"text": read_instance(file, is_json=label == "valid").decode()} for file in given]
        for label, given in files.items()
    }
    for name, text in schemas.items():
        schema = text.replace("\n", " ").replace("\r", " ")
        head = json.dumps({"id": name, **texts}, ensure_ascii=False)
        yield f'{head[:-1]}, "schema": {schema}}}\n'
