"""What an impact run says of each engine: answers, what its masks took from the model, times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median_low
from typing import Any, Final

from harness.bugs.samples import ShrunkVerdict
from harness.counting.intervals import Interval
from harness.impact.answer_file import ImpactRun
from harness.impact.answers import ANSWERED, UNCONSTRAINED, ModelAnswer
from harness.impact.causes import CauseKey, ProvenStep, proven_steps, read_causes
from harness.impact.overruled import RULINGS
from harness.impact.statistics import (
    EnginePair,
    PlacementEffects,
    Results,
    accuracies,
    compared,
    placement_effects,
)
from harness.verdict_kinds import BUG

NOT_TRACED: Final = "not traced"
"""The class of proven false rejections whose cause is not known."""

_MS: Final = 1e6


@dataclass(frozen=True)
class CostSummary:
    """Times in milliseconds; None where nothing was measured.

    Attributes:
        mask: To consume a token and compute the next mask, inside the engine's host; the mean.
        asked: The same from outside, the way there and back included.
        model: A step of the model.
        texts: How many texts took such a step together.
        compile: Of a schema, to its first mask.
        overhead: The time of masks in percent of the model's.
        whole: By how many percent an answer takes longer, compilations, prompts and the way to
            the host included.
    """

    mask: float | None
    asked: float | None
    model: float | None
    texts: float | None
    compile: float | None
    overhead: float | None
    whole: float | None


@dataclass(frozen=True)
class SizeCost:
    """Times of the items whose schemas are of some size.

    Attributes:
        smallest: Bytes of the smallest schema among them.
        largest: Of the largest.
        items: How many they are.
        cost: The times.
    """

    smallest: int
    largest: int
    items: int
    cost: CostSummary


@dataclass(frozen=True)
class EngineImpact:
    """One engine, or the model without a mask.

    Attributes:
        items: How many items it was asked about.
        outcomes: What became of them.
        parsed: In how many there is an answer.
        correct: How many are right.
        reasons: Why the others are not.
        tokens: How many were written.
        overruled: At how many the mask forbade the model's own choice.
        rulings: What is known of these, by `RULINGS`.
        false_rejections: Those that are proven, by what they count as; `NOT_TRACED` where that is
            not known.
        hit_items: Items with a proven one.
        bugs: How many of them each bug makes, by id.
        departures: The same of departures.
        removed: The probability that the mask forbade, as a mean over the tokens.
        proven_mass: The probability of the tokens that were proven to be forbidden wrongly, as a
            mean over the tokens.
        bug_mass: The part of it that counts as bugs.
        cost: Times.
        by_size: Times of the half with the smaller schemas, and of the other half; empty where
            all have one size.
    """

    items: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)
    parsed: int = 0
    correct: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    tokens: int = 0
    overruled: int = 0
    rulings: Mapping[str, int] = field(default_factory=dict)
    false_rejections: Mapping[str, int] = field(default_factory=dict)
    hit_items: int = 0
    bugs: Mapping[str, int] = field(default_factory=dict)
    departures: Mapping[str, int] = field(default_factory=dict)
    removed: float = 0.0
    proven_mass: float = 0.0
    bug_mass: float = 0.0
    cost: CostSummary | None = None
    by_size: tuple[SizeCost, ...] = ()

    @property
    def answered(self) -> int:
        """How many texts were brought to their end."""
        return self.outcomes.get(ANSWERED, 0)


@dataclass(frozen=True)
class Accuracy:
    """What answers are worth, and who is better.

    Attributes:
        shares: By engine, the share of right answers in all items with its interval.
        pairs: Engines against each other, item by item, without what nobody can answer.
        placements: By engine, what the placements of an instruction do; empty for other tasks.
        unanswerable: How many items no text that keeps their schema answers rightly.
    """

    shares: Mapping[str, Interval]
    pairs: tuple[EnginePair, ...]
    placements: Mapping[str, PlacementEffects]
    unanswerable: int


def accuracy(run: ImpactRun) -> Accuracy:
    """How right the answers of a run are, finished or not.

    Raises:
        RunDirectoryError: The run is damaged.
    """
    results: dict[str, dict[str, bool]] = {name: {} for name in names_of(run)}
    for one in run.answers():
        results.setdefault(one.engine, {})[one.item] = one.correct
    dropped = frozenset(run.manifest.get("unanswerable", ()))
    kept: Results = {
        name: {item: right for item, right in some.items() if item not in dropped}
        for name, some in results.items()
    }
    placements = {name: placement_effects(some) for name, some in results.items()}
    return Accuracy(
        {one.engine: one.share for one in accuracies(results)},
        compared(kept),
        {name: one for name, one in placements.items() if one is not None},
        len(dropped),
    )


def summarize(run: ImpactRun) -> dict[str, EngineImpact]:
    """What a run, finished or not, says of each engine, in the order of the run.

    Raises:
        RunDirectoryError: The run is damaged.
    """
    answers: dict[str, list[ModelAnswer]] = {name: [] for name in names_of(run)}
    for one in run.answers():
        answers.setdefault(one.engine, []).append(one)
    causes = read_causes(run)
    return {name: engine_impact(some, causes) for name, some in answers.items()}


def names_of(run: ImpactRun) -> list[str]:
    """Whose answers a run has, in its order."""
    identity = run.manifest["identity"]
    alone = [UNCONSTRAINED] if identity["generation"]["unconstrained"] else []
    return [*alone, *identity["engines"]]


def engine_impact(
    answers: Sequence[ModelAnswer], causes: Mapping[CauseKey, ShrunkVerdict]
) -> EngineImpact:
    """What the answers of one engine say of it."""
    steps = [step for one in answers for step in one.overruled]
    proven = proven_steps(answers)
    found = [_cause(one, causes) for one in proven]
    tokens = sum(len(one.tokens) for one in answers)
    return EngineImpact(
        items=len(answers),
        outcomes=_counted(one.outcome for one in answers),
        parsed=sum(one.parsed for one in answers),
        correct=sum(one.correct for one in answers),
        reasons=_counted(one.reason for one in answers if one.reason),
        tokens=tokens,
        overruled=len(steps),
        rulings={word: sum(one.ruling == word for one in steps) for word in RULINGS},
        false_rejections=_counted(class_ for class_, _, _ in found),
        hit_items=len({one.answer.item for one in proven}),
        bugs=_counted(bug for _, bug, departure in found if bug and not departure),
        departures=_counted(departure for _, _, departure in found if departure),
        removed=_ratio(sum(one.removed for one in answers), tokens) or 0.0,
        proven_mass=_ratio(sum(one.step.probability for one in proven), tokens) or 0.0,
        bug_mass=_ratio(
            sum(
                one.step.probability
                for one, (class_, _, _) in zip(proven, found, strict=True)
                if class_ == BUG
            ),
            tokens,
        )
        or 0.0,
        cost=_cost(answers),
        by_size=_by_size(answers),
    )


def as_json(
    run: ImpactRun, engines: Mapping[str, EngineImpact], answers: Accuracy
) -> dict[str, Any]:
    """A summary as one JSON object."""
    pairs = ({**asdict(one), "verdict": one.verdict} for one in answers.pairs)
    return {
        "run": str(run.path),
        **{key: run.manifest["identity"][key] for key in ("task", "model", "generation")},
        "engines": {
            name: {**asdict(one), "answered": one.answered, "share": asdict(answers.shares[name])}
            for name, one in engines.items()
        },
        "pairs": list(pairs),
        "placements": {name: asdict(one) for name, one in answers.placements.items()},
        "unanswerable": answers.unanswerable,
    }


def _cause(one: ProvenStep, causes: Mapping[CauseKey, ShrunkVerdict]) -> tuple[str, str, str]:
    """What a proven step counts as, its bug and its departure."""
    shrunk = causes.get(one.key)
    if shrunk is None or shrunk.error is None:
        return NOT_TRACED, "", ""
    return shrunk.class_, shrunk.bug, shrunk.departure


def _cost(answers: Sequence[ModelAnswer]) -> CostSummary:
    costs = [one.cost for one in answers if one.cost.model or one.cost.mask]
    masks = sum(len(one.mask) for one in costs)
    steps = sum(len(one.model) for one in costs)
    mask = sum(sum(one.mask) + sum(one.consume) for one in costs) / _MS
    asked = sum(sum(one.asked) for one in costs) / _MS
    model = sum(sum(one.model) for one in costs) / _MS
    prompt = sum(one.prompt for one in costs) / _MS
    compiled = sum(one.compile + one.first_mask for one in costs) / _MS
    more = asked + compiled if masks else 0.0
    return CostSummary(
        mask=_ratio(mask, masks),
        asked=_ratio(asked, masks),
        model=_ratio(model, steps),
        texts=_ratio(sum(sum(one.texts) for one in costs), steps),
        compile=_ratio(compiled, len(costs)) if masks else None,
        overhead=_percent(_ratio(mask, masks), _ratio(model, steps)) if masks else None,
        whole=_percent(more, model + prompt) if masks else None,
    )


def _by_size(answers: Sequence[ModelAnswer]) -> tuple[SizeCost, ...]:
    sizes = sorted(one.schema_bytes for one in answers)
    if not sizes or sizes[0] == sizes[-1]:
        return ()
    middle = min(median_low(sizes), max(one for one in sizes if one < sizes[-1]))
    halves = (
        [one for one in answers if one.schema_bytes <= middle],
        [one for one in answers if one.schema_bytes > middle],
    )
    return tuple(
        SizeCost(
            min(one.schema_bytes for one in half),
            max(one.schema_bytes for one in half),
            len(half),
            _cost(half),
        )
        for half in halves
    )


def _percent(part: float | None, whole: float | None) -> float | None:
    share = None if part is None or whole is None else _ratio(part, whole)
    return None if share is None else 100 * share


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _counted(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))
