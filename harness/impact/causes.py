"""Why masks overruled models wrongly: each proven false rejection traced to a bug, or a departure.

A step's witness is a verdict like those of runs, and is shrunk as those are. Steps of one engine
and one schema with the same keyword in force, the same kind of token and the same effect have one
cause; the first of them is shrunk for all. Values come first; what is only about a spelling is
shrunk where that is asked for.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from harness.bugs.samples import ShrunkVerdict
from harness.bugs.shrink import Shrinker
from harness.impact.answers import ImpactRun, ModelAnswer, TokenChoice
from harness.impact.overruled import FALSE_REJECTION
from harness.replay.witness import Witness
from harness.verdict_kinds import EFFECTS, SPELLING, WALK


class CauseKey(NamedTuple):
    """What steps of one cause have in common."""

    engine: str
    item: str
    kind: str
    keyword: str
    category: str
    effect: str


def rank_of(effect: str) -> int:
    """By which effects are ordered, the costliest first; what was not asked comes last."""
    return EFFECTS.index(effect) or len(EFFECTS)


class ProvenStep(NamedTuple):
    """A step of an answer that is a proven false rejection."""

    answer: ModelAnswer
    step: TokenChoice

    @property
    def key(self) -> CauseKey:
        """Of its cause."""
        answer, step = self.answer, self.step
        kind = "never_stops" if step.reason == "end" else FALSE_REJECTION
        return CauseKey(answer.engine, answer.item, kind, step.keyword, step.category, step.effect)

    @property
    def witness(self) -> Witness:
        return Witness(
            evidence=WALK,
            number=self.step.position,
            case=self.answer.item,
            place=0,
            engine=self.answer.engine,
            kind=self.key.kind,
            reason="",
            accepter="",
            before=tuple(self.answer.tokens[: self.step.position]),
            token=self.step.token,
            completion=(),
            text=self.step.witness.encode(),
            keyword=self.step.keyword,
        )


def proven_steps(answers: Iterable[ModelAnswer]) -> list[ProvenStep]:
    """The proven false rejections among the steps of answers."""
    return [
        ProvenStep(answer, step)
        for answer in answers
        for step in answer.overruled
        if step.ruling == FALSE_REJECTION
    ]


def read_causes(run: ImpactRun) -> dict[CauseKey, ShrunkVerdict]:
    """What is known so far; RunDirectoryError where a line says no cause."""

    def cause(line: str) -> tuple[CauseKey, ShrunkVerdict]:
        value = json.loads(line)
        return CauseKey(*value["key"]), ShrunkVerdict.of(value["shrunk"])

    return dict(run.causes.records(cause, "cause", "delete the file: it is made again"))


def trace(
    run: ImpactRun,
    schemas: Mapping[str, str],
    shrinker: Shrinker,
    seconds: float,
    progress: Callable[[int, int], None] = lambda *_: None,
    *,
    spellings: bool = False,
) -> None:
    """Shrink what was not shrunk yet; after so many seconds nothing more is begun.

    The schemas are those of the items, by id; `progress` is given how many causes are known, of
    how many.
    """
    ends = time.monotonic() + seconds
    known = read_causes(run)
    wanted: dict[CauseKey, ProvenStep] = {}
    for step in sorted(proven_steps(run.answers()), key=lambda one: rank_of(one.step.effect)):
        if spellings or step.step.effect != SPELLING:
            wanted.setdefault(step.key, step)
    for number, (key, step) in enumerate(wanted.items()):
        progress(number, len(wanted))
        if key in known:
            continue
        if time.monotonic() > ends:
            return
        shrunk = shrinker.sample(step.witness, schemas[key.item])
        run.causes.append(json.dumps({"key": key, "shrunk": shrunk.values()}))
    progress(len(wanted), len(wanted))
