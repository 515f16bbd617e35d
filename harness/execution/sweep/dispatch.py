"""The driver of a sweep: starts lanes, answers their requests, is told of cases, replaces the dead.

One call of `LaneActor.report` is under way for every lane. Whatever happens to a lane is the end of
that call: an answer, or an error when the lane or its node is no more.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.errors import MaskcourtError, UsageError
from harness.execution.lanes import MAX_DEATHS, Begin, CaseDone, failed_rows
from harness.execution.progress import RunProgress
from harness.execution.sweep.case_pack import PackedCases, pack_cases
from harness.execution.sweep.cluster import Cluster, LaneNeeds
from harness.execution.sweep.lane_actor import (
    CaseBegun,
    CaseStored,
    LaneActor,
    LaneOpened,
    LaneOrder,
    LaneReport,
    WorkRequest,
)
from harness.execution.sweep.ledger import Ledger
from harness.execution.sweep.node_work import NodeWork
from harness.execution.sweep.target import RunTarget
from harness.runs.directory import RunDirectory

REPORT_SECONDS = 5.0
"""A lane that has nothing to tell says so after this time."""

PATIENCE = 300.0
"""Seconds without any lane after which a sweep is given up."""

MAX_FALSE_STARTS = 3
"""So many lanes in a row may die while they start."""


@dataclass
class _Lane:
    """A lane as the driver sees it."""

    name: str
    actor: Any
    opened: LaneOpened | None = None
    serving: bool = False
    known: int = 0
    seen: int = 0
    request: WorkRequest | None = None
    running: dict[int, tuple[str, float]] = field(default_factory=dict)
    """Ids and starts of cases, by ordinal."""


class Dispatch:
    """One sweep.

    Args:
        cluster: Where the lanes are started.
        order: What each is started with.
        vocabulary: The content of the vocabulary's file.
        needs: What each is declared to need.
        count: How many there are to be.
        begin: Begins the run when the first lane is up.
        progress: Is told what happens.
    """

    def __init__(
        self,
        cluster: Cluster,
        order: LaneOrder,
        vocabulary: bytes,
        needs: LaneNeeds,
        count: int,
        begin: Begin,
        progress: RunProgress,
    ) -> None:
        self.cluster, self.ray = cluster, cluster.ray
        self.order, self.needs, self.count = order, needs, count
        self.begin, self.progress = begin, progress
        self.work = NodeWork()
        self._vocabulary = [self.ray.put(vocabulary)]
        self._lanes: dict[str, _Lane] = {}
        self._calls: dict[Any, tuple[str, str]] = {}
        self._started = self._false_starts = 0
        self._began = self._alone_since = time.monotonic()
        self._engines: Mapping[str, Any] | None = None
        self._cases: PackedCases | None = None
        self._pieces: list[Any] = []
        self._index: Any = None
        self._run: RunDirectory | None = None
        self._ledger: Ledger | None = None

    def run(self) -> None:
        """Until every case is stored.

        Raises:
            MaskcourtError: An engine does not start, a case cannot be stored, or no node is left.
        """
        try:
            while not self._finished:
                self.cluster.check()
                self._start_lanes()
                for call in self._ended_calls():
                    lane, method = self._calls.pop(call)
                    if lane in self._lanes:
                        self._receive(self._lanes[lane], method, call)
                self._answer_requests()
                self._show()
        finally:
            self._close()

    def summary(self) -> Iterator[str]:
        """A line for every node: what it did."""
        return self.work.lines(time.monotonic() - self._began)

    @property
    def _finished(self) -> bool:
        return self._ledger is not None and not self._ledger.left

    def _start_lanes(self) -> None:
        """Start lanes until there are as many as are wanted, and as can have a case."""
        wanted = self.count
        if self._ledger is not None:
            wanted = min(wanted, self._ledger.left)
        while len(self._lanes) < wanted:
            self._started += 1
            name = f"lane-{self._started}"
            kind = self.ray.remote(LaneActor).options(
                num_cpus=self.needs.cpus,
                memory=self.needs.memory,
                max_concurrency=4,
                max_restarts=0,
                scheduling_strategy="SPREAD",
            )
            lane = _Lane(name, kind.remote(self.order))
            self._lanes[name] = lane
            self._call(lane, "open", self._vocabulary)

    def _call(self, lane: _Lane, method: str, *arguments: Any, **named: Any) -> None:
        reference = getattr(lane.actor, method).remote(*arguments, **named)
        self._calls[reference] = (lane.name, method)

    def _ended_calls(self) -> list[Any]:
        """Calls that have an answer; waits for one, up to a second."""
        calls = list(self._calls)
        ready, _ = self.ray.wait(calls, num_returns=1, timeout=1.0)
        if ready:
            ready, _ = self.ray.wait(calls, num_returns=len(calls), timeout=0)
        self._check_patience()
        return list(ready)

    def _receive(self, lane: _Lane, method: str, call: Any) -> None:
        errors = self.ray.exceptions
        try:
            answer = self.ray.get(call)
        except errors.ActorUnavailableError:
            time.sleep(0.2)  # it is not known yet whether the lane is no more: ask until it is
            self._ask_again(lane, method)
            return
        except errors.RayActorError as error:
            self._died(lane, str(error))
            return
        match answer:
            case MaskcourtError():
                raise answer
            case LaneOpened():
                self._opened(lane, answer)
            case LaneReport():
                self._reported(lane, answer)
            case None if method == "begin":
                self._call(lane, "report", lane.known, lane.seen, REPORT_SECONDS)

    def _ask_again(self, lane: _Lane, method: str) -> None:
        if method == "open":
            self._died(lane, "it cannot be reached")
        elif method == "begin":
            self._begin_lane(lane)
        elif method == "report":
            self._call(lane, "report", lane.known, lane.seen, REPORT_SECONDS)
        # an answer to a request that was lost: the request is in the next report
        lane.seen = 0 if method == "give" else lane.seen

    def _opened(self, lane: _Lane, opened: LaneOpened) -> None:
        self._false_starts = 0
        lane.opened = opened
        self.work.lane(self.cluster, opened.node)
        if self._engines is None:
            self._began = time.monotonic()
            self._engines = opened.engines
            self._begin(opened)
        elif opened.engines != self._engines:
            raise UsageError(
                f"{self.work.name(opened.node)} has other engines than the first node: "
                f"{_difference(self._engines, opened.engines)}",
                "install the same versions on every node",
            )
        self._begin_lane(lane)

    def _begin(self, opened: LaneOpened) -> None:
        """Begin the run, and make its cases available to all nodes."""
        assert list(opened.engines) == [spec.name for spec in self.order.settings.specs]
        self._run, jobs = self.begin(opened.engines)
        rules = self.order.settings.rules
        self._cases = pack_cases(jobs, rules.walks, generated=rules.generated > 0)
        self._pieces = [self.ray.put(piece) for piece in self._cases.pieces]
        self._index = self.ray.put(self._cases.index)
        self._ledger = Ledger(self._cases.facts, self.count, 1 + self.order.settings.ahead)

    def _begin_lane(self, lane: _Lane) -> None:
        assert self._run is not None
        assert self._cases is not None
        if self._cases.index:
            target = RunTarget.of(self._run)
            self._call(lane, "begin", target, self._cases.key, self._pieces, self._index)

    def _reported(self, lane: _Lane, report: LaneReport) -> None:
        assert self._ledger is not None
        assert lane.opened is not None
        if report.error is not None:
            raise report.error
        for event in report.events:
            match event:
                case CaseBegun(ordinal, case, ago):
                    lane.running[ordinal] = (case, time.monotonic() - ago)
                case CaseStored(done, seconds):
                    lane.running.pop(done.ordinal, None)
                    if self._ledger.stored(lane.name, done.ordinal, seconds):
                        self.work.case(lane.opened.node, seconds)
                        self.progress.case_stored(done)
        lane.known = report.last
        if report.request is not None and report.request.number > lane.seen:
            lane.request, lane.seen = report.request, report.request.number
        self._call(lane, "report", lane.known, lane.seen, REPORT_SECONDS)

    def _answer_requests(self) -> None:
        for lane in [one for one in self._lanes.values() if one.request is not None]:
            assert self._ledger is not None
            assert lane.request is not None
            claim = self._ledger.claim(lane.name)
            if claim is not None:
                self._give(lane, claim.ordinals, last=claim.alone)
            elif not lane.request.idle:
                self._give(lane, (), last=True)

    def _give(self, lane: _Lane, ordinals: tuple[int, ...], *, last: bool) -> None:
        assert lane.request is not None
        self._call(lane, "give", lane.request.number, ordinals, last=last)
        lane.request = None

    def _died(self, lane: _Lane, reason: str) -> None:
        """A lane is no more: give its cases back, and record those that took it down too often."""
        del self._lanes[lane.name]
        self._kill(lane)
        if lane.opened is None:
            self._false_start(reason)
            return
        by_itself = lane.opened.node in self.cluster.nodes()
        self.work.died(lane.opened.node, node_too=not by_itself)
        if self._ledger is None:
            return
        run = self._run
        assert run is not None
        stored, given_up = self._ledger.died(
            lane.name, lambda ordinal: run.stored(ordinal) is not None, by_itself=by_itself
        )
        for ordinal in stored:
            row = run.stored(ordinal)
            assert row is not None
            figures = row["case"], row["status"], row["positions"], row["disputed_tokens"]
            self.progress.case_stored(CaseDone(ordinal, *figures))
            self.work.case(lane.opened.node, 0.0)
        for ordinal in given_up:
            self._give_up(run, ordinal)

    def _give_up(self, run: RunDirectory, ordinal: int) -> None:
        assert self._cases is not None
        case = self._cases.read(ordinal)
        message = f"took its lane down {MAX_DEATHS} times"
        run.write_case(ordinal, failed_rows(case, "lane_died", message))
        self.progress.case_stored(CaseDone(ordinal, case.id, "lane_died", 0, 0))

    def _false_start(self, reason: str) -> None:
        self._false_starts += 1
        if self._false_starts >= MAX_FALSE_STARTS:
            shown = " ".join(reason.split())[-300:]
            raise MaskcourtError(
                f"{MAX_FALSE_STARTS} lanes in a row died while starting: {shown}",
                "bench --lanes 1 --debug shows why, on one of the nodes",
            )

    def _check_patience(self) -> None:
        """Give up when there has been no lane for long."""
        now = time.monotonic()
        if any(lane.opened for lane in self._lanes.values()):
            self._alone_since = now
        elif now - self._alone_since > PATIENCE:
            raise MaskcourtError(
                f"no node has had room for a lane for {PATIENCE:.0f} s",
                "stored cases are kept, the same command goes on with them",
            )

    def _show(self) -> None:
        running = [one for lane in self._lanes.values() for one in lane.running.values()]
        if running:
            case, since = min(running, key=lambda one: one[1])
            self.progress.running(case, time.monotonic() - since)
        elif self._ledger is not None:
            self.progress.running("", 0.0)

    def _close(self) -> None:
        """End the lanes; those that are up let go of their files first."""
        closing = [one.actor.close.remote() for one in self._lanes.values() if one.opened]
        with contextlib.suppress(self.ray.exceptions.RayError):
            self.ray.wait(closing, num_returns=len(closing), timeout=6.0) if closing else None
        for lane in self._lanes.values():
            self._kill(lane)

    def _kill(self, lane: _Lane) -> None:
        with contextlib.suppress(self.ray.exceptions.RayError):
            self.ray.kill(lane.actor)


def _difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """The first engine that differs."""
    name = next(name for name in there if there[name] != here.get(name))
    return f"{name}: {here.get(name)} instead of {there[name]}"
