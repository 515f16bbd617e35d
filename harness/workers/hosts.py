"""Hosts seen from the coordinator: start a process, ask it something, survive its death.

A host is one process that serves one engine or the validators. It is watched while it works:
processor time and wall time against the request's limit, resident memory against the host's, of
which the most that it ever had counts.
What ends it is told apart: a signal of its own (`Crashed`), the time limit (`TimedOut`), the
memory limit (`OutOfMemory`). A host that ended is started again by whoever needs it next.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.workers import wire
from harness.workers.channel import Channel, ready
from harness.workers.lineage import end_all, marked
from harness.workers.mask_buffer import MaskBuffer, size_of
from harness.workers.outcomes import Crashed, OutOfMemory, TimedOut

WALL_FACTOR = 4
"""A request may take this many times its processor-time limit in wall time: processor time says
the same on a busy machine as on an idle one, wall time catches an engine that sleeps."""

AWAKE = 0.05
"""An engine with at least this share of a processor does not sleep, it waits for its turn."""

AWAKE_FACTOR = 40
"""What such a request may take in wall time."""

OUTPUT_LIMIT = 16_384
"""Bytes of an engine's own output that are kept with a case."""

_READ_LIMIT = 1 << 20
"""Bytes of it that are looked at; of more than are kept, lines that are repeated are kept once."""

_MOST_RESIDENT = re.compile(r"^VmHWM:\s*(\d+) kB", re.MULTILINE)

_CLOCK = re.compile(r"^\[\d\d:\d\d:\d\d\] ", re.MULTILINE)
"""The time of day that an engine prints before its warnings: two runs would differ in it."""

STOPPED_SECONDS = 600.0
"""So long a host that somebody stopped is waited for; that it stands still is not the engine's."""

_TICK = 0.02
_SLOW_TICK = 0.1

_GLANCE = 1.0
"""Seconds that count between two looks at a host: the coordinator itself may have been stopped."""

_REAP_SECONDS = 30.0
"""A killed process ends within this time, unless the kernel keeps it."""

_WROTE = Crashed("wrote into the channel of its answers")

Ended = Crashed | TimedOut | OutOfMemory


@dataclass(frozen=True)
class HostSpec:
    """How to start a host.

    Attributes:
        name: For messages.
        service: ``module:Class`` of the service inside.
        interpreter: The Python that runs it.
        paths: Directories that go before everything else on its module path.
        memory: Resident bytes at which it is ended.
        start_seconds: Limit for starting and importing, processor time.
    """

    name: str
    service: str
    interpreter: str = sys.executable
    paths: tuple[str, ...] = ()
    memory: int = 4 << 30
    start_seconds: float = 120.0


