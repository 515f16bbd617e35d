"""What can be asked of an engine in its host: each request with its answer, as types.

Both sides go by these definitions. A request is sent by `harness.engines.panel.Panel`;
`harness.engines.service.EngineService` has a method of its `command`, which is given the request
and gives the answer. Every name is written once: that of the command is made of the class's, a
field travels under its own, arrays and `wire.Ragged` as arrays, all else in the header.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from harness.engines.text_probe import ProbedTexts
from harness.protocol import EngineInfo
from harness.workers import wire
from harness.workers.outcomes import Compiled, Refusal

A = TypeVar("A")
T = TypeVar("T")
Int32s = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

NO_CONTINUATION = -1
"""In `Proved.choice`: no continuation of the list is allowed."""

SAME_BUFFER = -1
"""In `Open.buffer`: the engine is opened again in a host whose buffer is mapped."""

TOKEN_REFUSED = -2
"""In `Proved.choice`: the engine refuses the disputed token, which its mask allows."""


class Request(Generic[A]):
    """A request that is answered with an `A`; subclasses are frozen dataclasses."""

    command: ClassVar[str]
    answered_with: ClassVar[type]

    def __init_subclass__(cls) -> None:
        (answer,) = get_args(cls.__orig_bases__[0])  # type: ignore[attr-defined]
        if not isinstance(answer, TypeVar):
            cls.answered_with = answer
            cls.command = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
            _REQUESTS[cls.command] = cls

    def message(self) -> wire.Message:
        """As a message to the host."""
        return as_message(self, do=self.command)

    def answer(self, message: wire.Message) -> A | ReplayDiverged | AtFault:
        """What the host's message says."""
        if "refused_at" in message.head:
            return _read(ReplayDiverged, message)
        at_fault = "adapter_fault" in message.head
        return _read(AtFault if at_fault else self.answered_with, message)


_REQUESTS: dict[str, type[Request[Any]]] = {}


def read_request(message: wire.Message) -> Request[Any]:
    """What is asked by a message that `Request.message` made."""
    return _read(_REQUESTS[message.head["do"]], message)


def as_message(one: Any, **head: object) -> wire.Message:
    """A request or an answer as a message."""
    arrays: dict[str, wire.Array] = {}
    for field in fields(one):
        value = getattr(one, field.name)
        if isinstance(value, wire.Ragged):
            arrays |= value.arrays(field.name)
        elif isinstance(value, np.ndarray):
            arrays[field.name] = value
        else:
            head[field.name] = value
    return wire.Message(head, arrays)


def _read(kind: type[T], message: wire.Message) -> T:
    head, arrays = message.head, message.arrays
    values: dict[str, Any] = {}
    for name in [field.name for field in fields(kind)]:  # type: ignore[arg-type]
        if name in head:
            values[name] = head[name]
        elif name in arrays:
            values[name] = arrays[name]
        elif f"{name}.values" in arrays:
            values[name] = wire.Ragged.from_arrays(arrays, name)
    return kind(**values)


@dataclass(frozen=True)
class ReplayDiverged:
    """The answer of an engine that refuses tokens which it took before, at the first of them."""

    refused_at: int


@dataclass(frozen=True)
class AtFault:
    """The answer of an engine whose adapter is at fault: see `AdapterFault`."""

    adapter_fault: str
    detail: str


@dataclass(frozen=True)
class Done:
    """What was asked is done."""


@dataclass(frozen=True, kw_only=True)
class Opened(EngineInfo):
    """An engine that is up: which one it is, and which vocabulary it loaded.

    Attributes:
        sha256: Of the vocabulary.
        words: Of its masks.
        code: A hash of the adapter's source; empty where it has none.
    """

    sha256: str
    words: int
    code: str = ""


@dataclass(frozen=True)
class Open(Request[Opened]):
    """Load the vocabulary, construct the engine, map the mask buffer.

    Attributes:
        engine: ``module:attribute`` of the engine's class.
        options: All of its options.
        vocabulary: The path of a saved vocabulary.
        buffer: The file descriptor of the mask buffer's memory; `SAME_BUFFER` keeps the mapped one.
        cache: The directory of compilations that are kept; None keeps none.
        memory: Bytes that the host may take.
        build: What tells a build at hand from others; empty for a version.
    """

    engine: str
    options: Mapping[str, bool | int | str]
    vocabulary: str
    buffer: int
    cache: str | None = None
    memory: int = 4 << 30
    build: str = ""


