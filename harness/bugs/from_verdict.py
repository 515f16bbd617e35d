"""From a verdict of a run to a case that can be tried and shrunk."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from harness.bugs.error_case import ErrorCase, compact
from harness.bugs.samples import ShrunkVerdict
from harness.bugs.shrink import shrink, used_only
from harness.bugs.trial import KINDS, Shown, Trial
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
        self._lent = lent
        self._specs = specs
        self._made_with = made_with
        self._catalogue = catalogue
        self._vocabulary = vocabulary
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
        """What becomes of one verdict.

        Args:
            witness: The verdict's.
            schema: The JSON text of its schema.
            attributed: The keyword that it was attributed to.
            class_: What it counts as, which it must by itself as well; empty for anything.
            stopped: Asked again and again; once it says so, what comes back is of no use.
        """
        sample = ShrunkVerdict(witness.name, witness.case, attributed)
        if witness.kind not in KINDS or witness.reason == NO_END:
            return replace(sample, reason="such errors need a search to be shown")
        whole = self._case(witness, schema)
        reason, counted = "the error does not show with bytes and the token alone", ""
        for case in (whole, self._with_token(witness, whole)):
            if case is None:
                continue
            with self._trial(case) as trial:
                failures = trial.failures
                for start in (*used_only(case), case):
                    shown = trial.shown(start)
                    if shown is None or not _is_there(case, witness, shown, self._vocabulary):
                        continue
                    if class_ in ("", shown.class_):
                        return _shrunk(sample, trial, start, shown, stopped)
                    counted = shown.class_
                if counted:  # not by its token: its bytes show it
                    return replace(sample, reason=f"by itself it counts as {counted}")
                if trial.failures > failures:
                    reason = "the engine takes too long with the schema, or fails"
        return replace(sample, reason=reason)

    def others(self, error: ErrorCase) -> dict[str, str]:
        """What an error counts as in each other engine that makes it on the same case."""
        found = {}
        for name in self._specs:
            if name != error.engine:
                case = replace(error, engine=name)
                with self._trial(case) as trial:
                    shown = trial.shown(case)
                if shown is not None:
                    found[name] = shown.class_
        return found

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

    @contextlib.contextmanager
    def _trial(self, case: ErrorCase) -> Iterator[Trial]:
        """A trial of the case's engine, with the case's token for the time being."""
        spec = self._specs[case.engine]
        if case.engine not in self._trials and self._lent is None:
            self._trials[case.engine] = self._opened(spec)
        trial = self._lent or self._trials[case.engine]
        if not case.token:
            yield trial
            return
        trial.change(spec, [case.token])
        try:
            yield trial
        finally:
            trial.change(spec)

    def _opened(self, spec: EngineSpec) -> Trial:
        trial = Trial(spec, self._judge, self._catalogue)
        try:
            same_engines({spec.name: trial.info}, self._made_with)
        except BaseException:
            trial.close()
            raise
        return trial


def _is_there(case: ErrorCase, witness: Witness, shown: Shown, vocabulary: Vocabulary) -> bool:
    """Whether a refusal is that of the verdict's token, and not of a byte before it."""
    if case.token or witness.kind != "false_rejection" or witness.token < 0:
        return True
    start = len(spelled(vocabulary, witness.before))
    return shown.at < 0 or start <= shown.at <= start + len(vocabulary.tokens[witness.token])


def _shrunk(
    sample: ShrunkVerdict,
    trial: Trial,
    case: ErrorCase,
    shown: Shown,
    stopped: Callable[[], bool],
) -> ShrunkVerdict:
    found = shrink(trial, case, shown, stopped)
    at = found.case.token_at if found.case.token else found.shown.at
    return replace(
        sample,
        error=found.case,
        at=at,
        keyword=found.shown.keyword,
        class_=found.shown.class_,
        departure=found.shown.departure,
        attempts=found.attempts,
    )
