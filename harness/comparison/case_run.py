"""One case from schema to rows: compile, walk, dispute, resolve, feed instances, note it all."""

from __future__ import annotations

import resource
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.comparison.case_budget import BudgetSpentError, CaseBudget
from harness.comparison.case_record import CaseNotes
from harness.comparison.challenger import Challenger
from harness.comparison.challenges import Challenge, Challenges
from harness.comparison.disputes import Dispute, Tokens, find_disputes
from harness.comparison.distrust import Distrusted, ask_again, ask_for_nothing
from harness.comparison.fed_texts import (
    prepare,
    reference_problem,
)
from harness.comparison.findings import Findings, Flaw, Status, judge
from harness.comparison.flaws import Probes, wrong_ends, wrong_steps
from harness.comparison.generated_instances import Made, Ruled, make, to_walk
from harness.comparison.lookahead import NOTHING, Arrived, LookaheadWalk
from harness.comparison.position_resolution import PositionResolution
from harness.comparison.resolvers import Resolver
from harness.comparison.samples import feed_samples
from harness.comparison.text_facts import TextFacts
from harness.comparison.text_feeding import CaseTexts
from harness.comparison.verdict_record import VerdictNotes
from harness.comparison.walk import (
    Position,
    WalkKey,
    accepters,
    choose,
    choose_for_most,
    path_tokens,
)
from harness.completion.continuations import Continuations
from harness.engines.panel import Panel
from harness.inputs.canonical_tokens import Canonical
from harness.inputs.cases import STYLES, Case, styled
from harness.inputs.vocabulary import Vocabulary
from harness.jsontext import strict_json
from harness.jsontext.lexer import START, State, advance, place_of
from harness.options import CHOICE, LIMITS, option
from harness.runs.tables import Rows
from harness.validators.format_rules import ASSERTION, FORMAT_RULES
from harness.validators.judge import VALID, Judge, Unjudgeable
from harness.verdict_kinds import CHALLENGER
from harness.workers.outcomes import AdapterFault, Compiled, Failure, MaskViolation

_NO_TOKENS: Tokens = np.zeros(0, dtype=np.int32)

MAX_FAILURES = 3
"""An engine whose host failed this often within one case takes no further part in it."""


@dataclass(frozen=True)
class Rules:
    """What a run does with each case."""

    seed: int = option(0, "Of the sample and of every choice in a walk.", heading=CHOICE)
    cap: int | None = option(
        100,
        "Disputed tokens resolved per dispute; 'none' resolves all.",
        heading=CHOICE,
        least=1,
        none=True,
    )
    on_dropout: str = option(
        "continue",
        "What a walk does when an engine drops out: continue with the others, or stop for all.",
        heading=CHOICE,
        choices=("continue", "stop"),
    )
    walks: int = option(
        1, "Walks per case, each along another of its valid instances.", heading=CHOICE, least=1
    )
    style: str = option(
        "default", "How reference texts are written.", heading=LIMITS, choices=tuple(STYLES)
    )
    formats: str = option(
        ASSERTION,
        "What 'format' is to the validators; annotation: it forbids no text.",
        heading=LIMITS,
        choices=FORMAT_RULES,
    )
    challenger: bool = option(
        True,
        "json: also dispute tokens on which every engine disagrees with plain JSON.",
        heading=CHOICE,
        choices={CHALLENGER: True, "none": False},
    )
    generated: int = option(
        16,
        "Instances generated from the schema, fed beside the case's own; where a case has no valid"
        " instance, generated ones are walked. 0: none.",
        heading=CHOICE,
        least=0,
    )
    samples: int = option(
        8,
        "Texts of each schema that each engine writes itself; 0: as the original study.",
        heading=CHOICE,
        least=0,
    )
    budget: float = option(
        600.0,
        "Seconds of processor time for everything about one case.",
        "--case-budget",
        heading=LIMITS,
        above=0,
        unit="SECONDS",
    )


