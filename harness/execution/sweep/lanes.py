"""A sweep: the dispatcher of a local run, over lanes in Ray actors and a directory that all share.

A lane calls the dispatcher over a socket of its own and then is what a local lane is: it asks for
cases, stores them in the run directory itself, and says so. Ray starts lanes, and tells whether a
lane that broke off died by itself or with its machine.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import queue
import secrets
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing import AuthenticationError, connection
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn, cast

from harness import interrupts
from harness.engines.environments import provide_all
from harness.errors import MaskcourtError, UsageError
from harness.execution.bench import Executor, installed, run_with
from harness.execution.dispatch import Begin, Death, Dispatch, LaneHandle
from harness.execution.lanes import GIB, Lane, LaneSettings, attend, panel_bytes
from harness.execution.progress import RunProgress
from harness.execution.request import SweepRequest
from harness.execution.sweep.cluster import (
    GO_ON,
    Cluster,
    LaneNeeds,
    existing_cluster,
    import_ray,
    local_cluster,
    nothing_left,
)
from harness.inputs.vocabulary import Vocabulary
from harness.printable import plural
from harness.runs.directory import RunDirectory, open_run
from harness.workers.lineage import die_with_parent
from harness.workers.temporary_directories import saved_vocabulary, sweep_up

PATIENCE = 300.0
"""Seconds without any lane after which a sweep is given up."""


def sweep(request: SweepRequest) -> RunDirectory:
    """Run what is asked, or go on with it, as `harness.execution.bench.bench`; the finished run."""

    def run() -> Path:
        import_ray(local=request.address is None)  # where it is missing, say so first
        return run_with(ray_lanes(request), request.bench, prefix="sweep-").path

    return open_run(apart(run), trust=True)


def ray_lanes(request: SweepRequest) -> Executor:
    """Lanes in Ray actors: what `harness.execution.bench.local_lanes` is for one machine."""

    def execute(settings: LaneSettings, cases: int, begin: Begin, telling: RunProgress) -> None:
        address, nodes = request.address, request.nodes or 1
        up = local_cluster(nodes) if address is None else existing_cluster(address)
        with up as cluster:
            memory = request.lane_memory or panel_bytes(len(settings.specs))
            needs = LaneNeeds(request.lane_cpus, memory)
            count = max(1, min(_counted(request, cluster, needs, telling.say), cases))
            starter = LaneActors(cluster, settings, needs)
            Dispatch(starter, count, begin, telling).run()
            for line in starter.summary():
                telling.say(line)

    return execute


def _counted(
    request: SweepRequest, cluster: Cluster, needs: LaneNeeds, say: Callable[[str], None]
) -> int:
    """How many lanes to start; a UsageError where there is no room for any."""
    # what others use of it is not looked at
    room = sum(node.lanes(needs) for node in cluster.nodes().values())
    wanted = request.bench.lanes
    if room == 0 and (cluster.handle or wanted is None):
        raise UsageError(
            f"no node has {needs.cpus:g} processors and {needs.memory / GIB:.1f} GiB of memory"
            " for a lane",
            "wait until the nodes have joined, or declare less with --lane-cpus and --lane-memory",
        )
    if cluster.handle and wanted is not None and wanted > room:
        say(f"there is room for {room} of {wanted} lanes; see --lane-cpus")
        return room
    return wanted or room


@dataclass(frozen=True)
class LaneOrder:
    """What a lane is started with."""

    settings: LaneSettings
    """As for a local lane; engines without interpreters, and no vocabulary's path."""
    installed: Mapping[str, Any]
    away: tuple[str, ...]
    """Directories of the driver that Ray puts on the module path; they are taken off."""
    address: tuple[str, int]
    """Where the dispatcher listens, to who knows the `key`."""
    key: bytes


@dataclass(eq=False)
class _RayLane(LaneHandle):
    actor: Any = None
    call: Any = None
    """The actor's work, as Ray's reference to its end."""
    node: str = ""
    nodes: Collection[str] = ()
    """Those that were there when it was started: until it calls it may be on any of them."""
    death: Death | None = None


