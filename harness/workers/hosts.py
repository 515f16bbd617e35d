"""Hosts seen from the coordinator: start a process, ask it something, survive its death.

A host is watched while it works: processor time and wall time against the request's limit, the most
resident memory that it ever had against the host's. No call blocks, whatever it does. What ends it
is told apart; it is started again by whoever needs it next.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import re
import secrets
import select
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
from harness.workers.lineage import end_all, marked
from harness.workers.outcomes import Crashed, Defect, OutOfMemory, TimedOut
from harness.workers.wire import MaskBuffer, size_of

OUTPUT_LIMIT = 16_384
"""Bytes of an engine's own output that are kept with a case."""

STOPPED_SECONDS = 600.0
"""So long a host that somebody stopped is waited for; that it stands still is not the engine's."""

START_SECONDS = 120.0
"""Processor time in which a host starts and imports its service."""
_TICK, _SLOW_TICK = 0.02, 0.1

_PROGRAM = "import sys; from harness.workers.host_process import main; a = sys.argv; "
_PROGRAM += "main(int(a[1]), int(a[2]), int(a[3]), a[4])"

Ended = Crashed | TimedOut | OutOfMemory


@dataclass(frozen=True)
class HostSpec:
    """How to start a host with a service ``module:Class`` inside.

    `paths` go first on its module path. It may have so many bytes of resident memory.
    """

    service: str
    interpreter: str = sys.executable
    paths: tuple[str, ...] = ()
    memory: int = 4 << 30


