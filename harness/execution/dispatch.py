"""The dispatcher hands cases to lanes, one at a time, and is told when each is stored.

Rows go from the lane to the disk and never pass through here. A lane that dies is replaced, and its
case goes to another one; a case that takes its lane down three times is stored as that.
Lanes are processes of this machine, or actors of a Ray cluster (`harness.execution.sweep`).
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Protocol, cast

from harness import interrupts
from harness.errors import MaskcourtError, UsageError
from harness.execution.lanes import CaseDone, Engines, Job, Lane, LaneSettings, attend, failed_rows
from harness.execution.progress import RunProgress
from harness.runs.directory import RunDirectory
from harness.workers.lineage import MARK, die_with_parent, end_all, marked

MAX_DEATHS = 3
"""A case that took down its lane this often is left."""

Begin = Callable[[Engines], tuple[RunDirectory, Iterator[Job]]]
"""Told what the engines say they are; gives the run directory and the cases to run."""


@dataclass(eq=False)
class LaneHandle:
    """A lane as the dispatcher sees it."""

    connection: Connection | None = None
    """None as long as the lane has not called, and after it broke off."""
    running: Job | None = None
    """Its case, which it took at the time `began`."""
    began: float = 0.0
    ready: bool = False
    """Whether its engines are up."""
    stored: int = 0

    def receive(self) -> object:
        """The next message; None where the lane is gone."""
        try:
            return None if self.connection is None else self.connection.recv()
        except (EOFError, OSError):
            return None

    def send(self, what: object) -> None:
        """Send to the lane; one that died meanwhile is heard of as one that did."""
        with contextlib.suppress(OSError, AttributeError):
            self.connection.send(what)  # type: ignore[union-attr]


@dataclass(frozen=True)
class Death:
    """The end of a lane, in words, and whether its machine and not its case is the reason."""

    reason: str
    machine: bool = False


class LaneStarter(Protocol):
    """Starts and ends lanes, wherever they are."""

    false_starts: int
    """How many lanes in a row may die while they start."""
    hint: str
    """What to do when more do."""

    def start(self) -> LaneHandle:
        """Have a lane started; it may take its time."""

    def ready(self, lanes: Sequence[LaneHandle]) -> Iterable[LaneHandle]:
        """Lanes with a message or gone, waited for a second; KeyboardInterrupt: all is to end."""

    def buried(self, lane: LaneHandle) -> Death:
        """The end of a lane that is gone."""

    def close(self, lanes: Sequence[LaneHandle]) -> None:
        """End all lanes."""


class Dispatch:
    """One session of a run, which is begun when the first of `count` lanes is up."""

    def __init__(
        self, starter: LaneStarter, count: int, begin: Begin, progress: RunProgress
    ) -> None:
        self.starter = starter
        self.count = count
        self.begin = begin
        self.progress = progress
        self.lanes: list[LaneHandle] = []
        self.engines: Engines | None = None
        self.run_directory: RunDirectory | None = None
        self.jobs: Iterator[Job] = iter(())
        self.given_back: list[Job] = []
        self.deaths: Counter[int] = Counter()
        self.exhausted = False
        self.false_starts = self.idle_deaths = 0

    def run(self) -> None:
        """Until every case is stored; MaskcourtError where an engine or the disk does not do."""
        try:
            self.lanes = [self.starter.start() for _ in range(self.count)]
            while any(lane.ready for lane in self.lanes) or not self._all_stored():
                for lane in self.starter.ready(self.lanes):
                    self._hear(lane)
                running = [(lane.began, lane.running[1].id) for lane in self.lanes if lane.running]
                if running:
                    began, case = min(running)
                    self.progress.running(case, time.monotonic() - began)
        finally:
            self.starter.close(self.lanes)

    def _all_stored(self) -> bool:
        running = any(lane.running for lane in self.lanes)
        return self.exhausted and not (self.given_back or running)

    def _hear(self, lane: LaneHandle) -> None:
        match lane.receive():
            case None:
                self._died(lane)
            case MaskcourtError() as error:
                raise error
            case CaseDone() as done:
                lane.running = None
                lane.stored += 1
                self.progress.case_stored(done)
            case dict() as engines:
                self._opened(lane, engines)
            case "take":
                job = self.given_back.pop() if self.given_back else next(self.jobs, None)
                self.exhausted |= job is None
                lane.running, lane.began = job, time.monotonic()
                lane.send(job)
            case "left":
                self.lanes.remove(lane)
                self.starter.buried(lane)

    def _opened(self, lane: LaneHandle, engines: Engines) -> None:
        lane.ready, self.false_starts = True, 0
        if self.run_directory is None:
            self.engines = engines
            self.run_directory, self.jobs = self.begin(engines)
        elif engines != self.engines:
            assert self.engines is not None
            name = next(one for one in engines if engines[one] != self.engines.get(one))
            raise UsageError(
                f"a lane has another engine than the first one: {engines[name]}"
                f" instead of {self.engines.get(name)}",
                "install the same versions on every node",
            )
        lane.send(self.run_directory.seen())

    def _died(self, lane: LaneHandle) -> None:
        """Give the case of a lane to another, or record one that lanes die of again and again."""
        self.lanes.remove(lane)
        death = self.starter.buried(lane)
        by_itself = not death.machine
        self.false_starts += by_itself and not lane.ready
        self.idle_deaths += by_itself and lane.ready and not lane.running
        if max(self.false_starts / self.starter.false_starts, self.idle_deaths / MAX_DEATHS) >= 1:
            raise MaskcourtError(f"a lane died while starting ({death.reason})", self.starter.hint)
        if lane.running is not None:
            ordinal, case = lane.running
            self.deaths[ordinal] += by_itself
            if self.deaths[ordinal] < MAX_DEATHS:
                self.given_back.append((ordinal, case))
            else:
                assert self.run_directory is not None
                message = f"took its lane down {MAX_DEATHS} times"
                self.run_directory.write_case(ordinal, failed_rows(case, "lane_died", message))
                self.progress.case_stored(CaseDone(case.id, "lane_died", 0))
        if not self._all_stored():
            self.lanes.append(self.starter.start())


class LaneProcesses:
    """Lanes in processes of this machine."""

    false_starts = 1
    hint = "run again with --lanes 1 and --debug"

    def __init__(self, settings: LaneSettings) -> None:
        self._settings = settings
        self._mark = secrets.token_hex(8)
        self._processes: dict[LaneHandle, BaseProcess] = {}

    def start(self) -> LaneHandle:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_lane_main, args=(theirs, self._settings, self._mark))
        with interrupts.deaf():
            process.start()
        theirs.close()
        self._processes[lane := LaneHandle(ours)] = process
        return lane

    def ready(self, lanes: Sequence[LaneHandle]) -> Iterable[LaneHandle]:
        connections = {lane.connection: lane for lane in lanes}
        heard = multiprocessing.connection.wait(list(connections), 0.1)  # type: ignore[arg-type]
        return [connections[cast("Connection", one)] for one in heard]

    def buried(self, lane: LaneHandle) -> Death:
        process = self._processes[lane]
        process.join()
        return Death(f"exit code {process.exitcode}")

    def close(self, lanes: Sequence[LaneHandle]) -> None:
        for lane in lanes:
            self._processes[lane].kill()
            self._processes[lane].join()
        end_all(self._mark)


def _lane_main(connection: Connection, settings: LaneSettings, mark: str) -> None:
    interrupts.ignore()
    parent = multiprocessing.parent_process()
    die_with_parent(None if parent is None else parent.pid)
    os.environ[MARK] = marked(os.environ, mark)[MARK]
    attend(connection, lambda: Lane(settings))
