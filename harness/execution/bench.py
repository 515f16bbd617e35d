"""A bench run from what the user asked for to a finished run directory."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import itertools
import json
import os
import platform
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from harness import __version__
from harness.comparison.case_run import Rules
from harness.comparison.resolvers import RESOLVERS, Effort
from harness.directories import slow_schemas_directory
from harness.engines.environments import provide_all
from harness.engines.panel import Limits
from harness.engines.specs import DEFAULT, EngineSpec, parse_specs
from harness.execution.lanes import (
    Begin,
    Engines,
    Job,
    LaneSettings,
    default_ahead,
    default_lanes,
    run_lanes,
)
from harness.execution.progress import RunProgress
from harness.inputs.case_selection import Selected, open_cases, select
from harness.inputs.cases import CaseSource
from harness.inputs.vocabulary import Vocabulary
from harness.inputs.vocabulary_readers import open_vocabulary
from harness.options import CHOICE, LIMITS, option
from harness.runs.directory import SESSIONS, RunDirectory
from harness.runs.run_places import LocalPlace, Place
from harness.workers.temporary_directories import saved_vocabulary

RUNS = "runs"

BAD_CASES_SECONDS = 1.0
"""Cases that are found bad within this time are told of before anything else is started."""

T = TypeVar("T")


@dataclass(frozen=True)
class BenchRequest:
    """What a user asks of a run."""

    engines: Sequence[str] = option(
        (",".join(DEFAULT),),
        "Engines: NAME, NAME@VERSION, NAME@./PATH, NAME[option=value,…], module:Class.",
        "-e",
        metavar="SPEC,…",
    )
    cases: str | None = option(
        None,
        "quick (68 of the embedded cases), embedded (all 324), maskbench[:PATH],"
        " jsonschemabench[:SPLIT] or FILE.jsonl."
        "  [default: quick; embedded where other options choose from them]",
        "-c",
        metavar="SPEC",
    )
    out: Path | None = option(
        None,
        "Run directory; started again it goes on where it was."
        "  [default: one under runs/, named after the request]",
        "-o",
        metavar="DIR",
    )
    families: Sequence[str] = option((), "Only this family; repeatable.", "--family")
    pattern: str | None = option(None, "Only cases whose id matches.", "--id", metavar="GLOB")
    sample: int | None = option(
        None, "N cases with a valid instance, if any has one; in proportion to the families."
    )
    limit: int | None = option(None, "At most N cases, the first by id.")
    lanes: int | None = option(
        None, "Cases at the same time.  [default: as many as there is room for]", least=1
    )
    ahead: int | None = option(
        None,
        "Schemas that a lane compiles while it walks a case; each takes hosts of its own."
        "  [default: 1 where there is memory for it]",
        heading=LIMITS,
        least=0,
        most=8,
    )
    vocabulary: str = option(
        "qwen2.5",
        "A name (maskcourt vocabularies), a tokenizer's file, a Hugging Face id.",
        heading=CHOICE,
        metavar="SPEC",
    )
    eos: str | None = option(
        None, "End of sequence, if the vocabulary has none.", heading=LIMITS, metavar="TOKEN"
    )
    resolver: str = option(
        "shared",
        "rollout: the original study's procedure.",
        heading=LIMITS,
        choices=tuple(RESOLVERS),
    )
    rules: Rules = field(default_factory=Rules)
    limits: Limits = field(default_factory=Limits)
    effort: Effort = field(default_factory=Effort)

    @property
    def source(self) -> str:
        """The cases: who asks for some of them means some of all."""
        chooses = self.families or self.pattern or self.limit or self.sample
        return self.cases or ("embedded" if chooses else "quick")


class Executor(Protocol):
    """What runs the cases of a run: lanes of this machine, or of many."""

    def prepared(self) -> AbstractContextManager[object]:
        """What takes long and does not depend on the cases: entered while these are selected."""

    def lanes(self, cases: int) -> int:
        """How many cases it runs at a time, where there are so many; known when a run begins."""

    def run(self, settings: LaneSettings, cases: int, begin: Begin, progress: RunProgress) -> None:
        """Open a lane, begin the run, and store each of its cases.

        Raises:
            MaskcourtError: An engine does not start, or a case cannot be stored.
        """


@dataclass
class LocalLanes:
    """Lanes in processes of this machine; by default as many as it carries."""

    wanted: int | None = None
    ahead: int | None = None
    stopped: Callable[[], bool] | None = None
    """Asked again and again: once it says so, the run is left as it is, as by Ctrl-C."""
    engines: int = field(default=1, init=False)

    def prepared(self) -> AbstractContextManager[object]:
        """Nothing: a lane starts its engines when it is needed."""
        return contextlib.nullcontext()

    def lanes(self, cases: int) -> int:
        """As many as are wanted, one per case at most."""
        return max(1, min(self.wanted or default_lanes(self.engines), cases))

    def run(self, settings: LaneSettings, cases: int, begin: Begin, progress: RunProgress) -> None:
        """See `Executor.run`."""
        self.engines = len(settings.specs)
        lanes = self.lanes(cases)
        ahead = default_ahead(lanes, self.engines) if self.ahead is None else self.ahead
        settings = replace(settings, ahead=ahead if cases > lanes else 0)
        run_lanes(settings, lanes, begin, progress.case_stored, self.stopped)


def bench(request: BenchRequest) -> RunDirectory:
    """Run what is asked, or go on with it where it was interrupted; the finished run.

    Raises:
        MaskcourtError: Whatever the user can mend.
        KeyboardInterrupt: The user stopped it; finished cases are kept.
    """
    return run_with(LocalLanes(request.lanes, request.ahead), request)


def run_with(
    executor: Executor,
    request: BenchRequest,
    place: Callable[[Path], Place] = LocalPlace,
    progress: Callable[[int], RunProgress] = RunProgress,
) -> RunDirectory:
    """`bench` by another executor, or with the run at another place.

    The run is the same, whoever runs it: one that was begun by one executor can be finished by
    another.

    Args:
        executor: Runs the cases.
        request: What the user asks.
        place: Given the run's directory on this machine, where the run is kept.
        progress: Given the number of cases, what is told how far the run is.
    """
    if request.out is not None:
        place(request.out).check()
    specs = provide_all(parse_specs(request.engines))
    vocabulary = open_vocabulary(request.vocabulary, request.eos)
    source = open_cases(request.source)
    at = place(request.out or _default_path(request, specs, source.name))
    at.check()
    if at.finished():
        executor = LocalLanes(1)  # the engines are only asked what they are
    selecting = _in_background(lambda: _selected(source, request))

    @functools.cache
    def session() -> _Bench:
        selected = selecting.result()
        return _Bench(request, executor, at, specs, vocabulary, selected, progress(len(selected)))

    with contextlib.suppress(TimeoutError):
        selecting.result(BAD_CASES_SECONDS)
    if selecting.done():
        session().check()
    with executor.prepared():
        return session().run()


def _in_background(work: Callable[[], T]) -> Future[T]:
    """What `work` gives, or raises, once it is done; nobody waits for it at the end."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


