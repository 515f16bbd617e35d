"""The run directory: a manifest, and tables written a case at a time, atomically.

While a run goes on, each finished case is a directory ``parts/NNNNNN`` with one Parquet file per
table and the checksums of them; it appears by one rename, so a case is either wholly there or
not at all. A finished run has one Parquet file per table, the cases in the order of the run, and
their checksums in ``run.json``. Readers verify checksums and refuse what was cut or altered.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import hashlib
import json
import platform
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from harness.errors import RunDirectoryError
from harness.files import require_writable, writing
from harness.runs.checks import check_columns, check_manifest, check_rows
from harness.runs.tables import SCHEMAS, Rows

MANIFEST = "run.json"
SESSIONS = "sessions.jsonl"
"""A line for every time that the run was begun or gone on with."""
FORMAT = 11
PARTS = "parts"
SUMS = "part.json"
_PART = re.compile(r"[0-9]{6,}")
_LOCK = ".lock"
_BATCH = 1_000_000
"""Rows that are joined at a time."""
_FILES = 1000
"""Files that are: each needs memory of its own, however few its rows are."""
_ROWS = 1 << 15
"""Rows in a batch."""

ROW: Final = "row"
"""The column that `RunDirectory.batches` puts before the others: the number of a row."""
RowNumbers = npt.NDArray[np.int64]
"""Rows of a table, ascending."""


@dataclass(frozen=True)
class ManifestKind:
    """What a directory with a manifest holds: that file, in which format, and its `own` files."""

    file: str
    format: int
    own: tuple[str, ...]


RUN: Final = ManifestKind(MANIFEST, FORMAT, (PARTS,))


class RunDirectory:
    """One run on disk. `create` or `resume` it to write, `open_run` it to read."""

    def __init__(
        self,
        path: Path,
        manifest: Mapping[str, Any],
        *,
        trusted: bool = False,
        read_only: bool = False,
    ) -> None:
        self.path = path
        self.manifest = manifest
        self.trusted = trusted
        """Whether what the manifest names may be opened; see `harness.runs.made_with`."""
        self._lock: IO[str] | None = None
        self._read_only = read_only
        self._parts: dict[int, Path] | None = None
        self._order: dict[str, int] | None = None

    @property
    def finished(self) -> bool:
        """Whether every case is there and the tables are whole."""
        return "tables" in self.manifest

    def done(self) -> set[int]:
        """The ordinals of the cases that are there, each verified against its checksums."""
        parts = self._stored()
        for part in parts.values():
            for name in SCHEMAS:
                _verified(part, name)
        return set(parts)

    def write_case(self, ordinal: int, rows: Rows) -> None:
        """Store the rows of one case; one that is there already stays as it is.

        A lane may die between storing a case and saying so: then it is run again, to the same rows.
        """
        parts = self.path / PARTS
        target = parts / f"{ordinal:06d}"
        if target.exists():
            return
        temporary = parts / f".{ordinal:06d}-{secrets.token_hex(4)}"
        with writing(self.path):
            temporary.mkdir(parents=True)
            sums = {}
            for name in SCHEMAS:
                content = _encoded(name, rows.table(name)) if rows.count(name) else _empty(name)
                file = temporary / f"{name}.parquet"
                file.write_bytes(content)
                sums[file.name] = hashlib.sha256(content).hexdigest()
            (temporary / SUMS).write_text(json.dumps(sums, indent=1), "utf-8")
            try:
                temporary.rename(target)
            except OSError:
                if not target.exists():
                    raise
                shutil.rmtree(temporary)  # a lane that was taken for dead stored it meanwhile

    def seen(self) -> tuple[str, str]:
        """How a lane on another machine finds this run and knows it again; see `as_seen`."""
        return str(self.path.absolute()), sha256_of(self.path / MANIFEST)

    @classmethod
    def as_seen(cls, path: str, manifest: str) -> RunDirectory:
        """The run for storing cases, from whichever machine this is called on.

        Raises:
            RunDirectoryError: No run with this SHA-256 of its manifest is to be seen there.
        """
        file = Path(path) / MANIFEST
        if not file.is_file() or sha256_of(file) != manifest:
            raise RunDirectoryError(
                f"{platform.node()} does not see the run at {path}",
                "give --out on a file system that all nodes share",
            )
        return cls(Path(path), {})

    def finish(self, extra: Mapping[str, Any]) -> None:
        """Join the parts into one file per table and close the run; `extra` is noted with it."""
        parts = self._stored().values()
        tables = {}
        with writing(self.path):
            for name in SCHEMAS:
                target = self.path / f"{name}.parquet"
                temporary = target.with_suffix(".tmp")
                rows = _join([_verified(part, name) for part in parts], temporary, name)
                temporary.rename(target)
                tables[name] = {"rows": rows, "sha256": sha256_of(target)}
            self.manifest = {**self.manifest, **extra, "tables": tables}
            write_manifest(self.path, self.manifest)
            shutil.rmtree(self.path / PARTS)

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """A table, of a finished run or of the cases there so far, or some of its columns."""
        names = list(SCHEMAS[name].names if columns is None else columns)
        schema = pa.schema([SCHEMAS[name].field(one) for one in names])
        batches = (batch.select(names) for batch in self.batches(name, names))
        return pa.Table.from_batches(batches, schema).unify_dictionaries()

    def files(self, name: str) -> list[Path]:
        """The files of a table, verified against their checksums."""
        if not self.finished:
            return [_verified(part, name) for part in self._stored().values()]
        stored = self.manifest["tables"].get(name, {})
        file = self.path / f"{name}.parquet"
        _verify(file, stored.get("sha256", ""))
        with opened(file) as source:
            if source.metadata.num_rows != stored["rows"]:
                raise RunDirectoryError(f"{file} has not as many rows as {MANIFEST} says", _ANEW)
        return [file]

    def batches(
        self, table: str, columns: Sequence[str], wanted: RowNumbers | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a table, those `wanted` or all, with their numbers in the column `ROW`.

        Groups of rows without any of them are not read, and batches without any are left out.
        """
        first, cases = 0, None if table == "cases" else self.order
        for file in self.files(table):
            with opened(file, memory_map=True) as source:
                for batch in _of_file(source, columns, wanted, first):
                    check_rows(file, batch, self.manifest, cases)
                    yield batch
                first += source.metadata.num_rows

    @property
    def order(self) -> Mapping[str, int]:
        """The cases, with their places in the order of the run."""
        if self._order is None or not (self.finished or self._read_only):
            cases = self.table("cases", ["case"])["case"].to_pylist()
            self._order = {case: place for place, case in enumerate(cases)}
        return self._order

    def _stored(self) -> dict[int, Path]:
        """The directories of the cases that are there, by ordinal, ascending.

        Who only reads keeps to those of the first look, lest one table has cases that another has
        not while the run goes on.
        """
        if self._parts is not None:
            return self._parts
        found = (self.path / PARTS).glob("[0-9]*")
        parts = {int(part.name): part for part in found if _PART.fullmatch(part.name)}
        parts = dict(sorted(parts.items()))
        if self._read_only:
            self._parts = parts
        return parts

    def lock(self) -> None:
        """Be the only one to write here until the process ends; RunDirectoryError if another is."""
        with writing(self.path):
            self._lock = (self.path / _LOCK).open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.release()
            raise RunDirectoryError(
                f"another process writes to {self.path}", "wait for it, or choose another --out"
            ) from error

    def release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def sweep_up(self) -> None:
        """Remove what an interrupted run left half-written."""
        if self.finished:
            shutil.rmtree(self.path / PARTS, ignore_errors=True)
        for left in (self.path / PARTS).glob(".[0-9]*"):
            shutil.rmtree(left, ignore_errors=True)
        for left in self.path.glob("*.tmp"):
            left.unlink(missing_ok=True)


