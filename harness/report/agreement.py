"""Which engines accept a token together where they do not all agree, and who of them is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.counting.counts import Counts, StoredRun
from harness.runs.columns import CodedColumn, Ints, grouped, numbers, ranged
from harness.runs.tables import named_engines
from harness.verdict_kinds import ACCEPTANCES, BUG, REJECTIONS


def agreement(stored: StoredRun, walk: Counts, disputes: Ints) -> list[dict[str, Any]]:
    """Who accepts together and who rejects, with most disputed tokens first.

    Args:
        stored: The run.
        walk: Its verdicts of walks, by engine, kind and class at least.
        disputes: The dispute of each of their entries (`harness.report.estimates.Disputes`).

    Returns:
        Each row has ``accepters`` and ``rejecters`` (engines), ``tokens`` and ``resolved`` of them,
        ``disputes``, ``cases``, and of the resolved tokens those where the accepters are proven
        right (``right``, of which ``right_bug``: the others are warned of or departures) and wrong
        (``wrong``, ``wrong_bug``); the rest is open.
    """
    names = ["case", "accepters", "rejecters", "tokens", "drawn"]
    table = stored.run.table("disputes", names)
    if not table.num_rows:
        return []
    case = stored.case_of(table["case"])
    number = {name: numbers(table[name]).astype(np.int64) for name in names[1:]}
    sides = [ranged(number[name]) for name in ("accepters", "rejecters")]
    first, group = grouped(sides)
    proven = _proven(walk, disputes, table.num_rows, stored.engines)
    sums = {"tokens": number["tokens"], "resolved": number["drawn"], **proven}
    rows = []
    for at, row in enumerate(first.tolist()):
        if not (number["accepters"][row] and number["rejecters"][row]):  # the challenger's
            continue
        mine = group == at
        rows.append(
            {
                "accepters": named_engines(int(number["accepters"][row]), stored.engines),
                "rejecters": named_engines(int(number["rejecters"][row]), stored.engines),
                **{name: int(column[mine].sum()) for name, column in sums.items()},
                "disputes": int(np.count_nonzero(mine)),
                "cases": len(np.unique(case[mine])),
            }
        )
    return sorted(rows, key=lambda row: (-row["tokens"], row["accepters"], row["rejecters"]))


def _proven(walk: Counts, rows: Ints, many: int, engines: Sequence[str]) -> dict[str, Ints]:
    """What is proven of the tokens of each dispute, shape ``(many,)`` each.

    One token may convict several engines: of each dispute the engine with most verdicts counts.
    """
    engine, kind, bug = (
        walk.column("engine"),
        walk.column("kind"),
        walk.column("class").equal(BUG),
    )
    found = {}
    for name, kinds in (("right", REJECTIONS), ("wrong", ACCEPTANCES)):
        fits = kind.equal(*kinds) & (rows >= 0)
        found[name] = _most(engine, fits, rows, walk.tokens, many, engines)
        found[f"{name}_bug"] = _most(engine, fits & bug, rows, walk.tokens, many, engines)
    return found


def _most(
    engine: CodedColumn,
    fits: np.ndarray[Any, Any],
    rows: Ints,
    tokens: Ints,
    many: int,
    names: Sequence[str],
) -> Ints:
    best = np.zeros(many, dtype=np.int64)
    for name in names:
        mine = fits & engine.equal(name)
        counted = np.bincount(rows[mine], tokens[mine], many).astype(np.int64)
        best = np.maximum(best, counted)
    return best
