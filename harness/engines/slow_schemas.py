"""Slow schemas: what a time limit decided once is remembered, so that a second run says the same.

How long a compilation takes on a shared machine varies by a factor of two and more, processor
time included. A schema that needs about as long as the limit would compile in one run and time
out in the next, and two runs of the same cases would not give the same verdicts. So the outcome of
every compilation that came near the limit is kept, by engine, version or build, options, the
adapter's code, vocabulary, schema and limit. One that timed out is not tried again; one that
compiled is given more time. Removing the directory forgets everything.

Every file begins with a digest of its name and the rest. What somebody else wrote, or could have,
or put there under another name, is not read.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import harness.protocol
from harness.directories import only_mine

if TYPE_CHECKING:
    from harness.engines.requests import Opened

NEAR = 0.2
"""A compilation that used less than this share of the limit is too far from it to be kept."""

PATIENCE = 5.0
"""A schema that compiled within the limit before may take this many times the limit."""

_DIGEST = hashlib.sha256().digest_size

Memory = Literal["timed_out", "compiled"]


@dataclass(frozen=True)
class SlowSchemas:
    """The outcomes in a directory, one small file each, under a limit in seconds of processor time.

    `vocabulary` is its SHA-256.
    """

    directory: Path
    seconds: float
    vocabulary: str

    def recall(self, engine: Opened, schema: str) -> tuple[Memory | None, str]:
        """What became of a schema's JSON text before, if known, and what was printed until then."""
        file = self._file(engine, schema)
        try:
            descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as stream:
                status = os.fstat(stream.fileno())
                if not stat.S_ISREG(status.st_mode) or not only_mine(status):
                    return None, ""
                digest, data = stream.read(_DIGEST), stream.read()
            outcome, _, printed = data.decode("utf-8").partition("\n")
        except (OSError, UnicodeDecodeError):
            return None, ""
        known = digest == _digest(file, data) and outcome in get_args(Memory)
        return (outcome, printed) if known else (None, "")  # type: ignore[return-value]

    def limit(self, known: Memory | None) -> float:
        """Seconds that a compilation may take."""
        return self.seconds * PATIENCE if known == "compiled" else self.seconds

    def keep(
        self, engine: Opened, schema: str, outcome: Memory, seconds: float, printed: str = ""
    ) -> None:
        """Remember an outcome, unless it was far from the limit or cannot be written."""
        if outcome == "compiled" and seconds < self.seconds * NEAR:
            return
        file, data = self._file(engine, schema), f"{outcome}\n{printed}".encode()
        temporary = file.with_name(f".{file.name}-{os.getpid()}")
        with contextlib.suppress(OSError):  # forgetting costs a repetition and nothing else
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                temporary.unlink(missing_ok=True)
                descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "wb") as stream:
                    stream.write(_digest(file, data) + data)
                temporary.rename(file)
            finally:
                temporary.unlink(missing_ok=True)

    def _file(self, engine: Opened, schema: str) -> Path:
        names = ("name", "version", "options", "packages", "build", "code")
        about = {name: getattr(engine, name) for name in names}
        key = json.dumps([about, self.vocabulary, self.seconds, schema], sort_keys=True)
        digest = hashlib.sha256(key.encode()).hexdigest()
        return self.directory / digest[:2] / digest[2:]


def source_digest(*kinds: type) -> str:
    """A hash of the modules that define adapters and their bases; empty where one has no source."""
    digest = hashlib.sha256(Path(harness.protocol.__file__).read_bytes())
    for kind in [base for one in kinds for base in inspect.getmro(one)]:
        if kind.__module__ not in ("builtins", "typing"):
            try:
                digest.update(Path(inspect.getsourcefile(kind) or "").read_bytes())
            except (OSError, TypeError):
                return ""
    return digest.hexdigest()


def _digest(file: Path, data: bytes) -> bytes:
    return hashlib.sha256(f"{file.parent.name}{file.name}\0".encode() + data).digest()
