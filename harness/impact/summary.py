"""What an impact run says of each engine: answers, what its masks took from the model, times.

Engines are compared item by item (`harness.analysis.statistics`): what is hard for the model is
hard under every engine. Generation without an engine is one more name among the results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any, Final

import numpy as np

from harness.analysis.statistics import LEVEL, paired, shares
from harness.impact.answers import ANSWERED, UNCONSTRAINED, ImpactRun, ModelAnswer
from harness.impact.overruled import FALSE_REJECTION, RULINGS
from harness.verdict_kinds import COSTLY

_MS: Final = 1e6


def summarize(run: ImpactRun) -> dict[str, Any]:
    """What a run, finished or not, says, as one JSON object; RunDirectoryError if it is damaged.

    ``engines`` has each engine, and the model without a mask: of its items how many were answered
    how. ``rulings`` say what is known of the ``overruled`` tokens. Proven false rejections are
    counted by their ``effects`` and by the ``keywords`` in force; ``losing_items`` have one that
    costs a value or is a trap. ``removed`` is the probability that the mask forbade, as a mean over
    the tokens; ``proven_mass`` that of tokens proven to be forbidden wrongly; ``losing_mass`` of
    those among them that cost a value.

    ``pairs`` are compared item by item, without those that no text which keeps their schema answers
    rightly (``unanswerable``).
    """
    identity = run.manifest["identity"]
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
        "engines": {name: _of_engine(some) for name, some in answers.items()},
        "pairs": compared(kept),
        "unanswerable": len(dropped),
    }


def _of_engine(answers: Sequence[ModelAnswer]) -> dict[str, Any]:
    steps = [step for answer in answers for step in answer.overruled]
    proven = [step for step in steps if step.ruling == FALSE_REJECTION]
    losing = [step for step in proven if step.effect in COSTLY]
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
        "effects": _counted(step.effect for step in proven),
        "keywords": _counted(step.keyword for step in proven),
        "losing_items": sum(not set(losing).isdisjoint(one.overruled) for one in answers),
        "removed": _ratio(sum(answer.removed for answer in answers), tokens) or 0.0,
        "proven_mass": _ratio(sum(step.probability for step in proven), tokens) or 0.0,
        "losing_mass": _ratio(sum(step.probability for step in losing), tokens) or 0.0,
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


def _counted(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def share(hits: Iterable[bool]) -> dict[str, Any]:
    """The share of right answers with its interval, as JSON."""
    return asdict(shares(np.array(list(hits), dtype=np.bool_).reshape(-1, 1))[0])


def compared(results: Mapping[str, Mapping[str, bool]]) -> list[dict[str, Any]]:
    """All pairs of engines on the items that both answered, in the order of `results`, as JSON.

    `results` say per engine and item id whether the answer is right.
    ``difference`` is that of the accuracies, positive where the first is better, with its 95%
    interval by a bootstrap; ``p`` is McNemar's, ``p_holm`` corrected for the number
    of pairs with a common item. What cannot be said without one is None.
    """
    pairs = list(combinations(results.items(), 2))
    counted = [
        Counter((left[item], right[item]) for item in left.keys() & right.keys())
        for (_, left), (_, right) in pairs
    ]
    counts = [
        (times.total(), times[True, True], times[True, False], times[False, True])
        for times in counted
    ]
    rows = []
    for ((first, _), (second, _)), (items, *_), row in zip(
        pairs, counts, paired(counts), strict=True
    ):
        del row["apart"]
        pair = {"first": first, "second": second, "items": items, **row}
        rows.append({**pair, "verdict": _verdict(pair)})
    return rows


def _verdict(pair: Mapping[str, Any]) -> str:
    names = pair["first"], pair["second"]
    if not pair["items"]:
        return f"{names[0]} and {names[1]} answered no item in common"
    base = f"({pair['items']:,} items, p = {pair['p_holm']:.2g})"
    if pair["p_holm"] >= LEVEL:
        return f"cannot tell {names[0]} and {names[1]} apart {base}"
    better, other = names if pair["difference"] > 0 else names[::-1]
    return f"{better} is better than {other} {base}"
