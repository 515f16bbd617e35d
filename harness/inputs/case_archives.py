"""Files out of an archive or a directory, one at a time, nothing ever unpacked to disk.

An archive is data from elsewhere. Every member's name, type and size is checked before its
content is touched, and an archive that ends early is refused, not read as a shorter one.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from harness.errors import InputError

MAX_MEMBER_BYTES: Final = 64 * 2**20
"""Bytes that one file may have; the largest of MaskBench has 2 million."""

MAX_TOTAL_BYTES: Final = 4 * 2**30
"""Bytes that all members together may have unpacked; MaskBench has 156 million."""

_Unpacked = gzip.GzipFile | lzma.LZMAFile
_BLOCK: Final = tarfile.BLOCKSIZE
_TRUNCATED: Final = "fetch it again: it is damaged or was not downloaded completely"


@dataclass(frozen=True)
class Member:
    """A file: its path with forward slashes, and its content for as long as it is the current one.

    `read` raises `InputError` when the file is larger than `MAX_MEMBER_BYTES` or damaged.
    """

    name: str
    read: Callable[[], bytes]


def content_sha256(files: Mapping[str, bytes]) -> str:
    """Hex digest over the names and contents of `files`, whatever their order.

    It is the SHA-256 of, for each name ascending, its UTF-8 bytes, a zero byte and the SHA-256
    of the content.
    """
    return combined_sha256({name: hashlib.sha256(data).digest() for name, data in files.items()})


def combined_sha256(digests: Mapping[str, bytes]) -> str:
    """`content_sha256` where the digests of the contents are known already."""
    total = hashlib.sha256()
    for name in sorted(digests):
        total.update(name.encode("utf-8", "surrogateescape") + b"\0" + digests[name])
    return total.hexdigest()


def file_sha256(path: Path) -> str:
    """Hex digest of the file `path`."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def members(path: Path) -> Iterator[Member]:
    """The regular files in `path`, a directory (with those below it) or an archive.

    Archives are told by their first bytes: tar packed with gzip or xz, and zip. A directory's
    files come sorted, an archive's in its own order.

    Raises:
        InputError: `path` is missing, of another kind, damaged, ends early, is larger than the
            limits, or holds a name or link that leads out of it.
    """
    with _reported(path):
        if path.is_dir():
            yield from _directory(path)
            return
        with path.open("rb") as file:
            magic = file.read(6)
            file.seek(0)
            if magic[:2] == b"\x1f\x8b":
                with gzip.GzipFile(fileobj=file) as unpacked:
                    yield from _tar(unpacked, path)
            elif magic == b"\xfd7zXZ\0":
                with lzma.LZMAFile(file) as plain:
                    yield from _tar(plain, path)
            elif magic[:2] == b"PK":
                yield from _zip(file, path)
            else:
                accepted = "it must be a .tar.gz, .tar.xz or .zip archive, or a directory"
                raise InputError(f"{path} is no archive", accepted)


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    """Turn what the standard library raises for damaged data into an `InputError`."""
    damaged = (
        tarfile.TarError,
        zipfile.BadZipFile,
        lzma.LZMAError,
        zlib.error,
        gzip.BadGzipFile,
        EOFError,
    )
    try:
        yield
    except damaged as error:
        raise InputError(f"{path} is damaged: {error}", _TRUNCATED) from error
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except (OSError, NotImplementedError, RuntimeError, ValueError) as error:
        # zipfile: NotImplementedError for a compression, RuntimeError for a password
        raise InputError(f"cannot read {path}: {error}") from error


def _directory(path: Path) -> Iterator[Member]:
    for file in sorted(path.rglob("*")):
        if file.is_file():
            name = file.relative_to(path).as_posix()

            def read(file: Path = file) -> bytes:
                with _reported(file):
                    _check_size(str(file), file.stat().st_size)
                    return file.read_bytes()

            yield Member(name, read)


