"""Questions to an engine in its host: each request with its answer (`harness.workers.commands`).

A request is sent by `harness.engines.panel.Panel`, and answered by the method of its name of
`harness.engines.service.EngineService`. Shapes: ``n`` is the number of tokens or texts asked about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
import numpy.typing as npt

from harness.engines.text_probe import ProbedTexts
from harness.protocol import EngineInfo
from harness.workers import wire
from harness.workers.commands import A, Request
from harness.workers.outcomes import Compiled, Refusal

Int32s = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

NO_CONTINUATION = -1
"""Of `Prove`: no continuation of the list is allowed."""

TOKEN_REFUSED = -2
"""Of `Prove`: the engine refuses the disputed token, which its mask allows."""

SAME_BUFFER = -1
"""In `Open.buffer`: the engine is opened again in a host whose buffer is mapped."""


@dataclass(frozen=True)
class ReplayDiverged:
    """The answer of an engine that refuses tokens which it took before, at the first of them."""

    refused_at: int


@dataclass(frozen=True)
class AtFault:
    """The answer of an engine whose adapter is at fault: see `AdapterFault`."""

    adapter_fault: str
    detail: str


class EngineRequest(Request[A], Generic[A]):
    """What an engine is asked."""

    otherwise = (ReplayDiverged, AtFault)


@dataclass(frozen=True)
class Each:
    """One value for each thing that was asked about, shape ``(n,)``, int32 or bool."""

    values: npt.NDArray[Any]


@dataclass(frozen=True)
class Done:
    """What was asked is done."""


@dataclass(frozen=True, kw_only=True)
class Opened(EngineInfo):
    """An engine that is up, the vocabulary that it loaded, and a hash of the adapter's source."""

    sha256: str
    words: int
    code: str = ""


@dataclass(frozen=True)
class Open(EngineRequest[Opened]):
    """Load a saved vocabulary, construct ``module:attribute`` with all options, map the buffer.

    `buffer` is the file descriptor of the mask buffer's memory; `SAME_BUFFER` keeps the mapped one.
    """

    engine: str
    options: Mapping[str, bool | int | str]
    vocabulary: str
    buffer: int
    build: str = ""


@dataclass(frozen=True)
class Checked:
    """The ids of ordinary tokens for which an engine holds other bytes than the vocabulary.

    It could be asked about `asked` of so many; `on_purpose`: its adapter means this so.
    """

    asked: int
    of: int
    wrong: Sequence[int]
    on_purpose: bool


@dataclass(frozen=True)
class Check(EngineRequest[Checked]):
    """Compare every ordinary token's bytes with what the engine itself holds."""


@dataclass(frozen=True)
class EngineMetadata:
    """One engine of a run; its fields are the entries in ``run.json``.

    Attributes:
        options: All of its options.
        packages: Versions of the distributions that decide its masks.
        tokens_asked: How many tokens it could be asked the bytes of.
        tokens_with_other_bytes: For how many it holds others than the vocabulary, on purpose.
        build: What tells a build at hand from others of its version; empty for a version.
    """

    version: str
    options: Mapping[str, bool | int | str]
    packages: Mapping[str, str]
    tokens_asked: int
    tokens_with_other_bytes: int
    build: str = ""

    @classmethod
    def of(cls, info: EngineInfo, checked: Checked) -> EngineMetadata:
        """Of an engine that is up and was asked for its vocabulary."""
        wrong = len(checked.wrong)
        return cls(info.version, info.options, info.packages, checked.asked, wrong, info.build)


@dataclass(frozen=True)
class CompileEnded:
    """How compiling ended: refused, in the engine's own words, or the times in seconds.

    `first_mask` is counted from the end of the compilation.
    """

    refused: str | None = None
    compile: float = 0.0
    first_mask: float = 0.0

    @property
    def outcome(self) -> Compiled | Refusal:
        """As an outcome."""
        if self.refused is not None:
            return Refusal(self.refused)
        return Compiled(self.compile, self.first_mask)


@dataclass(frozen=True)
class Compile(EngineRequest[CompileEnded]):
    """Compile a schema and stand at its start; the first mask belongs to the time.

    With `strict` every mask is looked at while resolving, whatever faster way there is.
    """

    schema: str
    strict: bool = False


