"""Messages between a coordinator and a host: a JSON header with named arrays, over a pipe.

Arrays travel as raw bytes with their dtype and shape, so that two interpreters with different
numpy versions understand each other (a pickle of numpy 2 cannot be read by numpy 1).

A frame is: length of the header (4 bytes, little endian), the header (JSON, UTF-8), the arrays'
bytes one behind the other. Byte strings travel as arrays of uint8, lists of byte strings as
`Ragged`.
"""

from __future__ import annotations

import itertools
import json
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Closed(Exception):
    """The other end is gone."""


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
    return b"".join([struct.pack("<I", len(head)), head, *chunks])


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
    """
    (length,) = struct.unpack("<I", _read(descriptor, 4))
    described = json.loads(bytes(_read(descriptor, length)))
    arrays = {}
    for name, dtype, shape in described["arrays"]:
        kind = np.dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        arrays[name] = np.frombuffer(_read(descriptor, size), dtype=kind).reshape(shape)
    return Message(described["head"], arrays)


def _read(descriptor: int, size: int) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = os.readv(descriptor, [view])
        if count == 0:
            raise Closed
        view = view[count:]
    return data


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
