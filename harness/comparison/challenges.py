"""The challenger's part in one case: the disputes that it opens, and what they prove.

All of it is apart from what engines dispute among themselves: it has continuations of its own, a
patience of its own with engines and validators that fail, and looks at masks again by itself. So
what is proven without the challenger is proven with it, to the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.comparison.challenger import Challenger, Probable, challenged
from harness.comparison.disputes import Dispute
from harness.comparison.findings import Findings, Status, judge, rejections
from harness.comparison.position_resolution import PositionResolution
from harness.comparison.resolvers import ChallengeResolver, Resolver
from harness.comparison.walk import Position
from harness.completion.container_suffixes import CLOSING_PLANS
from harness.completion.continuations import Context, Continuations
from harness.engines.panel import Panel
from harness.inputs.vocabulary import Vocabulary
from harness.jsontext.lexer import State
from harness.validators.judge import Judge
from harness.workers.outcomes import Failure

MAX_FAILURES = 3
"""An engine whose host failed this often over challenges of a case is asked no more about them."""


@dataclass(frozen=True)
class Challenge:
    """What the challenger disputes at one position.

    Attributes:
        challenged: The same with the challenger among the engines.
        forbidden: About tokens that all engines forbid; None where there is none.
        allowed: About tokens that all engines allow; None where there is none.
    """

    position: Position
    challenged: Position
    context: Context
    forbidden: Dispute | None
    probable: Probable
    allowed: Dispute | None

    @property
    def disputes(self) -> list[Dispute]:
        """Those that there are."""
        return [one for one in (self.forbidden, self.allowed) if one is not None]


@dataclass(frozen=True)
class Proven:
    """What was found out about one dispute.

    Attributes:
        position: Its position, with the challenger among the engines where it takes part.
    """

    position: Position
    dispute: Dispute
    findings: Findings
    failures: Mapping[int, Failure]


@dataclass
class Challenges:
    """What the challenger does in one case."""

    challenger: Challenger
    panel: Panel
    judge: Judge
    vocabulary: Vocabulary
    schema: Any
    _known: Continuations | None = None
    _confirmed: set[tuple[int, tuple[int, ...]]] = field(default_factory=set)
    _failures: dict[int, list[Failure]] = field(default_factory=dict)

    def at(self, position: Position, state: State, *, ends: bool) -> Challenge:
        """What the challenger disputes at a position.

        Args:
            ends: Whether the end of generation is disputed, too; False where what all engines say
                of it is proven wrong already.
        """
        challenger = self.challenger
        if self._known is None or self._known.reference != position.reference:
            self._known = Continuations(self.schema, position.reference, CLOSING_PLANS[:3])
        context = self._known.at(position.offset)
        with_challenger = position
        forbidden: Dispute | None = None
        probable: Probable = {}
        if (mask := challenger.forbidden(position, state, ends=ends)) is not None:
            probable = challenger.probable_tokens(
                mask, state, context, position.reference[position.offset :]
            )
            forbidden = challenger.dispute_forbidden(position, mask, probable)
            with_challenger = challenged(position, mask)
        allowed = None
        if (mask := challenger.allowed(position, state, ends=ends)) is not None:
            allowed = challenger.dispute_allowed(position, mask)
        return Challenge(position, with_challenger, context, forbidden, probable, allowed)

    def resolve(
        self,
        challenge: Challenge,
        resolver: Resolver,
        down: Mapping[int, Failure],
        stand_by: Callable[[], None],
    ) -> Iterator[Proven]:
        """What is proven in the disputes of a challenge, one after the other.

        Args:
            down: What has ended engines at this position, by engine number.
            stand_by: Brings the other engines to the position; called before one is asked.
        """
        tired = {
            engine: failed[-1]
            for engine, failed in self._failures.items()
            if len(failed) >= MAX_FAILURES
        }
        down = {**tired, **down}
        with self.judge.apart():
            for dispute in challenge.disputes:
                proven = self._proven(challenge, dispute, resolver, down, stand_by)
                down = {**down, **proven.failures}
                yield proven

    def _proven(
        self,
        challenge: Challenge,
        dispute: Dispute,
        resolver: Resolver,
        down: Mapping[int, Failure],
        stand_by: Callable[[], None],
    ) -> Proven:
        position = challenge.position if dispute.accepters else challenge.challenged
        resolution = PositionResolution(
            position,
            dispute.drawn,
            self.panel,
            self.judge,
            self.vocabulary,
            down,
            valid_completion_exonerates=resolver.valid_completion_exonerates,
        )
        if dispute.accepters:
            stand_by()
            self._resolve_allowed(resolution, resolver, challenge.context)
        else:
            ChallengeResolver().resolve(resolution, challenge.context, challenge.probable)
            if refused := rejections(judge(resolution.findings)):
                stand_by()
                resolution.find_refused_bytes(refused)
        failures = {
            engine: failure
            for engine, failure in resolution.engines.failures.items()
            if engine not in down
        }
        for engine, failure in failures.items():
            self._failures.setdefault(engine, []).append(failure)
        return Proven(position, dispute, resolution.findings, failures)

    def _resolve_allowed(
        self, resolution: PositionResolution, resolver: Resolver, context: Context
    ) -> None:
        """Fill the findings about tokens that all engines allow.

        Where a mask forbids what its engine was found to allow, nothing rests on that engine.
        """
        resolver.resolve(resolution, context)
        for one in resolution.look_again(self._confirmed):
            resolution.store.disown(one.row, Status.MASK_CONSUME_MISMATCH)
            if one.consumes:
                resolution.store.note_flaw(one.row, one.token, "mask_consume_mismatch", one.tokens)
        resolution.locate(self.schema)