def create_or_resume(
    path: Path, identity: Mapping[str, Any], notes: Mapping[str, Any]
) -> RunDirectory:
    """The run at `path` for writing, new or gone on with; see `begin_or_go_on`."""
    run = begin_or_go_on(path, identity, notes, RUN)
    if not run.finished:
        with writing(path):
            (path / PARTS).mkdir(exist_ok=True)
    run.sweep_up()
    return run


def begin_or_go_on(
    path: Path, identity: Mapping[str, Any], notes: Mapping[str, Any], kind: ManifestKind
) -> RunDirectory:
    """A locked directory with its manifest, written where there is none; `notes` are only recorded.

    Raises:
        RunDirectoryError: It cannot be written, holds something else, or another run.
    """
    with writing(path):
        refuse_foreign(path, kind)
        path.mkdir(parents=True, exist_ok=True)
    run = RunDirectory(path, {}, trusted=True)  # its engines are those that the user names
    run.lock()  # before anything is read or written: two runs may begin at once
    try:
        if (path / kind.file).exists():
            run.manifest = read_manifest(path, kind)
            refuse_other(path, run.manifest.get("identity", {}), json.loads(json.dumps(identity)))
        else:
            run.manifest = {"format": kind.format, "identity": identity, **notes}
            with writing(path):
                write_manifest(path, run.manifest, kind)
    except BaseException:
        run.release()
        raise
    return run


