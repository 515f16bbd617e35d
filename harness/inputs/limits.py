"""How much of a file from elsewhere is read: a small one may unpack to more than memory holds."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO, Final

from harness.errors import InputError, UsageError

VARIABLE: Final = "MASKCOURT_MAX_INPUT"
"""Names the MiB that a file, a member of an archive or a line of cases may have."""

_MIB: Final = 64
"""By default; the largest member of MaskBench has 2 million bytes."""

TOTAL: Final = 16
"""An archive or a file of cases may have this many times as much; MaskBench has 156 million."""


def max_bytes() -> int:
    named = os.environ.get(VARIABLE) or str(_MIB)
    if not named.isdecimal() or not int(named[:9]) > 0 or len(named) > 9:
        raise UsageError(f"{VARIABLE} is {named!r}", "a number of MiB is expected")
    return int(named) * 2**20


def check_size(where: str, size: int, times: int = 1) -> None:
    """Raise `InputError` where `size` bytes are more than `times` the limit."""
    limit = max_bytes() * times
    if size > limit:
        hint = f"the limit is {limit // 2**20:,} MiB; {VARIABLE} names another one, for each file"
        raise InputError(f"{where} has more bytes than are read", hint)


def read_bounded(file: IO[bytes], where: str) -> bytes:
    """All that is in `file`, which may lie about its size, or an `InputError` if it is too much."""
    content = file.read(max_bytes() + 1)
    check_size(where, len(content))
    return content


def read_file(path: Path, where: str | None = None, *, regular: bool = False) -> bytes:
    """The content of a file; a pipe is read to its end, or refused if `regular`."""
    where = where or str(path)
    try:
        flags = os.O_RDONLY | (os.O_NONBLOCK if regular else 0)
        with os.fdopen(os.open(path, flags), "rb") as file:
            if regular and not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InputError(f"{where} is no regular file")
            return read_bounded(file, where)
    except (OSError, ValueError) as error:  # a name with a NUL
        raise InputError(f"cannot read {where}: {getattr(error, 'strerror', error)}") from None
