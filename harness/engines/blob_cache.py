"""A directory of files that appear whole or not at all, within a budget, the latest used kept.

Several processes may use one directory: each may then be over the budget by what the others are
just writing. Every file begins with a digest of the rest.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_DIGEST = hashlib.sha256().digest_size

_ABANDONED = 3600.0
"""Seconds after which a file that was never finished belongs to a process that died."""


class _File(NamedTuple):
    used: float
    size: int
    path: Path


@dataclass(frozen=True)
class BlobCache:
    """A directory of files.

    Attributes:
        directory: Made when something is written.
        budget: Bytes of all files together.
        fresh: Seconds since its last use for which a file does not make room for a new one.
    """

    directory: Path
    budget: int
    fresh: float

    def file(self, digest: str) -> Path:
        """The file of an entry that is known by a hash in hexadecimal digits."""
        return self.directory / digest[:2] / digest[2:]

    def read(self, file: Path) -> bytes | None:
        """What was written; None where there is nothing. A damaged file is dropped."""
        try:
            data = file.read_bytes()
        except OSError:
            return None
        if hashlib.sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
            self.drop(file)
            return None
        return data[_DIGEST:]

    def write(self, file: Path, data: bytes) -> None:
        """Put a file there, in place of the one that is there.

        Raises:
            OSError: It cannot be written; nothing is left behind.
        """
        temporary = file.with_name(f".{file.name}-{os.getpid()}")
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_bytes(hashlib.sha256(data).digest() + data)
            temporary.rename(file)
        except OSError:
            self.drop(temporary)
            raise

    def touch(self, file: Path) -> None:
        """Note that a file was used."""
        with contextlib.suppress(OSError):
            os.utime(file)

    def drop(self, file: Path) -> None:
        """Remove a file, if it is there."""
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)

    def make_room(self, size: int) -> bool:
        """Whether `size` more bytes are within the budget, old files removed if need be.

        The least recently used go first: all that are over the budget as it is, and, to make
        room, those that are not fresh.
        """
        files = sorted(self._files())
        total = sum(file.size for file in files)
        stale = time.time() - self.fresh
        for file in files:
            wanted = total > self.budget or file.used < stale
            if total + size <= self.budget or not wanted:
                break
            self.drop(file.path)
            total -= file.size
        return total + size <= self.budget

    def _files(self) -> list[_File]:
        """All entries; files that were never finished are removed in passing."""
        found = []
        for path in self.directory.glob("??/*"):
            try:
                status = path.stat()
            except OSError:
                continue  # another process removed it
            if not path.name.startswith("."):
                found.append(_File(status.st_mtime, status.st_size, path))
            elif status.st_mtime < time.time() - _ABANDONED:
                self.drop(path)
        return found
