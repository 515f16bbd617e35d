"""Temporary directories that one or several processes hold; the last one removes them.

Holding is a shared lock on a file beside the directory, which the system lets go of when a process
dies in whatever way. What can be locked for oneself alone is held by nobody, and removed by whoever
lets go last, or by the next who holds anything.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from harness.directories import only_mine
from harness.errors import MaskcourtError
from harness.inputs.vocabulary import Vocabulary

_READY = ".ready"
_LOCK = ".lock"

LONGEST_BASE = 107 - len(
    "/r4194304/ray/session_2026-11-22_11-40-01_824880_4194304/sockets/plasma_store.1"
)
"""Letters. Ray puts Unix sockets below the directory, and their names may have 107."""


class SharedDirectory:
    """The directory called `name` in `base`, held until `release` or the end of the process."""

    def __init__(self, name: str, base: Path | None = None) -> None:
        base = base or short_base()
        self.path = base / name
        self._lock_file = base / (name + _LOCK)
        self._lock: IO[str] | None = _locked(self._lock_file)
        self.path.mkdir(exist_ok=True)
        sweep_up(base)

    def filled(self, fill: Callable[[Path], object]) -> Path:
        """The directory, after the first who asks has filled it; all others wait for that one."""
        with (self.path / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (self.path / _READY).exists():
                fill(self.path)
                (self.path / _READY).touch()
        return self.path

    def release(self) -> None:
        """Let go; the directory is removed unless others hold it."""
        if self._lock is not None:
            _remove_unheld(self._lock_file, self._lock)
            self._lock.close()
            self._lock = None

    close = release


@contextlib.contextmanager
def shared_directory(name: str, base: Path | None = None) -> Iterator[Path]:
    """Hold a `SharedDirectory` for the time being."""
    with contextlib.closing(SharedDirectory(name, base)) as directory:
        yield directory.path


@contextlib.contextmanager
def saved_vocabulary(vocabulary: Vocabulary) -> Iterator[Path]:
    """A file that hosts can read the vocabulary from, for the time being."""
    with shared_directory(secrets.token_hex(8), _base(Path(tempfile.gettempdir()))) as directory:
        file = directory / "vocabulary"
        vocabulary.save(file)
        yield file


def short_base() -> Path:
    """The user's own directory for what is held, with a short path; there while it holds any."""
    base = _base(Path(tempfile.gettempdir()))
    # What is below /tmp is the user's own all the same.
    return base if len(str(base)) <= LONGEST_BASE else _base(Path("/tmp"))  # noqa: S108


def _base(place: Path) -> Path:
    return place / f"maskcourt-{os.geteuid()}"


def sweep_up_all() -> None:
    """Remove what nobody holds, wherever this user has it."""
    for base in {short_base(), _base(Path(tempfile.gettempdir()))}:
        sweep_up(base)


def sweep_up(base: Path) -> None:
    """Remove what nobody holds."""
    for file in base.glob(f"*{_LOCK}"):
        with contextlib.suppress(OSError), file.open("r+") as lock:
            _remove_unheld(file, lock)


def _locked(file: Path) -> IO[str]:
    """The lock file, locked together with others; not one that was removed meanwhile."""
    while True:
        with contextlib.suppress(FileNotFoundError), contextlib.ExitStack() as opened:
            _make_own(file.parent)
            lock = opened.enter_context(file.open("a+"))
            fcntl.flock(lock, fcntl.LOCK_SH)
            if os.path.samestat(file.stat(), os.fstat(lock.fileno())):
                opened.pop_all()
                return lock


def _make_own(base: Path) -> None:
    with contextlib.suppress(FileExistsError):  # `exist_ok` fails where it goes meanwhile
        base.mkdir(mode=0o700)
    if base.is_symlink() or not only_mine(base.lstat()):
        raise MaskcourtError(
            f"{base} belongs to somebody else, or others can write to it",
            "set TMPDIR to another directory",
        )


def _remove_unheld(file: Path, lock: IO[str]) -> None:
    """Remove a directory and its lock file, with the last the base, if only `lock` can hold it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(file.stat(), os.fstat(lock.fileno())):
            shutil.rmtree(str(file).removesuffix(_LOCK), ignore_errors=True)
            file.unlink()
    with contextlib.suppress(OSError):
        file.parent.rmdir()
