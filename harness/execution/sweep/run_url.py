"""A run at a URL: whatever fsspec can write to, with or without renames.

The same run as in a directory, but that each finished case is one file ``parts/NNNNNN-X.tar`` (the
files of the part, X by chance) and, written after it, ``parts/NNNNNN.json`` with the checksum of
the first: a case without the second is not there, and of two lanes that store the same case the
last one counts, whole. To close the run its parts are fetched into a directory of the machine that
closes it, joined there as those of a local run are, and the tables are written to the URL, the
manifest last. That directory, the mirror, is what reports read.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import tarfile
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from harness.engines.specs import EngineSpec
from harness.errors import MaskcourtError, RunDirectoryError, UsageError
from harness.optional import require
from harness.runs.directory import (
    MANIFEST,
    PARTS,
    SESSIONS,
    SUMS,
    RunDirectory,
    create_or_resume,
    open_run,
    sha256_of,
    write_part,
)
from harness.runs.run_places import LocalPlace, refuse_other_run
from harness.runs.tables import SCHEMAS, Rows

_STORED = re.compile(r"(\d{6,})\.json")

AT_ONCE = 16
"""Parts that are fetched at the same time: object stores are slow to answer, one by one."""


class Remote:
    """A directory at a URL.

    Raises:
        UsageError: fsspec, or what it needs for URLs of this kind, is not installed.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        fsspec = require("fsspec", "sweep", "runs at URLs")
        try:
            self._files, self._root = fsspec.core.url_to_fs(self.url)
        except (ImportError, ValueError) as error:
            raise UsageError(f"{url} cannot be written to: {error}", "see fsspec") from error

    def read(self, name: str) -> bytes | None:
        """The content of a file; None when there is none of that name."""
        with self._told(f"{name} cannot be read"):
            try:
                return bytes(self._files.cat_file(self._path(name)))
            except FileNotFoundError:
                return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all where the file system can."""
        with self._told(f"{name} cannot be written"), self._under_way(name) as path:
            self._files.pipe_file(path, content)

    def upload(self, name: str, source: Path) -> None:
        """Write a file from one of this machine."""
        with self._told(f"{name} cannot be written"), self._under_way(name) as path:
            self._files.put_file(str(source), path)

    def download(self, name: str, target: Path) -> None:
        """Have a file on this machine; it appears there by one rename."""
        temporary = target.with_suffix(".tmp")
        with self._told(f"{name} cannot be read"):
            self._files.get_file(self._path(name), str(temporary))
        temporary.rename(target)

    def names(self, under: str = "") -> list[str]:
        """The names of files and directories in a directory; none when it is not there."""
        with self._told("cannot be listed"):
            try:
                found = self._files.ls(self._path(under), detail=False, refresh=True)
            except (FileNotFoundError, NotADirectoryError):
                return []
            except TypeError:  # not every file system has anything to refresh
                found = self._files.ls(self._path(under), detail=False)
        return [str(one).rstrip("/").rpartition("/")[2] for one in found]

    def remove(self, name: str) -> None:
        """Remove a file, or a directory with all in it, if it is there."""
        with self._told(f"{name} cannot be removed"), contextlib.suppress(FileNotFoundError):
            self._files.rm(self._path(name), recursive=True)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}".rstrip("/")

    @contextlib.contextmanager
    def _under_way(self, name: str) -> Iterator[str]:
        """The path to write to: beside the name where files can be renamed, else the name."""
        path = self._path(name)
        if self._files.__class__.__name__ != "LocalFileSystem":
            yield path
            return
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        temporary = f"{path}.{uuid.uuid4().hex[:8]}.tmp"
        yield temporary
        self._files.mv(temporary, path)

    @contextlib.contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except MaskcourtError:
            raise
        except Exception as error:  # the libraries behind fsspec raise errors of their own
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            raise RunDirectoryError(f"{self.url}: {what}: {reason}", "is it there, for you?") from (
                error
            )


class RunAtUrl(RunDirectory):
    """A run at a URL, with its mirror on this machine.

    Args:
        remote: Where it is.
        path: The mirror; only needed by who opens, closes or reads the run.
        manifest: The run's manifest.
    """

    def __init__(self, remote: Remote, path: Path, manifest: Mapping[str, Any]) -> None:
        super().__init__(path, manifest)
        self.remote = remote

    def done(self) -> set[int]:
        """The ordinals of the cases that are there; their checksums are looked at by `gather`."""
        found = (_STORED.fullmatch(name) for name in self.remote.names(PARTS))
        return {int(match[1]) for match in found if match}

    def write_case(self, ordinal: int, rows: Rows) -> None:
        """Store the rows of one case; one that is there already stays as it is."""
        if self._sums(ordinal) is not None:
            return
        data = _packed(rows)
        file = f"{ordinal:06d}-{uuid.uuid4().hex[:12]}.tar"
        self.remote.write(f"{PARTS}/{file}", data)
        cases = rows.table("cases").to_pylist()[0]
        row = {name: cases[name] for name in ("case", "status", "positions", "disputed_tokens")}
        sums = {"file": file, "sha256": hashlib.sha256(data).hexdigest(), "stored": time.time()}
        self.remote.write(f"{PARTS}/{ordinal:06d}.json", json.dumps({**sums, **row}).encode())

    def stored(self, ordinal: int) -> Mapping[str, Any] | None:
        """What is written beside a case's part; None when it is not there."""
        return self._sums(ordinal)

    def gather(self) -> None:
        """Fetch the parts into the mirror, but for those that are there.

        Raises:
            RunDirectoryError: One is missing, cut or altered.
        """
        there = super().done()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for _ in pool.map(self._fetch, sorted(self.done() - there)):
                pass

    def finish(self, extra: Mapping[str, Any]) -> None:
        """Close the run in the mirror, then at the URL."""
        super().finish(extra)
        self.upload()

    def upload(self) -> None:
        """Write the mirror's tables to the URL, the manifest last, and remove the parts there."""
        for name in SCHEMAS:
            self.remote.upload(f"{name}.parquet", self.path / f"{name}.parquet")
        self.publish(SESSIONS)
        self.publish(MANIFEST)
        self.remote.remove(PARTS)

    def publish(self, name: str) -> None:
        """Have one of the mirror's files at the URL too, if it is there."""
        if (self.path / name).exists():
            self.remote.upload(name, self.path / name)

    def _sums(self, ordinal: int) -> dict[str, Any] | None:
        """What is written beside a part; None where it is not there, or only begun."""
        data = self.remote.read(f"{PARTS}/{ordinal:06d}.json")
        with contextlib.suppress(ValueError):
            return None if data is None else dict(json.loads(data))
        return None

    def _fetch(self, ordinal: int) -> None:
        sums = self._sums(ordinal)
        data = None if sums is None else self.remote.read(f"{PARTS}/{sums['file']}")
        again = f"remove {PARTS}/{ordinal:06d}.json there and run again with the same --out"
        if sums is None or data is None:
            raise RunDirectoryError(f"{self.remote.url}: case {ordinal} is not whole", again)
        if hashlib.sha256(data).hexdigest() != sums["sha256"]:
            message = f"{self.remote.url}: {sums['file']} was cut or altered: its checksum differs"
            raise RunDirectoryError(message, again)
        target = self.path / PARTS / f"{ordinal:06d}"
        temporary = target.with_name(f".{ordinal:06d}-fetched")
        shutil.rmtree(temporary, ignore_errors=True)
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            tar.extractall(temporary, filter="data")
        # the time of a run's last case is the time when it was stored
        os.utime(temporary / SUMS, (sums["stored"], sums["stored"]))
        temporary.rename(target)


