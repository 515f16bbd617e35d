"""One walk of a case: along a reference, the disputes on the way resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from harness.comparison.disputes import Dispute, Tokens, find_disputes
from harness.comparison.effects import value_place
from harness.comparison.findings import Findings, Flaw, Status, charged, judge, rejections
from harness.comparison.flaws import wrong_ends
from harness.comparison.lookahead import NOTHING, Arrived, LookaheadWalk
from harness.comparison.position_resolution import PositionResolution, ViolationWitness
from harness.comparison.resolvers import Resolver
from harness.comparison.verdict_record import VerdictNotes
from harness.comparison.walk import Position, choose, choose_for_most, path_tokens
from harness.completion.continuations import Continuations
from harness.engines.panel import Panel
from harness.engines.requests import AskAgain
from harness.jsontext.lexer import START, State, advance, place_of
from harness.protocol import allows
from harness.workers.outcomes import AdapterFault, Failure, MaskViolation

if TYPE_CHECKING:
    from harness.comparison.case_run import RunningCase

_NO_TOKENS: Tokens = np.zeros(0, dtype=np.int32)

MAX_FAILURES = 3
"""An engine whose host failed this often within one case takes no further part in it."""

FEWEST = 2
"""Engines: one alone has nobody to differ from."""


@dataclass(eq=False)
class Distrusted(Exception):
    """An engine or its adapter was found to contradict itself; `walk` is -1 for none."""

    engine: int
    failure: AdapterFault | MaskViolation
    stage: str
    walk: int
    position: int
    violation: ViolationWitness | None = None


def _failures(panel: Panel, asks: Mapping[int, AskAgain]) -> dict[int, Failure]:
    """The engines that say otherwise when asked again, or fail."""
    answers = panel.ask({engine: one for engine, one in asks.items() if panel.up(engine)})
    return {engine: one for engine, one in answers.items() if isinstance(one, Failure)}


@dataclass
class CaseWalk:
    """Walk number `number`; what it shares with the others of its case is the run's.

    `judged` are the engines that compiled the schema.
    """

    run: RunningCase
    number: int
    reference: bytes
    judged: Sequence[int]
    proofs: VerdictNotes

    def __post_init__(self) -> None:
        run = self.run
        self.key = f"{run.tools.rules.seed}/{run.case.id}/{self.number}"
        self.lookahead = LookaheadWalk(
            run.tools.panel,
            run.tools.vocabulary,
            self.key,
            self.reference,
            lambda: run.notes.cost("walk"),
        )

    @cached_property
    def continuations(self) -> Continuations:
        return Continuations(self.run.schema, self.reference)

    def go(self) -> None:
        """Walk to the end, or as far as engines can be judged."""
        tools, key, reference, lookahead = self.run.tools, self.key, self.reference, self.lookahead
        canonical = tools.canonical_starts(reference)
        engines = self._brought_to_start(
            tuple(index for index in self.judged if index not in self.run.lost)
        )
        here = lookahead.arrive(engines, (), 0, NOTHING)
        engines = self._arrived(here, 0)
        consumed: list[int] = []
        offset = 0
        state: State | None = START
        while self._enough(engines):
            self.run.step()
            position = Position(
                f"{key}/{len(consumed)}",
                len(consumed),
                consumed,
                reference,
                offset,
                path_tokens(tools.vocabulary, reference, offset),
                engines,
                here.masks,
            )
            token, stay = self._next(position, here)
            assert state is not None, "a reference is JSON"
            self.run.notes.arrived(self.number, position, here)
            failed = self._dispute(position, here, state, token, canonical.get(offset, -1))
            if position.at_end or token is None:
                return
            if failed:
                lookahead.forget()
                stay = self._recovered(position, stay, failed)
            if not self._enough(stay):
                return
            offset += len(tools.vocabulary.tokens[token])
            here = lookahead.arrive(stay, consumed, offset, token)
            self._note_step(position, token, here)
            consumed.append(token)
            engines = self._arrived(here, len(consumed))
            state = advance(state, tools.vocabulary.tokens[token])

    def _brought_to_start(self, engines: tuple[int, ...]) -> tuple[int, ...]:
        if not self.number and self.run.fed is None:
            return engines
        for index in engines:
            if (failure := self.run.tools.panel.recover_start(index)) is not None:
                self.run.failed(index, failure, "walk", self.number, 0)
                self.run.lost.add(index)
        return tuple(index for index in engines if index not in self.run.lost)

    def _enough(self, engines: Sequence[int]) -> bool:
        if self.run.tools.rules.on_dropout == "stop":
            return len(engines) == len(self.judged) and len(engines) >= FEWEST
        return len(engines) >= FEWEST

    def _next(self, position: Position, here: Arrived) -> tuple[int | None, tuple[int, ...]]:
        """The token to take, and the engines that go along."""
        token = choose(position, differ=here.differ)
        if token is not None:
            return token, position.engines
        continues = self.run.tools.rules.on_dropout == "continue"
        return choose_for_most(position) if continues else (None, ())

    def _dispute(
        self, position: Position, here: Arrived, state: State, token: int | None, canonical: int
    ) -> Mapping[int, Failure]:
        """Find and resolve the disputes of one position, look for other flaws, note all of it."""
        run, tools = self.run, self.run.tools
        disputes: Sequence[Dispute] = ()
        place = place_of(state, at_end=position.at_end)
        if here.differ:
            disputes = find_disputes(
                position.masks,
                position.engines,
                tools.vocabulary.size,
                tools.rules.cap,
                (*position.path, *tools.vocabulary.eos_ids),
                position.key,
                run.quota,
                (place, value_place(self.reference, position.offset)),
            )
        flaws = wrong_ends(position, tools.vocabulary.eos_ids, state)
        run.notes.position(self.number, position, disputes, token, canonical, place)
        if tools.resolver is None:
            return {}
        return self._engines_differ(position, state, place, disputes, flaws, tools.resolver)

    def _engines_differ(
        self,
        position: Position,
        state: State,
        place: str,
        disputes: Sequence[Dispute],
        flaws: Sequence[Flaw],
        resolver: Resolver,
    ) -> dict[int, Failure]:
        """Resolve what engines dispute among themselves, and look for other flaws."""
        run, tools = self.run, self.run.tools
        # To see that a text never ends takes hundreds of masks.
        quick = [one for one in position.engines if not tools.panel.specs[one].slow_masks]
        probe = run.probes.due(state, quick) if self.number == 0 else []
        drawn = np.sort(np.concatenate([_NO_TOKENS, *(dispute.drawn for dispute in disputes)]))
        if not len(drawn) and not flaws and not probe:
            return {}
        self.lookahead.stand_by(position.engines, position.walked)
        resolution = PositionResolution(
            position,
            drawn,
            tools.panel,
            tools.judge,
            tools.vocabulary,
            valid_completion_exonerates=resolver.valid_completion_exonerates,
        )
        if disputes:
            with run.notes.cost("resolve"):
                self._resolve(resolution, resolver)
        if probe:
            with run.notes.cost("probe"):
                run.probes.unbounded_repetition(resolution, state, probe)
        resolution.findings.flaws += flaws
        charged = self._charge(position, dict(enumerate(disputes)), resolution.findings, place)
        failures = {**resolution.failures, **charged}
        for engine, failure in failures.items():
            run.failed(engine, failure, "resolve", self.number, position.number)
        return failures

    def _charge(
        self,
        position: Position,
        disputes: Mapping[int, Dispute],
        findings: Findings,
        place: str = "",
    ) -> dict[int, Failure]:
        """Note what was proven; the engines whose masks are others when asked again, or fail.

        With a `place`, rejections there count for the quota of spellings.
        """
        verdicts, quota = judge(findings), self.run.quota
        if place and quota is not None:
            for row, columns in rejections(verdicts).items():
                quota.note(position.engines[row], findings.tokens[columns], place)
        self.proofs.verdicts(self.number, position, disputes, findings, verdicts)
        asks = {}
        for row, tokens in charged(verdicts).items():
            allowed = np.array([allows(position.masks[row], token) for token in tokens.tolist()])
            asks[position.engines[row]] = AskAgain(tokens, allowed, at=position.number)
        return _failures(self.run.tools.panel, asks)

    def _note_step(self, position: Position, token: int, here: Arrived) -> None:
        """Note engines that the walk's own token shows to be wrong; they have arrived `here`."""
        if not here.failures and not here.empty:
            return
        kinds = {
            engine: "mask_consume_mismatch"
            for engine, one in here.failures.items()
            if isinstance(one, MaskViolation)
        }
        # after the whole reference an empty mask is an end that is forbidden
        whole = position.offset + len(self.run.tools.vocabulary.tokens[token])
        rows = np.flatnonzero(here.allowed == 0) if whole < len(position.reference) else ()
        empty = [here.engines[row] for row in rows]
        kinds |= dict.fromkeys(empty, "dead_end")
        if kinds:
            none = np.zeros((len(position.engines), 0), dtype=np.bool_)
            can_end = np.zeros(len(position.engines), dtype=np.bool_)
            findings = Findings(position.engines, _NO_TOKENS, none, none[0], can_end)
            findings.flaws += [
                Flaw(row, token, kinds[engine])
                for row, engine in enumerate(position.engines)
                if engine in kinds
            ]
            failures = self._charge(position, {}, findings)
            path = path_tokens(self.run.tools.vocabulary, position.reference, whole)
            nothing = np.zeros(len(path), dtype=np.bool_)
            again = AskAgain(np.array(path, dtype=np.int32), nothing, at=position.number + 1)
            failures |= _failures(self.run.tools.panel, dict.fromkeys(empty, again))
            for engine, failure in failures.items():
                self.run.failed(engine, failure, "walk", self.number, position.number)

    def _resolve(self, resolution: PositionResolution, resolver: Resolver) -> None:
        """Fill the findings; `Distrusted` where a faster way allowed what the masks do not."""
        position = resolution.position
        resolver.resolve(resolution, self.continuations.at(position.offset))
        number = position.number
        for violation in resolution.look_again(self.run.confirmed):
            engine = resolution.findings.engines[violation.row]
            if engine not in {one.engine for one in self.run.distrusted}:
                failure: AdapterFault | MaskViolation
                failure = MaskViolation("consumes what its own mask forbids")
                if not violation.consumes:
                    detail = f"it takes {violation.tokens[-1]}, which is forbidden"
                    failure = AdapterFault("faster_way", detail)
                raise Distrusted(engine, failure, "resolve", self.number, number, violation)
            resolution.disown(violation.row, Status.MASK_CONSUME_MISMATCH)
        for found in self.run.distrusted:
            one, engines = found.violation, resolution.findings.engines
            here = (found.walk, found.position) == (self.number, number) and found.engine in engines
            if here and one is not None and one.consumes:
                row = engines.index(found.engine)
                resolution.note_flaw(row, one.token, "mask_consume_mismatch", one.tokens)
        resolution.locate(self.run.schema)

    def _recovered(
        self, position: Position, engines: tuple[int, ...], failed: Mapping[int, Failure]
    ) -> tuple[int, ...]:
        """The engines that go on, those that failed while resolving brought back."""
        stay = []
        for engine in engines:
            if engine not in failed:
                stay.append(engine)
            elif self.run.failures.get(engine, 0) < MAX_FAILURES:
                problem = self.run.tools.panel.recover(engine, position.consumed)
                if problem is None:
                    stay.append(engine)
                else:
                    self.run.failed(engine, problem, "walk", self.number, position.number)
        self.run.lost |= set(engines) - set(stay)
        return tuple(stay)

    def _arrived(self, here: Arrived, number: int) -> tuple[int, ...]:
        """The engines that came to a position; the others are noted as failures."""
        for engine, failure in here.failures.items():
            self.run.failed(engine, failure, "walk", self.number, number)
        self.run.lost |= here.failures.keys()
        return here.engines
