"""Messages between a coordinator and a host: a JSON header with named arrays, over a pipe.

Arrays travel as raw bytes with dtype and shape: numpy 1 cannot read a pickle of numpy 2. A frame is
four bytes that no text begins with, the message's number (4 bytes, little endian), the lengths of
the header (4) and of the arrays (8), the CRC-32 of both (4), the header (JSON, UTF-8), the arrays'
bytes in turn. So what somebody else writes into a pipe is recognised.

Beside it stands what is asked (`Request`) and memory that both share, for the masks of many
positions (`MaskBuffer`). After each mask the host says how far it has come, should it die or hang.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import mmap
import os
import re
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Generic, TypeVar, get_args

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_MAGIC = b"\xff\xfeMC"
_PREFIX = struct.Struct("<4sIIQI")


class Closed(Exception):
    """The other end is gone."""


class Broken(Exception):
    """No frame came, or no answer to the question: not only the other end writes into the pipe."""


@dataclass(frozen=True)
class Message:
    """A question or an answer, the arrays that belong to it, and the question's number."""

    head: Mapping[str, Any]
    arrays: Mapping[str, Array] = field(default_factory=dict)
    number: int = 0


def encode(message: Message) -> bytes:
    described = []
    chunks = []
    for name, array in message.arrays.items():
        data = np.asarray(array, order="C")
        described.append([name, data.dtype.str, list(data.shape)])
        chunks.append(data.tobytes())
    head = json.dumps({"head": message.head, "arrays": described}).encode()
    check = zlib.crc32(head)
    for chunk in chunks:
        check = zlib.crc32(chunk, check)
    size = sum(map(len, chunks))
    prefix = _PREFIX.pack(_MAGIC, message.number, len(head), size, check)
    return b"".join([prefix, head, *chunks])


def send(descriptor: int, message: Message) -> None:
    """Write `message` to a file descriptor, whole; raises `Closed` where nobody reads it."""
    view = memoryview(encode(message))
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except (BrokenPipeError, ConnectionError) as error:
        raise Closed from error


def receive(descriptor: int) -> Message:
    """Read one message from a file descriptor that blocks; raises as `Inbox.read`."""
    message = Inbox(descriptor).read()
    assert message is not None, "the descriptor does not block"
    return message


