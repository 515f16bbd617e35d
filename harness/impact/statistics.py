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
from typing import Any

import numpy as np

from harness.analysis.statistics import LEVEL, SEED, paired, shares

Results = Mapping[str, Mapping[str, bool]]
"""Per engine and item id, whether the answer is right."""


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
    names = pair["first"], pair["second"]
    if not pair["items"]:
        return f"{names[0]} and {names[1]} answered no item in common"
    base = f"({pair['items']:,} items, p = {pair['p_holm']:.2g})"
    if pair["p_holm"] >= LEVEL:
        return f"cannot tell {names[0]} and {names[1]} apart {base}"
    better, other = names if pair["difference"] > 0 else names[::-1]
    return f"{better} is better than {other} {base}"
