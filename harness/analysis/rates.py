"""Two rates per engine, on the schemas that it was judged on, and engines in pairs.

loss
    the share of schemas with a valid value that the engine cannot write: it takes none of the usual
    spellings of it (`harness.comparison.effects`);
leak
    the share with an invalid value that it lets through.

Traps, what only ``format`` forbids, texts that are no JSON and mere spellings are counted alike,
and apart. Each rate is given for everyday values, real or plain, and for real ones alone, the
instances of the data set; beside it are counted schemas in which nothing but a rare value shows an
error (a control character that an engine forbids in every string), and those in which all that
counts is declared, or warned of.

An engine was judged on a schema if it was judged at a position of a walk, or by a whole text. Of
engines in pairs, what the other one was not judged on does not count: who goes on where others gave
up is not worse for what is found there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from harness import verdict_kinds as kinds
from harness.analysis.statistics import is_sample, paired, shares
from harness.analysis.stored import WORST_FIRST, StoredRun, statement
from harness.inputs.cases import EQUAL

PAIR: Final = (
    *("counted", "values", "first", "second", "schemas", "both", "only_first", "only_second"),
    *("difference", "low", "high", "p", "p_holm", "apart"),
)
"""What is said of a pair; see `Rates.pairs`."""

EVERYDAY: Final = WORST_FIRST.index(kinds.RARE)
"""What shows an effect, as an index in `WORST_FIRST`, is everyday below this."""
_VALUES: Final = {"everyday": EVERYDAY, kinds.REAL: WORST_FIRST.index(kinds.REAL) + 1}
"""Which values count in pairs; what shows an effect is below this."""

Bools = npt.NDArray[np.bool_]


class Rates:
    """The rates of a run; what several of them need is asked once."""

    def __init__(self, stored: StoredRun) -> None:
        self.stored = stored
        self.sampled = is_sample(stored.run)
        self._effects = stored.arrays(statement("effects"), list(kinds.EFFECTS))
        tested = stored.arrays(
            "SELECT DISTINCT engine, case_row FROM tested WHERE verdict IN ('valid', 'invalid')"
        )
        self._own = stored.arrays("SELECT family <> $1 AS own FROM cases ORDER BY case_row", EQUAL)
        self._tested = np.zeros((len(stored.engines), len(stored.cases)), dtype=bool)
        self._tested[tested["engine"], tested["case_row"]] = True

    def judged(self, *engines: int) -> Bools:
        """On which schemas, not rewritten, engines were judged: in one walk, or each by a text."""
        walked = self.stored.judged_positions(*engines) > 0
        together: Bools = walked | self._tested[list(engines)].all(axis=0)
        together &= self._own["own"]
        return together

    def _among(self, effects: Sequence[str], engine: int, *, bugs: bool = False) -> Bools:
        """Which rows are about these effects of an engine, or only those that are bugs."""
        codes = [kinds.EFFECTS.index(one) for one in effects]
        found = self._effects
        mine: Bools = (found["engine"] == engine) & np.isin(found["effect"], codes)
        return mine & ~found["declared"] if bugs else mine

    def shown_by(
        self, engine: int, effects: Sequence[str], *, bugs: bool = False
    ) -> npt.NDArray[np.int64]:
        """The worst of `WORST_FIRST` by which each schema shows some effects, as an index.

        Beyond the end where a schema shows none, or the engine was not judged on it; with `bugs`
        also where all that shows them is declared or warned of.
        """
        mine = self._among(effects, engine, bugs=bugs)
        out = np.full(len(self.stored.cases), len(WORST_FIRST))
        np.minimum.at(out, self._effects["case_row"][mine], self._effects["shown_by"][mine])
        return np.where(self.judged(engine), out, len(WORST_FIRST))

    def rate(self, engine: int, effects: Sequence[str]) -> dict[str, Any]:
        """In how many schemas an engine shows some effects, as JSON.

        ``schemas`` ``of`` so many judged; by the worst that shows it ``real``, ``plain``, ``rare``.
        What costs a value counts where an everyday value shows it: those by rare ones alone are no
        part of ``schemas``. ``declared``, those in which all that counts is declared or warned of;
        ``share`` and ``real_share`` with 95% intervals.
        """
        shown, judged = self.shown_by(engine, effects), self.judged(engine)
        limit = EVERYDAY if set(effects) <= set(kinds.COSTLY) else len(WORST_FIRST)
        hits, real = shown < limit, shown < _VALUES[kinds.REAL]
        counted = np.bincount(shown, minlength=len(WORST_FIRST))
        both = shares(np.column_stack([hits, real])[judged], sampled=self.sampled)
        return {
            "schemas": int(hits.sum()),
            **{name: int(counted[at]) for at, name in enumerate(WORST_FIRST)},
            "of": int(judged.sum()),
            "declared": int((hits & (self.shown_by(engine, effects, bugs=True) >= limit)).sum()),
            **dict(zip(("share", "real_share"), (one.row() for one in both), strict=True)),
        }

    def pairs(self) -> list[dict[str, Any]]:
        """All pairs of engines by loss and leak, as JSON.

        ``values`` says which count: ``everyday`` or ``real``; on ``schemas`` both were judged; the
        rest is as in `harness.analysis.statistics.paired`.
        """
        engines = self.stored.engines
        pairs = list(combinations(range(len(engines)), 2))
        judged = {pair: self.judged(*pair) for pair in pairs}
        rows = []
        for (counted, effects), (values, limit) in product(kinds.HEADLINE.items(), _VALUES.items()):
            counts = [self._counts(effects, limit, pair, judged[pair]) for pair in pairs]
            compared = zip(pairs, counts, paired(counts, sampled=self.sampled), strict=True)
            for pair, (schemas, *_), row in compared:
                names = {"first": engines[pair[0]], "second": engines[pair[1]]}
                about = {"counted": counted, "values": values, **names, "schemas": schemas}
                rows.append({**about, **row})
        return rows

    def _counts(
        self, effects: Sequence[str], limit: int, pair: tuple[int, int], judged: Bools
    ) -> tuple[int, int, int, int]:
        """On how many schemas two engines were judged, both err, and either alone."""
        hits = []
        for engine, other in (pair, pair[::-1]):
            mine = self._among(effects, engine) & (self._effects["shown_by"] < limit)
            mine &= self._effects["judged"] >> other & 1 == 1
            hits.append(np.isin(np.flatnonzero(judged), self._effects["case_row"][mine]))
        first, second = hits
        counts = (first & second, first & ~second, second & ~first)
        both, only_first, only_second = (int(one.sum()) for one in counts)
        return len(first), both, only_first, only_second


def walked_bytes(stored: StoredRun) -> list[dict[str, int]]:
    """How far along their references the engines were walked, of the cases they were judged on.

    By engine: ``walks`` (references to walk), ``broke_off`` (those on which it was not judged up to
    the end), ``bytes`` (of the references, before the last position on which it was judged), and
    ``of`` (bytes that they have).
    """
    found = stored.rows(statement("walked_bytes"))
    of_engine = {row.pop("engine"): row for row in found}
    none = dict.fromkeys(("walks", "broke_off", "bytes", "of"), 0)
    return [of_engine.get(engine, none) for engine in range(len(stored.engines))]
