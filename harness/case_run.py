"""One case from schema to rows: compile, walk, dispute, resolve, and note everything."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from harness import strict_json
from harness.cases import Case, styled
from harness.continuations import Continuations
from harness.dispute import Dispute, Tokens, find_disputes
from harness.findings import Findings, verdicts
from harness.jsontext import START, advance
from harness.judge import INVALID, VALID, Judge, Ruling, Unjudgeable
from harness.outcomes import Compiled, Crashed, Failure, Outcome
from harness.panel import Panel, Stepped
from harness.places import place_of
from harness.resolve import Resolver
from harness.scene import Scene
from harness.tables import Rows
from harness.vocabulary import Vocabulary
from harness.walk import Position, WalkKey, accepters, choose, choose_for_most, path_tokens, stack

MAX_FAILURES = 3
"""An engine whose host failed this often within one case takes no further part in it."""


@dataclass(frozen=True)
class Rules:
    """What a run does with each case.

    Attributes:
        seed: Of every random choice.
        cap: Disputed tokens resolved per dispute; None resolves all.
        panel: ``common`` stops a walk for all as soon as one engine can no longer be judged,
            ``survivors`` goes on with the others.
        walks: Walks per case; walk ``i`` takes valid instance ``i`` modulo their number.
        style: How references are written.
    """

    seed: int = 0
    cap: int | None = 200
    panel: str = "common"
    walks: int = 1
    style: str = "default"


class CaseRun:
    """Runs cases one after the other on one panel and one judge."""

    def __init__(
        self,
        panel: Panel,
        judge: Judge,
        vocabulary: Vocabulary,
        resolver: Resolver,
        rules: Rules,
    ) -> None:
        self.panel = panel
        self.judge = judge
        self.vocabulary = vocabulary
        self.resolver = resolver
        self.rules = rules

    def run(self, case: Case) -> Rows:
        """All rows of one case."""
        return _Run(self, case).rows()


class _Run:
    """The state of one case."""

    def __init__(self, tools: CaseRun, case: Case) -> None:
        self.tools = tools
        self.case = case
        self.out = Rows()
        self.names = [spec.name for spec in tools.panel.specs]
        self.lost: set[int] = set()
        self.failures: dict[int, int] = {}
        self.completions = 0
        self.disputed = 0
        self.costs: dict[tuple[str, str], float] = {}

    def rows(self) -> Rows:
        """Run the case and return what there is to store."""
        tools, case = self.tools, self.case
        with self._cost("compile"):
            outcomes = tools.panel.compile(case.schema)
        self._note_outcomes(outcomes)
        with self._cost("references"):
            references, problem = self._references()
        judged = [index for index, one in outcomes.items() if isinstance(one, Compiled)]
        status, reason, message = "walked", "", ""
        if problem is not None:
            status, (reason, message) = "set_aside", problem
        elif (missing := self._unfit(judged)) is not None:
            status, reason = "not_compared", missing
        else:
            for walk, reference in enumerate(references):
                self._walk(walk, reference, judged)
        self._note_case(status, reason, message, references, judged)
        return self.out

    def _references(self) -> tuple[list[bytes], tuple[str, str] | None]:
        """The texts to walk, or why the case is set aside."""
        if not self.case.valid:
            return [], ("no_reference", "the case has no valid instance")
        problem = self.tools.judge.open(self.case.schema)
        if isinstance(problem, Unjudgeable):
            return [], (problem.reason, problem.message)
        rules = self.tools.rules
        texts = [
            styled(self.case.valid[walk % len(self.case.valid)], rules.style)
            for walk in range(rules.walks)
        ]
        for text, ruling in zip(texts, self.tools.judge.judge(texts), strict=True):
            if ruling.verdict != VALID:
                return [], reference_problem(text, ruling)
        return texts, None

    def _unfit(self, judged: Sequence[int]) -> str | None:
        """Why the engines that compiled cannot be compared under the panel's rule."""
        if len(judged) < 2:
            return "fewer_than_two_engines"
        if self.tools.rules.panel == "common" and len(judged) < len(self.names):
            return "not_compiled_by_all"
        return None

    def _walk(self, walk: int, reference: bytes, judged: Sequence[int]) -> None:
        """Walk one reference, resolving the disputes on the way."""
        tools = self.tools
        key = WalkKey(tools.rules.seed, self.case.id, walk)
        continuations = Continuations(strict_json.parse(self.case.schema), reference)
        engines = tuple(index for index in judged if index not in self.lost)
        consumed: tuple[int, ...] = ()
        offset = 0
        engines, steps = self._begin(engines, walk)
        while self._enough(engines, judged):
            position = Position(
                key.at(len(consumed)),
                len(consumed),
                consumed,
                reference,
                offset,
                path_tokens(tools.vocabulary, reference, offset),
                engines,
                stack({index: tools.panel.mask(index) for index in engines}, engines),
            )
            token, stay = self._next(position)
            self._note_timings(walk, position, steps)
            failed = self._dispute(walk, position, continuations, token)
            if position.at_end or token is None:
                return
            stay = self._recovered(walk, position, stay, failed)
            if not self._enough(stay, judged):
                return
            with self._cost("walk"):
                answers = tools.panel.step(stay, token)
            engines, steps = self._answered(answers, "walk", walk, position.number + 1)
            consumed = (*consumed, token)
            offset += len(tools.vocabulary.tokens[token])

    def _begin(
        self, engines: tuple[int, ...], walk: int
    ) -> tuple[tuple[int, ...], dict[int, Stepped]]:
        """Masks of the first position; engines stand at the start of the text."""
        panel = self.tools.panel
        if walk:
            for index in engines:
                if (failure := panel.recover_start(index)) is not None:
                    self._note_failure(index, failure, "walk", walk, 0)
                    self.lost.add(index)
            engines = tuple(index for index in engines if index not in self.lost)
        return self._answered(panel.masks(engines), "walk", walk, 0)

    def _enough(self, engines: Sequence[int], judged: Sequence[int]) -> bool:
        """Whether the walk may go on with these engines."""
        if self.tools.rules.panel == "common":
            return len(engines) == len(judged) and len(engines) >= 2
        return len(engines) >= 2

    def _next(self, position: Position) -> tuple[int | None, tuple[int, ...]]:
        """The token to take, and the engines that go along."""
        token = choose(position)
        if token is None and self.tools.rules.panel == "survivors":
            token = choose_for_most(position)
        if token is None:
            return None, ()
        return token, accepters(position, token)

    def _dispute(
        self, walk: int, position: Position, continuations: Continuations, token: int | None
    ) -> Mapping[int, Failure]:
        """Find and resolve the disputes of one position, and note them."""
        tools = self.tools
        disputes = find_disputes(
            position.masks,
            position.engines,
            tools.vocabulary.size,
            tools.rules.cap,
            (*position.path, *tools.vocabulary.eos_ids),
            position.key,
        )
        context = continuations.at(position.offset)
        state = advance(START, position.text)
        assert state is not None, "a reference is JSON"
        place = place_of(state, at_end=position.at_end)
        self._note_position(walk, position, disputes, token, place)
        if not disputes:
            return {}
        drawn = np.sort(np.concatenate([dispute.drawn for dispute in disputes]))
        scene = Scene(position, drawn, tools.panel, tools.judge, tools.vocabulary)
        with self._cost("resolve"):
            tools.resolver.resolve(scene, context)
        self._note_verdicts(walk, position, disputes, scene.findings)
        for engine, failure in scene.failures.items():
            self._note_failure(engine, failure, "resolve", walk, position.number)
        return scene.failures

    def _recovered(
        self,
        walk: int,
        position: Position,
        engines: tuple[int, ...],
        failed: Mapping[int, Failure],
    ) -> tuple[int, ...]:
        """The engines that go on, those that failed while resolving brought back."""
        stay = []
        for engine in engines:
            if engine not in failed:
                stay.append(engine)
            elif self.failures[engine] < MAX_FAILURES:
                problem = self.tools.panel.recover(engine, position.consumed)
                if problem is None:
                    stay.append(engine)
                else:
                    self._note_failure(engine, problem, "walk", walk, position.number)
        self.lost |= set(engines) - set(stay)
        return tuple(stay)

    def _answered(
        self, answers: Mapping[int, Stepped | Failure], stage: str, walk: int, number: int
    ) -> tuple[tuple[int, ...], dict[int, Stepped]]:
        """Split answers into those that go on and those that are noted as failures."""
        steps: dict[int, Stepped] = {}
        for engine, answer in answers.items():
            if isinstance(answer, Stepped):
                steps[engine] = answer
            else:
                self._note_failure(engine, answer, stage, walk, number)
                self.lost.add(engine)
        return tuple(steps), steps

    def _note_outcomes(self, outcomes: Mapping[int, Outcome]) -> None:
        for engine, outcome in outcomes.items():
            self._note_engine(engine, outcome, "compile", -1, -1)
            if isinstance(outcome, Compiled):
                name = self.names[engine]
                self.costs["compile", name] = outcome.compile_seconds
                self.costs["first_mask", name] = outcome.first_mask_seconds

    def _note_failure(
        self, engine: int, failure: Failure, stage: str, walk: int, number: int
    ) -> None:
        self.failures[engine] = self.failures.get(engine, 0) + 1
        self._note_engine(engine, failure, stage, walk, number)

    def _note_engine(
        self, engine: int, outcome: Outcome, stage: str, walk: int, number: int
    ) -> None:
        self.out.add(
            "engines",
            case=self.case.id,
            engine=self.names[engine],
            stage=stage,
            walk=walk,
            position=number,
            outcome=outcome.word,
            signal=(outcome.signal or "") if isinstance(outcome, Crashed) else "",
            message=outcome.message,
            output=self.tools.panel.output(engine),
        )

    def _note_timings(self, walk: int, position: Position, steps: Mapping[int, Stepped]) -> None:
        for engine, step in steps.items():
            self.out.add(
                "timings",
                case=self.case.id,
                walk=walk,
                position=position.number,
                engine=self.names[engine],
                mask_ns=step.mask_ns,
                consume_ns=step.consume_ns,
            )

    def _note_position(
        self,
        walk: int,
        position: Position,
        disputes: Sequence[Dispute],
        token: int | None,
        place: str,
    ) -> None:
        where = {"case": self.case.id, "walk": walk, "position": position.number}
        total = sum(len(dispute.tokens) for dispute in disputes)
        self.disputed += total
        self.out.add(
            "positions",
            **where,
            offset=position.offset,
            token=-1 if token is None else token,
            place=place,
            judged=_as_set(position.engines),
            disputed_tokens=total,
        )
        for number, dispute in enumerate(disputes):
            self.out.add(
                "disputes",
                **where,
                dispute=number,
                accepters=_as_set(dispute.accepters),
                rejecters=_as_set(dispute.rejecters),
                tokens=len(dispute.tokens),
                drawn=len(dispute.drawn),
                census=dispute.census,
            )

    def _note_verdicts(
        self, walk: int, position: Position, disputes: Sequence[Dispute], findings: Findings
    ) -> None:
        of_token = {
            token: number
            for number, dispute in enumerate(disputes)
            for token in dispute.drawn.tolist()
        }
        by_right = _by_right(disputes, position, self.tools.vocabulary.eos_ids)
        stored: dict[int, int] = {}
        for verdict in verdicts(findings, one_clears_all=self.tools.resolver.one_clears_all):
            self.out.add(
                "verdicts",
                case=self.case.id,
                walk=walk,
                position=position.number,
                dispute=of_token[verdict.token],
                token=verdict.token,
                by_right=verdict.token in by_right,
                engine=self.names[verdict.engine],
                kind=verdict.kind,
                reason=verdict.reason,
                accepter=self.names[verdict.accepter] if verdict.accepter >= 0 else "",
                completion=self._stored(findings, verdict.completion, stored),
                keyword=verdict.evidence.keyword,
                schema_pointer=verdict.evidence.schema_pointer,
                instance_pointer=verdict.evidence.instance_pointer,
            )

    def _stored(self, findings: Findings, number: int, stored: dict[int, int]) -> int:
        """The case-wide number of a completion, stored at its first use."""
        if number < 0:
            return -1
        if number not in stored:
            stored[number] = self.completions
            self.completions += 1
            completion = findings.completions[number]
            self.out.add(
                "completions",
                case=self.case.id,
                completion=stored[number],
                origin=completion.origin,
                text=completion.text,
                tokens=list(completion.tokens),
            )
        return stored[number]

    def _note_case(
        self,
        status: str,
        reason: str,
        message: str,
        references: Sequence[bytes],
        judged: Sequence[int],
    ) -> None:
        self.out.add(
            "cases",
            case=self.case.id,
            family=self.case.family,
            status=status,
            reason=reason,
            message=message,
            schema=self.case.schema,
            references=list(references),
            judged=_as_set(judged),
            walks=len(references) if status == "walked" else 0,
            positions=self.out.count("positions"),
            disputed_tokens=self.disputed,
        )
        for (stage, engine), seconds in self.costs.items():
            self.out.add("costs", case=self.case.id, stage=stage, engine=engine, seconds=seconds)

    @contextmanager
    def _cost(self, stage: str) -> Iterator[None]:
        """Add the wall time of what is done inside to a stage."""
        began = time.perf_counter()
        try:
            yield
        finally:
            spent = self.costs.get((stage, ""), 0.0)
            self.costs[stage, ""] = spent + time.perf_counter() - began


def _as_set(engines: Sequence[int]) -> int:
    return sum(1 << engine for engine in engines)


def _by_right(
    disputes: Sequence[Dispute], position: Position, eos_ids: Sequence[int]
) -> frozenset[int]:
    """The drawn tokens that were not sampled: all of an uncapped dispute, else its census."""
    always = {*position.path, *eos_ids}
    out: set[int] = set()
    for dispute in disputes:
        drawn: Tokens = dispute.drawn
        whole = len(drawn) == len(dispute.tokens)
        out.update(token for token in drawn.tolist() if whole or token in always)
    return frozenset(out)


def reference_problem(text: bytes, ruling: Ruling) -> tuple[str, str]:
    """Why a reference cannot be walked: a reason code, and a sentence."""
    shown = text[:80].decode("utf-8", "replace")
    if ruling.verdict == INVALID:
        what = f"{ruling.keyword or ruling.reason} at {ruling.instance_pointer or 'its root'}"
        message = f"the reference {shown} is not valid under its schema: {what}"
        return "reference_invalid", message
    return "reference_contested", f"the validators do not agree on {shown}: {ruling.reason}"
