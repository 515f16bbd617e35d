"""Messages between a coordinator and a host: a JSON header with named arrays, over a pipe.

Arrays travel as raw bytes with their dtype and shape, so that two interpreters with different
numpy versions understand each other (a pickle of numpy 2 cannot be read by numpy 1).

A frame is: four bytes that no text begins with, the lengths of the header (4 bytes, little endian)
and of the arrays (8 bytes), the CRC-32 of both (4 bytes), the header (JSON, UTF-8), the arrays'
bytes one behind the other. So what somebody else writes into a pipe is known for that. Byte strings
travel as arrays of uint8, lists of byte strings as `Ragged`.
"""

from __future__ import annotations

import itertools
import json
import os
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_MAGIC = b"\xff\xfeMC"
_PREFIX = struct.Struct("<4sIQI")


class Closed(Exception):
    """The other end is gone."""


class Broken(Exception):
    """Something else than a frame came: not only the other end writes into the pipe."""


@dataclass(frozen=True)
class Message:
    """One message: what is asked or answered, and the arrays that belong to it."""

    head: Mapping[str, Any]
    arrays: Mapping[str, Array] = field(default_factory=dict)


def encode(message: Message) -> bytes:
    """The frame of `message`."""
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
    prefix = _PREFIX.pack(_MAGIC, len(head), sum(map(len, chunks)), check)
    return b"".join([prefix, head, *chunks])


def send(descriptor: int, message: Message) -> None:
    """Write `message` to a file descriptor, whole.

    Raises:
        Closed: Nobody reads the other end any more.
    """
    view = memoryview(encode(message))
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except (BrokenPipeError, ConnectionError) as error:
        raise Closed from error


def receive(descriptor: int) -> Message:
    """Read one message from a file descriptor; blocks until it is there.

    Raises:
        Closed: The other end closed before a whole message came.
        Broken: Something else came.
    """
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
        self._prefix: tuple[int, int] | None = None

    def read(self) -> Message | None:
        """The next message; None where the rest of it is not there yet.

        Raises:
            Closed: The other end closed before a whole message came.
            Broken: Something else came.
        """
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
                if self._prefix is None and not self._begins_well():
                    raise Broken
            if self._prefix is None:
                _, head, arrays, check = _PREFIX.unpack(self._data)
                try:
                    self._data = bytearray(head + arrays)
                except (MemoryError, OverflowError) as error:
                    raise Broken from error
                self._filled, self._prefix = 0, (head, check)
                continue
            (head, check), data = self._prefix, self._data
            if zlib.crc32(data) != check:
                raise Broken
            self._begin()
            return _decoded(data, head)

    def _begins_well(self) -> bool:
        return _MAGIC.startswith(bytes(self._data[: min(self._filled, len(_MAGIC))]))


def _decoded(data: bytearray, at: int) -> Message:
    """The message of a frame whose header ends `at` these bytes."""
    described = json.loads(data[:at])
    arrays = {}
    for name, dtype, shape in described["arrays"]:
        array: Array = np.ndarray(shape, np.dtype(dtype), data, at)
        arrays[name] = array.copy()
        at += array.nbytes
    return Message(described["head"], arrays)


@dataclass(frozen=True)
class Ragged:
    """A list of lists of numbers as two arrays: all values, and where each list begins.

    `values` has shape ``(offsets[-1],)``; list ``i`` is ``values[offsets[i]:offsets[i + 1]]``.
    """

    values: Array
    offsets: npt.NDArray[np.int64]

    @classmethod
    def of_ints(cls, lists: Iterable[Sequence[int]]) -> Ragged:
        """Lists of token ids, as int32."""
        lists = list(lists)
        flat = [value for one in lists for value in one]
        return cls(np.array(flat, dtype=np.int32), _offsets([len(one) for one in lists]))

    @classmethod
    def of_bytes(cls, strings: Iterable[bytes]) -> Ragged:
        """Byte strings, as uint8."""
        strings = list(strings)
        values = np.frombuffer(b"".join(strings), dtype=np.uint8)
        return cls(values, _offsets([len(one) for one in strings]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def ints(self) -> list[list[int]]:
        """The lists of token ids that `of_ints` was made of."""
        flat: list[int] = self.values.tolist()
        return [flat[a:b] for a, b in self._bounds()]

    def strings(self) -> list[bytes]:
        """The byte strings that `of_bytes` was made of."""
        flat = self.values.tobytes()
        return [flat[a:b] for a, b in self._bounds()]

    def arrays(self, name: str) -> dict[str, Array]:
        """The two arrays under names of their own, to go into a message."""
        return {f"{name}.values": self.values, f"{name}.offsets": self.offsets}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], name: str) -> Ragged:
        """What `arrays` put into a message under `name`."""
        return cls(arrays[f"{name}.values"], arrays[f"{name}.offsets"])

    def _bounds(self) -> list[tuple[int, int]]:
        bounds: list[int] = self.offsets.tolist()
        return list(itertools.pairwise(bounds))


def _offsets(lengths: Sequence[int]) -> npt.NDArray[np.int64]:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