def open_run(path: Path, *, trust: bool = False) -> RunDirectory:
    """A run directory for reading.

    What its manifest names may be imported, installed, opened and fetched if `trust` says so.

    Raises:
        RunDirectoryError: There is none, or its manifest cannot be read.
    """
    try:
        there = (path / MANIFEST).is_file()
    except OSError:  # a name that is too long, a directory that may not be looked into
        there = False
    if not there:
        raise RunDirectoryError(f"{path} is no run: it has no {MANIFEST}", "give a --out of a run")
    return RunDirectory(path, read_manifest(path), trusted=trust, read_only=True)


def _encoded(name: str, table: pa.Table) -> pa.Buffer:
    stream = pa.BufferOutputStream()
    pq.write_table(table, stream, **_format(name))
    return stream.getvalue()


@functools.cache
def _empty(name: str) -> pa.Buffer:
    """A table without rows as its file has it, which is so of most tables of a case."""
    return _encoded(name, SCHEMAS[name].empty_table())


@functools.cache
def _format(table: str) -> dict[str, Any]:
    dictionaries = []  # of all but texts
    for field in SCHEMAS[table]:
        is_list = pa.types.is_list(field.type)
        kind = field.type.value_type if is_list else field.type
        if pa.types.is_dictionary(kind) or pa.types.is_primitive(kind):
            dictionaries.append(f"{field.name}.list.element" if is_list else field.name)
    return {"compression": "zstd", "use_dictionary": dictionaries}


def sha256_of(file: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _join(files: list[Path], target: Path, name: str) -> int:
    """Write the rows of many files into one, in batches, and count them."""
    files = [file for file in files if file.read_bytes() != _empty(name)]
    if len(files) <= 1:
        target.write_bytes(files[0].read_bytes() if files else _empty(name))
        return int(pq.read_metadata(target).num_rows)
    rows, size, batch = 0, 0, [(schema := SCHEMAS[name]).empty_table()]
    with pq.ParquetWriter(target, schema, **_format(name)) as writer:
        for index, file in enumerate(files, 1):
            with opened(file) as source:
                batch.append(source.read(use_threads=False))
            size += batch[-1].num_rows
            if size >= _BATCH or len(batch) > _FILES or index == len(files):
                writer.write_table(pa.concat_tables(batch).unify_dictionaries().cast(schema))
                rows, size, batch = rows + size, 0, batch[:1]
    return rows


def _verified(part: Path, name: str) -> Path:
    """The file of one table in a part, its checksum as it was written."""
    file = part / f"{name}.parquet"
    try:
        expected = json.loads((part / SUMS).read_text("utf-8"))[file.name]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunDirectoryError(
            f"{part} was cut or altered: its {SUMS} is not whole", _AGAIN
        ) from error
    _verify(file, expected)
    return file


def _verify(file: Path, expected: str) -> None:
    there = file.is_file()
    if not there or sha256_of(file) != expected:
        how = "was cut or altered: its checksum differs" if there else "is missing"
        raise RunDirectoryError(f"{file} {how}", _remedy(file))


def _of_file(
    source: pq.ParquetFile, columns: Sequence[str], wanted: RowNumbers | None, first: int
) -> Iterator[pa.RecordBatch]:
    for group in range(source.num_row_groups):
        size = source.metadata.row_group(group).num_rows
        if wanted is None or _within(wanted, first, first + size).size:
            some = {"row_groups": [group], "columns": list(columns), "use_threads": size > _ROWS}
            for number, batch in enumerate(source.iter_batches(_ROWS, **some)):
                yield from chosen(batch, wanted, first + number * _ROWS)
        first += size


def chosen(
    batch: pa.RecordBatch, wanted: RowNumbers | None, first: int
) -> Iterator[pa.RecordBatch]:
    """The wanted rows of a batch that begins with the row `first`, with their numbers."""
    numbers = np.arange(first, first + batch.num_rows)
    if wanted is not None:
        numbers = _within(wanted, first, first + batch.num_rows)
        if not numbers.size:
            return
        batch = batch.take(pa.array(numbers - first))
    names = [ROW, *batch.schema.names]
    yield pa.RecordBatch.from_arrays([pa.array(numbers), *batch.columns], names)


def _within(wanted: RowNumbers, start: int, stop: int) -> RowNumbers:
    low, high = np.searchsorted(wanted, [start, stop])
    return wanted[low:high]


@contextlib.contextmanager
def opened(file: Path, *, memory_map: bool = False) -> Iterator[pq.ParquetFile]:
    """A table's file for reading, its columns those of its name."""
    try:
        with pq.ParquetFile(file, memory_map=memory_map) as source:
            check_columns(file, source.schema_arrow)
            yield source
    except (OSError, pa.ArrowException) as error:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) in _OF_THE_MACHINE:
            raise  # Arrow has an own error for want of memory
        raise RunDirectoryError(f"{file} cannot be read: {error}", _remedy(file)) from error


