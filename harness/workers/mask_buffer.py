"""The mask buffer: memory that a host shares with its coordinator, for the masks of many positions.

The engine writes its masks where the coordinator reads them, and says after each how far it has
come, so that a host that dies or hangs amid a batch is known to have died or hung at that position.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Callable
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
    """A view of `size_of` bytes of writable memory, for masks of so many words.

    Attributes:
        progress: How many slots of the present batch are written, and what else was done on the
            way, shape ``(2,)`` int64.
        times: Nanoseconds to compute the mask of a slot, and to consume the token that leads
            there, shape ``(BANKS, SLOTS, 2)`` int64.
        masks: Shape ``(BANKS, SLOTS, words)`` uint32.
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
        """One in a file that is mapped and closed: nothing can be written into it by number.

        Raises:
            OSError: It cannot be mapped.
        """
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

    def write(
        self,
        bank: int,
        slot: int,
        mask: Callable[[npt.NDArray[np.uint32]], object],
        clock: Callable[[], int],
        consume_ns: int,
    ) -> None:
        """Have `mask` write a slot, note what it took by `clock`, and that the slot is written."""
        row = self.masks[bank, slot]
        began = clock()
        mask(row)
        took = clock() - began
        self.times[bank, slot] = took, consume_ns
        self.progress[0] = slot + 1


def size_of(words: int) -> int:
    """Bytes of a buffer with masks of `words` words."""
    return _HEAD * 8 + BANKS * SLOTS * words * 4
