"""A directory of files that appear whole or not at all, within a budget, the latest used kept.

Several processes may use one directory: each may then be over the budget by what the others are
just writing. Every file begins with a digest of its name and the rest. What somebody else wrote, or
could have, or put there under another name, is not read: whoever can write to the directory cannot
decide what an engine does.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from harness.directories import only_mine

_DIGEST = hashlib.sha256().digest_size

_NAME = re.compile(r"\.?[0-9a-f]+(-[0-9]+)?")
"""Of a file that `write_own` makes; a directory that is shared with others has other files too."""

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
        """What was written; None where there is nothing. A damaged or foreign file is dropped."""
        data = read_own(file)
        if data is None:
            self.drop(file)
        return data

    def write(self, file: Path, data: bytes) -> None:
        """Put a file there, in place of the one that is there.

        Raises:
            OSError: It cannot be written; nothing is left behind.
        """
        write_own(file, data)

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
        for path in self.directory.glob("[0-9a-f][0-9a-f]/*"):
            try:
                status = path.lstat()
            except OSError:
                continue  # another process removed it
            if not _NAME.fullmatch(path.name) or path.parent.is_symlink():
                continue  # it is nothing of ours, whose removal somebody else may want
            if not path.name.startswith("."):
                found.append(_File(status.st_mtime, status.st_size, path))
            elif status.st_mtime < time.time() - _ABANDONED:
                self.drop(path)
        return found


def read_own(file: Path) -> bytes | None:
    """What `write_own` wrote to this file, and nobody else can have; None where that is not so."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode) or not only_mine(status):
                return None
            digest, data = stream.read(_DIGEST), stream.read()
    except OSError:
        return None
    return data if digest == _digest(file, data) else None


def write_own(file: Path, data: bytes) -> None:
    """Put a file there that `read_own` reads, in place of the one that is there.

    Raises:
        OSError: It cannot be written; nothing is left behind.
    """
    temporary = file.with_name(f".{file.name}-{os.getpid()}")
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        temporary.unlink(missing_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(_digest(file, data) + data)
        temporary.rename(file)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _digest(file: Path, data: bytes) -> bytes:
    return hashlib.sha256(f"{file.parent.name}{file.name}\0".encode() + data).digest()