class _Bench:
    """One session of a run."""

    def __init__(
        self,
        request: BenchRequest,
        executor: Executor,
        place: Place,
        specs: Sequence[EngineSpec],
        vocabulary: Vocabulary,
        selected: Selected,
        progress: RunProgress,
    ) -> None:
        self.request = request
        self.executor = executor
        self.place = place
        self.specs = tuple(specs)
        self.vocabulary = vocabulary
        self.selected = selected
        self.progress = progress
        self.run_directory: RunDirectory | None = None

    def check(self) -> None:
        """Refuse a place with another run in it."""
        self.place.check_identity(self._known, self.specs)

    def run(self) -> RunDirectory:
        """Run the cases that are not there yet, then close the run."""
        self.check()
        with saved_vocabulary(self.vocabulary) as file, self.progress:
            settings = LaneSettings(
                self.specs,
                str(file),
                self.request.limits,
                self.request.rules,
                self.request.resolver,
                self.request.effort,
                str(slow_schemas_directory()),
            )
            self.executor.run(settings, len(self.selected), self._begin, self.progress)
        run = self.run_directory
        assert run is not None
        if not run.finished:
            run.gather()
            run.finish({"seconds": round(_seconds(run), 1)})
        return run

    def _begin(self, engines: Engines) -> tuple[RunDirectory, Iterator[Job]]:
        run = self.place.open(self._identity(engines), _notes())
        self.run_directory = run
        if run.finished:
            return run, iter(())
        done = run.done()
        _note_session(run, self.executor.lanes(len(self.selected)))
        self.progress.compares(run.manifest["identity"], self.selected.families)
        self.progress.skip(len(done))
        todo = {
            ordinal: id_ for ordinal, id_ in enumerate(self.selected.ids) if ordinal not in done
        }
        return run, _jobs(self.selected, todo)

    def _identity(self, engines: Engines) -> dict[str, Any]:
        """What two sessions must have in common to write into one run directory."""
        return {"engines": {name: asdict(one) for name, one in engines.items()}, **self._known}

    @functools.cached_property
    def _known(self) -> dict[str, Any]:
        """What is known of the identity before the engines are started."""
        return {
            **installed(),
            "vocabulary": {
                "spec": self.request.vocabulary,
                "eos": self.request.eos,
                "name": self.vocabulary.name,
                "size": self.vocabulary.size,
                "sha256": self.vocabulary.sha256,
            },
            "data": {
                "name": self.selected.source.name,
                "sha256": self.selected.source.sha256,
                "cases": len(self.selected),
                "ids": hashlib.sha256("\n".join(self.selected.ids).encode()).hexdigest(),
            },
            "rules": asdict(self.request.rules),
            "resolver": {"name": self.request.resolver, **asdict(self.request.effort)},
            "limits": asdict(self.request.limits),
        }


