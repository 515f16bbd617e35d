"""Lanes: worker processes that each run cases on a panel of their own, one after the other.

The main process hands out cases one at a time and is told when each is stored; rows go from the
lane to the disk and never pass through the main process. A lane that dies is replaced; a case
that takes its lane down three times is stored as that and left.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from packaging.version import Version

from harness.data.cases import Case
from harness.data.vocabulary import Vocabulary
from harness.errors import MaskcourtError, UsageError
from harness.method.case_run import CaseRun, Rules
from harness.method.resolve import RESOLVERS, Effort
from harness.processes import wire
from harness.processes.engines import EngineSpec
from harness.processes.host_worker import die_with_parent
from harness.processes.outcomes import Failure
from harness.processes.panel import Limits, Panel
from harness.processes.slow_schemas import SlowSchemas
from harness.runs.store import RunDirectory
from harness.runs.tables import Rows
from harness.validation.judge import Judge

MAX_DEATHS = 3
"""A case that took down its lane this often is left."""


@dataclass(frozen=True)
class LaneSettings:
    """All that a lane needs to know, small enough to be sent to another process or machine."""

    specs: tuple[EngineSpec, ...]
    vocabulary_path: str
    limits: Limits
    rules: Rules
    resolver: str = "shared"
    effort: Effort = field(default_factory=Effort)
    slow_schemas: str | None = None
    """Directory of what is remembered of slow compilations; None remembers nothing."""


@dataclass(frozen=True)
class CaseDone:
    """One case was stored: what progress needs to know of it."""

    ordinal: int
    case: str
    status: str
    positions: int
    disputed_tokens: int


class Lane:
    """A panel, a judge and the vocabulary: what runs cases, in whichever process."""

    def __init__(self, settings: LaneSettings) -> None:
        self.vocabulary = Vocabulary.load(settings.vocabulary_path)
        self.panel = Panel(
            settings.specs,
            settings.vocabulary_path,
            self.vocabulary.words,
            settings.limits,
            _remembered(settings, self.vocabulary),
        )
        self.judge = Judge(settings.limits.memory)
        resolver = RESOLVERS[settings.resolver](settings.effort)
        self.runner = CaseRun(self.panel, self.judge, self.vocabulary, resolver, settings.rules)

    def open(self) -> list[Mapping[str, Any]]:
        """Start the engines and check that they hold the vocabulary; what each says it is.

        Raises:
            UsageError: An engine does not start, or holds another vocabulary.
        """
        for index, failure in self.panel.open().items():
            output = self.panel.output(index).strip().splitlines()
            raise UsageError(
                f"engine {self.panel.specs[index].name!r} does not start: {failure.message}",
                output[-1] if output else "is it installed in this environment?",
            )
        for index, answer in self.panel.check().items():
            self._check(index, answer)
        return list(self.panel.infos)

    def close(self) -> None:
        """End all hosts."""
        self.panel.close()
        self.judge.close()

    def _check(self, index: int, answer: wire.Message | Failure) -> None:
        name = self.panel.specs[index].name
        if not isinstance(answer, wire.Message):
            raise UsageError(
                f"engine {name!r} cannot be asked for its vocabulary: {answer.message}"
            )
        info, asked = self.panel.infos[index], self.panel.specs[index].version
        if asked is not None and Version(asked) != Version(info["version"]):
            raise UsageError(f"engine {name!r} started as version {info['version']}")
        if info["sha256"] != self.vocabulary.sha256 or info["words"] != self.vocabulary.words:
            raise UsageError(f"engine {name!r} loaded another vocabulary")
        wrong = answer.head["wrong"]
        if wrong and not answer.head["on_purpose"]:
            raise UsageError(
                f"engine {name!r} holds other bytes than the vocabulary for tokens {wrong[:20]}",
                "its masks would be about other texts; this is a defect of the adapter",
            )
        self.panel.infos[index] |= {"asked": answer.head["asked"], "other_bytes": len(wrong)}


def run_case(lane: Lane, run: RunDirectory, ordinal: int, case: Case) -> CaseDone:
    """Run one case and store it; an error of the harness itself is stored as such.

    Raises:
        MaskcourtError: The rows cannot be written.
    """
    try:
        rows = lane.runner.run(case)
    except MaskcourtError:
        raise
    except Exception:  # noqa: BLE001 - one case must not end the run, and nothing is hidden
        rows = _failed(case, "harness_error", traceback.format_exc())
    run.write_case(ordinal, rows)
    cases = rows.lists("cases")
    return CaseDone(
        ordinal, case.id, cases["status"][0], cases["positions"][0], cases["disputed_tokens"][0]
    )


def serve(
    lane: Lane,
    run: RunDirectory,
    take: Callable[[], tuple[int, Case] | None],
    done: Callable[[CaseDone], None],
) -> None:
    """Run cases until there are no more.

    Args:
        lane: An open lane.
        run: Where each case is stored as soon as it is done.
        take: Called when the lane has room for a case; None when there are no more.
        done: Called for every stored case, not always in the order in which they were taken.

    Raises:
        MaskcourtError: The rows cannot be written.
    """
    while (job := take()) is not None:
        done(run_case(lane, run, *job))


def run_lanes(
    settings: LaneSettings,
    count: int,
    begin: Callable[[list[Mapping[str, Any]]], tuple[RunDirectory, Iterator[tuple[int, Case]]]],
    done: Callable[[CaseDone], None],
) -> None:
    """Run cases on `count` local lanes.

    Args:
        settings: For every lane.
        count: Lanes.
        begin: Called with what the engines say they are, when the first lane is up; gives the
            run directory and the cases to run.
        done: Called for every stored case.

    Raises:
        MaskcourtError: An engine does not start, or a case cannot be stored.
    """
    _Dispatch(settings, count, begin, done).run()


@dataclass
class _Worker:
    process: BaseProcess
    connection: Connection
    job: tuple[int, Case] | None = None
    ready: bool = False


class _Dispatch:
    """Hands cases to lane processes."""

    def __init__(
        self,
        settings: LaneSettings,
        count: int,
        begin: Callable[[list[Mapping[str, Any]]], tuple[RunDirectory, Iterator[tuple[int, Case]]]],
        done: Callable[[CaseDone], None],
    ) -> None:
        self.settings = settings
        self.count = count
        self.begin = begin
        self.done = done
        self.workers: list[_Worker] = []
        self.run_directory: RunDirectory | None = None
        self.jobs: Iterator[tuple[int, Case]] = iter(())
        self.again: list[tuple[int, Case]] = []
        self.deaths: dict[int, int] = {}

    def run(self) -> None:
        """Until every case is stored."""
        try:
            self.workers = [self._start() for _ in range(self.count)]
            while self.workers:
                connections = {worker.connection: worker for worker in self.workers}
                for ready in multiprocessing.connection.wait(list(connections)):
                    self._hear(connections[ready])  # type: ignore[index]
        finally:
            for worker in self.workers:
                worker.process.kill()
                worker.process.join()

    def _start(self) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_lane_main, args=(theirs, self.settings), daemon=False)
        with _deaf_to_interrupts():
            process.start()
        theirs.close()
        return _Worker(process, ours)

    def _hear(self, worker: _Worker) -> None:
        try:
            message = worker.connection.recv()
        except (EOFError, OSError):
            self._replace(worker)
            return
        match message:
            case MaskcourtError():
                raise message
            case CaseDone():
                worker.job = None
                self.done(message)
            case list():
                worker.ready = True
                if self.run_directory is None:
                    self.run_directory, self.jobs = self.begin(message)
        self._give(worker)

    def _give(self, worker: _Worker) -> None:
        assert self.run_directory is not None
        worker.job = self.again.pop() if self.again else next(self.jobs, None)
        job = None if worker.job is None else (self.run_directory.path, worker.job)
        with contextlib.suppress(OSError):  # a lane that died meanwhile is heard of as one that did
            worker.connection.send(job)
        if job is None:
            self.workers.remove(worker)
            worker.process.join()

    def _replace(self, worker: _Worker) -> None:
        """A lane died: give its case to a new one, or record it when it happens again and again."""
        self.workers.remove(worker)
        worker.process.join()
        if not worker.ready or worker.job is None:
            raise MaskcourtError(
                f"a lane died while starting (exit code {worker.process.exitcode})",
                "run again with --lanes 1 and --debug",
            )
        ordinal, case = worker.job
        self.deaths[ordinal] = self.deaths.get(ordinal, 0) + 1
        if self.deaths[ordinal] < MAX_DEATHS:
            self.again.append(worker.job)
        else:
            assert self.run_directory is not None
            message = f"took its lane down {MAX_DEATHS} times"
            self.run_directory.write_case(ordinal, _failed(case, "lane_died", message))
            self.done(CaseDone(ordinal, case.id, "lane_died", 0, 0))
        self.workers.append(self._start())


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Have processes that are started meanwhile ignore Ctrl-C from their first moment on.

    A terminal sends it to all of them; one that is still importing would die with a traceback.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can, and only it is interrupted
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _lane_main(connection: Connection, settings: LaneSettings) -> None:
    """A lane process: serve cases until told to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process decides what Ctrl-C means
    die_with_parent()
    lane = Lane(settings)
    try:
        connection.send(lane.open())
        while (job := connection.recv()) is not None:
            path, (ordinal, case) = job
            connection.send(run_case(lane, RunDirectory(path, {}), ordinal, case))
    except MaskcourtError as error:
        connection.send(error)
    except (EOFError, BrokenPipeError):
        pass
    finally:
        lane.close()


def _remembered(settings: LaneSettings, vocabulary: Vocabulary) -> SlowSchemas | None:
    if settings.slow_schemas is None:
        return None
    limit = settings.limits.compile
    return SlowSchemas(Path(settings.slow_schemas), limit, vocabulary.sha256)


def _failed(case: Case, status: str, message: str) -> Rows:
    rows = Rows()
    rows.add(
        "cases",
        case=case.id,
        family=case.family,
        status=status,
        reason="",
        message=message[-8000:],
        schema=case.schema,
        references=[],
        judged=0,
        walks=0,
        positions=0,
        disputed_tokens=0,
    )
    return rows


def default_lanes() -> int:
    """As many lanes as processors, two at most per 8 GiB of memory."""
    processors = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(processors, memory // (4 << 30)))
