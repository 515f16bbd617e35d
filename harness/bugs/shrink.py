"""From a verdict of a run to the smallest case that shows the same error.

Greedy: of the edits in the order of their passes the first that leaves the error as it was, and the
case smaller, is taken, until no edit is. The order is fixed and nothing is drawn, so that the same
case always shrinks to the same one: what another verdict came through is not shrunk again.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from harness.bugs.error_case import ErrorCase, compact
from harness.bugs.passes import COMMON_FORMS, IN_TEXTS, SMALLER, Pass, of_its_place, used_only
from harness.bugs.samples import ShrunkVerdict
from harness.bugs.trial import KINDS, Failed, Symptom, Trial
from harness.bugs.trigger import Trigger, trigger
from harness.engines.specs import EngineSpec
from harness.inputs.vocabulary import Vocabulary
from harness.jsontext.member_moves import tokens_begun
from harness.jsontext.usual_spellings import usual_spellings
from harness.replay.witness import Witness
from harness.runs.directory import RunDirectory
from harness.runs.made_with import limits_of
from harness.validators.format_rules import format_rule
from harness.validators.judge import Judge
from harness.verdict_kinds import ACCEPTANCES, LOST_VALUE, UNCLEAR

_OF_ONE_TOKEN = ("false_rejection", "false_acceptance", "stops_too_early", "mask_consume_mismatch")
_BATCH = 24
"""Texts that are tried at a time under one schema."""

MOST = 4000
"""Cases that are tried at most."""

MOST_FAILURES, MOST_SECONDS = 8, 10.0
"""For one shrinking: failures of the engine, each costs it its host, and seconds of compilation."""

LAST_FAILURES, LAST_SECONDS = 2, 2.0
"""What is allowed of both for the common form where all was used up: the case is small by then."""


@dataclass(frozen=True)
class Shrunk:
    """The smallest case, what it shows, and how many cases were tried."""

    case: ErrorCase
    symptom: Symptom
    attempts: int


_State = tuple[ErrorCase, Symptom, Trigger, str]
"""A case, its error, what undoes that, and the effect that stays."""


@dataclass(frozen=True)
class Known:
    """What shrinking one verdict tells of others: what became of cases, and what failed."""

    shrunk: dict[_State, Shrunk] = field(default_factory=dict)
    smallest: dict[tuple[ErrorCase, Symptom, str], Shrunk] = field(default_factory=dict)
    failed: Failed = field(default_factory=dict)


def shrink(
    trial: Trial,
    case: ErrorCase,
    symptom: Symptom,
    stopped: Callable[[], bool] = lambda: False,
    effect: str = "",
    known: Known | None = None,
) -> Shrunk:
    """The smallest case with the same error, and the same effect where that is given.

    What undoes the error where it was met may not be needed in the smallest case, as ``required``
    that kept a text out of another branch. So that one is shrunk again, as if it had been met.
    Nothing is tried once `stopped`. What is `known` of the same engine is used, and added to.
    """
    seconds, failures = trial.seconds + MOST_SECONDS, trial.failures + MOST_FAILURES
    known = known or Known()
    found = Reduction(trial, case, symptom, stopped, effect, known).run()
    end, attempts = (found.case, found.symptom, effect), found.attempts
    while end not in known.smallest:
        if stopped() or trial.seconds > seconds or trial.failures > failures:
            return replace(found, attempts=attempts)
        again = Reduction(trial, found.case, found.symptom, stopped, effect, known).run()
        attempts += again.attempts
        if again.case.size >= found.case.size:
            known.smallest[end] = found
        found = again
    return replace(known.smallest[end], attempts=attempts)


@dataclass
class Reduction:
    """One case that is made smaller by passes, while a trial shows the same error."""

    _trial: Trial
    _best: ErrorCase
    _symptom: Symptom
    _stopped: Callable[[], bool]
    _effect: str
    _known: Known
    _trigger: Trigger = field(default_factory=Trigger)
    _attempted: set[ErrorCase] = field(default_factory=set)
    _attempts: int = 0
    _passed: list[_State] = field(default_factory=list)
    _found: Shrunk | None = None
    _keeps: bytes = b""
    _smaller: Sequence[Pass] = SMALLER
    _common: Sequence[Pass] = COMMON_FORMS

    def __post_init__(self) -> None:
        self._allow(MOST_FAILURES, MOST_SECONDS)

    def _allow(self, failures: int, seconds: float) -> None:
        """Go on until the engine has failed so often more, or compiled so long."""
        self._failures = self._trial.failures + failures
        self._seconds = self._trial.seconds + seconds

    @property
    def _goes_on(self) -> bool:
        return (
            self._found is None
            and self._attempts < MOST
            and not self._stopped()
            and self._trial.failures < self._failures
            and self._trial.seconds < self._seconds
        )

    def run(self) -> Shrunk:
        self._begin()
        self._until_smallest()
        whole = self._goes_on
        if not whole:
            self._allow(LAST_FAILURES, LAST_SECONDS)
        while self._changed(self._common, longer=True):
            self._until_smallest()
        best = self._found or Shrunk(self._best, self._symptom, 0)
        if self._found or (whole and self._goes_on):
            self._known.shrunk.update(dict.fromkeys(self._passed, best))
        return replace(best, attempts=self._attempts)

    def _begin(self) -> None:
        """Find what undoes the error, and leave out first what may be wrong as well, further on."""
        self._best, self._symptom, self._trigger = trigger(
            self._trial, self._best, self._symptom, self._is_same, lambda: self._goes_on
        )
        if self._best.kind not in ACCEPTANCES:
            self._keeps = self._best.text[: self._symptom.at + 1]
            self._changed(IN_TEXTS)
            self._keeps = b""
        self._come_to()
        self._of_its_place()

    def _come_to(self) -> None:
        """Note the case at hand; go no further where it is known what becomes of it."""
        state = (self._best, self._symptom, self._trigger, self._effect)
        self._found = self._known.shrunk.get(state)
        self._passed.append(state)

    def _of_its_place(self) -> None:
        """A plain rule for the broken one, where the engine keeps this by itself.

        Then the error is one of the rule's place, where others would be broken as well.
        """
        if self._best.kind != "false_acceptance":
            return
        for alone, plain in of_its_place(self._best, *self._symptom.broken):
            if not self._goes_on or not all(self._trial.are_right([alone])):
                continue
            for case in plain:
                symptom = self._trial.reproduce(case) if self._trigger.may_be_in(case) else None
                if (
                    symptom is not None
                    and symptom.class_ == self._symptom.class_
                    and self._costs_the_same(case, symptom)
                    and self._trigger.is_in(self._trial, case, symptom.at)
                ):
                    self._best, self._symptom = case, symptom
                    self._come_to()
                    return

    def _until_smallest(self) -> None:
        """Take all that makes it smaller; at the end once more what failed on a larger case."""
        while self._goes_on and self._changed(self._smaller):
            while self._goes_on and self._changed(self._smaller):
                pass
            self._attempted.clear()

    def _changed(self, passes: Sequence[Pass], *, longer: bool = False) -> bool:
        """Take all that some passes find; whether they found anything."""
        before = self._best
        for edits in passes:
            while self._goes_on and self._improved(edits, longer=longer):
                pass
        return self._best != before

    def _improved(self, edits: Pass, *, longer: bool) -> bool:
        """Take the first edit that is smaller and still the error; whether there was one."""
        fresh = self._fresh(edits(self._best), longer=longer)
        for _, group in itertools.groupby(fresh, key=lambda case: case.schema):
            while batch := list(itertools.islice(group, _BATCH)):
                if not self._goes_on:
                    return False
                for case, symptom in zip(batch, self._trial.reproduce_all(batch), strict=True):
                    if symptom is None or not self._is_same(case, symptom):
                        continue
                    if self._trigger.is_in(self._trial, case, symptom.at):
                        self._best, self._symptom = case, symptom
                        if not self._keeps:
                            self._come_to()
                        return True
        return False

    def _is_same(self, case: ErrorCase, symptom: Symptom) -> bool:
        if not symptom.is_still(self._symptom, loose=self._trigger.loose):
            return False
        typed = case.schema.count('"type":') > self._best.schema.count('"type":')
        if typed and symptom.mark == "type" != self._symptom.mark:
            return False  # the type that was given is what is broken
        return self._costs_the_same(case, symptom)

    def _costs_the_same(self, case: ErrorCase, symptom: Symptom) -> bool:
        return not self._effect or self._trial.effect(case, symptom) == self._effect

    def _fresh(self, edited: Iterator[ErrorCase], *, longer: bool) -> Iterator[ErrorCase]:
        size = self._best.size
        for case in edited:
            fits = (longer or case.size < size) and case.text.startswith(self._keeps)
            if fits and case not in self._attempted:
                self._attempted.add(case)
                self._attempts += 1
                if self._trigger.may_be_in(case):
                    yield case


class Shrinker:
    """Shrinks verdicts of a run: an engine each as it is needed, and both validators.

    `specs` are its engines, or others ready to be started; `lent` a trial of one, left open.
    """

    trial_type: type[Trial] = Trial

    def __init__(
        self,
        run: RunDirectory,
        specs: Sequence[EngineSpec],
        vocabulary: Vocabulary,
        lent: Trial | None = None,
        known: Known | None = None,
    ) -> None:
        identity = run.manifest["identity"]
        self._specs, self._made_with = {spec.name: spec for spec in specs}, identity["engines"]
        self._vocabulary, self._lent = vocabulary, lent
        self.known = known or Known()
        self._judge = Judge(limits_of(run).memory, formats=format_rule(identity))
        self._trials: dict[str, Trial] = {}

    def close(self) -> None:
        for trial in self._trials.values():
            trial.close()
        self._judge.close()

    def sample(
        self,
        witness: Witness,
        schema: str,
        class_: str = "",
        stopped: Callable[[], bool] = lambda: False,
    ) -> ShrunkVerdict:
        """What becomes of one verdict under the JSON text of its schema.

        By itself it must have its effect, and count as `class_`, if given; useless once `stopped`.
        """
        effect = witness.effect
        sample = ShrunkVerdict(witness.name, witness.case, witness.keyword, effect=effect)
        if witness.kind not in KINDS:
            return replace(sample, reason="such errors need a search to be shown")
        whole = self._case(witness, schema)
        reason = "the error does not show with bytes and the token alone"
        for case in (whole, self._with_token(witness, whole)):
            if case is None:
                continue
            with self.trial(case, effect) as trial:
                failures, counted = trial.failures, ""
                for start in _starts(case, effect):
                    symptom = trial.reproduce(start)
                    if symptom is None or not self._is_there(start, witness, symptom):
                        continue
                    if class_ not in ("", symptom.class_):
                        counted = symptom.class_
                        continue
                    same = effect if effect != UNCLEAR else ""
                    shown = trial.effect(start, symptom) if same else ""
                    if shown == same:
                        found = shrink(trial, start, symptom, stopped, same, self.known)
                        return settled(sample, found)
                    reason = f"by itself its effect is {shown.replace('_', ' ')}"
                if counted:  # not by its token: its bytes show it
                    return replace(sample, reason=f"by itself it counts as {counted}")
                if trial.failures > failures:
                    reason = "the engine takes too long with the schema, or fails"
        return replace(sample, reason=reason)

    def with_others(self, sample: ShrunkVerdict, **_: object) -> ShrunkVerdict:
        """The sample with what its error counts as in each other engine that makes it on the case.

        An engine that takes another spelling of a value that is lost, say, makes another error.
        """
        error, effect = sample.error, sample.effect
        assert error is not None
        classes: dict[str, str] = {}
        for name in self._specs:
            if name != error.engine:
                case = replace(error, engine=name)
                with self.trial(case, effect) as trial:
                    symptom = trial.reproduce(case)
                    unclear = effect in ("", UNCLEAR)
                    if symptom and (unclear or effect == trial.effect(case, symptom)):
                        classes[name] = symptom.class_
        return replace(sample, others=classes)

    def _case(self, witness: Witness, schema: str) -> ErrorCase:
        text = witness.text
        if witness.kind in ("dead_end", "mask_consume_mismatch"):
            token = (witness.token,) if witness.token >= 0 else ()
            text = self._vocabulary.text((*witness.before, *token))
        return ErrorCase(witness.engine, witness.kind, compact(json.loads(schema)), text)

    def _with_token(self, witness: Witness, case: ErrorCase) -> ErrorCase | None:
        token = witness.token
        if token < 0 or self._vocabulary.special[token] or witness.kind not in _OF_ONE_TOKEN:
            return None
        text = self._vocabulary.tokens[token]
        before = self._vocabulary.text(witness.before)
        return replace(case, token=text, token_at=len(before)) if len(text) > 1 else None

    def trial(self, case: ErrorCase, effect: str = "") -> contextlib.AbstractContextManager[Trial]:
        """A trial of the case's engine, with the case's token and effect for the time being."""
        if case.engine not in self._trials and self._lent is None:
            spec, made_with = self._specs[case.engine], self._made_with.get(case.engine)
            trial = self.trial_type(spec, self._judge, made_with, failed=self.known.failed)
            self._trials[case.engine] = trial
        trial = self._lent or self._trials[case.engine]
        trial.at_issue = effect if effect != UNCLEAR else ""
        return trial.with_token(case.token)

    def _is_there(self, case: ErrorCase, witness: Witness, symptom: Symptom) -> bool:
        """Whether a refusal is that of the verdict's token, and not of a byte before it."""
        if case.token or witness.kind != "false_rejection" or symptom.at < 0:
            return True
        start = len(self._vocabulary.text(witness.before)) if witness.token >= 0 else witness.at
        if case.text != witness.text:
            return tokens_begun(case.text, symptom.at) >= tokens_begun(witness.text, max(start, 0))
        end = start + len(self._vocabulary.tokens[witness.token])
        return witness.token < 0 or start <= symptom.at <= end


def _starts(case: ErrorCase, effect: str) -> list[ErrorCase]:
    """What a case is shrunk from, best first: a lost value is shown as programs write it."""
    starts, is_lost = [*used_only(case), case], effect == LOST_VALUE and not case.token
    (text,) = usual_spellings(case.text, most=1) if is_lost else (case.text,)
    return [*dict.fromkeys([*(one.with_text(text) for one in starts), *starts])]


def settled(sample: ShrunkVerdict, result: Shrunk) -> ShrunkVerdict:
    symptom = result.symptom
    return replace(
        sample,
        error=result.case,
        at=result.case.token_at if result.case.token else symptom.at,
        keyword=symptom.keyword,
        class_=symptom.class_,
        departure=symptom.departure,
        attempts=result.attempts,
    )