@dataclass(frozen=True)
class Goto(EngineRequest[Done]):
    """Stand where the start state is after `tokens`, shape ``(n,)`` int32."""

    tokens: Int32s


@dataclass(frozen=True)
class WalkEnded:
    """Whether a walk ended at a token that the engine refused; the mask buffer tells at which."""

    refused: bool = False


@dataclass(frozen=True)
class Walk(EngineRequest[WalkEnded]):
    """Consume tokens one by one, and write the mask after each to a bank of the mask buffer.

    `tokens` has shape ``(n,)`` int32; a first one of -1 stands for none: the mask of where the walk
    stands. So many were consumed before; what was walked beyond them is forgotten. On `key` it
    depends at which positions the adapter is examined.
    """

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

    tokens: Int32s

    def asked(self) -> Sized:
        """The tokens."""
        return self.tokens


@dataclass(frozen=True)
class Prove(TokensRequest[Each]):
    """For each token, the rank in its list of the first continuation that is allowed to the end.

    Else `NO_CONTINUATION` or `TOKEN_REFUSED`.

    Where the engine has a faster way than mask and consume in turn, that way decides, unless the
    schema was compiled as `Compile.strict`.

    Attributes:
        lists: Which list belongs to each token, shape ``(n,)`` int32.
        starts: The rank in the list to begin at, shape ``(n,)`` int32.
        continuations: Token ids, end of sequence included.
        members: The lists: numbers of continuations.
    """

    lists: Int32s
    starts: Int32s
    continuations: wire.Ragged
    members: wire.Ragged


@dataclass(frozen=True)
class RolledOut:
    """How each roll-out ended, and the tokens that it took.

    `outcomes` are indices into `harness.completion.rollout.ROLLOUT_OUTCOMES`, ``(n,)`` int8.
    """

    outcomes: npt.NDArray[np.int8]
    taken: wire.Ragged


@dataclass(frozen=True)
class RollOut(TokensRequest[RolledOut]):
    """Continue from each token, at most `limit` tokens far.

    Every choice depends on `key` and the token alone.
    """

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
class Confirm(TokensRequest[Confirmed]):
    """Look at every mask on the way along one continuation for each token."""

    continuations: wire.Ragged


@dataclass(frozen=True)
class Exhaust(TokensRequest[Each]):
    """Whether everything that the masks allow after each token is known to miss the end (bool).

    Completions of at most `limit` tokens are looked for; after a budget of masks for one token the
    answer is that nothing is known.
    """

    limit: int
    budget: int


@dataclass(frozen=True)
class AskAgain(TokensRequest[Done]):
    """Look whether the mask still says of tokens what it said on the walk.

    `allowed`: whether each was, shape ``(n,)`` bool.
    """

    allowed: Bools


@dataclass(frozen=True)
class Lengthen(TokensRequest[Each]):
    """How often each token may follow itself, `limit` at most, by the mask before every one."""

    limit: int


@dataclass(frozen=True)
class Follow(PositionRequest[Each]):
    """How many leading tokens of each of `lists` are allowed one after another."""

    lists: wire.Ragged

    def asked(self) -> Sized:
        """The lists."""
        return self.lists


@dataclass(frozen=True)
class FindRefused(TokensRequest[Each]):
    """How many bytes go before the refused one, of tokens that the mask does not hold.

    As `harness.engines.refused_byte.RefusedByte.of` says it; see there for `forced`, the one token
    that the mask holds, and `looks_on`.
    """

    forced: int
    looks_on: bool


@dataclass(frozen=True)
class Probe(EngineRequest[ProbedTexts]):
    """From the start, how far each of `texts` (token ids) gets, and what holds there."""

    texts: wire.Ragged

    def asked(self) -> Sized:
        """The texts."""
        return self.texts


@dataclass(frozen=True)
class Write(EngineRequest[RolledOut]):
    """From the start, write `count` texts through nothing but the engine's own masks.

    Every choice depends on `key` and the number of the text alone; see
    `harness.completion.text_writer`. `hints` are JSON values of which some may be written, each
    with the name of a member or none; `limit` is the tokens of a text.
    """

    hints: Sequence[tuple[str, str]]
    key: str
    first: int
    count: int
    limit: int

    def asked(self) -> Sized:
        """The numbers of the texts."""
        return range(self.count)
