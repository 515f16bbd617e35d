"""Temporary directories that a later start removes where their owner was killed.

A directory's name says who owns it: machine and process namespace, process id, and when that
process began. The name is there from the first moment on and no other process ever takes it, so
nothing that is alive can be taken for dead: a number that was given to another process since began
at another time, and what another machine or container left is not touched.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.inputs.vocabulary import Vocabulary

_NAME = re.compile(r"maskcourt-(?P<here>[0-9a-f]{8})-(?P<pid>\d+)-(?P<began>\d+)-\w+")


@contextlib.contextmanager
def owned_directory() -> Iterator[Path]:
    """A directory for the time being, after what the dead left behind is removed."""
    sweep(Path(tempfile.gettempdir()))
    prefix = f"maskcourt-{_here()}-{os.getpid()}-{_began(os.getpid()) or 0}-"
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as directory:
        yield Path(directory)


@contextlib.contextmanager
def saved_vocabulary(vocabulary: Vocabulary) -> Iterator[Path]:
    """A file that hosts can read the vocabulary from, for the time being."""
    with owned_directory() as directory:
        file = directory / "vocabulary"
        vocabulary.save(file)
        yield file


def sweep(where: Path) -> None:
    """Remove the directories in `where` whose owners are known to be dead."""
    here = _here()
    with contextlib.suppress(OSError), os.scandir(where) as entries:
        for entry in entries:
            owner = _NAME.fullmatch(entry.name)
            if owner is None or owner["here"] != here:
                continue
            with contextlib.suppress(OSError):
                mine = entry.stat(follow_symlinks=False).st_uid == os.geteuid()
                if mine and entry.is_dir(follow_symlinks=False) and _is_dead(owner):
                    shutil.rmtree(entry.path, ignore_errors=True)


def _is_dead(owner: re.Match[str]) -> bool:
    """Whether the process that began then is no more."""
    began = _began(int(owner["pid"]))
    if began is None and not Path("/proc/self/stat").exists():
        try:
            os.kill(int(owner["pid"]), 0)
        except ProcessLookupError:
            return True
        except (OSError, OverflowError):
            pass
        return False
    return began != int(owner["began"])


def _began(pid: int) -> int | None:
    """When a process began, in ticks since the machine did; None when it is gone or unknown.

    Source: proc(5), field 22 of ``stat``; the name in field 2 may hold blanks and brackets.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return int(fields[19]) if len(fields) > 19 and fields[0] not in "ZX" else None


def _here() -> str:
    """What the processes have in common that can see each other: one boot, one namespace."""
    marks = []
    with contextlib.suppress(OSError):
        marks.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii"))
    with contextlib.suppress(OSError):
        marks.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256("\n".join([os.uname().nodename, *marks]).encode()).hexdigest()[:8]