_OF_THE_MACHINE = (errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EIO)
"""Numbers of errors that say nothing about a file."""
_AGAIN = "delete the damaged part and run again with the same --out; everything else is kept"
_ANEW = "take it from a copy of this finished run, or run again with another --out"


def _remedy(file: Path) -> str:
    return _AGAIN if file.parent.parent.name == PARTS else _ANEW


def refuse_foreign(path: Path, kind: ManifestKind) -> None:
    """Refuse a path that cannot become a directory of this kind; what was begun and left can."""
    if (path / kind.file).exists() or not path.exists():
        return
    if not path.is_dir():
        raise RunDirectoryError(f"{path} is no directory", "choose another --out")
    foreign = {file.name for file in path.iterdir()} - {_LOCK, f"{kind.file}.tmp", *kind.own}
    if foreign or any((path / PARTS).glob("*")):
        raise RunDirectoryError(
            f"{path} holds files but no {kind.file}", "choose an empty or new directory"
        )


def check_place(path: Path, kind: ManifestKind = RUN) -> None:
    """Raise MaskcourtError for a path that is something else, or where nothing can be written."""
    require_writable(path, directory=True)
    refuse_foreign(path, kind)


def refuse_other(path: Path | str, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raise RunDirectoryError where a run of another identity stands in the way."""
    different = sorted(
        key for key in stored.keys() | wanted.keys() if not _same(stored.get(key), wanted.get(key))
    )
    if different:
        key = different[0]
        raise RunDirectoryError(
            f"{path} holds a run with other {', '.join(different)}"
            f" ({key}: {_abridged(stored.get(key))} there, {_abridged(wanted.get(key))} now)",
            "choose another --out, or repeat the options of that run",
        )


def _same(stored: object, wanted: object) -> bool:
    """Whether two parts of an identity are equal; the order of engines is part of a run."""
    if isinstance(stored, dict) and isinstance(wanted, dict):
        return list(stored.items()) == list(wanted.items())
    return stored == wanted


def _abridged(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else text[:117] + "…"


def read_manifest(path: Path, kind: ManifestKind = RUN) -> dict[str, Any]:
    """A directory's manifest; RunDirectoryError where it was altered, or of another format."""
    try:
        manifest = json.loads((path / kind.file).read_text("utf-8"))
        version = manifest["format"]
        if manifest["seal"] != _seal(manifest):
            raise ValueError("the seal is broken")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise RunDirectoryError(
            f"{path / kind.file} cannot be read: it was cut or altered",
            "restore it, or choose another --out",
        ) from error
    if version != kind.format:
        raise RunDirectoryError(
            f"{path} has format {version}, of another maskcourt; this one reads {kind.format}",
            "read it with the version that wrote it, or begin a new run with another --out",
        )
    if kind is RUN:
        check_manifest(path / MANIFEST, manifest)
    return dict(manifest)


def write_manifest(path: Path, manifest: Mapping[str, Any], kind: ManifestKind = RUN) -> None:
    """Write the manifest of a directory, with a seal over the rest of it."""
    temporary = path / f"{kind.file}.tmp"
    sealed = {**manifest, "seal": _seal(manifest)}
    temporary.write_text(json.dumps(sealed, indent=2, ensure_ascii=False) + "\n", "utf-8")
    temporary.rename(path / kind.file)


def _seal(manifest: Mapping[str, Any]) -> str:
    """A checksum over everything else in the manifest."""
    rest = {key: value for key, value in manifest.items() if key != "seal"}
    text = json.dumps(json.loads(json.dumps(rest)), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
