"""Which schemas an engine has bugs in, how severe the worst of them is, and at how many tokens.

A character that an engine forbids in every string makes nearly every schema one with a bug, and no
model may ever write it. So a schema counts at its worst bug, and those in which one single token is
all that is wrong are told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from harness.counting.counts import StoredRun
from harness.counting.judged_engines import judged_engines
from harness.counting.severity import SEVERITIES
from harness.inputs.vocabulary import Vocabulary
from harness.runs.columns import Ints, distinct, numbers, translated, words
from harness.runs.made_with import vocabulary_at_hand
from harness.runs.tables import VERDICT_TABLES
from harness.verdict_kinds import BUG, ERRORS, WALK

WORST_FIRST: Final = ("on_path", "common", "unranked", "rare")
"""Of a schema's bugs the first of these counts. Without a rank is above all a text that is let
through as a whole: somebody wrote it, or the engine itself."""

RARE: Final = WORST_FIRST.index("rare")
"""What a model meets is before this."""

EVIDENCE: Final = tuple(VERDICT_TABLES)

_RANK = np.array([WORST_FIRST.index(one) for one in SEVERITIES], dtype=np.int8)
_NO_BUG = len(WORST_FIRST)


@dataclass(frozen=True)
class SchemaFlags:
    """What some kinds of bugs of one engine make of the schemas, shape ``(cases,)`` each.

    Attributes:
        worst: The index in `WORST_FIRST` of the worst bug; beyond its end where there is none.
        lone: The token that alone is wrong, -1 where there is none or more than one.
        by_format: Whether all that is wrong rests on `format` alone.
    """

    worst: npt.NDArray[np.int8]
    lone: Ints
    by_format: npt.NDArray[np.bool_]

    @property
    def any(self) -> npt.NDArray[np.bool_]:
        """Where there is a bug."""
        found: npt.NDArray[np.bool_] = self.worst < _NO_BUG
        return found

    @property
    def met(self) -> npt.NDArray[np.bool_]:
        """Where there is a bug that a model meets: one at more than rare tokens."""
        found: npt.NDArray[np.bool_] = self.worst < RARE
        return found

    def by_severity(self, among: npt.NDArray[np.bool_]) -> dict[str, int]:
        """How many of some schemas have which worst bug, in the order of `SEVERITIES`."""
        counted = np.bincount(self.worst[among], minlength=_NO_BUG + 1)
        return {name: int(counted[WORST_FIRST.index(name)]) for name in SEVERITIES}


@dataclass(frozen=True)
class BugRows:
    """The verdicts of a run that are bugs, of all kinds of evidence, shape ``(n,)`` each.

    Attributes:
        evidence: What it rests on, as indices into `EVIDENCE`.
        row: Its row in the table of its evidence.
        case: The row of its case.
        engine: The number of its engine.
        kind: The index of its kind in `ERRORS`.
        token: The token at fault, -1 for none.
        rank: The index of its severity in `WORST_FIRST`.
        located: Whether the error lies at that token.
        by_format: Whether it rests on `format` alone.
        only_challenger: Whether the challenger alone led to it.
        judged: The engines that were judged there, as bits.
        consumed: How many tokens were consumed before.
    """

    evidence: npt.NDArray[np.int8]
    row: Ints
    case: npt.NDArray[np.int32]
    engine: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int32]
    token: Ints
    rank: npt.NDArray[np.int8]
    located: npt.NDArray[np.bool_]
    by_format: npt.NDArray[np.bool_]
    only_challenger: npt.NDArray[np.bool_]
    judged: npt.NDArray[np.uint32]
    consumed: Ints


class SchemaBugs:
    """The bugs of a run, read once."""

    def __init__(self, stored: StoredRun) -> None:
        self.stored = stored
        parts = [_read(stored, evidence) for evidence in VERDICT_TABLES]
        columns = zip(*(vars(one).values() for one in parts), strict=True)
        self.rows = BugRows(*(np.concatenate(one) for one in columns))

    def of(
        self,
        engine: int,
        kinds: Sequence[str],
        *,
        without_format: bool = False,
        among_engines: bool = False,
        beside: int | None = None,
    ) -> SchemaFlags:
        """What an engine's bugs of some kinds make of the schemas.

        Args:
            engine: The number of the engine.
            kinds: The kinds of verdicts.
            without_format: Whether what rests on ``format`` alone is left out.
            among_engines: Whether that to which the challenger alone led is.
            beside: The number of another engine: what it was not judged on is left out.
        """
        cases, rows = len(self.stored.cases), self.rows
        mine = self.mine(engine, kinds)
        if without_format:
            mine &= ~rows.by_format
        if among_engines:
            mine &= ~rows.only_challenger
        if beside is not None:
            mine &= rows.judged >> np.uint32(beside) & np.uint32(1) == 1
        case, token = rows.case[mine].astype(np.int64), rows.token[mine]
        worst = np.full(cases, _NO_BUG, dtype=np.int8)
        np.minimum.at(worst, case, rows.rank[mine])
        width = int(token.max(initial=0)) + 2
        pairs = distinct(case * width + token + 1) if len(case) else case
        case, token = pairs // width, pairs % width - 1
        many = np.bincount(case, minlength=cases) + np.bincount(case[token < 0], minlength=cases)
        lone = np.full(cases, -1, dtype=np.int64)
        alone = many[case] == 1
        lone[case[alone]] = token[alone]
        others = np.bincount(rows.case[mine & ~rows.by_format], minlength=cases)
        return SchemaFlags(worst, lone, (worst < _NO_BUG) & (others == 0))

    def mine(self, engine: int, kinds: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which rows are an engine's, of some kinds."""
        wanted = [ERRORS.index(kind) for kind in kinds]
        found: npt.NDArray[np.bool_] = self.rows.engine == engine
        return found & np.isin(self.rows.kind, wanted)

    def lone_token(self, flags: SchemaFlags, among: npt.NDArray[np.bool_]) -> dict[str, Any] | None:
        """The token that alone is wrong in most of some schemas, as JSON.

        Returns:
            ``token``, ``bytes`` (as a Python literal without quotes; None where no vocabulary is
            at hand in a file) and ``cases``; None where every schema has several wrong tokens.
        """
        ids, cases = np.unique(flags.lone[among & (flags.lone >= 0)], return_counts=True)
        if not len(ids):
            return None
        most = int(ids[cases.argmax()])  # of several the smallest
        known = self.vocabulary
        spelled = None if known is None or most >= known.size else repr(known[most])[2:-1]
        return {"token": most, "bytes": spelled, "cases": int(cases.max())}

    @cached_property
    def vocabulary(self) -> Vocabulary | None:
        """The vocabulary of the run, if it is at hand: a tally asks no network."""
        return vocabulary_at_hand(self.stored.run)


