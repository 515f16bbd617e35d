"""Smallest cases put to engines that had no part in the run, or not in that version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace

from harness.bugs.error_case import ErrorCase
from harness.bugs.listing import Bug, BugList
from harness.bugs.trial import Trial
from harness.classification.departures import Catalogue
from harness.engines.specs import EngineSpec
from harness.protocol import EngineInfo
from harness.runs.directory import RunDirectory
from harness.runs.made_with import limits_of
from harness.validators.format_rules import format_rule
from harness.validators.judge import Judge
from harness.verdict_kinds import WRONG_BITS

ERRS, RIGHT, CANNOT_TELL = "errs", "right", "cannot_tell"


@dataclass(frozen=True)
class CaseAnswer:
    """What an engine does with a case that shows an error of another.

    Attributes:
        word: `ERRS` where it makes the same error; `RIGHT` where it compiles the schema and does
            with the text what both validators say; else `CANNOT_TELL`.
        class_: What its error counts as; empty where it makes none.
        reason: Why nothing can be told; else empty.
    """

    word: str
    class_: str = ""
    reason: str = ""


class OtherEngine:
    """An engine to which cases of others are put.

    Args:
        spec: The engine, ready to be started.
        judge: The validators.
        catalogue: The declared departures.
    """

    def __init__(self, spec: EngineSpec, judge: Judge, catalogue: Catalogue) -> None:
        self._spec = spec
        self._trial = Trial(spec, judge, catalogue)

    @property
    def info(self) -> EngineInfo:
        """Which engine it is."""
        return self._trial.info

    def close(self) -> None:
        """End the engine's host."""
        self._trial.close()

    def does(self, case: ErrorCase) -> CaseAnswer:
        """What the engine does with a case."""
        mine = replace(case, engine=self._spec.name)
        with self._with_token(mine):
            shown = self._trial.shown(mine)
            if shown is not None:
                return CaseAnswer(ERRS, shown.class_)
            if not self._trial.compiles(mine.schema):
                return CaseAnswer(CANNOT_TELL, reason="does not compile the schema")
            if case.kind not in WRONG_BITS or self._trial.is_right(mine):
                return CaseAnswer(RIGHT)
            return CaseAnswer(CANNOT_TELL, reason="does something else with the text")

    @contextmanager
    def _with_token(self, case: ErrorCase) -> Iterator[None]:
        if not case.token:
            yield
            return
        self._trial.change(self._spec, [case.token])
        try:
            yield
        finally:
            self._trial.change(self._spec)


def with_others(
    run: RunDirectory, found: BugList, specs: Sequence[EngineSpec], catalogue: Catalogue
) -> BugList:
    """The bugs of a run with what further engines do with their smallest cases.

    Args:
        run: The run.
        found: Its bugs.
        specs: The further engines, ready to be started.
        catalogue: The declared departures.
    """
    if not specs:
        return found
    engines = len(run.manifest["identity"]["engines"]) + len(specs)
    with ExitStack() as stack:
        formats = format_rule(run.manifest["identity"])
        judge = stack.enter_context(closing(Judge(limits_of(run).memory, formats=formats)))
        trials = {
            spec.name: stack.enter_context(closing(OtherEngine(spec, judge, catalogue)))
            for spec in specs
        }
        return replace(found, bugs=tuple(_with_others(one, trials, engines) for one in found.bugs))


def _with_others(bug: Bug, trials: Mapping[str, OtherEngine], engines: int) -> Bug:
    further = {name: one.does(bug.error) for name, one in trials.items()}
    errs = {name: one.class_ for name, one in further.items() if one.word == ERRS}
    others = {**(bug.others or {}), **errs}
    return replace(bug, others=others, shared=len(others) == engines - 1)
