"""A lane inside a Ray actor: it keeps its hosts, pulls cases, and stores what comes out itself.

The lane runs in a thread of its own that serves cases as a local lane does. When it has room for
a case and none is at hand it makes a request; the driver answers with `give`. All that the driver
is told comes through `report`, which can be asked again: nothing is lost with a message.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.directories import slow_schemas_directory
from harness.engines.environments import provide_all
from harness.errors import MaskcourtError, UsageError
from harness.execution.bench import installed
from harness.execution.lanes import CaseDone, Engines, Job, Lane, LaneSettings, serve
from harness.execution.sweep.case_pack import CaseFiles, Entry, write_pieces
from harness.execution.sweep.target import RunTarget
from harness.runs.directory import RunDirectory
from harness.workers.lineage import die_with_parent
from harness.workers.temporary_directories import SharedDirectory


@dataclass(frozen=True)
class LaneOrder:
    """What a lane is started with.

    Attributes:
        settings: As for a local lane; engines without interpreters, and no vocabulary's path.
        installed: What must be installed where the lane runs (`harness.execution.bench.installed`).
        vocabulary: The vocabulary's SHA-256.
        away: Directories of the driver that Ray put on the module path; they are taken off.
    """

    settings: LaneSettings
    installed: Mapping[str, Any]
    vocabulary: str
    away: tuple[str, ...]


@dataclass(frozen=True)
class LaneOpened:
    """A lane that is up: where it is, and what its engines say they are."""

    node: str
    pid: int
    engines: Engines


@dataclass(frozen=True)
class CaseBegun:
    """A case is being run; its id, and for how many seconds already."""

    ordinal: int
    case: str
    ago: float


@dataclass(frozen=True)
class CaseStored:
    """A case is stored, after it kept the lane busy for so many seconds."""

    done: CaseDone
    seconds: float


@dataclass(frozen=True)
class WorkRequest:
    """The lane has room for cases.

    Attributes:
        number: Says which request is answered.
        idle: Nothing is in hand either: the lane can wait, and be given a case alone.
    """

    number: int
    idle: bool


@dataclass(frozen=True)
class LaneReport:
    """What happened since the driver last asked.

    Attributes:
        events: Those behind the last one that the driver knew, in their order.
        last: The number of the last of them.
        request: What the lane waits for, if it does.
        error: What ended the lane.
    """

    events: tuple[CaseBegun | CaseStored, ...]
    last: int
    request: WorkRequest | None
    error: MaskcourtError | None


class LaneActor:
    """One lane; every method is called by the driver, in threads of Ray."""

    def __init__(self, order: LaneOrder) -> None:
        die_with_parent()  # of the raylet: a node that is gone leaves nothing running
        sys.path[:] = [one for one in sys.path if one not in order.away]
        self._order = order
        self._changed = threading.Condition()
        self._events: deque[tuple[int, CaseBegun | CaseStored, float]] = deque()
        self._last = 0
        self._request: WorkRequest | None = None
        self._requests = 0
        self._queue: deque[int] = deque()
        self._last_given = self._over = self._closed = False
        self._error: MaskcourtError | None = None
        self._opened: LaneOpened | None = None
        self._work: tuple[RunDirectory, CaseFiles] | None = None
        self._directories: list[SharedDirectory] = []
        self._thread: threading.Thread | None = None
        self._taken: dict[int, float] = {}
        self._free_since = 0.0

    def open(self, vocabulary: Sequence[Any]) -> LaneOpened | MaskcourtError:
        """Start the engines; what they say they are, or why the lane cannot be used.

        Args:
            vocabulary: One reference to the content of the vocabulary's file.
        """
        self._thread = threading.Thread(target=self._main, args=(vocabulary,), daemon=True)
        self._thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._opened or self._error)
            return self._error or self._opened  # type: ignore[return-value]

    def begin(
        self, target: RunTarget, key: str, pieces: Sequence[Any], index: Mapping[int, Entry]
    ) -> MaskcourtError | None:
        """Have the run and the cases at hand; from then on the lane asks for cases.

        Args:
            target: Where cases are stored.
            key: The name of the packed cases.
            pieces: References to them.
            index: Where in them each case is.
        """
        try:
            run = target.open()
            directory = self._filled(key, lambda path: write_pieces(path, _each(pieces)))
        except MaskcourtError as error:
            return error
        with self._changed:
            self._work = run, CaseFiles(directory, index)
            self._changed.notify_all()
        return None

    def give(self, request: int, ordinals: Sequence[int], *, last: bool) -> None:
        """Answer a request with cases; with `last`, nothing comes until these are stored."""
        with self._changed:
            if self._request is not None and self._request.number == request:
                self._request = None
                self._queue.extend(ordinals)
                self._last_given = last
                self._changed.notify_all()

    def report(self, known: int, request: int, seconds: float) -> LaneReport:
        """What happened behind the event `known` and the request `request`.

        Waits up to `seconds` for anything to happen.
        """
        with self._changed:
            while self._events and self._events[0][0] <= known:
                self._events.popleft()
            self._changed.wait_for(lambda: self._has_report(request), seconds)
            now = time.monotonic()
            events = tuple(
                replace(event, ago=now - at) if isinstance(event, CaseBegun) else event
                for _, event, at in self._events
            )
            return LaneReport(events, self._last, self._request, self._error)

    def close(self) -> None:
        """End the hosts and let go of files."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(5)
        for one in self._directories:
            one.release()

    def _has_report(self, known: int) -> bool:
        requests = self._request is not None and self._request.number > known
        return bool(self._events or requests or self._error or self._closed)

    def _main(self, vocabulary: Sequence[Any]) -> None:
        """The lane's thread: its hosts are the children of this one."""
        lane: Lane | None = None
        try:
            lane = self._lane(vocabulary)
            self._open(lane)
            with self._changed:
                self._changed.wait_for(lambda: self._work or self._closed)
            while self._round_begins():
                assert self._work is not None
                serve(lane, self._work[0], self._take, self._done)
        except MaskcourtError as error:
            self._fail(error)
        except Exception:  # noqa: BLE001 - told to the driver, which ends the sweep with it
            self._fail(MaskcourtError(f"a lane failed: {traceback.format_exc()[-4000:]}"))
        finally:
            if lane is not None:
                lane.close()

    def _lane(self, vocabulary: Sequence[Any]) -> Lane:
        here, there = installed(), self._order.installed
        for name, found in here.items():
            if found != there[name]:
                raise UsageError(
                    f"node {_node()} has another {name}: {found} instead of {there[name]}",
                    "install the same code and packages on every node",
                )
        settings = self._order.settings
        specs = tuple(replace(spec, interpreter=sys.executable) for spec in settings.specs)
        file = self._filled(
            f"vocabulary-{self._order.vocabulary[:16]}",
            lambda path: (path / "vocabulary").write_bytes(next(_each(vocabulary))),
        )
        return Lane(
            replace(
                settings,
                specs=tuple(provide_all(specs)),
                vocabulary_path=str(file / "vocabulary"),
                slow_schemas=settings.slow_schemas or str(slow_schemas_directory()),
            )
        )

    def _open(self, lane: Lane) -> None:
        opened = LaneOpened(_node(), os.getpid(), lane.open())
        with self._changed:
            self._opened = opened
            self._changed.notify_all()

    def _filled(self, name: str, fill: Callable[[Path], object]) -> Path:
        one = SharedDirectory(name)
        self._directories.append(one)
        return one.filled(fill)

    def _round_begins(self) -> bool:
        """Wait for the first case of a round; False when the lane is to end."""
        with self._changed:
            self._over = self._last_given = False
            self._ask(idle=True)
            return not self._closed

    def _take(self) -> Job | None:
        """The next case of a round; None when the round is over."""
        assert self._work is not None
        with self._changed:
            if not self._queue and not self._last_given and not self._over:
                self._ask(idle=False)
            if self._over or self._closed or not self._queue:
                self._over = True
                return None
            ordinal = self._queue.popleft()
            case = self._work[1][ordinal]
            self._taken[ordinal] = time.monotonic()
            self._tell(CaseBegun(ordinal, case.id, 0.0))
        return ordinal, case

    def _done(self, done: CaseDone) -> None:
        with self._changed:
            now = time.monotonic()
            since = max(self._taken.pop(done.ordinal, now), self._free_since)
            self._free_since = now
            self._tell(CaseStored(done, now - since))

    def _ask(self, *, idle: bool) -> None:
        self._requests += 1
        self._request = WorkRequest(self._requests, idle)
        self._changed.notify_all()
        self._changed.wait_for(lambda: self._request is None or self._closed)

    def _tell(self, event: CaseBegun | CaseStored) -> None:
        self._last += 1
        self._events.append((self._last, event, time.monotonic()))
        self._changed.notify_all()

    def _fail(self, error: MaskcourtError) -> None:
        with self._changed:
            self._error = error
            self._changed.notify_all()


def _each(references: Sequence[Any]) -> Any:
    """The content behind references, one at a time."""
    import ray

    for reference in references:
        yield ray.get(reference)


def _node() -> str:
    """Ray's name for the node that this process is on."""
    import ray

    with contextlib.suppress(RuntimeError):
        return str(ray.get_runtime_context().get_node_id())
    return "?"
