"""Errors that a user of the program is meant to read: what went wrong, where, what to do."""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable

from harness.printable import one_line

_MEMORY = "allow more memory: ulimit -v unlimited; what is stored is good"
_OUT_OF_MEMORY = ("ArrowMemoryError", "OutOfMemoryException")


class MaskcourtError(Exception):
    """What went wrong, and where, with a hint what to do; the command line prints it in a line."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        message = one_line(self.message)
        return f"{message} ({one_line(self.hint)})" if self.hint else message


MORE_FILES = "allow more open files: ulimit -n 1024"
"""What to do where the system says that there are too many."""

_REMEDIES = {
    errno.EMFILE: MORE_FILES,
    errno.ENFILE: "close what has files open",
    errno.ENOSPC: "make room on the disk; what is stored is good",
    errno.EDQUOT: "make room on the disk; what is stored is good",
    errno.EFBIG: "allow larger files: ulimit -f unlimited; what is stored is good",
    errno.ENOMEM: _MEMORY,
    errno.EAGAIN: "allow more processes: ulimit -u",
}
"""What to do where the system is out of something; nothing that was stored is at fault."""


def of_the_system(error: BaseException) -> str | None:
    """What the system refused, and what to do, for an error that is no defect; else None.

    Memory that is exhausted shows in many ways: pyarrow and DuckDB have errors of their own.
    """
    is_unmapped = isinstance(error, ImportError) and "failed to map" in str(error)
    if is_unmapped or isinstance(error, MemoryError) or type(error).__name__ in _OUT_OF_MEMORY:
        return f"memory is exhausted ({_MEMORY})"
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return f"no new thread can be started ({_REMEDIES[errno.EAGAIN]}, or {_MEMORY})"
    if not isinstance(error, OSError):
        return None
    where = f": {error.filename}" if error.filename else ""
    hint = f" ({_REMEDIES[error.errno]})" if error.errno in _REMEDIES else ""
    return f"{error.strerror or error}{where}{hint}"


def with_remedy(error: MaskcourtError) -> str:
    """An error in one line; where the system is out of something, that is what to do about it."""
    cause = error.__cause__
    while cause is not None:
        refused = of_the_system(cause)
        is_known = not isinstance(cause, OSError) or cause.errno in _REMEDIES
        if refused and is_known and "ulimit" not in (error.hint or ""):
            return f"{one_line(error.message)}: {refused}"
        cause = cause.__cause__
    return str(error)


class UsageError(MaskcourtError):
    """The caller asked for something that does not exist or does not go together."""


class InputError(MaskcourtError):
    """A file or a case that the caller gave cannot be used."""


class RunDirectoryError(MaskcourtError):
    """A run directory cannot be written, belongs to another run, or is damaged."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the known word nearest to `name`, or lists them all when none is near."""
    known = sorted(known)
    if not known:
        return None
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(known)
