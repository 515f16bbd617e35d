"""One case from schema to rows: compile, walk, dispute, resolve, feed instances, note it all."""

from __future__ import annotations

import resource
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harness.comparison.case_budget import BudgetSpentError, CaseBudget
from harness.comparison.case_record import CaseNotes
from harness.comparison.case_walk import FEWEST, MAX_FAILURES, CaseWalk, Distrusted
from harness.comparison.disputes import Quota
from harness.comparison.effects import CaseEffects
from harness.comparison.flaws import Probes
from harness.comparison.generated_instances import Made, Ruled, make_as_original, to_walk
from harness.comparison.resolvers import Resolver
from harness.comparison.samples import feed_samples
from harness.comparison.text_facts import TextFacts
from harness.comparison.text_feeding import CaseTexts, reference_problem
from harness.comparison.verdict_record import VerdictNotes
from harness.engines.panel import Panel
from harness.engines.requests import Each, Follow
from harness.inputs.canonical_tokens import Canonical
from harness.inputs.cases import Case
from harness.inputs.vocabulary import Vocabulary
from harness.jsontext import strict_json
from harness.options import CHOICE, LIMITS, option, seconds_limit
from harness.runs.tables import GENERATED, Rows
from harness.validators.format_rules import ASSERTION, FORMAT_RULES
from harness.validators.judge import VALID, Judge, Unjudgeable
from harness.workers.outcomes import EXCLUDING, AdapterFault, Compiled, Failure

