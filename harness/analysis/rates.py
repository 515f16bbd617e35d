"""Headline rates of an engine's bugs, and engines in pairs on the same schemas.

Raw counts of tokens are dominated by a few schemas in which one error shows at a hundred thousand
tokens. A tally leads with a share that is not, and with a rate whose interval says how far it is:

the share of schemas with a bug
    of the cases in which the engine was judged at a position of a walk, those with at least one
    proven bug, of a walk, an instance or a sample. A character that an engine forbids in every
    string makes nearly every schema one with a bug, and no model may ever write it: so a schema
    counts at its worst bug, and those in which one single token is wrong are told apart;
bugs per million mask decisions
    a mask decision is one bit of the engine's mask at one position of a walk at which it was
    judged, so that there are as many as positions times ids of the vocabulary. Where a run was
    capped, the sample of a dispute stands for the whole dispute.

Both count the kinds in which a bit of a mask is wrong: to let the end through too early is a false
acceptance of the end, to forbid it a false rejection. What lies beyond single bits (dead ends,
masks that lie) is counted as ``other``, without what the specifications allow
(`harness.verdict_kinds.LEGAL`). Warnings and departures count in neither. What is not proven counts
as decided rightly.

Of engines in pairs, what the other one was not judged on does not count: who goes on where others
gave up is not worse for what is found there. Pairs are compared by the bugs that a model meets;
beside these without what rests on ``format`` alone, and by all bugs. What the challenger alone led
to is left out: it convicts all engines of a position or the last one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from harness.analysis.statistics import (
    LEVEL,
    difference,
    holm,
    is_sample,
    mcnemar,
    ratios,
    shares,
    six_digits,
)
from harness.analysis.stored import MET, SEVERITIES, WORST_FIRST, StoredRun
from harness.verdict_kinds import (
    ACCEPTANCES,
    BEYOND_BITS,
    FALSE_REJECTION,
    LEGAL,
    MAIN_KINDS,
    REJECTIONS,
    WRONG_BITS,
)

KINDS_OF: Final[Mapping[str, Sequence[str]]] = {
    "any": WRONG_BITS,
    **dict(zip(MAIN_KINDS.values(), (ACCEPTANCES, REJECTIONS), strict=True)),
}
"""What shares, rates and comparisons count, by the names under which they do."""

PAIR: Final = (
    *("kind", "counted", "first", "second", "schemas", "both", "only_first", "only_second"),
    *("difference", "low", "high", "p", "p_holm", "apart"),
)
"""What is said of a pair; see `compared`."""

_BEYOND: Final = {"other": tuple(kind for kind in BEYOND_BITS if kind not in LEGAL)}
_MILLION: Final = 1_000_000
_NO_BUG: Final = len(WORST_FIRST)
_RARE: Final = len(MET)
_WITHOUT_FORMAT: Final = "met_without_format"
_UNTESTED: Final = dict.fromkeys(PAIR[PAIR.index("low") :])

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SchemaFlags:
    """What some kinds of bugs of one engine make of the schemas, shape ``(cases,)`` each.

    `worst` is the index in `WORST_FIRST` of the worst bug, beyond its end where there is none;
    `lone` the token that alone is wrong, or -1; `by_format` whether all rests on ``format`` alone;
    `among_engines` whether there is a bug to which not the challenger alone led.
    """

    worst: npt.NDArray[np.int64]
    lone: npt.NDArray[np.int64]
    by_format: Bools
    among_engines: Bools

    @property
    def any(self) -> Bools:
        """Where there is a bug."""
        return self.worst < _NO_BUG

    @property
    def met(self) -> Bools:
        """Where there is a bug that a model meets: one at more than rare tokens."""
        return self.worst < _RARE

    def by_severity(self, among: Bools) -> dict[str, int]:
        """How many of some schemas have which worst bug, in the order of `SEVERITIES`."""
        counted = np.bincount(self.worst[among], minlength=_NO_BUG + 1)
        return {name: int(counted[WORST_FIRST.index(name)]) for name in SEVERITIES}


def schema_flags(stored: StoredRun, kinds: Sequence[str]) -> list[SchemaFlags]:
    """What some kinds of bugs make of the schemas, for each engine."""
    found = stored.arrays(
        """SELECT engine, case_row, enum_code(min(severity))::BIGINT AS worst,
            CASE WHEN count(DISTINCT token) = 1 AND min(token) >= 0 THEN min(token) ELSE -1 END
                ::BIGINT AS lone,
            bool_and(by_format) AS by_format, bool_or(NOT only_challenger) AS among_engines
        FROM verdicts WHERE class = 'bug' AND kind IN $1 GROUP BY engine, case_row""",
        list(kinds),
    )
    out = []
    for engine in range(len(stored.engines)):
        mine = found["engine"] == engine
        columns = []
        for name, none in {
            "worst": _NO_BUG,
            "lone": -1,
            "by_format": 0,
            "among_engines": 0,
        }.items():
            columns.append(np.full(len(stored.cases), none, dtype=found[name].dtype))
            columns[-1][found["case_row"][mine]] = found[name][mine]
        out.append(SchemaFlags(*columns))
    return out


class Rates:
    """The rates of a run; what several of them need is asked once."""

    def __init__(self, stored: StoredRun) -> None:
        self.stored = stored
        self.sampled = is_sample(stored.run)
        self.flags = {
            name: schema_flags(stored, kinds) for name, kinds in {**KINDS_OF, **_BEYOND}.items()
        }

    def share_with_bug(self, engine: int) -> dict[str, Any]:
        """The share of schemas with a bug of one engine, by kind, as JSON.

        With the 95% interval, and of the cases those by their worst bug (``severity``), those in
        which all bugs rest on ``format`` alone (``by_format``), those with a bug to which not the
        challenger alone led (``among_engines``), those with ``several_tokens`` that are wrong, and
        the ``lone_token`` that alone is wrong in most.
        """
        judged = self.stored.judged_positions(engine) > 0
        flags = {name: some[engine] for name, some in self.flags.items()}
        hits = np.column_stack([one.any for one in flags.values()])[judged]
        found = shares(hits, sampled=self.sampled)
        return {
            name: {
                "cases": int(np.count_nonzero(one.any & judged)),
                "of": len(hits),
                **interval.scaled(1),
                "severity": one.by_severity(judged),
                "by_format": int(np.count_nonzero(one.by_format & judged)),
                "among_engines": int(np.count_nonzero(one.among_engines & judged)),
                "several_tokens": int(np.count_nonzero(one.any & (one.lone < 0) & judged)),
                "lone_token": self._lone_token(one.lone[judged]),
            }
            for (name, one), interval in zip(flags.items(), found, strict=True)
        }

    def _lone_token(self, lone: npt.NDArray[np.int64]) -> dict[str, Any] | None:
        """The token that alone is wrong in most schemas; its bytes as a Python literal."""
        ids, cases = np.unique(lone[lone >= 0], return_counts=True)
        if not len(ids):
            return None
        most, known = int(ids[cases.argmax()]), self.stored.vocabulary  # of several the smallest
        spelled = None if known is None or most >= known.size else repr(known[most])[2:-1]
        return {"token": most, "bytes": spelled, "cases": int(cases.max())}

    def per_million(self, engine: int) -> dict[str, Any]:
        """Bugs per million mask decisions of one engine, by kind, as JSON.

        ``bugs`` are proven, ``scaled`` to all disputed tokens where the run was capped; of the
        scaled, ``by_format`` rest on ``format`` alone. ``decisions`` and what follows from them are
        None where the run does not say how large its vocabulary is.
        """
        positions = self.stored.judged_positions(engine)
        judged, size = positions > 0, self.stored.size
        wrong = {name: self._scaled(engine, kinds) for name, kinds in KINDS_OF.items()}
        parts = np.column_stack([scaled for _, scaled, _ in wrong.values()])[judged]
        found = ratios(parts, positions[judged] * (size or 1), sampled=self.sampled)
        nothing = {"value": None, "low": None, "high": None, "interval": "none"}
        return {
            name: {
                "bugs": bugs,
                "scaled": round(float(scaled[judged].sum())),
                "by_format": round(float(by_format.sum())),
                "decisions": None if size is None else int(positions.sum()) * size,
                **(nothing if size is None else ratio.scaled(_MILLION)),
            }
            for (name, (bugs, scaled, by_format)), ratio in zip(wrong.items(), found, strict=True)
        }

    def _scaled(
        self, engine: int, kinds: Sequence[str]
    ) -> tuple[int, npt.NDArray[Any], npt.NDArray[Any]]:
        """How many bugs of walks there are; for how many they stand in each case, and by format."""
        found = self.stored.arrays(
            """SELECT case_row, count(*) AS bugs, fsum(scale) AS n,
                coalesce(fsum(scale) FILTER (by_format), 0) AS by_format
            FROM verdicts WHERE evidence = 'walk' AND class = 'bug' AND engine = $1 AND kind IN $2
            GROUP BY case_row""",
            *(engine, list(kinds)),
        )
        scaled, by_format = np.zeros((2, len(self.stored.cases)))
        scaled[found["case_row"]] = np.rint(found["n"])  # whole: sums do not depend on order
        by_format[found["case_row"]] = np.rint(found["by_format"])
        return int(found["bugs"].sum()), scaled, by_format

    def compared(self) -> list[dict[str, Any]]:
        """All pairs of engines by kind, as JSON, those by what a model meets first.

        ``counted`` says which bugs: ``met``, ``met_without_format`` or ``all``; ``schemas`` have a
        position on which both were judged; ``difference`` is of the shares, with its 95% interval;
        ``p`` is McNemar's, ``p_holm`` corrected for as many pairs, ``apart`` whether they can be
        told apart. Where the cases are no sample the last five are None.
        """
        stored = self.stored
        bugs = stored.arrays(
            """SELECT engine, case_row, judged::BIGINT AS judged, by_format,
                kind IN $2 AS rejects, enum_code(min(severity))::BIGINT AS worst
            FROM verdicts WHERE class = 'bug' AND NOT only_challenger AND kind IN $1
            GROUP BY ALL""",
            *(list(WRONG_BITS), list(REJECTIONS)),
        )
        formats = stored.one("SELECT bool_or(by_format AND class = 'bug') AS n FROM verdicts")["n"]
        pairs = list(combinations(range(len(stored.engines)), 2))
        judged = {pair: stored.judged_positions(*pair) > 0 for pair in pairs}
        rows = []
        for counted, kind in product(("met", _WITHOUT_FORMAT, "all"), KINDS_OF):
            if counted == _WITHOUT_FORMAT and not (formats and kind != FALSE_REJECTION.name):
                continue
            fits = np.ones(len(bugs["engine"]), dtype=np.bool_)
            if kind != "any":
                fits &= bugs["rejects"] == (kind == FALSE_REJECTION.name)
            if counted == _WITHOUT_FORMAT:
                fits &= ~bugs["by_format"]
            if counted != "all":
                fits &= bugs["worst"] < _RARE
            found = []
            for pair in pairs:
                hits = [self._hits(bugs, fits, *way)[judged[pair]] for way in (pair, pair[::-1])]
                names = {"first": stored.engines[pair[0]], "second": stored.engines[pair[1]]}
                found.append({"kind": kind, "counted": counted, **names, **_pair(*hits)})
            rows += _tested(found) if self.sampled else [{**one, **_UNTESTED} for one in found]
        return rows

    def _hits(self, bugs: Mapping[str, Any], fits: Bools, engine: int, other: int) -> Bools:
        """In which schemas an engine has such a bug, where another one was judged, too."""
        mine = fits & (bugs["engine"] == engine) & (bugs["judged"] >> other & 1 == 1)
        return np.isin(np.arange(len(self.stored.cases)), bugs["case_row"][mine])


def _pair(first: Bools, second: Bools) -> dict[str, Any]:
    counts = {"schemas": len(first), "both": int((first & second).sum())}
    only = {"only_first": int((first & ~second).sum()), "only_second": int((second & ~first).sum())}
    apart = only["only_first"] - only["only_second"]
    return {**counts, **only, "difference": six_digits(apart / len(first)) if len(first) else None}


def _tested(pairs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pairs of one kind with their tests; a pair without a schema has none."""
    values = [mcnemar(one["only_first"], one["only_second"]) for one in pairs]
    out = []
    for one, p, corrected in zip(pairs, values, holm(values), strict=True):
        tests: dict[str, Any] = dict(_UNTESTED)
        only = one["only_first"], one["only_second"]
        if one["schemas"]:
            tests |= {"p": six_digits(p), "p_holm": six_digits(corrected)}
            tests["apart"] = corrected < LEVEL
        if one["schemas"] and any(only):  # resamples of schemas that are all alike are, too
            ends = map(six_digits, difference(*only, one["schemas"]))
            tests["low"], tests["high"] = ends
        out.append({**one, **tests})
    return out


