"""Typed requests to a service in a host: each is a frozen dataclass that names its answer's type.

A field travels under its own name, arrays and `wire.Ragged` as arrays, all else in the header. A
service answers each request by the method of its name in lower case (`Request.command`).
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any, ClassVar, Generic, TypeVar, get_args

import numpy as np

from harness.workers import wire

A = TypeVar("A")
T = TypeVar("T")


class Request(Generic[A]):
    """A request that is answered with an `A`; subclasses are frozen dataclasses."""

    command: ClassVar[str]
    answered_with: ClassVar[type]
    otherwise: ClassVar[tuple[type, ...]] = ()
    """Types of answers that may come instead."""
    asked_about: ClassVar[str] = ""
    """The field with, or the number of, what is asked about: arrays of the answer are as long."""
    _known: ClassVar[dict[tuple[str, str], type[Request[Any]]]] = {}

    def __init_subclass__(cls) -> None:
        (answer,) = get_args(cls.__orig_bases__[0])  # type: ignore[attr-defined]
        if not isinstance(answer, TypeVar):
            cls.answered_with = answer
            cls.command = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
            cls._known[cls.__module__, cls.command] = cls

    def message(self) -> wire.Message:
        return _as_message(self, do=self.command)

    def answer(self, message: wire.Message) -> Any:
        """An `A`, or one of `otherwise`; raises `wire.Broken` where the message is none of them."""
        known = {kind.__name__: kind for kind in (self.answered_with, *self.otherwise)}
        try:
            kind = known[message.head["answer"]]
            answer: Any = _read(kind, message)
        except (KeyError, TypeError) as error:
            raise wire.Broken from error
        if kind is self.answered_with and self.asked_about:
            asked = getattr(self, self.asked_about)
            length = asked if isinstance(asked, int) else len(asked)
            values = (getattr(answer, one.name) for one in fields(kind))
            arrays = [one for one in values if isinstance(one, np.ndarray | wire.Ragged)]
            if any(len(one) != length for one in arrays):
                raise wire.Broken
        return answer


def read_request(message: wire.Message, module: str) -> Request[Any]:
    """The request of those defined in `module` that a message was made of."""
    return _read(Request._known[module, message.head["do"]], message)  # noqa: SLF001


def as_answer(answer: Any) -> wire.Message:
    return _as_message(answer, answer=type(answer).__name__)


def _as_message(value: Any, **head: object) -> wire.Message:
    arrays: dict[str, wire.Array] = {}
    for name in [field.name for field in fields(value)]:
        match getattr(value, name):
            case wire.Ragged() as ragged:
                arrays |= ragged.arrays(name)
            case np.ndarray() as array:
                arrays[name] = array
            case other:
                head[name] = other
    return wire.Message(head, arrays)


def _read(kind: type[T], message: wire.Message) -> T:
    head, arrays = message.head, message.arrays
    values: dict[str, Any] = {}
    for name in [field.name for field in fields(kind)]:  # type: ignore[arg-type]
        if name in head:
            values[name] = head[name]
        elif name in arrays:
            values[name] = arrays[name]
        elif f"{name}.values" in arrays:
            values[name] = wire.Ragged.from_arrays(arrays, name)
    return kind(**values)