class Host:
    """One process and the pipes to it. Ask with `request`, or with `submit` and `answer`.

    `processor_seconds` is what its present process had used at its last answer.
    """

    def __init__(self, spec: HostSpec, mask_words: int = 0) -> None:
        self.spec = spec
        self.ended: Ended | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives with the host
        self._mark = 0
        self._token = ""
        self._number = 0
        self._waited = self._stopped = self._limit = self._looked = self.processor_seconds = 0.0
        self._cpu_began: float | None = None
        self._steps: int | None = None
        self._memory_file = _shared_file(size_of(mask_words))
        self.buffer_descriptor = self._memory_file.fileno()  # the same number inside the host
        memory = mmap.mmap(self.buffer_descriptor, size_of(mask_words))
        self.buffer = MaskBuffer(memory, mask_words)

    @property
    def running(self) -> bool:
        return self._process is not None and self.ended is None

    def start(self) -> Ended | None:
        self.launch()
        answer = self.answer()
        return None if isinstance(answer, wire.Message) else answer

    def launch(self) -> None:
        """Start the process; `answer` tells when its service is there."""
        self.stop()
        self.ended, self._number, self.processor_seconds = None, 0, 0.0
        inward, self._outbox = os.pipe()
        self.answers, outward = os.pipe()
        for descriptor in (self._outbox, self.answers):
            os.set_blocking(descriptor, False)
            with contextlib.suppress(OSError):  # more than the system allows without privileges
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, 1 << 20)
        self._inbox = wire.Inbox(self.answers)
        self._token = secrets.token_hex(8)
        # -P keeps the working directory off the path: a folder `datasets/` there is not the library
        # and -u writes at once what an engine prints, so that it survives a crash
        numbers = map(str, (os.getpid(), inward, outward))
        try:
            self._process = subprocess.Popen(
                [self.spec.interpreter, "-P", "-u", "-c", _PROGRAM, *numbers, self.spec.service],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                pass_fds=(inward, outward, self.buffer_descriptor),
                env=marked(self._environment(), self._token),
                start_new_session=True,
            )
        except OSError as error:
            self._close_channel()
            self.ended = Crashed(f"cannot be started: {error}")
            return
        finally:
            os.close(inward)
            os.close(outward)
        self._await(START_SECONDS)

    def submit(
        self,
        head: Mapping[str, object],
        arrays: Mapping[str, wire.Array],
        limit: float,
        *,
        stepwise: bool = False,
    ) -> None:
        """Ask something with a limit of processor time; if `stepwise`, that of each step."""
        if not self.running:
            return
        self.buffer.progress[:] = 0
        self._await(limit)
        self._steps = 0 if stepwise else None
        self._number += 1
        view = memoryview(wire.encode(wire.Message(head, arrays, self._number)))
        while view:
            try:
                view = view[os.write(self._outbox, view) :]
            except BlockingIOError:
                if not _ready([self._outbox], _TICK, select.POLLOUT) and self._watch() is not None:
                    return
            except (BrokenPipeError, ConnectionError):
                self._post_mortem()
                return

    def request(
        self,
        head: Mapping[str, object],
        arrays: Mapping[str, wire.Array] | None = None,
        limit: float = 60.0,
        meanwhile: Callable[[], None] | None = None,
    ) -> wire.Message | Ended:
        self.submit(head, arrays or {}, limit)
        return self.answer(meanwhile)

    def answer(self, meanwhile: Callable[[], None] | None = None) -> wire.Message | Ended:
        """The answer, waited for; `meanwhile` is called again and again.

        An exception inside the service is a `Crashed` that leaves the host running; after any other
        `Ended` its process is gone.
        """
        tick = _TICK
        while True:
            answers = poll([self], tick)
            if meanwhile is not None:
                meanwhile()  # also where many answers come at once: others are watched by it
            if answers:
                return answers[0]
            tick = min(tick * 1.5, _SLOW_TICK)

    def printed(self) -> int:
        """Bytes that the host printed so far; for `output`."""
        return os.fstat(self._output.fileno()).st_size

    def output(self, end: int | None = None) -> str:
        """What was printed since this was last asked, up to the byte `end`; long text is cut."""
        start, self._mark = self._mark, self.printed()
        end = self._mark if end is None else end
        data = os.pread(self._output.fileno(), max(min(end - start, 1 << 20), 0), start)
        text = data.decode("utf-8", "replace")
        # without the time of day before warnings: two runs would differ in it
        text = re.sub(r"^\[\d\d:\d\d:\d\d\] ", "", text, flags=re.MULTILINE)
        if len(data) > OUTPUT_LIMIT:
            text = "".join(dict.fromkeys(text.splitlines(keepends=True)))[:OUTPUT_LIMIT]
        return text

    def stop(self) -> None:
        if self._process is not None:
            self._kill()
            self._close_channel()
            self._process = None

    def close(self) -> None:
        self.stop()
        self._output.close()
        self._memory_file.close()

    def end(self, outcome: Ended) -> Ended:
        """End the process, and have it that this is what ended it."""
        self.ended = outcome
        self._kill()
        return outcome

    def _close_channel(self) -> None:
        for descriptor in (self._outbox, self.answers):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _environment(self) -> dict[str, str]:
        """The host's environment: its own module path, and one thread per native library."""
        paths = [*self.spec.paths, str(Path(__file__).resolve().parents[2])]
        if self.spec.interpreter == sys.executable:
            # what the user's own interpreter finds; another version must not see its packages
            paths += filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        libraries = ("OMP", "MKL", "OPENBLAS", "RAYON")
        return {
            **os.environ,
            **{f"{library}_NUM_THREADS": "1" for library in libraries},
            "PYTHONPATH": os.pathsep.join(paths),
            "TOKENIZERS_PARALLELISM": "false",
            "PYTHONHASHSEED": "0",  # an engine in Python may go by the order of a set
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def _await(self, limit: float) -> None:
        self._looked = self._seen = time.monotonic()
        self._waited = self._stopped = 0.0
        self._cpu_began = None  # until somebody looks: most answers are there before
        self._limit = limit
        self._steps = None

    def look_after(self) -> None:
        """End the host if it is over a limit, or gone; looks again only after a while."""
        now = time.monotonic()
        if now - self._looked >= _TICK:
            self._looked = now
            self._watch()

    def _watch(self) -> Ended | None:
        assert self._process is not None
        # A child of the engine may hold the pipe open: then no end of file tells of the death.
        if self._process.poll() is not None and not _ready([self.answers], 0):
            return self._post_mortem()
        steps = int(self.buffer.progress.sum())
        if self._steps is not None and steps != self._steps:  # a step was done: count anew
            self._await(self._limit)
            self._steps = steps
        if self._over_memory():
            return self.ended
        state, spent = self._stat()
        self._cpu_began = spent if self._cpu_began is None else self._cpu_began
        used, now = spent - self._cpu_began, time.monotonic()
        # no more than a second: the coordinator itself may have been stopped
        since, self._seen = min(now - self._seen, 1.0), now
        if state in ("T", "t"):
            self._stopped += since
        else:
            self._waited += since
        # an engine may sleep; one that has a share of a processor only waits for its turn
        factor = 40 if used >= self._waited * 0.05 else 4
        if used > self._limit or self._waited > self._limit * factor + 1:
            return self.end(TimedOut(f"over the limit of {self._limit:g} s"))
        if self._stopped > STOPPED_SECONDS:
            # no time-out, which would say something of the schema, and be remembered
            message = f"was stopped for more than {STOPPED_SECONDS:g} s"
            return self.end(Crashed(message, signal="SIGSTOP"))
        return None

    def _over_memory(self) -> bool:
        """End the host if it ever had more than its memory, whether somebody looked then or not."""
        found = re.search(r"^VmHWM:\s*(\d+) kB", self._proc("status"), re.MULTILINE)
        if over := found is not None and int(found[1]) << 10 > self.spec.memory:
            self.end(OutOfMemory(f"over the memory limit of {self.spec.memory >> 20} MiB"))
        return over

    def _kill(self) -> None:
        """End the process and all that it started, unless that was seen to before; wait for it."""
        assert self._process is not None
        if self._process.returncode is None:
            end_all(self._token, self._process.pid)
            self._kill_group()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(30.0)  # unless the kernel keeps it

    def _kill_group(self) -> None:
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _post_mortem(self) -> Ended:
        assert self._process is not None
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return self.end(Crashed("closed its pipe and went on running"))
        self._kill_group()  # at once: later the number may belong to another process
        end_all(self._token)
        names = {-one.value: one.name for one in signal.Signals}
        name = None if code >= 0 else names.get(code, f"signal {-code}")
        self.ended = Crashed(f"died of {name}" if name else f"left with exit code {code}", name)
        return self.ended

    def received(self) -> wire.Message | Ended | None:
        """The answer, or what became of the host; None where some of the answer is missing."""
        try:
            message = self._inbox.read()
        except wire.Closed:
            return self._post_mortem()
        except wire.Broken:
            return self.end(Crashed("wrote into the channel of its answers"))
        if message is None:
            return None
        if message.number != self._number:
            return self.end(Crashed("gave an answer to something that was not asked"))
        head = dict(message.head)
        self.processor_seconds, resident = head.pop("spent", 0.0), head.pop("resident", 0)
        message = wire.Message(head, message.arrays, message.number)
        if "error" in message.head:
            error = str(message.head["message"])
            exhausted = message.head["error"] == "out_of_memory"
            kind = Defect if message.head["error"] == "defect" else Crashed
            return self.end(OutOfMemory(error)) if exhausted else kind(error)
        # of which step it was is not known: then it is held against what is asked next
        may_be_over = self._steps is None and resident > self.spec.memory
        return self.ended if may_be_over and self._over_memory() else message

    def _stat(self) -> tuple[str, float]:
        """The state of its process, by letter, and the processor time that it has used."""
        fields = self._proc("stat").rpartition(")")[2].split()
        if len(fields) <= 12:
            return "", 0.0
        return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _proc(self, name: str) -> str:
        """A file of the process in /proc, empty when the process or /proc is not there."""
        with contextlib.suppress(OSError):
            if self._process is not None:
                return Path(f"/proc/{self._process.pid}/{name}").read_text("utf-8", "replace")
        return ""


def poll(hosts: Sequence[Host], timeout: float) -> dict[int, wire.Message | Ended]:
    """The answers within `timeout` seconds, by index; if none, the hosts are looked after."""
    answers: dict[int, wire.Message | Ended] = {}
    waiting = {}
    for index, host in enumerate(hosts):
        if host.running:
            waiting[host.answers] = index
        else:
            answers[index] = host.ended or Crashed("the host is not running")
    for descriptor in _ready(list(waiting), 0 if answers else timeout) if waiting else []:
        answer = hosts[waiting[descriptor]].received()
        if answer is not None:
            answers[waiting[descriptor]] = answer
    if not answers:
        for index in waiting.values():
            hosts[index].look_after()
    return answers


def _ready(
    descriptors: Sequence[int], seconds: float, event: int = select.POLLIN | select.POLLHUP
) -> list[int]:
    """Those of the descriptors that can be read (or written) within `seconds`."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, event)
    return [descriptor for descriptor, _ in poll.poll(seconds * 1000)]


def _shared_file(size: int) -> IO[bytes]:
    """A file in memory that a child can map too, and that nobody can make smaller."""
    # not in /dev/shm, which may be full: that is a SIGBUS for whoever writes to a mapping
    descriptor = os.memfd_create("masks", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return os.fdopen(descriptor, "r+b", buffering=0)