def walked_bytes(stored: StoredRun) -> list[dict[str, int]]:
    """How far along their references the engines were walked, of the cases they were judged on.

    By engine: ``walks`` (references to walk), ``broke_off`` (those on which it was not judged up to
    the end), ``bytes`` (of the references, before the last position on which it was judged), and
    ``of`` (bytes that they have).
    """
    return [
        stored.one(
            """WITH texts AS (
                SELECT case_row, walks, unnest("references") AS text,
                    generate_subscripts("references", 1) - 1 AS number,
                    octet_length(text) AS size FROM cases),
            walked AS (
                SELECT p.case_row, p.walk AS number, max(p."offset") AS reached
                FROM places p JOIN texts t ON t.case_row = p.case_row AND t.number = p.walk
                WHERE ((p.judged >> $1) & 1) = 1 GROUP BY ALL)
            SELECT count(*) AS walks,
                coalesce(count_if(coalesce(reached, -1) < size), 0) AS broke_off,
                coalesce(sum(least(greatest(coalesce(reached, -1), 0), size)), 0)::BIGINT AS bytes,
                coalesce(sum(size), 0)::BIGINT AS "of"
            FROM texts LEFT JOIN walked USING (case_row, number)
            WHERE number < walks AND case_row IN (SELECT case_row FROM walked)""",
            engine,
        )
        for engine in range(len(stored.engines))
    ]
