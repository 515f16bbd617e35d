"""Engines in pairs on the same schemas: which has a bug where the other has none.

Of engines that were not judged on the same positions, what the other one was not judged on does not
count: who goes on where others gave up is not worse for what is found there.

Two intervals that overlap do not say that two engines are alike, since both were measured on the
same schemas: what hits one often hits the other. So schemas are paired, with the tests of
`harness.counting.paired`.

Who errs at rare tokens alone is not worse for whoever generates texts: pairs are compared by the
bugs that a model meets, as in the matrix (`harness.counting.schema_bugs.SchemaFlags.met`); beside
these without what rests on ``format`` alone, where there is any, and by all bugs. What the
challenger alone led to is left out: it convicts all engines of a position or the last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from harness.counting.intervals import is_sample
from harness.counting.paired import LEVEL, difference, holm, mcnemar
from harness.counting.schema_bugs import SchemaBugs
from harness.report.headline_rates import KINDS_OF, judged_positions
from harness.verdict_kinds import FALSE_REJECTION

COLUMNS: Final = (
    *("kind", "counted", "first", "second", "schemas", "both", "only_first", "only_second"),
    *("difference", "low", "high", "p", "p_holm", "apart"),
)
"""What is said of a pair."""

_WITHOUT_FORMAT = "met_without_format"
_COUNTED = ("met", _WITHOUT_FORMAT, "all")
_UNTESTED: Final = dict.fromkeys(COLUMNS[COLUMNS.index("low") :])


def compared(bugs: SchemaBugs) -> list[dict[str, Any]]:
    """All pairs of engines by kind, as JSON, those by what a model meets first.

    Returns:
        Of each ``kind``, ``counted`` (which bugs: ``met``, ``met_without_format`` or ``all``),
        ``first``, ``second``; ``schemas`` (with a position on which both were judged),
        ``both``, ``only_first`` and ``only_second`` (those with a bug); ``difference`` (of the
        shares), of its 95% interval ``low`` and ``high``; ``p`` (McNemar's), ``p_holm`` (corrected
        for as many pairs), and ``apart``, whether they can be told apart. Where the cases
        are no sample the last five are None.
    """
    stored = bugs.stored
    pairs = list(combinations(range(len(stored.engines)), 2))
    judged = {pair: judged_positions(stored, *pair) > 0 for pair in pairs}
    rows = []
    for counted, kind in product(_COUNTED, KINDS_OF):
        rests = kind != FALSE_REJECTION.name and bugs.rows.by_format.any()
        if counted == _WITHOUT_FORMAT and not rests:
            continue
        found = [
            {
                "kind": kind,
                "counted": counted,
                "first": stored.engines[pair[0]],
                "second": stored.engines[pair[1]],
                **_pair(*(hit[judged[pair]] for hit in _hits(bugs, pair, kind, counted))),
            }
            for pair in pairs
        ]
        rows += _tested(found) if is_sample(stored.run) else [{**one, **_UNTESTED} for one in found]
    return rows


def _hits(
    bugs: SchemaBugs, pair: tuple[int, int], kind: str, counted: str
) -> Iterator[npt.NDArray[np.bool_]]:
    """In which schemas each of two engines has a bug, where both were judged."""
    for engine, other in (pair, pair[::-1]):
        flags = bugs.of(
            engine,
            KINDS_OF[kind],
            without_format=counted == _WITHOUT_FORMAT,
            among_engines=True,
            beside=other,
        )
        yield flags.any if counted == "all" else flags.met


def _pair(first: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_]) -> dict[str, Any]:
    only_first, only_second = (int((a & ~b).sum()) for a, b in ((first, second), (second, first)))
    return {
        "schemas": len(first),
        "both": int((first & second).sum()),
        "only_first": only_first,
        "only_second": only_second,
        "difference": _six((only_first - only_second) / len(first)) if len(first) else None,
    }


def _tested(pairs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pairs of one kind with their tests; a pair without a schema has none."""
    values = [mcnemar(one["only_first"], one["only_second"]) for one in pairs]
    out = []
    for one, p, corrected in zip(pairs, values, holm(values), strict=True):
        if not one["schemas"]:
            out.append({**one, **_UNTESTED})
            continue
        only = one["only_first"], one["only_second"]
        ends: list[float | None] = [None, None]  # resamples of schemas that are all alike are, too
        if any(only):
            ends = [_six(end) for end in difference(*only, one["schemas"])]
        found = (*ends, _six(p), _six(corrected), corrected < LEVEL)
        out.append({**one, **dict(zip(_UNTESTED, found, strict=True))})
    return out


def _six(number: float) -> float:
    return float(f"{number:.6g}")