class Inbox:
    """Reads frames from a descriptor, in as many pieces as they come in."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._begin()

    def _begin(self) -> None:
        self._data = bytearray(_PREFIX.size)
        self._filled = 0
        self._prefix: tuple[int, int, int] | None = None

    def read(self) -> Message | None:
        """The next message, None where the rest is not there yet; raises `Closed` and `Broken`."""
        while True:
            while self._filled < len(self._data):
                try:
                    view = memoryview(self._data)[self._filled :]
                    count = os.readv(self._descriptor, [view])
                except BlockingIOError:
                    return None
                if count == 0:
                    raise Closed
                self._filled += count
                start = bytes(self._data[: min(self._filled, len(_MAGIC))])
                if self._prefix is None and not _MAGIC.startswith(start):
                    raise Broken
            if self._prefix is not None:
                break
            _, number, head, arrays, check = _PREFIX.unpack(self._data)
            try:
                self._data = bytearray(head + arrays)
            except (MemoryError, OverflowError) as error:
                raise Broken from error
            self._filled, self._prefix = 0, (number, head, check)
        (number, head, check), data = self._prefix, self._data
        if zlib.crc32(data) != check:
            raise Broken
        self._begin()
        return _decoded(data, number, head)


def _decoded(data: bytearray, number: int, start: int) -> Message:
    """The message of a frame whose arrays begin at `start`."""
    described = json.loads(data[:start])
    arrays = {}
    for name, dtype, shape in described["arrays"]:
        array: Array = np.ndarray(shape, np.dtype(dtype), data, start)
        arrays[name] = array.copy()
        start += array.nbytes
    return Message(described["head"], arrays, number)


@dataclass(frozen=True)
class Ragged:
    """A list of lists as two arrays: list ``i`` is ``values[offsets[i]:offsets[i + 1]]``."""

    values: Array
    offsets: npt.NDArray[np.int64]

    @classmethod
    def of_ints(cls, lists: Iterable[Sequence[int]]) -> Ragged:
        lists = list(lists)
        flat = list(itertools.chain.from_iterable(lists))
        return cls(np.array(flat, dtype=np.int32), _offsets(lists))

    @classmethod
    def of_bytes(cls, strings: Iterable[bytes]) -> Ragged:
        strings = list(strings)
        return cls(np.frombuffer(b"".join(strings), dtype=np.uint8), _offsets(strings))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def ints(self) -> list[list[int]]:
        flat: list[int] = self.values.tolist()
        return [flat[a:b] for a, b in itertools.pairwise(self.offsets.tolist())]

    def strings(self) -> list[bytes]:
        flat = self.values.tobytes()
        return [flat[a:b] for a, b in itertools.pairwise(self.offsets.tolist())]

    def arrays(self, name: str) -> dict[str, Array]:
        return {f"{name}.values": self.values, f"{name}.offsets": self.offsets}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], name: str) -> Ragged:
        return cls(arrays[f"{name}.values"], arrays[f"{name}.offsets"])


def _offsets(lists: Sequence[Sequence[Any]]) -> npt.NDArray[np.int64]:
    return np.cumsum([0, *map(len, lists)], dtype=np.int64)


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

    def message(self) -> Message:
        return _as_message(self, do=self.command)

    def answer(self, message: Message) -> Any:
        """An `A`, or one of `otherwise`; raises `Broken` where the message is none of them."""
        known = {kind.__name__: kind for kind in (self.answered_with, *self.otherwise)}
        try:
            kind = known[message.head["answer"]]
            answer: Any = _read(kind, message)
        except (KeyError, TypeError) as error:
            raise Broken from error
        if kind is self.answered_with and self.asked_about:
            asked = getattr(self, self.asked_about)
            length = asked if isinstance(asked, int) else len(asked)
            values = (getattr(answer, one.name) for one in fields(kind))
            arrays = [one for one in values if isinstance(one, np.ndarray | Ragged)]
            if any(len(one) != length for one in arrays):
                raise Broken
        return answer


def read_request(message: Message, module: str) -> Request[Any]:
    """The request of those defined in `module` that a message was made of."""
    return _read(Request._known[module, message.head["do"]], message)  # noqa: SLF001


def as_answer(answer: Any) -> Message:
    return _as_message(answer, answer=type(answer).__name__)


def _as_message(value: Any, **head: object) -> Message:
    arrays: dict[str, Array] = {}
    for name in [one.name for one in fields(value)]:
        match getattr(value, name):
            case Ragged() as ragged:
                arrays |= ragged.arrays(name)
            case np.ndarray() as array:
                arrays[name] = array
            case other:
                head[name] = other
    return Message(head, arrays)


def _read(kind: type[T], message: Message) -> T:
    head, arrays = message.head, message.arrays
    values: dict[str, Any] = {}
    for name in [one.name for one in fields(kind)]:  # type: ignore[arg-type]
        if name in head:
            values[name] = head[name]
        elif name in arrays:
            values[name] = arrays[name]
        elif f"{name}.values" in arrays:
            values[name] = Ragged.from_arrays(arrays, name)
    return kind(**values)


SLOTS = 256
"""Positions in a batch, at most."""

BANKS = 2
"""Batches that a buffer holds: one is read while the next is written."""

_HEAD = 2 + 2 * SLOTS * BANKS
"""Words of 64 bits before the masks."""


class MaskBuffer:
    """A view of `size_of` bytes of memory: `masks`, shape ``(BANKS, SLOTS, words)`` uint32.

    `progress`, int64: slots of the present batch that are written, and what else was done.
    `times`, shape ``(BANKS, SLOTS, 2)`` int64: nanoseconds to compute the mask of a slot, and to
    consume the token that leads there.
    """

    def __init__(self, memory: Any, words: int) -> None:
        self._words, self._memory = words, memory
        self._view(memory)

    def of(self, words: int) -> None:
        """View the memory for masks of another length, if these fit into it."""
        if size_of(words) <= len(self._memory):
            self._words = words
            self._view(self._memory)

    def _view(self, memory: Any) -> None:
        head = np.frombuffer(memory, dtype=np.int64, count=_HEAD)
        self.progress: npt.NDArray[np.int64] = head[:2]
        self.times: npt.NDArray[np.int64] = head[2:].reshape(BANKS, SLOTS, 2)
        count = BANKS * SLOTS * self._words
        rows = np.frombuffer(memory, dtype=np.uint32, count=count, offset=_HEAD * 8)
        self.masks: npt.NDArray[np.uint32] = rows.reshape(BANKS, SLOTS, self._words)

    @classmethod
    def taken_over(cls, descriptor: int) -> MaskBuffer:
        """One in a file that is mapped and closed: nothing can be written into it by number."""
        size = os.fstat(descriptor).st_size
        # `mmap.mmap` would keep a descriptor of its own
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        access = mmap.PROT_READ | mmap.PROT_WRITE
        address = libc.mmap(None, size, access, mmap.MAP_SHARED, descriptor, 0)
        if address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "the mask buffer cannot be mapped")
        os.close(descriptor)
        buffer = cls((ctypes.c_char * size).from_address(address), 0)
        # a copy that the engine makes of its process has no say in how far the walk is
        os.register_at_fork(after_in_child=lambda: buffer._view(bytearray(size)))
        return buffer


def size_of(words: int) -> int:
    return _HEAD * 8 + BANKS * SLOTS * words * 4
