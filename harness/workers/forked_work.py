"""Work that a host does in a copy of itself: what it costs, or breaks, is not the host's own.

Processor time and memory of the copy count for nobody's limit but its own, its memory is given
back when it is done, and nothing that it prints is taken for the host's.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import resource
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from harness.workers.lineage import die_with_parent

_MORE_MEMORY = 4 << 30
"""Bytes that the copy may need, beside those that it begins with."""

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
"""Parameters of `mallopt`, see mallopt(3)."""


def in_child(work: Callable[[], bool], seconds: float) -> bool:
    """Whether `work`, done in a copy of this process, gave true within `seconds` of wall time.

    What it does to memory is lost; an exception, a crash and the want of memory are false.
    """
    with warnings.catch_warnings():
        # Of other threads' locks: those of memory are safe, and the child does nothing else.
        warnings.simplefilter("ignore", DeprecationWarning)
        parent = os.getpid()
        try:
            child = os.fork()
        except OSError:  # no memory for another process
            return False
    if child == 0:
        code = 1
        try:
            _withdraw(parent, seconds)
            code = 0 if work() else 1
        finally:
            os._exit(code)
    deadline = time.monotonic() + seconds
    wait = 0.001
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            ended = os.waitpid(child, 0)
            break
        time.sleep(wait)
        wait = min(wait * 2, 0.05)
    return ended[1] == 0


def _withdraw(parent: int, seconds: float) -> None:
    """Cut a child off: nobody's output, nobody's pipes, limits of its own."""
    die_with_parent(parent)
    _take_memory_in_large_pieces()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.closerange(3, 1 << 16)
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: math.ceil(seconds),
        resource.RLIMIT_AS: memory()[0] + _MORE_MEMORY,
    }
    for which, value in limits.items():
        hard = resource.getrlimit(which)[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (most, most))


def memory() -> tuple[int, int]:
    """Bytes of this process's address space, and how many of them are resident."""
    space, resident = Path("/proc/self/statm").read_text("utf-8").split()[:2]
    return int(space) * resource.getpagesize(), int(resident) * resource.getpagesize()


def _take_memory_in_large_pieces() -> None:
    """Halve the time in which xgrammar writes hundreds of megabytes."""
    for parameter, value in (
        (_TOP_PAD, 256 << 20),
        (_TRIM_THRESHOLD, 1 << 30),
        (_MMAP_THRESHOLD, 1 << 30),
    ):
        with contextlib.suppress(AttributeError):  # not glibc
            ctypes.CDLL(None).mallopt(parameter, value)
