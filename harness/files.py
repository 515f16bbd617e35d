"""Files that outlive the program: whole lines, and what the system refuses said in one line."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from harness.errors import MaskcourtError, RunDirectoryError, UsageError

_T = TypeVar("_T")


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the operating system refuses into one clear line."""
    try:
        yield
    except OSError as error:
        raise RunDirectoryError(
            f"{path} cannot be written: {error.strerror or error}",
            "mend that and run again, or choose another: finished cases are kept",
        ) from error


def write_whole(path: Path, text: str) -> int:
    """Write a file, whole or not at all, in a directory that is made if need be; its size."""
    temporary = path.with_name(f".{path.name}.tmp")
    with writing(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(text, "utf-8")
            temporary.replace(path)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        return path.stat().st_size


def require_writable(path: Path, *, directory: bool = False) -> None:
    """Raise UsageError for a file, or a directory for files, that cannot be written."""
    try:
        there = next(some for some in (path.absolute(), *path.absolute().parents) if some.exists())
        if there == path.absolute() and there.is_dir() != directory:
            raise UsageError(f"{path} is {'no' if directory else 'a'} directory", "choose another")
        if there.is_dir():
            tempfile.TemporaryFile(dir=there).close()
        elif there != path.absolute() or not os.access(there, os.W_OK):
            raise OSError(errno.ENOTDIR if there != path.absolute() else errno.EACCES, "")
    except OSError as error:
        reason = os.strerror(error.errno or errno.EACCES)
        raise UsageError(f"{path} cannot be written: {reason}", "choose another") from error


class LineFile:
    """A file of lines, each of which is on the disk before the next; it need not be there yet."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def records(self, read: Callable[[str], _T], what: str, hint: str) -> Iterator[_T]:
        """What `read` makes of each whole line; RunDirectoryError where that is no `what`."""
        try:
            text = self.path.read_bytes().decode() if self.path.exists() else ""
        except (OSError, ValueError) as error:
            raise RunDirectoryError(f"{self.path} cannot be read: {error}") from error
        for number, line in enumerate(text.split("\n")[:-1], 1):  # the last was cut, or is empty
            try:
                record = read(line)
            except (ValueError, LookupError, TypeError, AttributeError, MaskcourtError) as error:
                message = f"{self.path}:{number} holds no {what}: {str(error)[:200]}"
                raise RunDirectoryError(message, hint) from error
            yield record

    def mend(self) -> None:
        """Drop a last line that was cut."""
        if not self.path.exists():
            return
        with writing(self.path), self.path.open("r+b") as file:
            data = file.read()
            file.truncate(data.rfind(b"\n") + 1)

    def append(self, line: str) -> None:
        """Add a line; it is on the disk when this returns."""
        with writing(self.path), self.path.open("ab") as file:
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
