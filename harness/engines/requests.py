"""Questions of the panel to the service of an engine, each with its answer.

See `harness.workers.wire`. ``n`` is the number of tokens or texts that are asked about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic

import numpy as np
import numpy.typing as npt

from harness.engines.text_probe import ProbedTexts
from harness.protocol import EngineInfo
from harness.workers import wire
from harness.workers.outcomes import AdapterFault, Compiled, MaskViolation, Refusal
from harness.workers.wire import A, Request

Int32s = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

NO_CONTINUATION = -1
"""Of `Prove`: no continuation of the list is allowed."""

TOKEN_REFUSED = -2
"""Of `Prove`: the engine refuses the disputed token, which its mask allows."""

SAME_BUFFER = -1
"""In `Open.buffer`: the engine is opened again in a host whose buffer is mapped."""


class EngineRequest(Request[A], Generic[A]):
    """What an engine is asked; one that refuses what it took before has a fault, too."""

    otherwise: ClassVar[tuple[type, ...]] = (AdapterFault,)


@dataclass(frozen=True)
class Each:
    """One value for each thing that was asked about, shape ``(n,)``, int32 or bool."""

    values: npt.NDArray[Any]


@dataclass(frozen=True)
class Done:
    """What was asked is done."""


@dataclass(frozen=True, kw_only=True)
class Opened(EngineInfo):
    """An engine that is up, and the vocabulary that it loaded."""

    sha256: str
    words: int


@dataclass(frozen=True)
class Open(EngineRequest[Opened]):
    """Load a saved vocabulary, construct ``module:attribute`` with all options, map the buffer.

    `buffer`: the descriptor of the mask buffer's memory, or `SAME_BUFFER`.
    """

    engine: str
    options: Mapping[str, bool | int | str]
    vocabulary: str
    buffer: int


@dataclass(frozen=True)
class Checked:
    """The ids of ordinary tokens for which an engine holds other bytes than the vocabulary.

    It could be asked about `asked` of them; `on_purpose`: its adapter means this so.
    """

    asked: int
    wrong: Sequence[int]
    on_purpose: bool


@dataclass(frozen=True)
class Check(EngineRequest[Checked]):
    """Compare every ordinary token's bytes with what the engine itself holds."""


@dataclass(frozen=True)
class EngineMetadata:
    """One engine of a run, as ``run.json`` has it.

    `packages` decide its masks; `tokens_with_other_bytes` counts those that are so on purpose.
    """

    version: str
    options: Mapping[str, bool | int | str]
    packages: Mapping[str, str]
    tokens_asked: int
    tokens_with_other_bytes: int
    build: str = ""


@dataclass(frozen=True)
class Compile(EngineRequest[Compiled]):
    """Compile a schema and stand at its start; the first mask belongs to the time.

    With `strict` every mask is looked at while resolving; a `regex` is a pattern, not a schema.
    """

    otherwise = (AdapterFault, Refusal)

    schema: str
    strict: bool = False
    regex: bool = False


@dataclass(frozen=True)
class Goto(EngineRequest[Done]):
    """Stand where the start state is after `tokens`, shape ``(n,)`` int32."""

    tokens: Int32s


@dataclass(frozen=True)
class Walk(EngineRequest[Done]):
    """Consume tokens one by one, and write the mask after each to a bank of the mask buffer.

    `tokens` has shape ``(n,)`` int32; a first one of -1 consumes nothing. So many were `consumed`
    before; what was walked beyond them is forgotten. The mask buffer tells how far it came. On
    `key` it depends at which positions the adapter is examined.
    """

    otherwise = (AdapterFault, MaskViolation)

    tokens: Int32s
    consumed: int
    bank: int
    key: str = ""


@dataclass(frozen=True, kw_only=True)
class PositionRequest(EngineRequest[A], Generic[A]):
    """A question about the position after `at` tokens of the walk; None is where it stands."""

    at: int | None = None


@dataclass(frozen=True)
class TokensRequest(PositionRequest[A], Generic[A]):
    """A question about each of `tokens`, shape ``(n,)`` int32, at a position."""

    asked_about = "tokens"

    tokens: Int32s


@dataclass(frozen=True)
class Prove(TokensRequest[Each]):
    """For each token, the rank in its list of the first continuation that is allowed to the end.

    Else `NO_CONTINUATION` or `TOKEN_REFUSED`. The engine's faster way than mask and consume in turn
    decides, unless the schema was compiled as `Compile.strict`. `lists` says which of `members`
    (numbers of `continuations`, which are token ids) belongs to each token, `starts` at which rank
    of it to begin, both of shape ``(n,)`` int32.
    """

    lists: Int32s
    starts: Int32s
    continuations: wire.Ragged
    members: wire.Ragged


@dataclass(frozen=True)
class RolledOut:
    """How each roll-out ended, ``(n,)`` int8 indices of `ROLLOUT_OUTCOMES`, and its tokens."""

    outcomes: npt.NDArray[np.int8]
    taken: wire.Ragged


@dataclass(frozen=True)
class RollOut(TokensRequest[RolledOut]):
    """Continue from each token by at most `limit`; choices depend on `key` and the token alone."""

    key: str
    limit: int


@dataclass(frozen=True)
class Confirmed:
    """How many tokens of each continuation there are to the first that is forbidden, included.

    0 where the disputed token itself is refused, one more than there are where all are allowed;
    `consumes`: whether the engine consumes the forbidden one. Shape ``(n,)``.
    """

    reached: Int32s
    consumes: Bools


@dataclass(frozen=True)
class Confirm(TokensRequest[Confirmed]):
    """Look at every mask on the way along one continuation for each token."""

    continuations: wire.Ragged


@dataclass(frozen=True)
class AskAgain(TokensRequest[Done]):
    """Look whether the mask still allows of tokens what it did on the walk; shape ``(n,)``."""

    allowed: Bools


@dataclass(frozen=True)
class Lengthen(TokensRequest[Each]):
    """How often each token may follow itself, `limit` at most, by the mask before every one."""

    limit: int


@dataclass(frozen=True)
class Follow(PositionRequest[Each]):
    """How many leading tokens of each of `lists` are allowed one after another."""

    asked_about = "lists"

    lists: wire.Ragged


@dataclass(frozen=True)
class FindRefused(TokensRequest[Each]):
    """How many bytes go before the refused one: see `harness.engines.text_probe.RefusedByte`."""

    forced: int
    looks_on: bool


@dataclass(frozen=True)
class Probe(EngineRequest[ProbedTexts]):
    """From the start, how far each of `texts` (token ids) gets, and what holds there.

    With `follows` a matcher that can follow a text does, and masks are looked at where that ends.
    """

    asked_about = "texts"

    texts: wire.Ragged
    follows: bool = False


@dataclass(frozen=True)
class Write(EngineRequest[RolledOut]):
    """From the start, write `count` texts through nothing but the engine's own masks.

    See `harness.completion.text_writer`; choices depend on `key` and the text's number alone.
    `hints`: JSON values that may be written, each with a member's name or none; `limit`: tokens.
    """

    asked_about = "count"

    hints: Sequence[tuple[str, str]]
    key: str
    first: int
    count: int
    limit: int
