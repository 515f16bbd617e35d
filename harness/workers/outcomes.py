"""How compiling a schema, or any later work of an engine, may end: types, not strings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final


@dataclass(frozen=True)
class Compiled:
    """The engine accepted the schema. Times are of the host's processor, in seconds."""

    compile_seconds: float
    first_mask_seconds: float
    message: str = ""

    status = "compiled"

    @property
    def seconds(self) -> float:
        return self.compile_seconds + self.first_mask_seconds


@dataclass(frozen=True)
class _Ended:
    message: str

    status: ClassVar[str]


@dataclass(frozen=True)
class Refusal(_Ended):
    """The engine declined the schema; `message` is its own."""

    status = "refused"


@dataclass(frozen=True)
class Crashed(_Ended):
    """The host died of a signal or left, or the engine raised something else than a refusal."""

    signal: str | None = None

    status = "crashed"

    @property
    def from_outside(self) -> bool:
        """Whether it died of what no program dies of by itself: somebody else ended it."""
        return self.signal in {"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGSTOP"}


@dataclass(frozen=True)
class Defect(Crashed):
    """Code of the harness raised in the host: a defect of it, which says nothing of the engine."""


@dataclass(frozen=True)
class TimedOut(_Ended):
    """The engine used more time than the limit; its host was ended."""

    status = "timed_out"


@dataclass(frozen=True)
class OutOfMemory(_Ended):
    """The engine needed more memory than the limit; its host was ended."""

    status = "out_of_memory"


@dataclass(frozen=True)
class MaskViolation(_Ended):
    """The engine refused to consume a token that its own mask allowed."""

    status = "mask_consume_mismatch"


ADAPTER_FAULTS: Final[Mapping[str, str]] = {
    "mask_not_written": "its mask is not written, or not all of it",
    "mask_changes": "its mask changes from asking to asking",
    "clone_differs": "a clone is not in the state of its original, or moves it",
    "second_way": "it refuses a token on a second way through the same text",
    "bits_beyond": "its mask has bits beyond the vocabulary",
    "faster_way": "its faster way to consume tokens does not keep to its masks",
}
"""What can be wrong with an adapter, in words."""

EXCLUDING: Final = ("mask_not_written", "mask_changes", "clone_differs", "second_way")
"""The faults with which masks prove nothing; with the others they do, one by one."""


@dataclass(frozen=True)
class AdapterFault:
    """The adapter contradicts itself, which says nothing about its engine; `detail` is evidence."""

    status: str  # one of `ADAPTER_FAULTS`
    detail: str

    @property
    def message(self) -> str:
        return f"{ADAPTER_FAULTS[self.status]}: {self.detail}"


Failure = Refusal | Crashed | TimedOut | OutOfMemory | MaskViolation | AdapterFault
Outcome = Compiled | Failure

COMPILE_STATUSES = ("compiled", "refused", "crashed", "timed_out", "out_of_memory")
"""The outcomes of a compilation, in the order in which tables show them."""