class CaseRun:
    """Runs cases one after the other on one panel and one judge.

    Args:
        resolver: How disputes are resolved; None only walks and counts them.
    """

    def __init__(
        self,
        panel: Panel,
        judge: Judge,
        vocabulary: Vocabulary,
        resolver: Resolver | None,
        rules: Rules,
    ) -> None:
        self.panel = panel
        self.judge = judge
        self.vocabulary = vocabulary
        self.resolver = resolver
        self.rules = rules
        self.validator_seconds = judge.seconds
        self.canonical = Canonical.of(vocabulary)
        self.challenger = Challenger(vocabulary, rules.cap) if rules.challenger else None

    def canonical_starts(self, text: bytes) -> Mapping[int, int]:
        """Where the canonical tokens of a text start, and which they are; the end included."""
        known = self.canonical.starts(text) if self.canonical is not None else {}
        return {**known, len(text): self.vocabulary.eos} if known else {}

    def run(self, case: Case) -> Rows:
        """All rows of one case."""
        self.begin(case)
        return self.finish()

    def begin(self, case: Case) -> None:
        """Have the case's schema compiled, without waiting for it."""
        self._begun = _Run(self, case, ())

    def ready(self) -> bool:
        """Whether the schema of the case that was begun is compiled in every engine, or failed."""
        return self.panel.compiled()

    def finish(self) -> Rows:
        """All rows of the case that was begun.

        Where an engine turns out to consume what its masks forbid, or its adapter to be at fault,
        the case is run again from the start with every mask of that engine looked at; without the
        engine where its masks are not to be relied on.
        """
        run = self._begun
        run.budget = CaseBudget(self.rules.budget, self._hosts_seconds)
        distrusted: list[Distrusted] = []
        while True:
            try:
                return run.rows()
            except Distrusted as found:
                distrusted.append(found)
                budget = run.budget
                run = _Run(self, run.case, distrusted)
                run.budget = budget

    def _hosts_seconds(self) -> float:
        """Processor seconds of the hosts, those that are gone included."""
        gone = resource.getrusage(resource.RUSAGE_CHILDREN)
        running = self.panel.processor_seconds() + self.judge.processor_seconds()
        return gone.ru_utime + gone.ru_stime + running


