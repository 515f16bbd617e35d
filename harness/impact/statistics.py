"""Which engine costs a model more, as far as paired answers can tell.

All engines answer the same items, so they are compared item by item
(`harness.analysis.statistics`): what is hard for the model is hard under every engine, and says
nothing of the engines. Generation without an engine is one more name among the results, and
compared like the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import combinations
from typing import Any, Final

import numpy as np

from harness.analysis.statistics import LEVEL, SEED, mean_interval, paired, shares

Results = Mapping[str, Mapping[str, bool]]
"""Per engine and item id, whether the answer is right."""

PLACEMENTS: Final = ("R00", "R01", "R10", "R11")
"""Where the instruction stands; the first digit is the prompt, the second the key."""

CONTRASTS: Final[Mapping[str, tuple[int, ...]]] = {
    "key": (-1, 1, 0, 0),
    "prompt": (-1, 0, 1, 0),
    "both": (-1, 0, 0, 1),
    "interaction": (1, -1, -1, 1),
}
"""What each effect adds and subtracts of `PLACEMENTS`: the gains over no instruction, and how much
more (or less) than the sum of its two parts the instruction in both places brings."""


def share(hits: Iterable[bool]) -> dict[str, Any]:
    """The share of right answers with its interval, as JSON."""
    return asdict(shares(np.array(list(hits), dtype=np.bool_).reshape(-1, 1))[0])


def compared(results: Results, *, seed: int = SEED) -> list[dict[str, Any]]:
    """All pairs of engines on the items that both answered, in the order of `results`, as JSON.

    ``difference`` is that of the accuracies, positive where the first is better, with its 95%
    interval by a bootstrap of this `seed`; ``p`` is McNemar's, ``p_holm`` corrected for the number
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
        pairs, counts, paired(counts, seed=seed), strict=True
    ):
        del row["apart"]
        pair = {"first": first, "second": second, "items": items, **row}
        rows.append({**pair, "verdict": _verdict(pair)})
    return rows


def _verdict(pair: Mapping[str, Any]) -> str:
    """Who is better, in words."""
    names = pair["first"], pair["second"]
    if not pair["items"]:
        return f"{names[0]} and {names[1]} answered no item in common"
    base = f"({pair['items']:,} items, p = {pair['p_holm']:.2g})"
    if pair["p_holm"] >= LEVEL:
        return f"cannot tell {names[0]} and {names[1]} apart {base}"
    better, other = names if pair["difference"] > 0 else names[::-1]
    return f"{better} is better than {other} {base}"


def placement_effects(answers: Mapping[str, bool], *, seed: int = SEED) -> dict[str, Any] | None:
    """What the placements of an instruction do, on questions answered under all four, as JSON.

    `answers` says whether the answer is right, by the item's id ``<group>/R00`` and so on; the
    bootstrap draws questions with their four answers. Effects have no 95% interval where they are
    the same in every group. None where no question has all four.
    """
    groups = dict.fromkeys(item.rpartition("/")[0] for item in answers)
    ids = [[f"{group}/{place}" for place in PLACEMENTS] for group in groups]
    rows = [[answers[item] for item in four] for four in ids if answers.keys() >= set(four)]
    if not rows:
        return None
    effects = []
    for name, signs in CONTRASTS.items():
        times = dict(sorted(Counter(sum(map(int.__mul__, signs, row)) for row in rows).items()))
        low, high = mean_interval(times, seed) if len(times) > 1 else (None, None)
        value = sum(gain * many for gain, many in times.items()) / len(rows)
        word = "raises" if (low or 0) > 0 else "lowers" if (high or 0) < 0 else "cannot tell"
        effects.append({"name": name, "value": value, "low": low, "high": high, "verdict": word})
    accuracy = dict(zip(PLACEMENTS, map(share, zip(*rows, strict=True)), strict=True))
    return {"groups": len(rows), "accuracy": accuracy, "effects": effects}
