"""The first moments of a host, before anything is imported that takes time or has descriptors.

Started as ``python -m harness.workers.start_host PARENT IN OUT SERVICE``: the coordinator's
process, two file descriptors, and the ``module:Class`` whose instance answers every message.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import sys

from harness.workers.lineage import adopt_orphans, die_with_parent

_OUT_OF_REACH = 1 << 14
"""Descriptors from here on are not what engines write to, or close, by mistake."""


def out_of_reach(descriptor: int) -> int:
    """Move a descriptor to a high number, above the limit that this process is told of.

    Where the system allows no such number it goes as high as it can.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _OUT_OF_REACH + 64 if hard == resource.RLIM_INFINITY else min(hard, _OUT_OF_REACH + 64)
    moved = descriptor
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, max(most - 8, 3))
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if moved == descriptor:
        os.set_inheritable(descriptor, False)
    else:
        os.close(descriptor)
    return moved


def main() -> None:
    """Entry point of the process."""
    parent, inward, outward, reference = sys.argv[1:]
    die_with_parent(int(parent))
    adopt_orphans()
    channel = out_of_reach(int(inward)), out_of_reach(int(outward))
    from harness.workers.host_process import run

    run(*channel, reference)


if __name__ == "__main__":
    main()
