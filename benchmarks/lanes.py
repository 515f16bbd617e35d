"""Several lanes at once: how much faster the same cases are done.

Each lane is a process that takes cases from one queue, as in a run. All are open before the clock
starts, so that starting engines is not part of the figure.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from typing import Any

from benchmarks.lane import BenchLane, Way
from harness.engines.panel import Limits
from harness.engines.specs import EngineSpec
from harness.errors import MaskcourtError
from harness.inputs.cases import Case
from harness.workers.lineage import die_with_parent

_TICK = 0.5
"""Seconds between looks at lanes that say nothing."""


@dataclass(frozen=True)
class Setting:
    """What a lane is opened with, and a case to warm it up."""

    specs: tuple[EngineSpec, ...]
    vocabulary_path: str
    limits: Limits
    first: Case


@dataclass(frozen=True)
class LanesRan:
    """What a list of cases took on some lanes; seconds, bytes.

    Attributes:
        lanes: How many.
        cases: Cases done.
        seconds: Wall time from the first case to the last.
        busy: The sum of the cases' own wall times.
        tokens: Disputed tokens resolved.
        peaks: The most memory that each lane's own process held.
    """

    lanes: int
    cases: int
    seconds: float
    busy: float
    tokens: int
    peaks: tuple[int, ...]


def run_on_lanes(setting: Setting, count: int, cases: Sequence[Case], way: Way) -> LanesRan:
    """Run `cases` on `count` lanes.

    Raises:
        MaskcourtError: A lane failed.
    """
    context = multiprocessing.get_context("spawn")
    begin = context.Event()
    jobs: Any = context.Queue()
    results: Any = context.Queue()
    for job in (*cases, *[None] * count):
        jobs.put(job)
    arguments = (setting, way, begin, jobs, results)
    lanes = [context.Process(target=_lane, args=arguments, daemon=True) for _ in range(count)]
    try:
        for lane in lanes:
            lane.start()
        _gathered(lanes, results, count)
        began = time.perf_counter()
        begin.set()
        done = _gathered(lanes, results, len(cases))
        seconds = time.perf_counter() - began
    finally:
        for lane in lanes:
            lane.kill()
            lane.join()
    peaks: dict[int, int] = {}
    for one in done:
        peaks[one.lane] = max(peaks.get(one.lane, 0), one.peak)
    busy, tokens = sum(one.seconds for one in done), sum(one.tokens for one in done)
    return LanesRan(count, len(done), seconds, busy, tokens, tuple(peaks.values()))


@dataclass(frozen=True)
class _Done:
    """A lane is ready, or one of its cases is done."""

    lane: int
    seconds: float = 0.0
    tokens: int = 0
    peak: int = 0


def _gathered(lanes: Sequence[BaseProcess], results: Any, count: int) -> list[_Done]:
    """`count` results of the lanes."""
    done: list[_Done] = []
    while len(done) < count:
        try:
            one = results.get(timeout=_TICK)
        except queue.Empty:
            if any(lane.exitcode not in (None, 0) for lane in lanes):
                raise MaskcourtError("a lane of the benchmark died") from None
            continue  # they are still at work
        if isinstance(one, str):
            raise MaskcourtError(f"a lane of the benchmark failed: {one}")
        done.append(one)
    return done


def _lane(setting: Setting, way: Way, begin: Event, jobs: Any, results: Any) -> None:
    """A lane's process."""
    die_with_parent()
    try:
        lane = BenchLane(setting.specs, setting.vocabulary_path, setting.limits)
        try:
            _work(lane, setting, way, begin, jobs, results)
        finally:
            lane.close()
    except Exception as error:  # noqa: BLE001 - told to the one who waits for the results
        results.put(f"{type(error).__name__}: {error}")


def _work(
    lane: BenchLane, setting: Setting, way: Way, begin: Event, jobs: Any, results: Any
) -> None:
    lane.open()
    lane.run(setting.first, way)  # what is made once per lane or host is not measured
    results.put(_Done(os.getpid()))
    begin.wait()
    while (case := jobs.get()) is not None:
        ran = lane.run(case, way)
        results.put(_Done(os.getpid(), ran.seconds + ran.store, ran.tokens, ran.lane_peak))
