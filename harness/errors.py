"""Errors that a user of the program is meant to read: what went wrong, where, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from harness.printable import one_line

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


def of_the_system(error: BaseException) -> str | None:
    """What the system refused, memory in errors of libraries, too; None where that is no reason."""
    is_unmapped = isinstance(error, ImportError) and "failed to map" in str(error)
    if is_unmapped or isinstance(error, MemoryError) or type(error).__name__ in _OUT_OF_MEMORY:
        return "memory is exhausted; what is stored is good"
    if not isinstance(error, OSError):
        return None
    return f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"


class UsageError(MaskcourtError):
    """The caller asked for something that does not exist or does not go together."""


class InputError(MaskcourtError):
    """A file or a case that the caller gave cannot be used."""


class RunDirectoryError(MaskcourtError):
    """A run directory cannot be read or written, is damaged, or belongs to another run."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the known word nearest to `name`, or lists them all when none is near."""
    known = sorted(known)
    if not known:
        return None
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(known)