def severity_ranks(stored: StoredRun, evidence: str) -> npt.NDArray[np.int8]:
    """The severity of each verdict as an index into `WORST_FIRST`, in the order of the table."""
    found: npt.NDArray[np.int8] = _RANK[stored.severities(evidence).codes]
    return found


def _read(stored: StoredRun, evidence: str) -> BugRows:
    consumed = "position" if evidence == WALK else "consumed"
    names = ["case", "engine", "kind", "token", "located", consumed]
    table = stored.run.table(VERDICT_TABLES[evidence], names)
    kinds = translated(words(table["kind"]), {one: at for at, one in enumerate(ERRORS)})
    bug = words(stored.classes(evidence)["class"]).equal(BUG) & (kinds >= 0)
    row = np.flatnonzero(bug)
    engines = {name: number for number, name in enumerate(stored.engines)}
    return BugRows(
        np.full(len(row), EVIDENCE.index(evidence), dtype=np.int8),
        row,
        stored.case_of(table["case"])[row],
        translated(words(table["engine"]), engines)[row],
        kinds[row],
        numbers(table["token"], -1)[row].astype(np.int64),
        severity_ranks(stored, evidence)[row],
        numbers(table["located"], missing=False)[row].astype(np.bool_),
        stored.by_format(evidence)[row],
        stored.only_challenger(evidence)[row],
        judged_engines(stored.run, evidence)[row],
        numbers(table[consumed], -1)[row].astype(np.int64),
    )
