"""The mask buffer: memory that a host shares with its coordinator, for the masks of many positions.

After each mask the host says how far it has come, so that it is known where it died or hung.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from typing import Any

import numpy as np
import numpy.typing as npt

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
        self._words = words
        self._view(memory)

    def _view(self, memory: Any) -> None:
        head = np.frombuffer(memory, dtype=np.int64, count=_HEAD)
        self.progress: npt.NDArray[np.int64] = head[:2]
        self.times: npt.NDArray[np.int64] = head[2:].reshape(BANKS, SLOTS, 2)
        rows = np.frombuffer(memory, dtype=np.uint32, offset=_HEAD * 8)
        self.masks: npt.NDArray[np.uint32] = rows.reshape(BANKS, SLOTS, self._words)

    @classmethod
    def taken_over(cls, descriptor: int, words: int) -> MaskBuffer:
        """One in a file that is mapped and closed: nothing can be written into it by number."""
        size = size_of(words)
        # `mmap.mmap` would keep a descriptor of its own
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        access = mmap.PROT_READ | mmap.PROT_WRITE
        address = libc.mmap(None, size, access, mmap.MAP_SHARED, descriptor, 0)
        if address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "the mask buffer cannot be mapped")
        os.close(descriptor)
        buffer = cls((ctypes.c_char * size).from_address(address), words)
        # a copy that the engine makes of its process has no say in how far the walk is
        os.register_at_fork(after_in_child=lambda: buffer._view(bytearray(size)))
        return buffer


def size_of(words: int) -> int:
    return _HEAD * 8 + BANKS * SLOTS * words * 4