class UrlPlace:
    """A run at a URL.

    Args:
        url: The URL.
        default: Where the run would be kept on this machine; the mirror is beside it.
    """

    def __init__(self, url: str, default: Path) -> None:
        self.remote = Remote(url)
        digest = hashlib.sha256(self.remote.url.encode()).hexdigest()[:8]
        self.mirror = LocalPlace(default.with_name(f"{default.name}-{digest}"))

    def check(self) -> None:
        """Refuse a URL that cannot be read, or holds something else, and a bad mirror."""
        self.mirror.check()
        names = set(self.remote.names())
        if names and MANIFEST not in names:
            raise RunDirectoryError(
                f"{self.remote.url} holds files but no {MANIFEST}", "choose another --out"
            )

    def check_identity(self, known: Mapping[str, Any], specs: Sequence[EngineSpec]) -> None:
        """Refuse a URL with another run."""
        manifest = self._manifest()
        if manifest is not None:
            refuse_other_run(self.remote.url, manifest, known, specs)
        self.mirror.check_identity(known, specs)

    def finished(self) -> bool:
        """Whether a finished run is there, or needs only to be uploaded."""
        return "tables" in (self._manifest() or {}) or self.mirror.finished()

    def open(self, identity: Mapping[str, Any], notes: Mapping[str, Any]) -> RunDirectory:
        """The run, begun there if it is not there; the mirror has what is needed of it."""
        mirror, manifest = self.mirror.path, self._manifest()
        uploaded = manifest is not None and "tables" in manifest
        if manifest is not None and not self.mirror.finished():
            self._fetch(tables=uploaded)
        local = create_or_resume(mirror, identity, notes)
        run = RunAtUrl(self.remote, mirror, local.manifest)
        run.trusted = local.trusted
        run.keep_locked(local)
        if run.finished and not uploaded:
            run.upload()
        elif manifest is None:
            run.publish(MANIFEST)
        return run

    def _fetch(self, *, tables: bool) -> None:
        """Have the manifest in the mirror, and tables if there are any; parts there stay."""
        mirror = self.mirror.path
        fetched = mirror.with_name(f"{mirror.name}.fetched")
        shutil.rmtree(fetched, ignore_errors=True)
        fetched.mkdir(parents=True)
        there = set(self.remote.names())
        names = [*(f"{name}.parquet" for name in SCHEMAS if tables), SESSIONS, MANIFEST]
        for name in names:
            if name in there:
                self.remote.download(name, fetched / name)
        if (mirror / PARTS).exists() and not tables:
            (mirror / PARTS).rename(fetched / PARTS)
        shutil.rmtree(mirror, ignore_errors=True)
        fetched.rename(mirror)

    def _manifest(self) -> Mapping[str, Any] | None:
        """The manifest at the URL, read as that of a directory is."""
        data = self.remote.read(MANIFEST)
        if data is None:
            return None
        with tempfile.TemporaryDirectory(prefix="maskcourt-") as name:
            (Path(name) / MANIFEST).write_bytes(data)
            return open_run(Path(name)).manifest