class _Tail(io.RawIOBase):
    """A stream that remembers what was last read from it."""

    def __init__(self, stream: _Unpacked) -> None:
        self._stream = stream
        self.last = b""

    def read(self, size: int = -1, /) -> bytes:
        self.last = self._stream.read(size)
        return self.last

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()


def _tar(unpacked: _Unpacked, path: Path) -> Iterator[Member]:
    stream: Any = _Tail(unpacked)
    total = 0
    with tarfile.open(fileobj=stream, mode="r:") as archive:
        while (info := archive.next()) is not None:
            archive.members.clear()  # type: ignore[attr-defined]  # else it keeps every header
            total = _checked_total(total, info.size + _BLOCK, path)
            _check_name(info.name, path)
            if info.issym():
                _check_link(info.name, str(PurePosixPath(info.name).parent / info.linkname), path)
            elif info.islnk():
                _check_link(info.name, info.linkname, path)
            elif info.isfile():

                def read(info: tarfile.TarInfo = info) -> bytes:
                    with _reported(path):
                        _check_size(f"{path}:{info.name}", info.size)
                        content = archive.extractfile(info)
                        assert content is not None
                        return content.read()

                yield Member(info.name, read)
        _check_tar_end(stream, path)


def _check_tar_end(stream: _Tail, path: Path) -> None:
    """Read on to the end of the file, which only then is known to be whole.

    The standard library ends quietly at a header that it cannot read, and does not look at the
    checksum behind the last member.
    """
    block = stream.last
    if len(block) < _BLOCK:
        raise InputError(f"{path} ends early", _TRUNCATED)
    padding = 0
    while block:
        padding += len(block)
        if block.strip(b"\0") or padding > MAX_MEMBER_BYTES:
            raise InputError(f"{path} is damaged: its last entries cannot be read", _TRUNCATED)
        block = stream.read(2**16)


def _zip(file: IO[bytes], path: Path) -> Iterator[Member]:
    total = 0
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            total = _checked_total(total, info.file_size, path)
            _check_name(info.filename, path)

            def read(info: zipfile.ZipInfo = info) -> bytes:
                with _reported(path):
                    where = f"{path}:{info.filename}"
                    _check_size(where, info.file_size)
                    with archive.open(info) as content:
                        # Bounded, because what is packed may be more than what is declared.
                        unpacked = content.read(MAX_MEMBER_BYTES + 1)
                    _check_size(where, len(unpacked))
                    return unpacked

            if stat.S_ISLNK(info.external_attr >> 16):
                target = read().decode("utf-8", "replace")
                parent = PurePosixPath(info.filename).parent
                _check_link(info.filename, str(parent / target), path)
            elif not info.is_dir():
                yield Member(info.filename, read)


def _checked_total(total: int, size: int, path: Path) -> int:
    total += size
    if total > MAX_TOTAL_BYTES:
        limit = f"the limit is {MAX_TOTAL_BYTES // 2**30} GiB"
        raise InputError(f"{path} unpacks to more than it may", limit)
    return total


def _check_size(where: str, size: int) -> None:
    if size > MAX_MEMBER_BYTES:
        limit = f"the limit for a file is {MAX_MEMBER_BYTES // 2**20} MiB"
        raise InputError(f"{where} has {size:,} bytes", limit)


def _check_name(name: str, path: Path) -> None:
    parts = name.replace("\\", "/").split("/")
    if parts[0] == "" or ".." in parts or ":" in parts[0]:
        raise InputError(f"{path} holds a file {name!r}, which leads out of it", "do not trust it")


def _check_link(name: str, target: str, path: Path) -> None:
    depth = 0
    parts = target.replace("\\", "/").split("/")
    for part in parts:
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if depth < 0:
            break
    if depth < 0 or parts[0] == "" or ":" in parts[0]:
        raise InputError(f"{path} holds a link {name!r} that leads out of it", "do not trust it")
