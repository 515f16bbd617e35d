"""From a verdict of a run to a case that can be tried and shrunk."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from harness.bugs.error_case import ErrorCase, compact
from harness.bugs.passes import used_only
from harness.bugs.samples import ShrunkVerdict
from harness.bugs.shrink import shrink
from harness.bugs.trial import KINDS, Symptom, Trial
from harness.classification.departures import Catalogue
from harness.engines.specs import EngineSpec
from harness.inputs.vocabulary import Vocabulary
from harness.replay.repeat import same_engines
from harness.replay.witness import NO_END, Witness
from harness.replay.witness_reader import spelled
from harness.validators.judge import Judge

_OF_ONE_TOKEN = ("false_rejection", "false_acceptance", "stops_too_early", "mask_consume_mismatch")


class Shrinker:
    """Shrinks verdicts: an engine each as it is needed, and both validators.

    Args:
        specs: The engines of the run, by name.
        made_with: What the run's manifest says of each of them.
        catalogue: The declared departures.
        vocabulary: The run's.
        memory: What a host may take.
        formats: What formats are to the validators.
        lent: A trial of the one engine, which is left open.
    """

    def __init__(
        self,
        specs: dict[str, EngineSpec],
        made_with: Mapping[str, Mapping[str, Any]],
        catalogue: Catalogue,
        vocabulary: Vocabulary,
        memory: int,
        formats: str,
        lent: Trial | None = None,
    ) -> None:
        self._specs, self._made_with, self._catalogue = specs, made_with, catalogue
        self._vocabulary, self._lent = vocabulary, lent
        self._judge = Judge(memory, formats=formats)
        self._trials: dict[str, Trial] = {}

    def close(self) -> None:
        """End all hosts."""
        for trial in self._trials.values():
            trial.close()
        self._judge.close()

    def sample(
        self,
        witness: Witness,
        schema: str,
        attributed: str,
        class_: str = "",
        stopped: Callable[[], bool] = lambda: False,
    ) -> ShrunkVerdict:
        """What becomes of one verdict under the JSON text of its schema.

        Args:
            witness: The verdict's.
            schema: Its schema.
            attributed: The keyword that it was attributed to.
            class_: What it counts as, which it must by itself as well; empty for anything.
            stopped: Asked again and again; once it says so, what comes back is of no use.
        """
        sample = ShrunkVerdict(witness.name, witness.case, attributed)
        if witness.kind not in KINDS or witness.reason == NO_END:
            return replace(sample, reason="such errors need a search to be shown")
        whole = self._case(witness, schema)
        reason = "the error does not show with bytes and the token alone"
        for case in (whole, self._with_token(witness, whole)):
            if case is None:
                continue
            with self._trial(case) as trial:
                failures, counted = trial.failures, ""
                for start in (*used_only(case), case):
                    symptom = trial.reproduce(start)
                    if symptom is None or not self._is_there(case, witness, symptom):
                        continue
                    if class_ in ("", symptom.class_):
                        return _shrunk(sample, trial, start, symptom, stopped)
                    counted = symptom.class_
                if counted:  # not by its token: its bytes show it
                    return replace(sample, reason=f"by itself it counts as {counted}")
                if trial.failures > failures:
                    reason = "the engine takes too long with the schema, or fails"
        return replace(sample, reason=reason)

    def others(self, error: ErrorCase) -> dict[str, str]:
        """What an error counts as in each other engine that makes it on the same case."""
        classes = {}
        for name in self._specs:
            if name != error.engine:
                case = replace(error, engine=name)
                with self._trial(case) as trial:
                    if (symptom := trial.reproduce(case)) is not None:
                        classes[name] = symptom.class_
        return classes

    def _case(self, witness: Witness, schema: str) -> ErrorCase:
        text = witness.text
        if witness.kind in ("dead_end", "mask_consume_mismatch"):
            token = (witness.token,) if witness.token >= 0 else ()
            text = spelled(self._vocabulary, (*witness.before, *token))
        return ErrorCase(witness.engine, witness.kind, compact(json.loads(schema)), text)

    def _with_token(self, witness: Witness, case: ErrorCase) -> ErrorCase | None:
        token = witness.token
        if token < 0 or self._vocabulary.special[token] or witness.kind not in _OF_ONE_TOKEN:
            return None
        text = self._vocabulary.tokens[token]
        before = spelled(self._vocabulary, witness.before)
        return replace(case, token=text, token_at=len(before)) if len(text) > 1 else None

    def _trial(self, case: ErrorCase) -> contextlib.AbstractContextManager[Trial]:
        """A trial of the case's engine, with the case's token for the time being."""
        if case.engine not in self._trials and self._lent is None:
            trial = Trial(self._specs[case.engine], self._judge, self._catalogue)
            try:
                same_engines({case.engine: trial.info}, self._made_with)
            except BaseException:
                trial.close()
                raise
            self._trials[case.engine] = trial
        return (self._lent or self._trials[case.engine]).with_token(case.token)

    def _is_there(self, case: ErrorCase, witness: Witness, symptom: Symptom) -> bool:
        """Whether a refusal is that of the verdict's token, and not of a byte before it."""
        if case.token or witness.kind != "false_rejection" or witness.token < 0:
            return True
        start = len(spelled(self._vocabulary, witness.before))
        end = start + len(self._vocabulary.tokens[witness.token])
        return symptom.at < 0 or start <= symptom.at <= end


def _shrunk(
    sample: ShrunkVerdict,
    trial: Trial,
    case: ErrorCase,
    symptom: Symptom,
    stopped: Callable[[], bool],
) -> ShrunkVerdict:
    result = shrink(trial, case, symptom, stopped)
    return replace(
        sample,
        error=result.case,
        at=result.case.token_at if result.case.token else result.symptom.at,
        keyword=result.symptom.keyword,
        class_=result.symptom.class_,
        departure=result.symptom.departure,
        attempts=result.attempts,
    )