@dataclass(frozen=True)
class Checked:
    """Which bytes an engine holds for the vocabulary's ordinary tokens.

    Attributes:
        asked: About how many of them it could be asked.
        of: How many there are.
        wrong: The ids for which it holds other bytes.
        on_purpose: Whether its adapter says that this is meant so.
    """

    asked: int
    of: int
    wrong: Sequence[int]
    on_purpose: bool


@dataclass(frozen=True)
class Check(Request[Checked]):
    """Compare every ordinary token's bytes with what the engine itself holds."""


@dataclass(frozen=True)
class CompileEnded:
    """How compiling ended: refused, or with the times that it took, in seconds.

    Attributes:
        refused: The engine's own message; None where it compiled.
        compile: Until the engine was done with the schema.
        first_mask: From there until the first mask was there.
        restored: Whether a compilation that was kept was restored; the times are its own.
        keep: Whether it is worth asking `Keep`, which takes time of its own.
    """

    refused: str | None = None
    compile: float = 0.0
    first_mask: float = 0.0
    restored: bool = False
    keep: bool = False

    @property
    def outcome(self) -> Compiled | Refusal:
        """As an outcome."""
        if self.refused is not None:
            return Refusal(self.refused)
        return Compiled(self.compile, self.first_mask)


@dataclass(frozen=True)
class Compile(Request[CompileEnded]):
    """Compile a schema and stand at its start; the first mask belongs to the time.

    Attributes:
        schema: Its JSON text.
        strict: Whether every mask is looked at while resolving, whatever faster way there is.
        limit: A compilation that was kept is restored where it took no more seconds than this.
    """

    schema: str
    strict: bool = False
    limit: float = math.inf


@dataclass(frozen=True)
class Keep(Request[Done]):
    """Keep the last compilation for later runs."""


@dataclass(frozen=True)
class Goto(Request[Done]):
    """Stand where the start state is after `tokens`, shape ``(n,)`` int32."""

    tokens: Int32s


@dataclass(frozen=True)
class WalkEnded:
    """Whether a walk ended at a token that the engine refused; the mask buffer tells at which."""

    refused: bool = False


@dataclass(frozen=True)
class Walk(Request[WalkEnded]):
    """Consume tokens one by one, and write the mask behind each to the mask buffer.

    Attributes:
        tokens: Shape ``(n,)`` int32. A first token of -1 stands for none: the mask of where the
            walk stands.
        consumed: How many tokens were consumed before; what was walked beyond them is forgotten.
        bank: Where in the buffer the masks go.
        key: On which it depends at which positions the adapter is examined.
    """

    tokens: Int32s
    consumed: int
    bank: int
    key: str = ""


@dataclass(frozen=True, kw_only=True)
class PositionRequest(Request[A], Generic[A]):
    """What is asked about a position: behind `at` tokens of the walk; None is where it stands."""

    at: int | None = None


@dataclass(frozen=True)
class Proved:
    """For each token a rank in its list, `NO_CONTINUATION` or `TOKEN_REFUSED`; ``(n,)`` int32."""

    choice: Int32s


@dataclass(frozen=True)
class Prove(PositionRequest[Proved]):
    """For each token, the first continuation of its list that is allowed to the end.

    Where the engine has a faster way than mask and consume in turn, that way decides, unless the
    schema was compiled as `Compile.strict`.

    Attributes:
        tokens: The disputed tokens, shape ``(n,)`` int32.
        lists: Which list belongs to each, shape ``(n,)`` int32.
        starts: The rank in the list to begin at, shape ``(n,)`` int32.
        continuations: Token ids, end of sequence included.
        members: The lists: numbers of continuations.
    """

    tokens: Int32s
    lists: Int32s
    starts: Int32s
    continuations: wire.Ragged
    members: wire.Ragged


@dataclass(frozen=True)
class RolledOut:
    """How each roll-out ended, and its tokens.

    Attributes:
        outcomes: Indices into `harness.completion.rollout.ROLLOUT_OUTCOMES`, shape ``(n,)`` int8.
        taken: The tokens behind each disputed one.
    """

    outcomes: npt.NDArray[np.int8]
    taken: wire.Ragged


