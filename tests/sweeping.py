"""Sweeps that are watched from outside: a cluster of their own, cases with gates, real kills.

``python -m tests.sweeping NODES`` holds a cluster on 127.0.0.1 until its standard input is closed:
nodes of one processor each, of which the first is the head, where the driver is. Whatever Ray is
in, it is not the process of the tests.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.inputs.vocabulary import byte_vocabulary
from harness.runs.tables import SCHEMAS
from tests.command import ROOT, children, descendants, is_gone, until

ENGINES = "tests.planted:Gated,tests.miniatures:ForbidsOne"
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
GATES = (2, 5)
CASES = 7


@dataclass(frozen=True)
class Cases:
    """Cases of which two wait at a gate until it is opened, and what they are run with."""

    root: Path

    def __post_init__(self) -> None:
        byte_vocabulary([b'"a', b"ab", b'b"']).save(self.root / "vocabulary")
        lines = []
        for number in range(CASES):
            schema = {
                "enum": ["ab", "cab", number],
                "x-extra": ['"ax"', f'"{number}"'],
                "x-forbidden": [['"', "a"], ['"a', 'b"']],
            }
            if number in GATES:
                schema["x-gate"] = str(self.root / f"gate-{number}")
            lines.append(json.dumps({"id": f"case-{number}", "schema": schema, "valid": ["ab"]}))
        (self.root / "own.jsonl").write_text("\n".join(lines))

    def arguments(self, command: str, out: object, *others: object) -> list[object]:
        data = ("--cases", self.root / "own.jsonl", "--vocabulary", self.root / "vocabulary")
        how = ("--cap", "none", "--shrink-budget", 0, "--out", out)
        return [command, "-e", ENGINES, *data, *how, *others]

    def host_at(self, gate: int, times: int = 1) -> int:
        """The engine's process that waits at a gate; of those that came there, the last."""
        until(lambda: self.waiting(gate) >= times)
        newest = max(self._waiters(gate), key=lambda file: file.stat().st_mtime_ns)
        return int(newest.suffix[1:])

    def waiting(self, gate: int) -> int:
        """How many engines have come to a gate so far."""
        return len(self._waiters(gate))

    def _waiters(self, gate: int) -> list[Path]:
        return list(self.root.glob(f"gate-{gate}.*"))

    def open_gates(self, *numbers: int) -> None:
        for number in numbers or GATES:
            (self.root / f"gate-{number}").touch()

    def close_gates(self) -> None:
        for file in self.root.glob("gate-*"):
            file.unlink()


@dataclass
class HeldCluster:
    """A cluster in a process of its own."""

    process: subprocess.Popen[str]
    address: str
    head: list[int]
    """The processes of its first node that Ray starts itself."""


@contextmanager
def cluster(nodes: int) -> Iterator[HeldCluster]:
    """A cluster for the time being; nothing of it is left at the end."""
    command = [sys.executable, "-m", "tests.sweeping", str(nodes)]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    env = {**os.environ, "PATH": path}
    with subprocess.Popen(command, cwd=ROOT, **pipes, env=env) as process:
        assert process.stdout is not None
        try:
            address, *head = process.stdout.readline().split()
            yield HeldCluster(process, address, list(map(int, head)))
        finally:
            below = descendants(process.pid)
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
            for one in below:
                if not is_gone(one):
                    os.kill(one, signal.SIGKILL)


def parent(pid: int) -> int:
    """The process that started another."""
    stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    return int(stat.rpartition(")")[2].split()[1])


def tables(run: Path) -> dict[str, bytes]:
    """The tables that are the same byte by byte, however a run came about."""
    names = SCHEMAS.keys() - {"timings", "costs"}
    return {name: (run / f"{name}.parquet").read_bytes() for name in names}


def listening_beyond_here(pids: list[int]) -> list[str]:
    """Addresses other than the loopback at which any of the processes listens, in hexadecimal."""
    sockets = set()
    for pid in pids:
        for file in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                sockets.add(str(file.readlink()))
            except OSError:
                continue
    here = ("0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")
    found = []
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            address = fields[1].partition(":")[0]
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets and address not in here:
                found.append(fields[1])
    return found


def main() -> None:
    """Hold a cluster."""
    from harness.execution.sweep.cluster import _HEALTH, import_ray
    from harness.workers.temporary_directories import temporary_directory

    with temporary_directory() as directory:
        os.environ["RAY_TMPDIR"] = str(directory)
        out = os.dup(1)
        os.dup2(2, 1)  # what Ray prints is none of ours
        import_ray(local=True)
        from ray._private.node import Node
        from ray.cluster_utils import Cluster

        Node.start_api_server = lambda *_, **__: None  # nobody looks at it here

        share = {
            "num_cpus": 1,
            "node_ip_address": "127.0.0.1",
            "dashboard_host": "127.0.0.1",
            "dashboard_agent_listen_port": 0,  # there may be other clusters here
            "object_store_memory": 80 << 20,
            "memory": 4 << 30,
        }
        head = {"include_dashboard": False, "include_log_monitor": False, "no_monitor": True}
        head |= {"_system_config": _HEALTH}
        held_cluster = Cluster(initialize_head=True, head_node_args={**share, **head})
        processes = children(os.getpid())
        for _ in range(int(sys.argv[1]) - 1):
            held_cluster.add_node(**share)
        os.write(out, f"{held_cluster.address} {' '.join(map(str, processes))}\n".encode())
        sys.stdin.read()
        held_cluster.shutdown()


if __name__ == "__main__":
    main()


ONE_LANE = ("--lanes", 1)
SMALL = (*ONE_LANE, "--lane-memory", "1G")


def sweep(cases: Cases, nodes: HeldCluster, out: object, *others: object) -> list[object]:
    return cases.arguments("sweep", out, "--address", nodes.address, *others)


def directories_of(processes: list[int]) -> set[Path]:
    """The temporary directories of Ray that processes were started with."""
    found = set()
    for one in processes:
        with contextlib.suppress(OSError):
            for variable in Path(f"/proc/{one}/environ").read_text().split("\0"):
                if variable.startswith("RAY_TMPDIR="):
                    found.add(Path(variable.partition("=")[2]))
    return found


def finished(process, log: Path) -> str:
    assert process.wait(120) == 0, log.read_text()
    return log.read_text()
