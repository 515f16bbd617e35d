"""The Ray cluster of a sweep: started on this machine, or one that is there.

What is started here listens on 127.0.0.1 alone, sends nothing anywhere, writes to a directory of
its own that is removed behind it, and ends with the process that started it, also when that is
killed. Ray reads its settings from the environment while it is imported: they are set before.

Sources: Ray 2.60: ``RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER`` decides whether Ray looks for an address of
the machine that others can reach or uses the loopback (``ray._private.services``); ``RAY_TMPDIR``
names the directory of sessions and of the file by which ``auto`` finds a cluster; worker processes
get the nice value of ``RAY_worker_niceness``, 15 by default.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.errors import MaskcourtError, UsageError
from harness.optional import require
from harness.printable import one_line
from harness.workers.lineage import MARK, adopt_orphans, below, end_all, marked
from harness.workers.temporary_directories import temporary_directory

GO_ON = "stored cases are kept, the same command goes on"

_LOOPBACK = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # lanes get the processor time that they would get from `bench`
    "RAY_worker_niceness": "0",
    # hosts have limits of their own; Ray would end whole lanes when others fill the machine
    "RAY_memory_monitor_refresh_ms": "0",
}

_HEALTH = {
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 1000,
    "health_check_timeout_ms": 5000,
    "health_check_failure_threshold": 3,
}
"""A node of the same machine that is gone is noticed within seconds, a busy one is not given up."""


@dataclass(frozen=True)
class LaneNeeds:
    """What a lane is declared to need: processors, and bytes of memory."""

    cpus: float
    memory: int


@dataclass(frozen=True)
class Node:
    """A machine of the cluster, or what stands for one, and what it declares to have."""

    id: str
    address: str
    cpus: float
    memory: float

    @property
    def name(self) -> str:
        """For people: nodes of one machine have the same address."""
        return f"{self.address} ({self.id[:6]})"

    def lanes(self, needs: LaneNeeds) -> int:
        return int(min(self.cpus / needs.cpus + 1e-9, self.memory / needs.memory))


@dataclass(frozen=True)
class Cluster:
    """A cluster that this process is connected to; it has a `handle` of one that it started."""

    ray: ModuleType
    handle: Any = field(default=None, repr=False)

    def check(self) -> None:
        """Raise MaskcourtError where a part of a local cluster is gone; Ray would wait for it."""
        if self.handle is None:
            return
        for name, _ in self.handle.head_node.dead_processes():
            raise MaskcourtError(f"Ray's {name} on this machine ended", GO_ON)

    def nodes(self) -> dict[str, Node]:
        nodes = {}
        for node in self.ray.nodes():
            if node["Alive"]:
                sizes = (float(node["Resources"].get(name, 0)) for name in ("CPU", "memory"))
                nodes[node["NodeID"]] = Node(node["NodeID"], node["NodeManagerAddress"], *sizes)
        return nodes


def import_ray(*, local: bool) -> ModuleType:
    """Ray, with nothing sent anywhere; if `local`, it is to listen to this machine alone."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    os.environ |= _LOOPBACK if local else {}
    return require("ray", "sweep", "sweeps")


@contextlib.contextmanager
def local_cluster(nodes: int) -> Iterator[Cluster]:
    """A cluster on this machine for the time being, whose nodes divide it among them."""
    with temporary_directory() as directory, nothing_left() as mark:
        os.environ["RAY_TMPDIR"] = str(directory)
        ray = import_ray(local=True)
        handle = _started(nodes, directory)
        try:
            cluster = Cluster(ray, handle)
            _connect(ray, handle.address)
            addresses = {node.address for node in cluster.nodes().values()}
            if addresses != {"127.0.0.1"}:
                raise MaskcourtError(
                    f"Ray listens on {', '.join(sorted(addresses))} and not on 127.0.0.1 alone",
                    "start the sweep from a process that has not imported ray before",
                )
            yield cluster
        finally:
            if handle.head_node.dead_processes():
                end_all(mark)  # nothing waits for one that is gone
            ray.shutdown()
            handle.shutdown()


@contextlib.contextmanager
def nothing_left(*, of_orphans: bool = False) -> Iterator[str]:
    """Mark what is started meanwhile, and end what is left of it; gives the mark.

    `of_orphans`: also of what lost its parent, marked or not, since Ray's agents write over their
    environment. This process starts nothing else meanwhile.
    """
    mark = secrets.token_hex(8)
    spared = below(os.getpid()) if of_orphans else None
    if of_orphans:
        adopt_orphans()
    before = os.environ.get(MARK)
    os.environ[MARK] = marked(os.environ, mark)[MARK]
    try:
        yield mark
    finally:
        end_all(mark, spared=spared)
        if before is None:
            del os.environ[MARK]
        else:
            os.environ[MARK] = before


@contextlib.contextmanager
def existing_cluster(address: str) -> Iterator[Cluster]:
    """This process connected to a cluster for the time being; MaskcourtError if it cannot be."""
    if address.startswith("ray://"):
        raise UsageError(
            f"{address}: Ray's client is not supported",
            "run the sweep on a machine of the cluster, as by ray job submit",
        )
    ray = import_ray(local=False)
    try:
        _connect(ray, address)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        reason = one_line(str(error) or type(error).__name__)
        message = f"no Ray cluster can be reached at {address}: {reason}"
        raise MaskcourtError(message, "is it running, from here?") from error
    try:
        yield Cluster(ray)
    finally:
        ray.shutdown()


def _started(nodes: int, directory: Path) -> Any:
    """Nodes that divide this machine among them; the first is the head."""
    from ray.cluster_utils import Cluster as RayCluster

    processors = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    share = {
        "num_cpus": max(1, processors // nodes),
        "num_gpus": 0,
        "memory": int(memory * 0.9 / nodes),  # the rest is Ray's own
        "object_store_memory": 128 << 20,  # cases and vocabulary pass through it, rows do not
        "node_ip_address": "127.0.0.1",
        "dashboard_host": "127.0.0.1",
        "dashboard_agent_listen_port": 0,  # the usual one may be that of another cluster
    }
    head: dict[str, Any] = {"_system_config": _HEALTH, "no_monitor": True}
    head |= {"include_dashboard": False, "include_log_monitor": False}
    try:
        cluster = RayCluster(initialize_head=True, head_node_args={**share, **head})
        for _ in range(nodes - 1):
            cluster.add_node(**share)
    except Exception as error:
        full = shutil.disk_usage(directory).free < 64 << 20  # its files, at the beginning
        hint = f"there is no room in {directory.parent}" if full else "--debug shows more"
        reason = one_line(str(error) or type(error).__name__)
        raise MaskcourtError(f"Ray does not start: {reason}", hint) from error
    return cluster


def _connect(ray: ModuleType, address: str) -> None:
    ray.init(
        address=address,
        log_to_driver=False,
        logging_level=logging.ERROR,
        configure_logging=True,
        namespace="maskcourt",
    )
