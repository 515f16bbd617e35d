"""Files out of an archive or a directory, one at a time, nothing ever unpacked to disk.

An archive is data from elsewhere. Every member's size is checked before its content is touched,
links are left out, and an archive that ends early is refused, not read as a shorter one.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, Final, NamedTuple

from harness.errors import InputError
from harness.inputs.limits import TOTAL, check_size, read_bounded, read_file

_BLOCK: Final = tarfile.BLOCKSIZE
_TRUNCATED: Final = "fetch it again: it is damaged or was not downloaded completely"


class Member(NamedTuple):
    """A file: its path with forward slashes, and its content for as long as it is the current one.

    `read` raises `InputError` where the file is too large, or damaged.
    """

    name: str
    read: Callable[[], bytes]


_Entry = tuple[str, int, Callable[[], IO[bytes]] | None]
"""Name and size of a member, as the archive has them, and its content: None for no regular file."""


def content_sha256(files: Iterable[tuple[str, bytes]]) -> str:
    """SHA-256 in hex of, for each name ascending, its UTF-8, a zero byte, the content's SHA-256."""
    total = hashlib.sha256()
    for name, digest in sorted((name, hashlib.sha256(data).digest()) for name, data in files):
        total.update(name.encode("utf-8", "surrogateescape") + b"\0" + digest)
    return total.hexdigest()


def members(path: Path) -> Iterator[Member]:
    """The regular files in `path`, a directory (with those below it) or an archive.

    Archives are told by their first bytes: tar packed with gzip or xz, and zip. A directory's
    files come sorted, an archive's in its own order.
    """
    with _reported(path):
        if path.is_dir():
            for file in sorted(path.rglob("*")):
                if file.is_file():
                    yield Member(file.relative_to(path).as_posix(), partial(read_file, file))
            return
        total = 0
        with path.open("rb") as packed:
            for name, size, opened in _entries(packed, path):
                total += size + _BLOCK
                check_size(str(path), total, TOTAL)
                parts = name.replace("\\", "/").split("/")
                if parts[0] == "" or ".." in parts or ":" in parts[0]:
                    message = f"{path} holds a file {name!r}, which leads out of it"
                    raise InputError(message, "do not trust it")
                if opened is not None:
                    yield Member(name, partial(_content, path, name, size, opened))


def _content(path: Path, name: str, size: int, opened: Callable[[], IO[bytes]]) -> bytes:
    where = f"{path}:{name}"
    with _reported(path):
        check_size(where, size)
        with opened() as content:
            return read_bounded(content, where)


def _entries(packed: IO[bytes], path: Path) -> Iterator[_Entry]:
    magic = packed.read(6)
    packed.seek(0)
    if magic[:2] == b"\x1f\x8b":
        with gzip.GzipFile(fileobj=packed) as unpacked:
            yield from _tar(unpacked, path)
    elif magic == b"\xfd7zXZ\0":
        with lzma.LZMAFile(packed) as plain:
            yield from _tar(plain, path)
    elif magic[:2] == b"PK":
        with zipfile.ZipFile(packed) as archive:
            for info in archive.infolist():
                link = info.is_dir() or stat.S_ISLNK(info.external_attr >> 16)
                opened = None if link else partial(archive.open, info)
                yield info.filename, info.file_size, opened
    else:
        accepted = "it must be a .tar.gz, .tar.xz or .zip archive, or a directory"
        raise InputError(f"{path} is no archive", accepted)


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    """Turn what the standard library raises for damaged data into an `InputError`."""
    damaged = (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError)
    try:
        yield
    except (*damaged, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is damaged: {error}", _TRUNCATED) from error
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except (OSError, NotImplementedError, RuntimeError, ValueError) as error:
        # zipfile: NotImplementedError for a compression, RuntimeError for a password
        raise InputError(f"cannot read {path}: {error}") from error


def _tar(unpacked: gzip.GzipFile | lzma.LZMAFile, path: Path) -> Iterator[_Entry]:
    def read(size: int) -> bytes:  # no header of a large size that it claims to have
        check_size(str(path), size)
        return unpacked.read(size)

    stream: Any = SimpleNamespace(read=read, seek=unpacked.seek, tell=unpacked.tell)
    with tarfile.open(fileobj=stream, mode="r:") as archive:
        while (info := archive.next()) is not None:
            archive.members.clear()  # type: ignore[attr-defined]  # else it keeps every header
            opened: Any = partial(archive.extractfile, info) if info.isfile() else None
            yield info.name, info.size, opened
        # The standard library ends quietly at a header that it cannot read, and does not look at
        # the checksum after the last member.
        unpacked.seek(archive.offset)
        if unpacked.read(_BLOCK) != bytes(_BLOCK):
            raise InputError(f"{path} is damaged: its last entries cannot be read", _TRUNCATED)
        while unpacked.read(2**20):
            pass