class LaneActors:
    """Starts lanes on the nodes of a cluster (`harness.execution.dispatch.LaneStarter`)."""

    false_starts = 3
    hint = "bench --lanes 1 --debug shows why, on one of the nodes"

    def __init__(self, cluster: Cluster, settings: LaneSettings, needs: LaneNeeds) -> None:
        self._cluster, self._ray, self._needs = cluster, cluster.ray, needs
        key = secrets.token_bytes(32)
        host = "127.0.0.1" if cluster.handle else self._ray.util.get_node_ip_address()
        self._closed = False
        self._listener = connection.Listener((host, 0), backlog=128)
        self._calls: queue.SimpleQueue[tuple[int, str, connection.Connection]] = queue.SimpleQueue()
        self._vocabulary = self._ray.put(Vocabulary.load(settings.vocabulary_path))
        address = cast("tuple[str, int]", self._listener.address)
        self._order = LaneOrder(_travelling(settings), installed(), _away(), address, key)
        self._lanes: list[_RayLane] = []
        self._names: dict[str, str] = {}
        self._last_up = time.monotonic()
        threading.Thread(target=self._accept, daemon=True).start()

    def start(self) -> LaneHandle:
        kind = self._ray.remote(LaneActor).options(
            num_cpus=self._needs.cpus,
            memory=self._needs.memory,
            max_concurrency=2,
            max_restarts=0,
            scheduling_strategy="SPREAD",
        )
        lane = _RayLane(actor=kind.remote(), nodes=self._cluster.nodes().keys())
        lane.call = lane.actor.attend.remote(self._order, len(self._lanes), self._vocabulary)
        self._lanes.append(lane)
        return lane

    def ready(self, lanes: Sequence[LaneHandle]) -> Iterable[LaneHandle]:
        self._cluster.check()
        now = time.monotonic()
        if any(lane.connection is not None for lane in lanes):  # it may be installing engines
            self._last_up = now
        elif now - self._last_up > PATIENCE:
            raise MaskcourtError(f"no node has had room for a lane for {PATIENCE:.0f} s", GO_ON)
        with contextlib.suppress(queue.Empty):
            while True:
                number, node, call = self._calls.get_nowait()
                self._lanes[number].connection, self._lanes[number].node = call, node
                if node not in self._names and node in (nodes := self._cluster.nodes()):
                    self._names[node] = nodes[node].name
        connected = {lane.connection: lane for lane in lanes if lane.connection is not None}
        heard = connection.wait(list(connected), 0.5 if len(connected) == len(lanes) else 0.1)
        if heard:
            return [connected[cast("connection.Connection", one)] for one in heard]
        return self._broken_off([cast("_RayLane", lane) for lane in lanes])

    def buried(self, lane: LaneHandle) -> Death:
        """See `LaneStarter`; waits a minute for Ray to know whether its machine is gone, too."""
        lane = cast("_RayLane", lane)
        last = time.monotonic() + 60.0
        while (death := self._death(lane)) is None and time.monotonic() < last:
            time.sleep(0.2)
        lane.death = death or Death("it does not answer", machine=True)
        self._kill(lane)
        return lane.death

    def close(self, lanes: Sequence[LaneHandle]) -> None:
        self._closed = True
        self._listener.close()
        for lane in lanes:
            self._kill(cast("_RayLane", lane))

    def summary(self) -> Iterator[str]:
        """A line for every node: what it did."""
        nodes = self._cluster.nodes()
        for node, name in sorted(self._names.items(), key=lambda item: item[1]):
            lanes = [lane for lane in self._lanes if lane.node == node]
            cases = sum(lane.stored for lane in lanes)
            died = sum(lane.death is not None and bool(lane.death.reason) for lane in lanes)
            line = f"node {name}: {plural(cases, 'case')}, {plural(len(lanes) - died, 'lane')}"
            line += f", {plural(died, 'lane')} died" if died else ""
            yield line + ("" if node in nodes else ", the node is gone")

    def _accept(self) -> None:
        """A thread: take the calls of lanes; one that stays silent keeps no other waiting."""
        while True:
            try:
                call = self._listener.accept()
            except OSError:
                if self._closed:
                    return
                time.sleep(0.05)  # it may fail at once, and again
                continue
            threading.Thread(target=self._answer, args=(call,), daemon=True).start()

    def _answer(self, call: connection.Connection) -> None:
        """A thread: hear which lane calls, and from where."""
        with contextlib.suppress(AuthenticationError, EOFError, OSError):  # whoever that was
            connection.deliver_challenge(call, self._order.key)
            connection.answer_challenge(call, self._order.key)
            self._calls.put((*call.recv(), call))

    def _broken_off(self, lanes: Sequence[_RayLane]) -> list[LaneHandle]:
        """Lanes whose actors have ended though their connections say nothing of it."""
        calls = {lane.call: lane for lane in lanes}
        ended, _ = self._ray.wait(list(calls), num_returns=len(calls), timeout=0)
        found: list[LaneHandle] = []
        for lane in (calls[call] for call in ended):
            if lane.connection is None:
                death = self._death(lane)
                if death is not None and death.reason:
                    found.append(lane)
            elif not lane.connection.poll():
                lane.connection = None
                found.append(lane)
        return found

    def _death(self, lane: _RayLane) -> Death | None:
        """The end of a lane's actor; None while it is not known. Without a reason it is well."""
        errors = self._ray.exceptions
        try:
            self._ray.get(lane.call, timeout=1.0)
        except errors.GetTimeoutError:
            return None
        except errors.ActorUnavailableError:  # not known yet whether it is no more: ask until it is
            lane.call = lane.actor.alive.remote()
            return None
        except errors.RayActorError as error:
            maybe = {lane.node} if lane.node else {*lane.nodes}
            return Death(_last_words(error), machine=not maybe <= self._cluster.nodes().keys())
        except errors.RayError as error:
            return Death(_last_words(error))
        return Death("", machine=True)

    def _kill(self, lane: _RayLane) -> None:
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.kill(lane.actor)


