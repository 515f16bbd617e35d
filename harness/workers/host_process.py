"""The inside of a host: one process that serves one engine (or the validators) over two pipes.

`harness.workers.start_host` begins it. Needs nothing but numpy and what the service itself
imports. Whatever is printed goes to the file that the coordinator put in place of descriptors 1
and 2.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from typing import Any, Protocol

from harness.errors import MaskcourtError
from harness.workers import wire


class Service(Protocol):
    """What a host does; one instance for the life of the process."""

    def handle(self, message: wire.Message) -> wire.Message:
        """The answer to one message."""


def load(reference: str) -> Any:
    """The object that ``module:attribute`` names.

    Raises:
        ValueError: The text has no such form.
        ImportError, AttributeError: There is no such module, or nothing of that name in it.
    """
    module, colon, attribute = reference.partition(":")
    if not colon or not module or not attribute:
        raise ValueError(f"{reference!r} is not of the form module:attribute")
    return getattr(importlib.import_module(module), attribute)


def serve(inward: int, outward: int, service: Service) -> None:
    """Answer messages until the coordinator closes its end."""
    while True:
        try:
            message = wire.receive(inward)
        except wire.Closed:
            return
        try:
            answer = service.handle(message)
        except BaseException as error:  # noqa: BLE001 - a panic of a native engine is none of Exception
            answer = _failure(error)
        sys.stdout.flush()
        sys.stderr.flush()
        wire.send(outward, answer)


def _failure(error: BaseException) -> wire.Message:
    text = str(error).strip() or type(error).__name__
    exhausted = isinstance(error, MemoryError) or "bad_alloc" in text
    message = text if isinstance(error, MaskcourtError) else f"{type(error).__name__}: {text}"
    return wire.Message(
        {
            "error": "out_of_memory" if exhausted else "raised",
            "message": message[:2000],
            "traceback": traceback.format_exc()[-8000:],
        }
    )


def run(inward: int, outward: int, reference: str) -> None:
    """Be a host until the coordinator closes its end.

    Args:
        inward: The descriptor that requests come from.
        outward: The one that answers go to.
        reference: ``module:Class`` of the service.
    """
    try:
        service = load(reference)()
    except BaseException as error:  # noqa: BLE001 - told to the coordinator, which reports it
        wire.send(outward, _failure(error))
        return
    wire.send(outward, wire.Message({"ready": True, "pid": os.getpid()}))
    try:
        serve(inward, outward, service)
    except wire.Closed:
        return
