"""Where a trial is written down before it is made, so that it is known when the process dies of it.

The memory is a file's, which outlives the process. It takes less than a microsecond a trial, so
that every token of a sweep through the vocabulary can have one.
"""

from __future__ import annotations

import mmap
import struct
from array import array
from dataclasses import dataclass
from pathlib import Path

from harness.court.trial import Tokens

_SIZE = 1 << 18
_HEAD = struct.Struct("=ii")
_MOST = (_SIZE - _HEAD.size) // 8
"""Tokens before, and as many of the trial, that there is room for."""
_NONE, _PREPARING = -2, -1


@dataclass(frozen=True)
class Marked:
    """Where a process was last.

    Attributes:
        consumed: The tokens before.
        tokens: Those of the trial; None where it was still being looked for what to try.
    """

    consumed: Tokens
    tokens: Tokens | None


class Bookmark:
    """A place in a file; whoever opens it first makes it."""

    def __init__(self, file: Path) -> None:
        with file.open("ab+") as opened:
            opened.truncate(_SIZE)
            self._memory = mmap.mmap(opened.fileno(), _SIZE)
        self._consumed: Tokens | None = None

    def clear(self) -> None:
        """Nothing is being tried."""
        self._consumed = None
        _HEAD.pack_into(self._memory, 0, _NONE, 0)

    def put(self, consumed: Tokens, tokens: Tokens | None) -> None:
        """Say what is going to be tried; None: something is looked for there."""
        if consumed is not self._consumed:  # a sweep stays at a place
            self._write(_HEAD.size, consumed)
            self._consumed = consumed
        self._write(_HEAD.size + 4 * _MOST, tokens or ())
        count = _PREPARING if tokens is None else len(tokens)
        _HEAD.pack_into(self._memory, 0, count, len(consumed))

    def read(self) -> Marked | None:
        """What was put there last; None where nothing is being tried, or it had no room."""
        count, before = _HEAD.unpack_from(self._memory, 0)
        if count == _NONE or max(count, before) > _MOST:
            return None
        tokens = None if count == _PREPARING else self._read(_HEAD.size + 4 * _MOST, count)
        return Marked(self._read(_HEAD.size, before), tokens)

    def _write(self, at: int, tokens: Tokens) -> None:
        data = array("i", tokens[:_MOST]).tobytes()
        self._memory[at : at + len(data)] = data

    def _read(self, at: int, count: int) -> Tokens:
        return tuple(array("i", self._memory[at : at + 4 * count]))