class _Run:
    """The state of one case."""

    def __init__(self, tools: CaseRun, case: Case, distrusted: Sequence[Distrusted]) -> None:
        self.tools = tools
        self.case = case
        self.notes = CaseNotes(
            case,
            [spec.name for spec in tools.panel.specs],
            tools.panel.output,
        )
        self.proofs: VerdictNotes | None = None
        self.lost: set[int] = set()
        self.distrusted = distrusted
        self.confirmed: set[tuple[int, tuple[int, ...]]] = set()
        self.failures: dict[int, int] = {}
        self.probes = Probes(tools.vocabulary)
        self.schema: Any = None
        self.known: Continuations | None = None
        self.challenges: Challenges | None = None
        self.alone = False
        self.made = Made()
        self.fed: CaseTexts | None = None
        self.budget = CaseBudget(tools.rules.budget, lambda: 0.0)
        self.references: list[bytes] = []
        self.judged: list[int] = []
        self.are_made = False
        self.whole = self.notes.mark()
        tools.panel.begin_compile(case.schema, distrusted={one.engine for one in distrusted})

    def rows(self) -> Rows:
        """Run the case, as far as its budget goes, and return what there is to store."""
        try:
            with self.budget.enforced():
                status, reason, message = self._run()
        except BudgetSpentError:
            self.notes.back_to(self.whole)
            status, reason = "walked" if self.notes.walked else "set_aside", "case_budget"
            message = (
                f"the case took more than {self.budget.seconds:g} s of processor time; "
                "what was proven until then is kept"
            )
        finally:
            self.tools.judge.seconds = self.tools.validator_seconds
        self.notes.finish(
            status, reason, message, self.references, self.judged, generated=self.are_made
        )
        return self.notes.rows

    def _step(self) -> None:
        """Between two steps, where all rows belong together: may the case go on?

        Raises:
            BudgetSpentError: It has used up its budget.
        """
        self.whole = self.notes.mark()
        self.budget.check()
        left = self.budget.left()
        self.tools.judge.seconds = min(self.tools.validator_seconds, max(left, 1.0))

    def _run(self) -> tuple[str, str, str]:
        """Run the case; its status, the reason and a message."""
        tools = self.tools
        with self.notes.cost("compile"):
            outcomes = tools.panel.end_compile()
        self.notes.outcomes(outcomes)
        for one in self.distrusted:
            self.notes.failure(one.engine, one.failure, one.stage, one.walk, one.position)
        excluded = {one.engine for one in self.distrusted if one.excludes}
        self._step()
        with self.notes.cost("references"):
            references, problem = self._references()
        compiled = [
            index
            for index, one in outcomes.items()
            if isinstance(one, Compiled) and index not in excluded
        ]
        self.judged = judged = list(compiled)
        self._step()
        status, reason, message = "walked", "", ""
        made = self._made(compiled) if problem is not None else []
        if made:
            references, problem = [made[at % len(made)] for at in range(tools.rules.walks)], None
        self.references, self.are_made = references, bool(made)
        if problem is not None:
            status, (reason, message) = "set_aside", problem
        elif (missing := self._unfit(judged)) is not None:
            status, reason = "not_compared", "adapter_fault" if excluded else missing
        else:
            for walk, reference in enumerate(references):
                self._walk(walk, reference, judged)
        if self.proofs is not None:
            message = self._texts(compiled, self.proofs).wrong_label() or message
        return status, reason, message

    def _made(self, compiled: Sequence[int]) -> list[bytes]:
        """The texts to walk where the case brings none: made ones, else valid ones of engines."""
        found = self.made.references()
        if not found and self.proofs is not None and self.tools.rules.generated:
            written = self._texts(compiled, self.proofs).samples
            found = to_walk(self.tools.judge, [Ruled(one.text, one.ruling) for one in written])
        return found

    def _texts(self, compiled: Sequence[int], proofs: VerdictNotes) -> CaseTexts:
        """Feed instances and samples, once."""
        if self.fed is None:
            tools, rules = self.tools, self.tools.rules
            self._step()
            of_text = (tools.vocabulary, tools.canonical)
            texts = CaseTexts(tools.panel, tools.judge, *of_text, proofs, self._failed_at)
            with self.notes.cost("instances"):
                own = prepare(self.case, rules.style, *of_text, tools.judge)
                texts.feed_instances(own, compiled)
                # Apart: an engine that fails over a made text has been fed with the case's own.
                self._step()
                made = self.made.fed(rules.generated, {one.text for one in own})
                texts.feed_generated(made, self._able(compiled))
            if rules.samples:
                self._step()
                key = f"{rules.seed}/{self.case.id}/samples"
                with self.notes.cost("samples"):
                    feed_samples(texts, key, rules.samples, self.schema, self._able(compiled))
            self.fed = texts
        return self.fed

    def _able(self, engines: Sequence[int]) -> list[int]:
        """Those of some engines that did not fail too often."""
        return [one for one in engines if self.failures.get(one, 0) < MAX_FAILURES]

    def _failed_at(self, engine: int, failure: Failure, stage: str) -> None:
        self._failed(engine, failure, stage, -1, -1)

    def _references(self) -> tuple[list[bytes], tuple[str, str] | None]:
        """The texts to walk, or why the case is set aside."""
        problem = self.tools.judge.open(self.case.schema)
        if isinstance(problem, Unjudgeable):
            return [], (problem.reason, problem.message)
        self.schema = strict_json.parse(self.case.schema)
        self.proofs = self._proofs()
        self.challenges = self._challenges()
        rules = self.tools.rules
        texts = [styled(one, rules.style) for one in self.case.valid]
        ruled = list(zip(texts, self.tools.judge.judge(texts), strict=True))
        fit = [text for text, ruling in ruled if ruling.verdict == VALID]
        if rules.generated:
            with self.notes.cost("generated"):
                self.made = make(self.tools.judge, self.schema, fit, STYLES[rules.style])
        if fit:
            return [fit[walk % len(fit)] for walk in range(rules.walks)], None
        if ruled:
            return [], reference_problem(*ruled[0])
        also = (
            f", and none of {self.made.attempted} made of the schema is" if rules.generated else ""
        )
        return [], ("no_reference", f"the case has no valid instance{also}")

    def _unfit(self, judged: Sequence[int]) -> str | None:
        """Why the engines that compiled cannot be compared under the panel's rule."""
        if len(judged) < self._fewest:
            return "no_engine" if self.challenges else "fewer_than_two_engines"
        if self.tools.rules.on_dropout == "stop" and len(judged) < len(self.tools.panel):
            return "not_compiled_by_all"
        return None

    @property
    def _fewest(self) -> int:
        """Without a challenger one engine alone has nobody to differ from."""
        return 2 if self.challenges is None else 1

    def _walk(self, walk: int, reference: bytes, judged: Sequence[int]) -> None:
        """Walk one reference, resolving the disputes on the way."""
        tools = self.tools
        self.alone = False
        key = WalkKey(tools.rules.seed, self.case.id, walk)
        canonical = tools.canonical_starts(reference)
        engines = tuple(index for index in judged if index not in self.lost)
        engines = self._brought_to_start(engines, walk)
        lookahead = LookaheadWalk(
            tools.panel, tools.vocabulary, key, reference, lambda: self.notes.cost("walk")
        )
        here = lookahead.arrive(engines, (), 0, NOTHING)
        engines = self._arrived(here, walk, 0)
        consumed: tuple[int, ...] = ()
        offset = 0
        state: State | None = START
        while self._enough(engines, judged):
            self._step()
            self.alone = len(engines) < 2
            position = Position(
                key.at(len(consumed)),
                len(consumed),
                consumed,
                reference,
                offset,
                lookahead.path(offset),
                engines,
                here.masks,
            )
            predicted = lookahead.predicted(position.number, offset)
            token, stay = self._next(position, here, predicted)
            assert state is not None, "a reference is JSON"
            self.notes.arrived(walk, position, here)
            failed = self._dispute(
                walk, position, here, lookahead, state, token, canonical.get(offset, -1)
            )
            if position.at_end or token is None:
                return
            if failed:
                lookahead.forget()
                stay = self._recovered(walk, position, stay, failed)
            if not self._enough(stay, judged):
                return
            self.alone = len(stay) < 2
            offset += len(tools.vocabulary.tokens[token])
            here = lookahead.arrive(stay, consumed, offset, token)
            self._note_step(walk, position, token, here)
            consumed = (*consumed, token)
            engines = self._arrived(here, walk, len(consumed))
            state = advance(state, tools.vocabulary.tokens[token])

    def _brought_to_start(self, engines: tuple[int, ...], walk: int) -> tuple[int, ...]:
        """The engines that stand at the start of the text."""
        if not walk and self.fed is None:
            return engines
        for index in engines:
            if (failure := self.tools.panel.recover_start(index)) is not None:
                self._failed(index, failure, "walk", walk, 0)
                self.lost.add(index)
        return tuple(index for index in engines if index not in self.lost)

    def _enough(self, engines: Sequence[int], judged: Sequence[int]) -> bool:
        """Whether the walk may go on with these engines."""
        if self.tools.rules.on_dropout == "stop":
            return len(engines) == len(judged) and len(engines) >= self._fewest
        return len(engines) >= self._fewest

    def _next(
        self, position: Position, here: Arrived, predicted: int | None
    ) -> tuple[int | None, tuple[int, ...]]:
        """The token to take, and the engines that go along."""
        token = choose(position, differ=here.differ, predicted=predicted)
        if token is not None:
            return token, position.engines
        if self.tools.rules.on_dropout == "continue":
            token = choose_for_most(position)
        return token, () if token is None else accepters(position, token)

    def _dispute(
        self,
        walk: int,
        position: Position,
        here: Arrived,
        lookahead: LookaheadWalk,
        state: State,
        token: int | None,
        canonical: int,
    ) -> Mapping[int, Failure]:
        """Find and resolve the disputes of one position, look for other flaws, note all of it."""
        tools = self.tools
        disputes: Sequence[Dispute] = ()
        if here.differ:
            disputes = find_disputes(
                position.masks,
                position.engines,
                tools.vocabulary.size,
                tools.rules.cap,
                (*position.path, *tools.vocabulary.eos_ids),
                position.key,
            )
        place = place_of(state, at_end=position.at_end)
        flaws = wrong_ends(position, tools.vocabulary.eos_ids, state)
        challenge = None
        if self.challenges is not None:
            with self.notes.cost("challenge"):
                challenge = self.challenges.at(position, state, ends=not flaws)
        further = [] if challenge is None else challenge.disputes
        self.notes.position(walk, position, [*disputes, *further], token, canonical, place)
        if tools.resolver is None:
            return {}
        failures = self._engines_differ(walk, position, lookahead, state, disputes, flaws)
        if challenge is None or not further:
            return failures
        more = self._challenged(walk, challenge, len(disputes), failures, lookahead)
        return {**failures, **more}

    def _engines_differ(
        self,
        walk: int,
        position: Position,
        lookahead: LookaheadWalk,
        state: State,
        disputes: Sequence[Dispute],
        flaws: Sequence[Flaw],
    ) -> Mapping[int, Failure]:
        """Resolve what engines dispute among themselves, and look for other flaws."""
        tools = self.tools
        assert self.proofs is not None, "a case that cannot be judged is not walked"
        assert tools.resolver is not None, "nothing is resolved without one"
        # To see that a text never ends takes hundreds of masks.
        quick = [one for one in position.engines if not tools.panel.specs[one].slow_masks]
        probe = self.probes.due(state, quick) if walk == 0 else []
        if not disputes and not flaws and not probe:
            return {}
        lookahead.stand_by(position.engines, position.consumed)
        drawn = np.sort(np.concatenate([_NO_TOKENS, *(dispute.drawn for dispute in disputes)]))
        resolution = PositionResolution(
            position,
            drawn,
            tools.panel,
            tools.judge,
            tools.vocabulary,
            valid_completion_exonerates=tools.resolver.valid_completion_exonerates,
        )
        if disputes:
            with self.notes.cost("resolve"):
                self._resolve(walk, resolution, tools.resolver)
        with self.notes.cost("probe"):
            if probe:
                self.probes.unbounded_repetition(resolution, state, probe)
            self.probes.dead_ends(resolution)
        resolution.findings.flaws += flaws
        charged = self._charge(walk, position, dict(enumerate(disputes)), resolution.findings)
        failures = {**resolution.engines.failures, **charged}
        for engine, failure in failures.items():
            self._failed(engine, failure, "resolve", walk, position.number)
        return failures

    def _challenged(
        self,
        walk: int,
        challenge: Challenge,
        first: int,
        down: Mapping[int, Failure],
        lookahead: LookaheadWalk,
    ) -> Mapping[int, Failure]:
        """Resolve what the challenger disputes, whose disputes have the numbers from `first`."""
        assert self.proofs is not None, "a case that cannot be judged is not walked"
        assert self.challenges is not None, "somebody has challenged"
        assert self.tools.resolver is not None, "nothing is resolved without one"
        position = challenge.position
        failures: dict[int, Failure] = {}
        up = tuple(engine for engine in position.engines if engine not in down)
        with self.notes.cost("challenge"):
            found = list(
                self.challenges.resolve(
                    challenge,
                    self.tools.resolver,
                    down,
                    lambda: lookahead.stand_by(up, position.consumed),
                )
            )
        for number, one in enumerate(found, start=first):
            failures |= one.failures
            failures |= self._charge(walk, one.position, {number: one.dispute}, one.findings)
        for engine, failure in failures.items():
            self._note(engine, failure, "challenge", walk, position.number)
        return failures

    def _charge(
        self, walk: int, position: Position, disputes: Mapping[int, Dispute], findings: Findings
    ) -> dict[int, Failure]:
        """Note what was proven, unless the masks that it is about are others when asked again.

        Returns:
            The engines that fail over it.
        """
        assert self.proofs is not None, "a case that cannot be judged is not walked"
        verdicts = judge(findings)
        self.proofs.verdicts(walk, position, disputes, findings, verdicts)
        return ask_again(self.tools.panel, position, findings, verdicts)

    def _note_step(self, walk: int, position: Position, token: int, here: Arrived) -> None:
        """Note engines that the walk's own token shows to be wrong; they have arrived `here`."""
        if not here.failures and not here.empty:
            return
        refused = [
            engine for engine, one in here.failures.items() if isinstance(one, MaskViolation)
        ]
        # behind the whole reference an empty mask is an end that is forbidden
        whole = position.offset + len(self.tools.vocabulary.tokens[token])
        empty: list[int] = []
        if whole < len(position.reference) and here.empty:
            empty = [here.engines[row] for row in np.flatnonzero(here.allowed == 0).tolist()]
        if flaws := wrong_steps(position, token, refused, empty):
            none = np.zeros((len(position.engines), 0), dtype=np.bool_)
            findings = Findings.empty(position.engines, _NO_TOKENS, none)
            findings.flaws += flaws
            failures = self._charge(walk, position, {}, findings)
            path = path_tokens(self.tools.vocabulary, position.reference, whole)
            failures |= ask_for_nothing(self.tools.panel, empty, path, position.number + 1)
            for engine, failure in failures.items():
                self._failed(engine, failure, "walk", walk, position.number)

    def _resolve(self, walk: int, resolution: PositionResolution, resolver: Resolver) -> None:
        """Fill the findings.

        Raises:
            Distrusted: An engine's faster way allowed what its masks do not.
        """
        position = resolution.position
        resolver.resolve(resolution, self._continuations(position.reference).at(position.offset))
        number = position.number
        for violation in resolution.look_again(self.confirmed):
            engine = resolution.findings.engines[violation.row]
            if engine not in {one.engine for one in self.distrusted}:
                raise Distrusted.by(violation, engine, walk, number)
            resolution.store.disown(violation.row, Status.MASK_CONSUME_MISMATCH)
        for found in self.distrusted:
            one, engines = found.violation, resolution.findings.engines
            here = (found.walk, found.position) == (walk, number) and found.engine in engines
            if here and one is not None and one.consumes:
                row = engines.index(found.engine)
                resolution.store.note_flaw(row, one.token, "mask_consume_mismatch", one.tokens)
        resolution.locate(self.schema)

    def _continuations(self, reference: bytes) -> Continuations:
        """The known continuations along a reference; those of the last one are kept."""
        if self.known is None or self.known.reference != reference:
            self.known = Continuations(self.schema, reference)
        return self.known

    def _challenges(self) -> Challenges | None:
        tools = self.tools
        if tools.challenger is None:
            return None
        return Challenges(tools.challenger, tools.panel, tools.judge, tools.vocabulary, self.schema)

    def _proofs(self) -> VerdictNotes:
        tools = self.tools
        return VerdictNotes(
            self.notes.rows,
            self.case,
            [spec.name for spec in tools.panel.specs],
            tools.vocabulary,
            self.schema,
            TextFacts(
                self.case.schema,
                self.schema,
                tools.judge.valid_without_formats if tools.rules.formats == ASSERTION else None,
            ),
        )

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
            elif self.failures.get(engine, 0) < MAX_FAILURES:
                problem = self.tools.panel.recover(engine, position.consumed)
                if problem is None:
                    stay.append(engine)
                else:
                    self._failed(engine, problem, "walk", walk, position.number)
        self._lose(set(engines) - set(stay))
        return tuple(stay)

    def _arrived(self, here: Arrived, walk: int, number: int) -> tuple[int, ...]:
        """The engines that came to a position; the others are noted as failures."""
        for engine, failure in here.failures.items():
            self._failed(engine, failure, "walk", walk, number)
        self._lose(here.failures)
        return here.engines

    def _lose(self, engines: Iterable[int]) -> None:
        """Engines take no part in further walks, unless it was the challenger that led one on."""
        if not self.alone:
            self.lost.update(engines)

    def _failed(self, engine: int, failure: Failure, stage: str, walk: int, number: int) -> None:
        if not self.alone:
            self.failures[engine] = self.failures.get(engine, 0) + 1
        self._note(engine, failure, stage, walk, number)

    def _note(self, engine: int, failure: Failure, stage: str, walk: int, number: int) -> None:
        """Note a failure.

        Raises:
            Distrusted: It is the adapter's.
        """
        if isinstance(failure, AdapterFault):
            raise Distrusted(engine, failure, stage, walk, number)
        self.notes.failure(engine, failure, stage, walk, number)
