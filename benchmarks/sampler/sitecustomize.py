"""Where the processor time of a process goes: looked at every few milliseconds of it.

The interpreter imports this module by its name when it starts, in every process of a run whose
module path begins with this directory; `benchmarks.overhead` puts it there. The system's timer of
a process's own time says when to look (not that of all its processor time, which bounds cases).
What was spent since the last look, however long a native call held it up, belongs to what the stack
shows now. That costs a thousandth of the time and changes nothing in what runs. The sums lie in a
mapped file, so that a killed process keeps them.
"""

from __future__ import annotations

import atexit
import json
import mmap
import os
import signal
import struct
import sys
import time
from pathlib import Path
from types import FrameType

DIRECTORY = "MASKCOURT_SAMPLES"
"""Names the directory into which every process writes a file with its own number."""

EVERY = 0.005
"""Seconds of processor time between two looks."""

SORTS = ("compile", "engine", "opening", "imports", "validators", "rest")
"""An engine's compilation, its other calls and its construction; modules that are imported; what
validators take; and all else, which is the harness's own."""

SUMS = struct.Struct(f"<{len(SORTS) + 1}q")
"""Nanoseconds by sort, then the most resident memory in bytes."""

_NOTES_EVERY = 60
"""Looks between two notes of where the rest went, and of memory."""

_VALIDATING = ("/jsonschema/", "/referencing/", "/jsonschema_rs/")
_ASKED = ("_asked", "_first_error", "build_jsonschema", "build_jsonschema_rs")


class Sampler:
    """The looks of this process."""

    def __init__(self, directory: Path, kind: str) -> None:
        name = f"{kind}-{os.getpid()}-{time.monotonic_ns()}"
        self._notes = directory / f"{name}.json"
        with (directory / f"{name}.sums").open("w+b") as file:
            file.truncate(SUMS.size)
            self._file = mmap.mmap(file.fileno(), SUMS.size)
        self._sums = dict.fromkeys(SORTS, 0)
        self._inner: dict[str, int] = {}
        self._whole: dict[str, int] = {}
        self._looks, self._peak, self._before = 0, 0, 0

    def look(self, _signal: int, frame: FrameType | None) -> None:
        """Add what was spent since the last look to what runs now."""
        now = time.process_time_ns()
        spent, self._before = now - self._before, now
        sort, functions = sorted_out(frame)
        self._sums[sort] += spent
        self._looks += 1
        if sort == "rest" and functions:
            self._inner[functions[0]] = self._inner.get(functions[0], 0) + spent
        for name in dict.fromkeys(functions):
            self._whole[name] = self._whole.get(name, 0) + spent
        if self._looks % _NOTES_EVERY == 0:
            self.note()
        SUMS.pack_into(self._file, 0, *self._sums.values(), self._peak)

    def note(self) -> None:
        """Note memory, and where the rest went."""
        self._peak = peak_bytes()
        self._notes.write_text(json.dumps({"inner": self._inner, "whole": self._whole}))

    def end(self) -> None:
        """Look no more: the interpreter ends, and what it no longer handles would kill it."""
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, signal.SIG_IGN)
        self.note()


def sorted_out(frame: FrameType | None) -> tuple[str, list[str]]:
    """The sort of what a stack shows, and the project's functions in it, the innermost first."""
    functions: list[str] = []
    imports = validates = False
    while frame is not None:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        imports = imports or file.startswith("<frozen importlib")
        validates = validates or name in _ASKED or any(one in file for one in _VALIDATING)
        package = "/adapters/" if "/adapters/" in file else "/harness/"
        if package in file:
            functions.append(f"{package[1:]}{file.rpartition(package)[2]}:{name}")
        frame = frame.f_back
    called = [one.partition(":")[2] for one in functions if one.startswith("adapters/")]
    if imports:
        return "imports", functions
    if called:
        is_opening = "harness/protocol_checks/smoke.py:opened" in functions
        sort = "opening" if is_opening else "compile" if "compile" in called else "engine"
        return sort, functions
    return ("validators" if validates else "rest"), functions


def peak_bytes() -> int:
    """The most memory that this process has held, resident (VmHWM)."""
    for line in Path("/proc/self/status").read_text("utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def kind_of(arguments: list[str]) -> str:
    """What a process is by its command line: a host by its service, a lane, or the main one."""
    command = " ".join(arguments)
    if "validators.service" in command:
        return "validators"
    if "engines.service" in command:
        return "engine"
    return "lane" if "spawn_main" in command else "main"


def begin() -> None:
    """Look from now on, if somebody wants it."""
    directory = os.environ.get(DIRECTORY)
    if not directory or not Path(directory).is_dir():
        return
    sampler = Sampler(Path(directory), kind_of(sys.orig_argv))
    atexit.register(sampler.end)
    signal.signal(signal.SIGVTALRM, sampler.look)
    signal.siginterrupt(signal.SIGVTALRM, False)
    signal.setitimer(signal.ITIMER_VIRTUAL, EVERY, EVERY)


begin()
