"""Compiled schemas, kept from one run to the next for engines that can write theirs down.

Compilation is most of a run's time, and the next run compiles the same again. What a
`harness.protocol.StoringEngine` stores is kept here, by everything that decides its masks, and a
restored matcher stands in for a compiled one without leaving a trace in the results: its times
are those that were measured when the schema was compiled, what the engine printed then is printed
again, and an entry counts only where the compilation would have kept the limits of this run.
Refusals, failures and quick compilations are not kept.

An entry that cannot be read, or whose first mask is not the one that was compiled, is dropped and
the schema compiled anew. Several processes may use one directory; removing it forgets everything.

Measured with the vocabulary of Qwen2.5 on schemas of MaskBench: see the docstrings of the adapters.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import inspect
import json
import math
import os
import platform
import stat
import sys
import time
import zlib
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self

import harness.protocol
from harness.engines.blob_cache import BlobCache
from harness.protocol import Engine, Mask, Matcher, StoringEngine
from harness.workers.forked_work import in_child, memory

_FORMAT = 1
_PRINTED_LIMIT = 64 << 10
"""A compilation that printed more bytes than this is not kept."""

_MEMORY_FACTOR = 16
"""Bytes of memory that restoring may need for each byte that was stored: xgrammar needs 12."""

_LIBC = ctypes.CDLL(None)


@dataclass(frozen=True)
class Terms:
    """What is kept.

    Attributes:
        budget: Bytes of all entries together. With the vocabulary of Qwen2.5 and schemas of
            MaskBench most have 1 to 5 MB, the largest of outlines-core some 40 MB.
        entry: Bytes of the largest entry.
        seconds: Quicker compilations, first mask included, are not kept. Of 485 compilations of
            xgrammar and outlines-core they were a third, and took 4% of the time.
        fresh: Seconds since its last use for which an entry does not make room for a new one.
            Runs over more schemas than the budget holds would otherwise drop every entry shortly
            before it is wanted.
        storing: Seconds after which storing is given up.
    """

    budget: int = 2 << 30
    entry: int = 64 << 20
    seconds: float = 0.5
    fresh: float = 86_400.0
    storing: float = 30.0


@dataclass(frozen=True)
class Compilation:
    """A matcher at the start of a text, and what compiling its schema was like.

    Attributes:
        start: The matcher; its first mask was computed.
        compile_seconds: Processor time of the compilation, even where the matcher was restored.
        first_mask_seconds: The same for the first mask.
        restored: Whether it comes from the cache.
        first_mask: SHA-256 of the first mask.
        printed: What the engine printed meanwhile; None where that is not known.
    """

    start: Matcher
    compile_seconds: float
    first_mask_seconds: float
    restored: bool = False
    first_mask: str = ""
    printed: bytes | None = None

    @property
    def seconds(self) -> float:
        """Processor time of the compilation and the first mask."""
        return self.compile_seconds + self.first_mask_seconds


def compile_or_restore(
    engine: Engine,
    schema: str,
    first_mask: Mask,
    cache: CompiledCache | None = None,
    limit: float = math.inf,
) -> Compilation:
    """Compile `schema`, or restore what was compiled before.

    Args:
        engine: The engine.
        schema: Its JSON text.
        first_mask: Shape ``(words,)``; overwritten with the mask at the start.
        cache: The cache of this engine; None compiles.
        limit: Seconds of processor time that the caller allows for compiling.

    Raises:
        Refused: The engine declines the schema.
    """
    if cache is None:
        return _compiled(engine, schema, first_mask)
    if (restored := cache.restore(schema, first_mask, limit)) is not None:
        return restored
    with _Printing() as printing:
        fresh = _compiled(engine, schema, first_mask)
    return Compilation(
        fresh.start,
        fresh.compile_seconds,
        fresh.first_mask_seconds,
        first_mask=_sha256(first_mask),
        printed=printing.text,
    )


def open_cache(
    directory: str | Path | None, engine: Engine, vocabulary: str, memory: int, build: str = ""
) -> CompiledCache | None:
    """The cache of `engine` in `directory`; None where nothing can be kept.

    Args:
        directory: Where entries are kept; None or empty keeps nothing.
        engine: The engine; one that is no `StoringEngine` has no cache.
        vocabulary: The vocabulary's SHA-256.
        memory: Bytes that the engine's host may use: with less, compiling might have failed.
        build: What tells a build at hand from others of its version; empty for a version.
    """
    source = source_digest(type(engine))
    if not directory or source is None or not isinstance(engine, StoringEngine):
        return None
    return CompiledCache(Path(directory), engine, [source, vocabulary, build], memory)


def source_digest(*kinds: type) -> str | None:
    """A hash of the modules that define adapters and their bases; None where one has no source."""
    digest = hashlib.sha256(Path(harness.protocol.__file__).read_bytes())
    for one in chain.from_iterable(map(inspect.getmro, kinds)):
        if one.__module__ in ("builtins", "typing"):
            continue
        try:
            file = inspect.getsourcefile(one)
            digest.update(Path(file or "").read_bytes())
        except (OSError, TypeError):
            return None
    return digest.hexdigest()


class CompiledCache:
    """The compiled schemas of one engine with one vocabulary.

    Args:
        directory: Where entries are kept, those of other engines among them.
        engine: The engine.
        circumstances: What decides the masks beside what the engine says of itself; JSON.
        memory: Bytes that this process may use.
        terms: What is kept.
    """

    def __init__(
        self,
        directory: Path,
        engine: StoringEngine,
        circumstances: object,
        memory: int,
        terms: Terms | None = None,
    ) -> None:
        info = engine.info
        self._engine = engine
        self._memory = memory
        self._terms = terms or Terms()
        self._blobs = BlobCache(directory, self._terms.budget, self._terms.fresh)
        self._key: list[Any] = [
            [_FORMAT, platform.machine(), circumstances, memory],
            [info.name, info.version, dict(info.options), dict(info.packages)],
        ]

    def restore(self, schema: str, first_mask: Mask, limit: float = math.inf) -> Compilation | None:
        """What `keep` kept of `schema`; None where there is nothing that can be used.

        Prints what the engine printed when it compiled.

        Args:
            schema: Its JSON text.
            first_mask: Shape ``(words,)``; overwritten with the mask at the start.
            limit: What took more seconds than this to compile is not restored.
        """
        file = self._file(schema)
        data = self._blobs.read(file)
        entry = _Entry.of(data) if data else None
        if entry is None or entry.seconds > limit or not self._fits(entry):
            return None
        try:
            start = self._engine.restore(schema, zlib.decompress(entry.stored))
            start.mask(first_mask)
        except Exception:  # noqa: BLE001 - whatever is wrong with it, compiling puts it right
            self._blobs.drop(file)
            return None
        if _sha256(first_mask) != entry.first_mask:
            self._blobs.drop(file)
            return None
        self._blobs.touch(file)
        _give_back_memory()
        _print(entry.printed)
        return Compilation(
            start,
            entry.compile_seconds,
            entry.first_mask_seconds,
            restored=True,
            first_mask=entry.first_mask,
            printed=entry.printed,
        )

    def worth_keeping(self, one: Compilation) -> bool:
        """Whether `keep` would try to."""
        known = one.printed is not None
        return known and not one.restored and one.seconds >= self._terms.seconds

    def keep(self, schema: str, one: Compilation) -> bool:
        """Keep a compilation; whether it was.

        Storing may take much time and memory, and none of it is the schema's: it happens in a
        child process, with limits of its own, while this one waits. Nothing is printed.

        Args:
            schema: Its JSON text.
            one: What `compile_or_restore` gave for it; nothing was consumed on its matcher.
        """
        if not self.worth_keeping(one):
            return False
        return in_child(lambda: self._write(schema, one), self._terms.storing)

    def _write(self, schema: str, one: Compilation) -> bool:
        if not self._blobs.make_room(1):
            return False
        stored = self._engine.store(one.start)
        if stored is None or one.printed is None:
            return False
        data = _Entry(
            one.compile_seconds,
            one.first_mask_seconds,
            one.first_mask,
            one.printed,
            len(stored),
            zlib.compress(stored, 1),
        ).data()
        if len(data) > self._terms.entry or not self._blobs.make_room(len(data)):
            return False
        self._blobs.write(self._file(schema), data)
        return True

    def _fits(self, entry: _Entry) -> bool:
        """Whether restoring cannot need more memory than the process may use."""
        return memory()[1] + entry.length * _MEMORY_FACTOR < self._memory

    def _file(self, schema: str) -> Path:
        key = json.dumps([self._key, schema], sort_keys=True)
        return self._blobs.file(hashlib.sha256(key.encode()).hexdigest())


class _Entry(NamedTuple):
    compile_seconds: float
    first_mask_seconds: float
    first_mask: str
    printed: bytes
    length: int
    """Bytes that the engine stored."""
    stored: bytes
    """They, compressed."""

    @property
    def seconds(self) -> float:
        return self.compile_seconds + self.first_mask_seconds

    def data(self) -> bytes:
        """What is put on the shelf: a line of JSON, then the bytes."""
        times = (self.compile_seconds, self.first_mask_seconds)
        head = json.dumps([*times, self.first_mask, self.length, len(self.printed)])
        return b"%s\n%s%s" % (head.encode(), self.printed, self.stored)

    @classmethod
    def of(cls, data: bytes) -> _Entry:
        head, _, rest = data.partition(b"\n")
        compiled, masked, first_mask, length, printed = json.loads(head)
        return cls(compiled, masked, first_mask, rest[:printed], length, rest[printed:])


@dataclass
class _Printing:
    """Learns what is printed inside of a ``with``, by whatever means, and lets it pass.

    That is possible in a host, whose standard output and error are one file that others only read.
    """

    text: bytes | None = field(default=None, init=False)
    """What was printed; None where it cannot be known."""
    _start: int | None = field(default=None, init=False)

    def __enter__(self) -> Self:
        self._start = _printed_size()
        return self

    def __exit__(self, *_: object) -> None:
        end = _printed_size()
        if self._start is None or end is None or end < self._start:
            return
        length = end - self._start
        if length > _PRINTED_LIMIT:
            return
        with contextlib.suppress(OSError):
            text = os.pread(1, length, self._start)
            self.text = text if len(text) == length else None


def _printed_size() -> int | None:
    """Bytes in the file that takes what this process prints; None where there is no such file."""
    sys.stdout.flush()
    sys.stderr.flush()
    _LIBC.fflush(None)  # what native code has in its buffers
    out, err = os.fstat(1), os.fstat(2)
    together = stat.S_ISREG(out.st_mode) and os.path.samestat(out, err)
    return out.st_size if together else None


def _print(text: bytes) -> None:
    while text:
        text = text[os.write(2, text) :]


def _compiled(engine: Engine, schema: str, first_mask: Mask) -> Compilation:
    began = time.process_time()
    start = engine.compile(schema)
    compiled = time.process_time()
    start.mask(first_mask)
    return Compilation(start, compiled - began, time.process_time() - compiled)


def _sha256(mask: Mask) -> str:
    return hashlib.sha256(mask.tobytes()).hexdigest()


def _give_back_memory() -> None:
    """Reading a stored schema needs many times what is left of it."""
    with contextlib.suppress(AttributeError):  # not glibc
        _LIBC.malloc_trim(0)