@dataclass(frozen=True)
class RollOut(PositionRequest[RolledOut]):
    """Continue from each of `tokens`, shape ``(n,)`` int32, at most `limit` tokens far.

    Every choice depends on `key` and the token alone.
    """

    tokens: Int32s
    key: str
    limit: int


@dataclass(frozen=True)
class Confirmed:
    """How far each token's completion is allowed.

    Attributes:
        reached: The tokens of the continuation up to the first that the mask forbids, that one
            included: 0 where the disputed token itself is refused, one more than there are where
            all are allowed; shape ``(n,)`` int32.
        consumes: Whether the engine nevertheless consumes that one, shape ``(n,)`` bool.
    """

    reached: Int32s
    consumes: Bools


@dataclass(frozen=True)
class Confirm(PositionRequest[Confirmed]):
    """Look at every mask on the way along one continuation for each token.

    Attributes:
        tokens: The disputed tokens, shape ``(n,)`` int32.
        continuations: One for each.
    """

    tokens: Int32s
    continuations: wire.Ragged


@dataclass(frozen=True)
class Exhausted:
    """Behind which tokens no completion exists, shape ``(n,)`` bool; False where not known."""

    closed: Bools


@dataclass(frozen=True)
class Exhaust(PositionRequest[Exhausted]):
    """Whether everything that the masks allow behind each token is known to miss the end.

    Attributes:
        tokens: Shape ``(n,)`` int32.
        limit: The longest completion that is looked for, in tokens.
        budget: Masks looked at for one token before the answer is that nothing is known.
    """

    tokens: Int32s
    limit: int
    budget: int


@dataclass(frozen=True)
class AskAgain(PositionRequest[Done]):
    """Look whether the mask still says of tokens what it said on the walk.

    Attributes:
        tokens: Shape ``(n,)`` int32.
        allowed: Whether each was allowed, shape ``(n,)`` bool.
    """

    tokens: Int32s
    allowed: Bools


@dataclass(frozen=True)
class Lengthened:
    """How often each token may follow itself, shape ``(n,)`` int32."""

    times: Int32s


@dataclass(frozen=True)
class Lengthen(PositionRequest[Lengthened]):
    """How often each of `tokens`, shape ``(n,)`` int32, may follow itself, `limit` at most.

    The mask is looked at before every token.
    """

    tokens: Int32s
    limit: int


@dataclass(frozen=True)
class Followed:
    """How many leading tokens of each list are allowed one after another, ``(n,)`` int32."""

    allowed: Int32s


@dataclass(frozen=True)
class Follow(PositionRequest[Followed]):
    """How far each of `lists` (token ids) is allowed here."""

    lists: wire.Ragged


@dataclass(frozen=True)
class RefusedBytes:
    """How many bytes of each token go before the byte that is refused, ``(n,)`` int32.

    As `harness.engines.refused_byte.RefusedByte.of` gives it.
    """

    before: Int32s


@dataclass(frozen=True)
class FindRefused(PositionRequest[RefusedBytes]):
    """Which byte of tokens is refused here that the mask does not hold.

    Attributes:
        tokens: Shape ``(n,)`` int32.
        forced: The one token that the mask holds; see `harness.engines.refused_byte`.
        looks_on: Whether further masks are looked at.
    """

    tokens: Int32s
    forced: int
    looks_on: bool


@dataclass(frozen=True)
class Probe(Request[ProbedTexts]):
    """From the start, how far each of `texts` (token ids) gets, and what holds there."""

    texts: wire.Ragged


@dataclass(frozen=True)
class Write(Request[RolledOut]):
    """From the start, write texts through nothing but the engine's own masks.

    Every choice depends on `key` and the number of the text alone; see
    `harness.completion.text_writer`.

    Attributes:
        hints: JSON values of which some may be written, each with the name of a member or none.
        key: On which all choices depend.
        first: The number of the first text.
        count: How many.
        limit: The tokens of a text.
    """

    hints: Sequence[tuple[str, str]]
    key: str
    first: int
    count: int
    limit: int
