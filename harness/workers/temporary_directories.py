"""Temporary files and directories that no dead process leaves behind.

A directory is held by a lock on itself, which the system lets go of when its process dies in
whatever way. What nobody holds is removed by the next who makes or removes one. The vocabulary that
hosts read lies in memory, and is gone with the process that offers it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.directories import only_mine
from harness.errors import MaskcourtError
from harness.inputs.vocabulary import Vocabulary

LONGEST_BASE = 107 - len(
    "/r1234567/ray/session_2026-11-22_11-40-01_824880_4194304/sockets/plasma_store.1"
)
"""Letters. Ray puts Unix sockets below the directory, and their names may have 107."""

_NEW = "."
"""What the name of a directory begins with until it is locked."""


@contextlib.contextmanager
def temporary_directory() -> Iterator[Path]:
    """A new directory with a short path, for the time being; raises where others could write."""
    base = short_base()
    base.mkdir(mode=0o700, exist_ok=True)
    if base.is_symlink() or not only_mine(base.lstat()):
        raise MaskcourtError(
            f"{base} belongs to somebody else, or others can write to it",
            "set TMPDIR to another directory",
        )
    new = Path(tempfile.mkdtemp(prefix=_NEW, dir=base))
    descriptor = os.open(new, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        sweep_up()
        yield new.rename(base / new.name.replace(_NEW, "r", 1))
    finally:
        os.close(descriptor)
        sweep_up()


def sweep_up() -> None:
    """Remove what nobody holds."""
    for directory in short_base().glob("r*"):
        with contextlib.suppress(OSError):  # held, or removed meanwhile
            descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(directory, ignore_errors=True)
            finally:
                os.close(descriptor)


def short_base() -> Path:
    """The user's own directory for what is held, with a short path."""
    place = tempfile.gettempdir()
    own = f"maskcourt-{os.geteuid()}"
    # What is below /tmp is the user's own all the same.
    return Path(place if len(f"{place}/{own}") <= LONGEST_BASE else "/tmp", own)  # noqa: S108


@contextlib.contextmanager
def memory_file(content: bytes = b"") -> Iterator[Path]:
    """A file in memory that hosts can open, for the time being."""
    with os.fdopen(os.memfd_create("content"), "wb") as file:
        file.write(content)
        file.flush()
        yield Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")


def saved_vocabulary(vocabulary: Vocabulary) -> contextlib.AbstractContextManager[Path]:
    """A file that hosts can read the vocabulary from, for the time being."""
    return memory_file(vocabulary.saved())
