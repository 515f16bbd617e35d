"""The inside of a host: one process that serves an engine, or the validators, over two pipes.

It ties its life to its parent's before anything is imported that takes time or has descriptors, and
needs nothing but numpy and what the service imports. What is printed goes to a file.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pkgutil
import resource
import sys
import time
import traceback
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from harness.workers.lineage import adopt_orphans, die_with_parent

if TYPE_CHECKING:
    from harness.workers.wire import Message

_OUT_OF_REACH = 1 << 14
"""Descriptors from here on are not what engines write to, or close, by mistake."""
_OWN = tuple(f"{Path(file).parent}/" for file in (Path(__file__).parent, np.__file__))
"""Where the code of the harness and of numpy lies: what fails within it is no engine's fault."""


class Service(Protocol):
    """What a host does; one instance for the life of the process."""

    def handle(self, message: Message) -> Message: ...


class _Empty(type):
    """Of a class that can be made of anything, and has whatever classes are taken from it."""

    def __getattr__(cls, name: str) -> type:
        return _empty(name)

    def __call__(cls, *_args: object, **_kwargs: object) -> Any:
        return super().__call__()


def _empty(name: str) -> type:
    """Whatever is taken from a module of which nothing is used."""
    if name.startswith("__"):
        raise AttributeError(name)
    return _Empty(name, (), {})


@contextlib.contextmanager
def without(modules: Sequence[str]) -> Iterator[None]:
    """Have libraries import none of some modules, which take seconds to import."""
    left_out = {name: types.ModuleType(name) for name in modules if name not in sys.modules}
    for module in left_out.values():
        vars(module)["__getattr__"] = _empty
    sys.modules.update(left_out)
    try:
        yield
    finally:
        for name in left_out:
            del sys.modules[name]


def main(parent: int, inward: int, outward: int, reference: str) -> None:
    """Be a host until the coordinator closes its end."""
    die_with_parent(parent)
    adopt_orphans()
    inward, outward = _out_of_reach(inward), _out_of_reach(outward)
    from harness.workers import wire

    with contextlib.suppress(wire.Closed):
        try:
            service = pkgutil.resolve_name(reference)()
        except BaseException as error:  # noqa: BLE001 - the coordinator reports it
            wire.send(outward, _failure(error))
            return
        wire.send(outward, wire.Message({"ready": True}))
        _serve(inward, outward, service)


def _serve(inward: int, outward: int, service: Service) -> None:
    from harness.workers import wire

    process = os.getpid()
    while True:
        message = wire.receive(inward)
        try:
            answer = service.handle(message)
        except BaseException as error:  # noqa: BLE001 - a panic of a native engine is none of Exception
            answer = _failure(error)
        if os.getpid() != process:
            os._exit(1)  # a copy that the engine made: it has no say
        sys.stdout.flush()
        sys.stderr.flush()
        head = {**answer.head, **_used()}
        wire.send(outward, wire.Message(head, answer.arrays, message.number))


def _used() -> dict[str, float]:
    """What this process has used: seconds of processor time, and at most so many bytes.

    Those may be the bytes of the process that started it.
    """
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"spent": time.process_time(), "resident": most << 10}


def _failure(error: BaseException) -> Message:
    from harness.errors import MaskcourtError
    from harness.workers import wire

    text = str(error).strip() or type(error).__name__
    exhausted = isinstance(error, MemoryError) or "bad_alloc" in text
    meant = isinstance(error, MaskcourtError)
    message = text if meant else f"{type(error).__name__}: {text}"
    frames = (frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__))
    own = not meant and all(name.startswith(_OWN) for name in frames)
    status = "out_of_memory" if exhausted else "defect" if own else "raised"
    return wire.Message({"error": status, "message": message[:2000]})


def _out_of_reach(descriptor: int) -> int:
    """Move a descriptor as high as it can go, above the limit that this process is told of."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _OUT_OF_REACH + 64 if hard == resource.RLIM_INFINITY else min(hard, _OUT_OF_REACH + 64)
    moved = descriptor
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, max(most - 8, 3))
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if moved == descriptor:
        os.set_inheritable(descriptor, False)
    else:
        os.close(descriptor)
    return moved
