"""What ties a process to the one that started it: it dies with its parent, and its own with it.

What an engine starts may have a session of its own, and a parent that is gone: a host adopts what
its descendants leave behind, and what is started in it has its mark in the environment.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path

MARK = "MASKCOURT_STARTED_BY"
"""The environment variable with the marks of all by whom a process was started."""


def die_with_parent(parent: int | None = None) -> None:
    """End this process when its parent dies, even in native code; at once if it is another one."""
    _prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of what descendants leave behind, so that it stays a descendant."""
    _prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def marked(environment: Mapping[str, str], mark: str) -> dict[str, str]:
    """The environment for a process of which everything it starts has the mark."""
    return {**environment, MARK: f"{environment.get(MARK, '')}/{mark}"}


def end_all(mark: str, root: int | None = None, spared: AbstractSet[int] | None = None) -> None:
    """Kill what has the mark, is below `root`, which is stopped, or below here and not `spared`."""
    if root is not None:
        _send(root, signal.SIGSTOP)
    for _ in range(100):  # one that starts processes faster than it is killed wins
        found = _bearing(mark) | (set() if root is None else below(root))
        found |= set() if spared is None else below(os.getpid()) - spared
        found -= {os.getpid(), root}
        if not found:
            return
        for process in found:
            _send(process, signal.SIGKILL)
        time.sleep(0.005)


def _bearing(mark: str) -> set[int]:
    """The processes whose environment has the mark, of those that may be looked at."""
    wanted = f"\0{MARK}=".encode(), f"/{mark}".encode()
    found = set()
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            _, _, marks = (b"\0" + (directory / "environ").read_bytes()).partition(wanted[0])
            if wanted[1] in marks.partition(b"\0")[0]:
                found.add(int(directory.name))
    return found


def below(root: int) -> set[int]:
    """The living descendants of a process."""
    children: dict[int, list[int]] = {}
    dead = set()
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            stat = (directory / "stat").read_text("utf-8", "replace")
            state, parent = stat.rpartition(")")[2].split()[:2]
            children.setdefault(int(parent), []).append(int(directory.name))
            if state in "ZX":
                dead.add(int(directory.name))
    found: set[int] = set()
    open_ = [root]
    while open_:
        new = children.get(open_.pop(), [])
        found.update(new)
        open_ += new
    return found - dead


def _send(process: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):  # not Linux: closed pipes end the process
        ctypes.CDLL(None).prctl(option, value)