class LaneActor:
    """One lane on a node."""

    def attend(self, order: LaneOrder, number: int, vocabulary: Vocabulary) -> None:
        """Call the dispatcher as lane `number` and serve it to the end."""
        die_with_parent()  # the raylet: a node that is gone leaves nothing running
        sys.path[:] = [path for path in sys.path if path not in order.away]
        with (
            saved_vocabulary(vocabulary) as file,
            connection.Client(order.address, authkey=order.key) as call,
        ):
            call.send((number, _node()))
            attend(call, lambda: _lane(order, str(file)))

    def alive(self) -> None:
        """Nothing: Ray says whether this can be called."""


def _lane(order: LaneOrder, vocabulary_path: str) -> Lane:
    """The lane, as this node has it; UsageError where it has other code than the driver."""
    for name, here in installed().items():
        if here != (there := order.installed[name]):
            raise UsageError(
                f"node {_node()} has another {name}: {here} instead of {there}",
                "install the same code and packages on every node",
            )
    settings = order.settings
    specs = provide_all([replace(one, interpreter=sys.executable) for one in settings.specs])
    return Lane(replace(settings, specs=tuple(specs), vocabulary_path=vocabulary_path))


def _travelling(settings: LaneSettings) -> LaneSettings:
    """The settings without what is only so on this machine, as where environments are."""
    specs = tuple(
        replace(one, interpreter="", paths=one.paths[one.interpreter != sys.executable :])
        for one in settings.specs
    )
    return replace(settings, specs=specs, vocabulary_path="")


def _away() -> tuple[str, ...]:
    """What Ray alone would put on the module path of lanes: the driver's directory and script's.

    A folder ``datasets/`` there is not the library of that name. What is on the path anyhow stays:
    so is the checkout of an editable installation, wherever the sweep is started.
    """
    own = {os.path.realpath(path) for path in sys.path[1:]}
    both = (Path.cwd(), Path(sys.argv[0]).resolve().parent)
    return tuple(str(path) for path in both if os.path.realpath(path) not in own)


def _node() -> str:
    """Ray's name for the node that this process is on."""
    import ray

    return str(ray.get_runtime_context().get_node_id())


def _last_words(error: Exception) -> str:
    return " ".join(str(error).split())[-300:] or type(error).__name__


def apart(work: Callable[[], Path]) -> Path:
    """What `work` gives, done in a child process; what it raises is raised here.

    Where the node of a driver is gone Ray's library ends the process that it is in, without a word
    and with exit code 1, which would be a finding. What Ray prints on standard output is lost.

    A signal that would end this process ends the child first, as it would end `work`. Where the
    child ends without an answer that is a MaskcourtError.
    """
    ours, theirs = multiprocessing.Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        with nothing_left(of_orphans=True), contextlib.ExitStack() as deferring:
            parent = os.getpid()
            deferring.enter_context(interrupts.deferred())
            child = os.fork()
            if child == 0:
                _answer(work, theirs, parent, deferring)
            theirs.close()
            return _received(ours, child, deferring)
    finally:
        ours.close()
        sweep_up()


def _received(connection: Connection, child: int, deferring: contextlib.ExitStack) -> Path:
    interrupted: KeyboardInterrupt | None = None
    answer: Path | BaseException | None = None
    while True:
        try:
            deferring.close()
            with contextlib.suppress(EOFError):
                answer = connection.recv()
            os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # until then it may be signalled
            break
        except KeyboardInterrupt as told:  # a terminal tells the child too, others do not
            interrupted = told
            os.kill(child, interrupts.received())
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if interrupted is not None:
        raise interrupted
    if isinstance(answer, BaseException):
        raise answer
    if answer is None:
        how = f"exit code {status}" if status >= 0 else f"signal {-status}"
        raise MaskcourtError(
            f"Ray ended the driver of the sweep ({how}): the cluster or its node is gone", GO_ON
        )
    return answer


def _answer(
    work: Callable[[], Path], connection: Connection, parent: int, deferring: contextlib.ExitStack
) -> NoReturn:
    """Do the work and tell what came of it; the child's whole life."""
    answer: Path | BaseException
    try:
        try:
            die_with_parent(parent)
            deferring.close()
            sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the end
            answer = work()
        except BaseException as error:  # noqa: BLE001 - raised in the parent
            answer = _sendable(error)
        with contextlib.suppress(OSError):
            connection.send(answer)
            sys.stderr.flush()
    finally:  # also where a signal comes late: this is a copy of all that called it
        os._exit(0)


def _sendable(error: BaseException) -> BaseException:
    """An exception that can be sent, with its traceback for ``--debug``."""
    with contextlib.suppress(Exception):
        if not isinstance(error, MaskcourtError | KeyboardInterrupt):
            error.add_note(traceback.format_exc())
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
