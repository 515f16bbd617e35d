"""Slow schemas: what a time limit decided once is remembered, so that a second run says the same.

How long a compilation takes on a shared machine varies by a factor of two and more, processor
time included. A schema that needs about as long as the limit would compile in one run and time
out in the next, and two runs of the same cases would not give the same verdicts. So the outcome of
every compilation that came near the limit is kept, by engine, version or build, options, the
adapter's code, vocabulary, schema and limit. One that timed out is not tried again; one that
compiled is given more time. Removing the directory forgets everything.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from harness.engines.blob_cache import read_own, write_own
from harness.engines.requests import Opened

NEAR = 0.2
"""A compilation that used less than this share of the limit is too far from it to be kept."""

PATIENCE = 5.0
"""A schema that compiled within the limit before may take this many times the limit."""

Memory = Literal["timed_out", "compiled"]


@dataclass(frozen=True)
class SlowOutcome:
    """What became of a schema before: the outcome, and what the engine printed until a time-out."""

    outcome: Memory
    printed: str = ""


class SlowSchemas:
    """What is remembered under one limit, and one vocabulary.

    Args:
        directory: Where it is kept; one small file per outcome.
        limit: Seconds of processor time for a compilation.
        vocabulary: The vocabulary's SHA-256.
    """

    def __init__(self, directory: Path, limit: float, vocabulary: str) -> None:
        self._directory = directory
        self._limit = limit
        self._vocabulary = vocabulary

    def recall(self, engine: Opened, schema: str) -> SlowOutcome | None:
        """What became of this schema before; None when it is not known or was far from the limit.

        Args:
            engine: What the engine says it is.
            schema: The schema's JSON text.
        """
        try:
            found = (read_own(self._file(engine, schema)) or b"").decode("utf-8")
        except UnicodeDecodeError:
            return None
        outcome, _, printed = found.partition("\n")
        return SlowOutcome(outcome, printed) if outcome in get_args(Memory) else None  # type: ignore[arg-type]

    def limit(self, known: SlowOutcome | None) -> float:
        """Seconds that a compilation may take."""
        compiled = known is not None and known.outcome == "compiled"
        return self._limit * PATIENCE if compiled else self._limit

    def keep(
        self,
        engine: Opened,
        schema: str,
        outcome: Memory,
        seconds: float,
        printed: str = "",
    ) -> None:
        """Remember an outcome, unless it was far from the limit or cannot be written."""
        if outcome == "compiled" and seconds < self._limit * NEAR:
            return
        file = self._file(engine, schema)
        with contextlib.suppress(OSError):  # forgetting costs a repetition and nothing else
            write_own(file, f"{outcome}\n{printed}".encode())

    def _file(self, engine: Opened, schema: str) -> Path:
        names = ("name", "version", "options", "packages", "build", "code")
        key = [
            {name: getattr(engine, name) for name in names},
            self._vocabulary,
            self._limit,
            schema,
        ]
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
        return self._directory / digest[:2] / digest[2:]
