"""Runs that this user made on this machine, known by a record outside of them.

The record holds the seal of every manifest that was written here. A seal covers the whole manifest,
and that the checksums of all tables: nothing that a run's directory holds can make it somebody's
own. What such a run names (modules, packages, files), its user has named before.
"""

from __future__ import annotations

import contextlib
import os

from harness.directories import only_mine, state_directory

_FILE = "runs"


def remember(seal: str) -> None:
    """Note that a manifest was written here; where that cannot be kept, it is not."""
    file = state_directory() / _FILE
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, f"{seal}\n".encode())
        finally:
            os.close(descriptor)


def is_own(seal: str) -> bool:
    """Whether the manifest with this seal was written here, by this user."""
    file = state_directory() / _FILE
    try:
        mine = only_mine(file.parent.stat()) and only_mine(file.stat())
        return mine and seal in file.read_text("ascii").splitlines()
    except (OSError, ValueError):
        return False
