"""How compiling a schema, or any later work of an engine, may end: types, not strings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Compiled:
    """The engine accepted the schema. Times are of the host's processor, in seconds."""

    compile_seconds: float
    first_mask_seconds: float
    message: str = ""

    word = "compiled"

    @property
    def seconds(self) -> float:
        """Until the first mask was there."""
        return self.compile_seconds + self.first_mask_seconds


@dataclass(frozen=True)
class Refusal:
    """The engine declined the schema; `message` is its own."""

    message: str

    word = "refused"


@dataclass(frozen=True)
class Crashed:
    """The host died of a signal or left, or the engine raised something else than a refusal."""

    message: str
    signal: str | None = None

    word = "crashed"


@dataclass(frozen=True)
class TimedOut:
    """The engine used more time than the limit; its host was ended."""

    message: str

    word = "timed_out"


@dataclass(frozen=True)
class OutOfMemory:
    """The engine needed more memory than the limit; its host was ended."""

    message: str

    word = "out_of_memory"


@dataclass(frozen=True)
class MaskViolation:
    """The engine refused to consume a token that its own mask allowed."""

    message: str

    word = "mask_lies"


Failure = Refusal | Crashed | TimedOut | OutOfMemory | MaskViolation
Outcome = Compiled | Failure

COMPILE_WORDS = ("compiled", "refused", "crashed", "timed_out", "out_of_memory")
"""The outcomes of a compilation, in the order in which tables show them."""
