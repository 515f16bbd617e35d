"""Slow schemas: what a time limit decided once is remembered, so that a second run says the same.

Processor time varies by a factor of two and more on a shared machine, and a schema that needs about
the limit would compile in one run and time out in the next. So the outcome of every compilation
that came near the limit is kept by all that decides it: what timed out is not tried again, what
compiled is given more time. What somebody else wrote, or could have, or put there under another
name, is not read. Removing the directory forgets everything.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import stat
import tempfile
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

Memory = Literal["timed_out", "compiled"]


@dataclass(frozen=True)
class SlowSchemas:
    """The outcomes in a directory, under a limit of so many `seconds` of processor time.

    `vocabulary` is its SHA-256.
    """

    directory: Path
    seconds: float
    vocabulary: str

    def recall(self, engine: Opened, schema: str) -> tuple[Memory | None, str]:
        """What became of a schema's JSON text before, if known, and what was printed until then."""
        file = self._file(engine, schema)
        with contextlib.suppress(OSError, ValueError, TypeError):
            if stat.S_ISREG((status := file.lstat()).st_mode) and only_mine(status):
                name, outcome, printed = json.loads(file.read_text("utf-8"))
                if name == file.name and outcome in get_args(Memory):
                    return outcome, str(printed)
        return None, ""

    def limit(self, known: Memory | None) -> float:
        return self.seconds * PATIENCE if known == "compiled" else self.seconds

    def keep(
        self, engine: Opened, schema: str, outcome: Memory, seconds: float, printed: str = ""
    ) -> None:
        """Remember an outcome, unless it was far from the limit or cannot be written."""
        if outcome == "compiled" and seconds < self.seconds * NEAR:
            return
        file = self._file(engine, schema)
        # forgetting costs a repetition and nothing else; nor is the temporary file there at the end
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=file.parent, encoding="utf-8") as stream:
                json.dump([file.name, outcome, printed], stream)
                stream.flush()
                Path(stream.name).rename(file)

    def _file(self, engine: Opened, schema: str) -> Path:
        names = ("name", "version", "options", "packages", "build", "code")
        about = {name: getattr(engine, name) for name in names}
        key = json.dumps([about, self.vocabulary, self.seconds, schema], sort_keys=True)
        digest = hashlib.sha256(key.encode()).hexdigest()
        return self.directory / digest[:2] / digest


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