def fetch(url: str, path: Path) -> RunDirectory:
    """Have a finished run of a URL in a directory, for whatever reads runs.

    Raises:
        RunDirectoryError: There is no finished run, or it cannot be fetched.
    """
    remote = Remote(url)
    if remote.read(MANIFEST) is None:
        raise RunDirectoryError(f"{url} is no run: it has no {MANIFEST}", "give the --out of a run")
    path.mkdir(parents=True, exist_ok=True)
    for name in [*(f"{name}.parquet" for name in SCHEMAS), SESSIONS, MANIFEST]:
        if name in remote.names():
            remote.download(name, path / name)
    run = open_run(path)
    if not run.finished:
        raise RunDirectoryError(f"{url} is not finished", "finish it with the same command")
    for name, table in run.manifest["tables"].items():
        if sha256_of(path / f"{name}.parquet") != table["sha256"]:
            raise RunDirectoryError(f"{url}: {name}.parquet was cut or altered", "fetch it again")
    return run


def _packed(rows: Rows) -> bytes:
    """The files of a part as one."""
    stream = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="maskcourt-") as name:
        write_part(Path(name), rows)
        with tarfile.open(fileobj=stream, mode="w") as tar:
            for file in sorted(Path(name).iterdir()):
                tar.add(file, file.name)
    return stream.getvalue()