class Host:
    """One process and the pipes to it. Ask with `request`, or with `submit` and `gather`."""

    def __init__(self, spec: HostSpec, mask_words: int = 0) -> None:
        self.spec = spec
        self.ended: Ended | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives with the host
        self._mark = 0
        self._token = ""
        self._channel: Channel | None = None
        self._waited = self._stopped = 0.0
        self._cpu_began = 0.0
        self._limit = 0.0
        self._looked = 0.0
        self._steps: int | None = None
        self._memory_file = _shared_file(size_of(mask_words))
        memory = mmap.mmap(self._memory_file.fileno(), size_of(mask_words))
        self.buffer = MaskBuffer(memory, mask_words)

    @property
    def buffer_descriptor(self) -> int:
        """The descriptor of the buffer's memory, the same number inside the host."""
        return self._memory_file.fileno()

    @property
    def answers(self) -> int:
        """The descriptor of which something can be read when there is an answer."""
        assert self._channel is not None
        return self._channel.answers

    @property
    def running(self) -> bool:
        """Whether there is a process that can be asked."""
        return self._process is not None and self.ended is None

    def start(self) -> Ended | None:
        """Start the process and wait until its service is there."""
        self.launch()
        answer = gather([self])[0]
        return None if isinstance(answer, wire.Message) else answer

    def launch(self) -> None:
        """Start the process; `gather` tells when its service is there."""
        self.stop()
        self.ended = None
        channel = self._channel = Channel()
        self._token = secrets.token_hex(8)
        # -P keeps the working directory off the path: a folder `datasets/` there is not the library
        # and -u writes at once what an engine prints, so that it survives a crash
        command = [self.spec.interpreter, "-P", "-u", "-m", "harness.workers.start_host"]
        numbers = [os.getpid(), *channel.theirs]
        try:
            self._process = subprocess.Popen(
                [*command, *map(str, numbers), self.spec.service],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                pass_fds=(*channel.theirs, self.buffer_descriptor),
                env=marked(self._environment(), self._token),
                start_new_session=True,
            )
        except OSError as error:
            channel.close()
            self.ended = Crashed(f"cannot be started: {error}")
            return
        finally:
            channel.handed_over()
        self._await(self.spec.start_seconds)

    def submit(
        self,
        head: Mapping[str, object],
        arrays: Mapping[str, wire.Array],
        limit: float,
        *,
        stepwise: bool = False,
    ) -> None:
        """Ask something that may take `limit` seconds of processor time; `gather` the answer.

        With `stepwise` the limit is for each step of which the buffer tells.
        """
        if not self.running:
            return
        self.buffer.progress[:] = 0
        self._await(limit)
        self._steps = 0 if stepwise else None
        assert self._channel is not None
        try:
            for _ in self._channel.sending(wire.Message(head, arrays), _TICK):
                if self._watch() is not None:
                    return
        except wire.Closed:
            self._post_mortem()

    def request(
        self,
        head: Mapping[str, object],
        arrays: Mapping[str, wire.Array] | None = None,
        limit: float = 60.0,
        meanwhile: Callable[[], None] | None = None,
    ) -> wire.Message | Ended:
        """Ask and wait for the answer, as `gather` does; what the service raised is a `Crashed`."""
        self.submit(head, arrays or {}, limit)
        return gather([self], meanwhile)[0]

    def output(self) -> str:
        """What the host printed since this was last asked, its beginning if it is long."""
        end = os.fstat(self._output.fileno()).st_size
        start, self._mark = self._mark, end
        data = os.pread(self._output.fileno(), min(end - start, _READ_LIMIT), start)
        text = _CLOCK.sub("", data.decode("utf-8", "replace"))
        if len(data) > OUTPUT_LIMIT:
            text = "".join(dict.fromkeys(text.splitlines(keepends=True)))[:OUTPUT_LIMIT]
        return text

    def stop(self) -> None:
        """End the process and wait for it."""
        if self._process is None:
            return
        self._kill()
        self._reap()
        assert self._channel is not None
        self._channel.close()
        self._process = None

    def close(self) -> None:
        """End the process and give back the shared memory and the output file."""
        self.stop()
        self._output.close()
        self._memory_file.close()

    def _environment(self) -> dict[str, str]:
        """The host's environment: its own module path, and one thread per native library."""
        paths = [*self.spec.paths, str(Path(__file__).resolve().parents[2])]
        if self.spec.interpreter == sys.executable:
            # what the user's own interpreter finds; another version must not see its packages
            paths += filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        environment |= dict.fromkeys(_ONE_THREAD, "1")
        environment["TOKENIZERS_PARALLELISM"] = "false"
        environment["PYTHONHASHSEED"] = "0"  # an engine in Python may go by the order of a set
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        return environment

    def _await(self, limit: float) -> None:
        self._looked = self._seen = time.monotonic()
        self._waited = self._stopped = 0.0
        self._cpu_began = self._cpu()
        self._limit = limit
        self._steps = None

    def _notice_steps(self) -> None:
        """Begin to count anew where the buffer tells of a step."""
        steps = int(self.buffer.progress.sum())
        if self._steps is not None and steps != self._steps:
            self._await(self._limit)
            self._steps = steps

    def look_after(self) -> None:
        """End the host if it is over a limit, or gone; looks again only after a while."""
        now = time.monotonic()
        if now - self._looked >= _TICK:
            self._looked = now
            self._watch()

    def _watch(self) -> Ended | None:
        assert self._process is not None
        # A child of the engine may hold the pipe open: then no end of file tells of the death.
        if self._process.poll() is not None and not ready([self.answers], 0):
            return self._post_mortem()
        self._notice_steps()
        if self._over_memory():
            return self.ended
        used = self._cpu() - self._cpu_began
        self._count_wall_time()
        factor = AWAKE_FACTOR if used >= self._waited * AWAKE else WALL_FACTOR
        if used > self._limit or self._waited > self._limit * factor + 1:
            return self._end(TimedOut(f"over the limit of {self._limit:g} s"))
        if self._stopped > STOPPED_SECONDS:
            # no time-out, which would say something of the schema, and be remembered
            message = f"was stopped for more than {STOPPED_SECONDS:g} s"
            return self._end(Crashed(message, signal="SIGSTOP"))
        return None

    def _over_memory(self) -> bool:
        """End the host if it ever had more than its memory, whether somebody looked then or not."""
        if over := self._most_resident() > self.spec.memory:
            self._end(OutOfMemory(f"over the memory limit of {self.spec.memory >> 20} MiB"))
        return over

    def _count_wall_time(self) -> None:
        """Count the time since the last look, by whether the host was stopped meanwhile."""
        now = time.monotonic()
        since, self._seen = min(now - self._seen, _GLANCE), now
        if _proc(self._process, "stat").rpartition(")")[2].split()[:1] in (["T"], ["t"]):
            self._stopped += since
        else:
            self._waited += since

    def _end(self, outcome: Ended) -> Ended:
        self.ended = outcome
        self._kill()
        self._reap()
        return outcome

    def _kill(self) -> None:
        """End the process and all that it started, unless that was seen to before."""
        assert self._process is not None
        if self._process.returncode is None:
            end_all(self._token, self._process.pid)
            self._kill_group()

    def _kill_group(self) -> None:
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _reap(self) -> None:
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_REAP_SECONDS)

    def _post_mortem(self) -> Ended:
        """Why the process is gone."""
        assert self._process is not None
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return self._end(Crashed("closed its pipe and went on running"))
        self._kill_group()  # at once: later the number may belong to another process
        end_all(self._token)
        if code < 0:
            name = _signal_name(-code)
            self.ended = Crashed(f"died of {name}", signal=name)
        else:
            self.ended = Crashed(f"left with exit code {code}")
        return self.ended

    def received(self) -> wire.Message | Ended | None:
        """The answer, or what became of the host; None where some of the answer is missing."""
        assert self._channel is not None
        try:
            message = self._channel.received()
        except wire.Closed:
            return self._post_mortem()
        except wire.Broken:
            return self._end(_WROTE)
        if message is None:
            return None
        error = message.head.get("error")
        if error == "out_of_memory":
            return self._end(OutOfMemory(str(message.head["message"])))
        if error is not None:
            return Crashed(str(message.head["message"]))
        # of which step it was is not known: then it is held against what is asked next
        return self.ended if self._steps is None and self._over_memory() else message

    def processor_seconds(self) -> float:
        """What its present process has used."""
        return self._cpu() if self._process is not None else 0.0

    def _cpu(self) -> float:
        fields = _proc(self._process, "stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _CLOCK_TICKS if len(fields) > 12 else 0.0

    def _most_resident(self) -> int:
        found = _MOST_RESIDENT.search(_proc(self._process, "status"))
        return int(found[1]) << 10 if found else 0


def gather(
    hosts: Sequence[Host], meanwhile: Callable[[], None] | None = None
) -> list[wire.Message | Ended]:
    """The answers of hosts that were all asked something, watched together while they work.

    An exception inside the service comes back as `Crashed` and leaves the host running; after
    any other `Ended` the host's process is gone and `Host.ended` says why.

    Args:
        hosts: All of which were asked.
        meanwhile: Called again and again while they work.
    """
    answers: dict[int, wire.Message | Ended] = {}
    tick = _TICK
    while len(answers) < len(hosts):
        open_ = [index for index in range(len(hosts)) if index not in answers]
        ready = poll([hosts[index] for index in open_], tick)
        answers |= {open_[at]: answer for at, answer in ready.items()}
        if not ready:
            tick = min(tick * 1.5, _SLOW_TICK)
        if meanwhile is not None:
            meanwhile()
    return [answers[index] for index in range(len(hosts))]


def poll(hosts: Sequence[Host], timeout: float) -> dict[int, wire.Message | Ended]:
    """The answers that are there within `timeout` seconds, by the host's index.

    Where there are none the hosts are looked after; one that this ends has its answer next time.
    """
    answers: dict[int, wire.Message | Ended] = {}
    waiting = {}
    for index, host in enumerate(hosts):
        if host.ended is not None:
            answers[index] = host.ended
        elif not host.running:
            answers[index] = Crashed("the host is not running")
        else:
            waiting[host.answers] = index
    for descriptor in ready(list(waiting), 0 if answers else timeout) if waiting else []:
        answer = hosts[waiting[descriptor]].received()
        if answer is not None:
            answers[waiting[descriptor]] = answer
    if not answers:
        for index in waiting.values():
            hosts[index].look_after()
    return answers


def wait(hosts: Sequence[Host], timeout: float) -> None:
    """Wait until one of the hosts has an answer, or `timeout` seconds."""
    ready([host.answers for host in hosts if host.running], timeout)


def _shared_file(size: int) -> IO[bytes]:
    """A file in memory that a child can map too, and that nobody can make smaller."""
    if not hasattr(os, "memfd_create"):  # not Linux
        file = tempfile.TemporaryFile()  # noqa: SIM115
        file.truncate(size)
        return file
    # not in /dev/shm, which may be full: that is a SIGBUS for whoever writes to a mapping
    descriptor = os.memfd_create("masks", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return os.fdopen(descriptor, "r+b", buffering=0)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _proc(process: subprocess.Popen[bytes] | None, what: str) -> str:
    """A file of the process in /proc, empty when the process or /proc is not there."""
    if process is None:
        return ""
    try:
        return Path(f"/proc/{process.pid}/{what}").read_text("utf-8", "replace")
    except OSError:
        return ""


_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
_ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
