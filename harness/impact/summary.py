"""What an impact run says of each engine: answers, what its masks took from the model, times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from harness.bugs.samples import ShrunkVerdict
from harness.impact.answers import ANSWERED, UNCONSTRAINED, ImpactRun, ModelAnswer
from harness.impact.causes import CauseKey, proven_steps, rank_of, read_causes
from harness.impact.overruled import RULINGS
from harness.impact.statistics import compared, share
from harness.verdict_kinds import COSTLY

NOT_TRACED: Final = "not traced"
"""The class of proven false rejections whose cause is not known."""

_MS: Final = 1e6


def summarize(run: ImpactRun) -> dict[str, Any]:
    """What a run, finished or not, says, as one JSON object; RunDirectoryError if it is damaged.

    ``engines`` has each engine, and the model without a mask: of its items how many were answered
    how. ``rulings`` say what is known of the ``overruled`` tokens. Proven false rejections are
    counted by their ``effects``, the costliest first, and by class, or `NOT_TRACED`, in
    ``false_rejections``; ``losing_items`` have one that costs a value or is a trap; ``bugs`` and
    ``departures`` make so many, by effect and id. ``removed`` is the probability that the mask
    forbade, as a mean over the tokens; ``proven_mass`` that of tokens proven to be forbidden
    wrongly; ``losing_mass`` of those among them that cost a value.

    ``pairs`` are compared item by item, without those that no text which keeps their schema answers
    rightly (``unanswerable``).
    """
    identity, causes = run.manifest["identity"], read_causes(run)
    alone = [UNCONSTRAINED] if identity["generation"]["unconstrained"] else []
    answers: dict[str, list[ModelAnswer]] = {name: [] for name in [*alone, *identity["engines"]]}
    for answer in run.answers():
        answers.setdefault(answer.engine, []).append(answer)
    results = {name: {one.item: one.correct for one in some} for name, some in answers.items()}
    dropped = frozenset(run.manifest.get("unanswerable", ()))
    kept = {
        name: {item: right for item, right in some.items() if item not in dropped}
        for name, some in results.items()
    }
    return {
        "run": str(run.path),
        **{key: identity[key] for key in ("task", "model", "generation")},
        "engines": {name: _of_engine(some, causes) for name, some in answers.items()},
        "pairs": compared(kept),
        "unanswerable": len(dropped),
    }


def _of_engine(
    answers: Sequence[ModelAnswer], causes: Mapping[CauseKey, ShrunkVerdict]
) -> dict[str, Any]:
    steps = [step for answer in answers for step in answer.overruled]
    proven = sorted(proven_steps(answers), key=lambda one: rank_of(one.step.effect))
    shrunk = [(step.step.effect, causes.get(step.key)) for step in proven]
    known = [(effect, one) for effect, one in shrunk if one is not None and one.error is not None]
    classes = [cause.class_ for _, cause in known]
    classes += [NOT_TRACED] * (len(proven) - len(known))
    losing = [one for one in proven if one.step.effect in COSTLY]
    tokens = sum(len(answer.tokens) for answer in answers)
    outcomes = _counted(answer.outcome for answer in answers)
    return {
        "items": len(answers),
        "outcomes": outcomes,
        "parsed": sum(answer.parsed for answer in answers),
        "correct": sum(answer.correct for answer in answers),
        "reasons": _counted(answer.reason for answer in answers if answer.reason),
        "tokens": tokens,
        "overruled": len(steps),
        "rulings": {word: sum(step.ruling == word for step in steps) for word in RULINGS},
        "effects": dict(Counter(one.step.effect for one in proven)),
        "losing_items": len({one.answer.item for one in losing}),
        "false_rejections": _counted(classes),
        "bugs": _by_effect((effect, one.bug) for effect, one in known if not one.departure),
        "departures": _by_effect((effect, one.departure) for effect, one in known if one.departure),
        "removed": _ratio(sum(answer.removed for answer in answers), tokens) or 0.0,
        "proven_mass": _ratio(sum(one.step.probability for one in proven), tokens) or 0.0,
        "losing_mass": _ratio(sum(one.step.probability for one in losing), tokens) or 0.0,
        "cost": _cost(answers),
        "answered": outcomes.get(ANSWERED, 0),
        "share": share(answer.correct for answer in answers),
    }


def _cost(answers: Sequence[ModelAnswer]) -> dict[str, float | None]:
    """Mean times in milliseconds; None where nothing was measured.

    ``mask`` is to consume a token and compute the next mask, inside the engine's host, ``asked``
    the same from outside; ``model`` a step of the model, which so many ``texts`` take together;
    ``compile`` is of a schema, to its first mask. ``overhead`` is the time of masks in percent of
    the model's, ``whole`` by how many percent an answer takes longer, all included.
    """
    costs = [answer.cost for answer in answers if answer.cost.model or answer.cost.mask]

    def total(*names: str) -> int:
        values = (getattr(cost, name) for cost in costs for name in names)
        return sum(sum(value) if isinstance(value, list) else value for value in values)

    masks, steps = (sum(len(getattr(cost, name)) for cost in costs) for name in ("mask", "model"))
    mask, asked = _ratio(total("mask", "consume"), masks), total("asked")
    model, compiled = _ratio(total("model"), steps), total("compile", "first_mask")
    return {
        "mask": _in(_MS, mask),
        "asked": _in(_MS, _ratio(asked, masks)),
        "model": _in(_MS, model),
        "texts": _ratio(total("texts"), steps),
        "compile": _in(_MS, _ratio(compiled, len(costs))) if masks else None,
        "overhead": _in(0.01, _ratio(mask, model or 0)) if mask is not None else None,
        "whole": _in(0.01, _ratio(asked + compiled, total("model", "prompt"))) if masks else None,
    }


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _in(unit: float, value: float | None) -> float | None:
    return None if value is None else value / unit


def _by_effect(bugs: Iterable[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """How many steps each bug makes, by effect, in the order in which effects come."""
    counts: dict[str, dict[str, int]] = {}
    for (effect, bug), steps in Counter(bugs).most_common():
        counts.setdefault(effect, {})[bug] = steps
    return {effect: counts[effect] for effect in sorted(counts, key=rank_of)}


def _counted(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))