def installed() -> dict[str, dict[str, str]]:
    """What of a run's identity this machine and this environment decide."""
    return {
        "harness": {"version": __version__, "sha256": code_hash()},
        "validators": {
            name: importlib.metadata.version(name) for name in ("jsonschema", "jsonschema-rs")
        },
    }


def code_hash() -> str:
    """A hash of the harness's and the adapters' own source: other code, other verdicts."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parents[2]
    for file in sorted([*root.glob("harness/**/*.py"), *root.glob("adapters/*.py")]):
        digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _default_path(request: BenchRequest, specs: Sequence[EngineSpec], data: str) -> Path:
    """Under `RUNS`, by what is asked: the same request finds its run again."""
    asked = json.dumps(_asked(request, specs), sort_keys=True, default=str)
    digest = hashlib.sha256(asked.encode()).hexdigest()[:8]
    stem = "".join(c if c.isalnum() else "-" for c in data).strip("-")
    return Path(RUNS) / f"{stem[:40]}-{digest}"


def _asked(request: BenchRequest, specs: Sequence[EngineSpec]) -> dict[str, Any]:
    wanted = asdict(replace(request, out=None, lanes=None, ahead=None))
    # another build at the same path is asked for in the same words
    return {**wanted, "engines": [f"{spec.name} {spec.build}".rstrip() for spec in specs]}


def _selected(source: CaseSource, request: BenchRequest) -> Selected:
    return select(
        source,
        families=request.families,
        pattern=request.pattern,
        limit=request.limit,
        sample=request.sample,
        seed=request.rules.seed,
        with_valid=request.sample is not None,
        generated=request.rules.generated > 0,
    )


def _jobs(selected: Selected, todo: Mapping[int, str]) -> Iterator[Job]:
    ordinals = {id_: ordinal for ordinal, id_ in todo.items()}
    for case in selected.source.read(list(ordinals)):
        yield ordinals[case.id], case


def _notes() -> dict[str, Any]:
    """What is recorded of the machine and the moment; no part of the run's identity."""
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": {
            "system": platform.platform(),
            "python": platform.python_version(),
            "processors": len(os.sched_getaffinity(0)),
            "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        },
        "commit": _commit(),
    }


def _commit() -> str | None:
    root = Path(__file__).resolve().parents[2]
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def _note_session(run: RunDirectory, lanes: int) -> None:
    with (run.path / SESSIONS).open("a", encoding="utf-8") as stream:
        # a line of its own, also where the one before was cut
        stream.write("\n" + json.dumps({"began": time.time(), "lanes": lanes}) + "\n")
    run.publish(SESSIONS)


def _seconds(run: RunDirectory) -> float:
    """Wall time of all sessions; one that was interrupted lasted until its last stored case."""
    starts = list(_starts((run.path / SESSIONS).read_text("utf-8", "replace")))
    stored = sorted(file.stat().st_mtime for file in run.path.glob("parts/*/part.json"))
    total = time.time() - starts[-1]
    for began, end in itertools.pairwise(starts):
        last = max((moment for moment in stored if began <= moment < end), default=began)
        total += last - began
    return total


def _starts(sessions: str) -> Iterator[float]:
    """When each session began; lines that were cut or altered say nothing."""
    for line in sessions.splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            yield float(json.loads(line)["began"])