EFFECTS_STAGE = "effects"
"""The stage of an engine that fails while it is asked for other spellings."""


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
        1,
        "Walks per case, each along another of its valid instances. 0: values alone are fed.",
        heading=CHOICE,
        least=0,
    )
    formats: str = option(
        ASSERTION,
        "What 'format' is to the validators; annotation: it forbids no text.",
        heading=LIMITS,
        choices=FORMAT_RULES,
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
    budget: float = seconds_limit(
        600.0, "Seconds of processor time for everything about one case.", "--case-budget", above=0
    )


@dataclass(eq=False)
class CaseRun:
    """Runs cases one after the other; without a resolver disputes are only found and counted."""

    panel: Panel
    judge: Judge
    vocabulary: Vocabulary
    resolver: Resolver | None
    rules: Rules

    def __post_init__(self) -> None:
        self.validator_seconds = self.judge.seconds
        self.canonical = Canonical.of(self.vocabulary)

    def canonical_starts(self, text: bytes) -> Mapping[int, int]:
        """Where the canonical tokens of a text start, and which they are; the end included."""
        known = self.canonical.starts(text) if self.canonical is not None else {}
        return {**known, len(text): self.vocabulary.eos} if known else {}

    def tokens(self, text: bytes) -> Sequence[int]:
        """The tokens of a text, the tokenizer's own where they are known."""
        known = self.canonical.tokens(text) if self.canonical is not None else None
        return self.vocabulary.encode_greedy(text) if known is None else known

    def run(self, case: Case) -> Rows:
        """All rows of the case.

        Where an engine turns out to consume what its masks forbid, or its adapter to be at fault,
        the case is run again from the start with every mask of that engine looked at; without the
        engine where its masks are not to be relied on.
        """
        distrusted: list[Distrusted] = []
        budget: CaseBudget | None = None
        while True:
            run = RunningCase(self, case, tuple(distrusted))
            budget = run.budget = budget or CaseBudget(self.rules.budget, self._hosts_seconds)
            try:
                return run.rows()
            except Distrusted as found:
                distrusted.append(found)

    def _hosts_seconds(self) -> float:
        gone = resource.getrusage(resource.RUSAGE_CHILDREN)
        running = self.panel.processor_seconds() + self.judge.processor_seconds()
        return gone.ru_utime + gone.ru_stime + running


class RunningCase:
    """The state of one case."""

    def __init__(self, tools: CaseRun, case: Case, distrusted: Sequence[Distrusted]) -> None:
        self.tools = tools
        self.case = case
        names = [spec.name for spec in tools.panel.specs]
        self.notes = CaseNotes(case, names, tools.panel.output)
        self.proofs: VerdictNotes | None = None
        self.lost: set[int] = set()
        self.distrusted = distrusted
        self.confirmed: set[tuple[int, tuple[int, ...]]] = set()
        self.failures: dict[int, int] = {}
        self.schema: Any = None
        self.made = Made()
        self.fed: CaseTexts | None = None
        self.effects: CaseEffects | None = None
        self.budget: CaseBudget
        self.references: list[bytes] = []
        self.judged: list[int] = []
        self.are_made = False
        self.whole = self.notes.mark()
        with self.notes.cost("compile"):
            self.outcomes = tools.panel.compile(
                case.schema, distrusted={one.engine for one in distrusted}
            )

    @cached_property
    def probes(self) -> Probes:
        return Probes(self.tools.vocabulary)

    @cached_property
    def quota(self) -> Quota | None:
        """How many tokens that are alike are still resolved; None without a cap."""
        words, is_capped = self.tools.vocabulary, self.tools.rules.cap is not None
        return Quota(words.respelling, words.shapes) if is_capped else None

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

    def step(self) -> None:
        """Between two steps, where all rows belong together; may raise `BudgetSpentError`."""
        self.whole = self.notes.mark()
        left = max(self.budget.check(), 1.0)
        self.tools.judge.seconds = min(self.tools.validator_seconds, left)

    def _run(self) -> tuple[str, str, str]:
        """Run the case; its status, the reason and a message."""
        tools, outcomes = self.tools, self.outcomes
        self.notes.outcomes(outcomes)
        for one in self.distrusted:
            self.notes.outcome(one.engine, one.failure, one.stage, one.walk, one.position)
        excluded = {one.engine for one in self.distrusted if one.failure.status in EXCLUDING}
        self.step()
        with self.notes.cost("references"):
            references, problem = self._references()
        compiled = [
            index
            for index, one in outcomes.items()
            if isinstance(one, Compiled) and index not in excluded
        ]
        self.judged = judged = list(compiled)
        self.step()
        status, reason, message = "walked", "", ""
        made = self._made(compiled) if problem is not None and tools.rules.walks else []
        if made:
            references, problem = [made[at % len(made)] for at in range(tools.rules.walks)], None
        self.references, self.are_made = references, bool(made)
        if problem is not None:
            status, (reason, message) = "set_aside", problem
        elif (missing := self._unfit(judged)) is not None:
            status, reason = "not_compared", "adapter_fault" if excluded else missing
        else:
            for walk, reference in enumerate(references):
                assert self.proofs is not None, "a case that cannot be judged is not walked"
                CaseWalk(self, walk, reference, judged, self.proofs).go()
        if self.proofs is not None:
            texts = self._texts(compiled, self.proofs)
            message = texts.wrong_label() or message
            self._decide_effects(texts)
        return status, reason, message

    def _decide_effects(self, texts: CaseTexts) -> None:
        assert self.effects is not None, "what is judged has effects"
        self.step()

        def ask(asks: Mapping[int, Follow]) -> Mapping[int, Each]:
            up = texts.at_start(asks, EFFECTS_STAGE)
            return texts.ask({engine: asks[engine] for engine in up}, EFFECTS_STAGE)

        with self.notes.cost(EFFECTS_STAGE):
            valid = [one.text for one in texts.instances if one.ruling.verdict == VALID]
            self.effects.decide(ask, valid)

    def _made(self, compiled: Sequence[int]) -> list[bytes]:
        """The texts to walk where the case brings none: made ones, else valid ones of engines."""
        found = self.made.references()
        if not found and self.proofs is not None and self.tools.rules.generated:
            written = self._texts(compiled, self.proofs).samples
            found = to_walk(self.tools.judge, [Ruled(one.text, one.ruling) for one in written])
        return found

    def _texts(self, compiled: Sequence[int], proofs: VerdictNotes) -> CaseTexts:
        if self.fed is None:
            tools, rules = self.tools, self.tools.rules
            self.step()
            of_text = (tools.vocabulary, tools.canonical, proofs)
            texts = CaseTexts(tools.panel, tools.judge, *of_text, self.failed)
            with self.notes.cost("instances"):
                own = texts.prepare(self.case)
                texts.feed_instances(own, compiled)
                # Apart: an engine that fails over a made text has been fed with the case's own.
                self.step()
                made = self.made.fed(rules.generated, {one.text for one in own})
                fed = [texts.in_tokens(GENERATED, one.text, one.ruling) for one in made]
                texts.feed_instances(fed, self._able(compiled), GENERATED)
            if rules.samples:
                self.step()
                key = f"{rules.seed}/{self.case.id}/samples"
                with self.notes.cost("samples"):
                    feed_samples(texts, key, rules.samples, self.schema, self._able(compiled))
            self.fed = texts
        return self.fed

    def _able(self, engines: Sequence[int]) -> list[int]:
        return [one for one in engines if self.failures.get(one, 0) < MAX_FAILURES]

    def _references(self) -> tuple[list[bytes], tuple[str, str] | None]:
        """The texts to walk, or why the case is set aside."""
        problem = self.tools.judge.open(self.case.schema)
        if isinstance(problem, Unjudgeable):
            return [], (problem.reason, problem.message)
        self.schema = strict_json.parse(self.case.schema)
        tools, rules = self.tools, self.tools.rules
        without_formats = tools.judge.valid_without_formats if rules.formats == ASSERTION else None
        slow = {at for at, spec in enumerate(tools.panel.specs) if spec.slow_texts}
        self.effects = CaseEffects(self.schema, tools.judge, tools.tokens, tools.vocabulary, slow)
        self.proofs = VerdictNotes(
            self.notes.rows,
            self.case,
            [spec.name for spec in tools.panel.specs],
            tools.vocabulary,
            self.schema,
            TextFacts(
                self.case.schema,
                self.schema,
                without_formats,
                [one.text for one in (*self.case.valid, *self.case.invalid)],
            ),
            self.effects,
            thins=rules.cap is not None,
        )
        texts = [one.text for one in self.case.valid]
        ruled = list(zip(texts, self.tools.judge.judge(texts), strict=True))
        fit = [text for text, ruling in ruled if ruling.verdict == VALID]
        if rules.generated:
            with self.notes.cost("generated"):
                self.made = make_as_original(self.tools.judge, self.case, self.schema, fit)
        if not rules.walks:
            return [], ("values_alone", "there are no walks: values alone are fed")
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
        if len(judged) < FEWEST:
            return "fewer_than_two_engines"
        if self.tools.rules.on_dropout == "stop" and len(judged) < len(self.tools.panel):
            return "not_compiled_by_all"
        return None

    def failed(
        self, engine: int, failure: Failure, stage: str, walk: int = -1, number: int = -1
    ) -> None:
        """Note a failure of an engine; `Distrusted` where it is its adapter's."""
        self.failures[engine] = self.failures.get(engine, 0) + 1
        if isinstance(failure, AdapterFault):
            raise Distrusted(engine, failure, stage, walk, number)
        self.notes.outcome(engine, failure, stage, walk, number)
