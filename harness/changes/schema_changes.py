"""What became of schemas: compiled or not, and with a bug or not where both versions were judged.

Bugs are compared on what both versions were judged on: the same place in the same reference of a
walk, and the same instance. Texts that the engines wrote themselves are not the same ones, and stay
out of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.changes.sides import Side
from harness.counting.counts import Classify, StoredRun
from harness.counting.intervals import is_sample
from harness.counting.paired import difference, mcnemar
from harness.runs.columns import words
from harness.runs.tables import VERDICT_TABLES
from harness.verdict_kinds import ACCEPTANCES, BUG, INSTANCE, MAIN_KINDS, REJECTIONS, WALK

COMPILED = "compiled"

_Units = dict[tuple[object, ...], str]
"""What an engine was judged on, by what is the same in both runs: the case of each."""


@dataclass(frozen=True)
class RateChange:
    """In how many schemas each version has bugs of a kind.

    Attributes:
        kind: ``false_acceptances`` or ``false_rejections``.
        schemas: Those with something that both were judged on.
        both: Of these, how many have such a bug in both versions.
        only_old: In the old one alone.
        only_new: In the new one alone.
        low: Of the difference of the shares, new less old, the lower end of its 95% interval; None
            where the cases are no sample.
        high: Its upper end.
        p: McNemar's exact p; likewise.
    """

    kind: str
    schemas: int
    both: int
    only_old: int
    only_new: int
    low: float | None
    high: float | None
    p: float | None


@dataclass(frozen=True)
class SchemaChanges:
    """What became of the schemas that are in both runs.

    Attributes:
        schemas: How many.
        compiled_now: Those that only the new version compiles, with what the old one did.
        not_now: Those that only the old version compiles, with what the new one does.
        outcomes: Of every pair of outcomes, old and new, how many schemas.
        rates: Bugs by kind.
    """

    schemas: int
    compiled_now: dict[str, str]
    not_now: dict[str, str]
    outcomes: dict[tuple[str, str], int]
    rates: tuple[RateChange, ...]

    def row(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "schemas": self.schemas,
            "compiled_now": self.compiled_now,
            "not_now": self.not_now,
            "outcomes": [
                {"old": old, "new": new, "schemas": many}
                for (old, new), many in sorted(self.outcomes.items())
            ],
            "rates": [vars(one) for one in self.rates],
        }


def schema_changes(old: Side, new: Side, classify: Classify) -> SchemaChanges:
    """What became of the schemas that two sides have in common, by name and text."""
    mine, other = _schemas(old), _schemas(new)
    common = {name for name, schema in mine.items() if other.get(name) == schema}
    before, after = _outcomes(old), _outcomes(new)
    pairs = {
        name: (before.get(name, ("", "")), after.get(name, ("", ""))) for name in sorted(common)
    }
    return SchemaChanges(
        len(common),
        {
            name: _told(was)
            for name, (was, now) in pairs.items()
            if now[0] == COMPILED and was[0] not in (COMPILED, "")
        },
        {
            name: _told(now)
            for name, (was, now) in pairs.items()
            if was[0] == COMPILED and now[0] not in (COMPILED, "")
        },
        dict(Counter((was[0], now[0]) for was, now in pairs.values())),
        tuple(_rates(old, new, common, classify)),
    )


def _schemas(side: Side) -> dict[str, str]:
    table = side.run.table("cases", ["case", "schema"])
    return dict(zip(table["case"].to_pylist(), table["schema"].to_pylist(), strict=True))


def _outcomes(side: Side) -> dict[str, tuple[str, str]]:
    """By case: what became of its compilation, and what was said."""
    table = side.run.table("engines", ["case", "engine", "stage", "outcome", "message"])
    return {
        row["case"]: (row["outcome"], row["message"] or "")
        for row in table.to_pylist()
        if row["stage"] == "compile" and row["engine"] == side.engine
    }


def _told(outcome: tuple[str, str]) -> str:
    word, message = outcome
    first = next(iter(message.strip().splitlines()), "")
    return f"{word}: {first}" if first else word


def _rates(old: Side, new: Side, common: set[str], classify: Classify) -> list[RateChange]:
    stored = {side.run.path: StoredRun(side.run, classify) for side in (old, new)}
    judged = [_judged(side, stored[side.run.path]) for side in (old, new)]
    units = {unit for unit, case in judged[0].items() if unit in judged[1] and case in common}
    cases = {judged[0][unit] for unit in units}
    sampled = is_sample(old.run) and is_sample(new.run)
    rates = []
    for kind, kinds in zip(MAIN_KINDS.values(), (ACCEPTANCES, REJECTIONS), strict=True):
        hit = [_hit(side, stored[side.run.path], kinds, units) for side in (old, new)]
        both, only_old, only_new = hit[0] & hit[1], hit[0] - hit[1], hit[1] - hit[0]
        low, high, p = None, None, None
        if sampled and (only_old or only_new):
            low, high = difference(len(only_new), len(only_old), len(cases))
        if sampled:
            p = mcnemar(len(only_new), len(only_old))
        found = (len(cases), len(both), len(only_old), len(only_new), low, high, p)
        rates.append(RateChange(kind, *found))
    return rates


def _judged(side: Side, stored: StoredRun) -> _Units:
    """The places in references and the instances that an engine was judged on."""
    at, cases = stored.positions, stored.cases
    references = _references(side)
    mine = np.flatnonzero(at.judged >> np.uint32(side.number) & np.uint32(1))
    found: _Units = {}
    for row in mine.tolist():
        case = cases[at.case[row]]
        walked = references[case][int(at.walk[row])] if references[case] else b""
        found[WALK, case, walked, int(at.offset[row])] = case
    compiled = {name for name, (word, _) in _outcomes(side).items() if word == COMPILED}
    table = side.run.table("instances", ["case", "text"])
    for case, text in zip(table["case"].to_pylist(), table["text"].to_pylist(), strict=True):
        if case in compiled:
            found[INSTANCE, case, text] = case
    return found


def _references(side: Side) -> dict[str, list[bytes]]:
    table = side.run.table("cases", ["case", "references"])
    return dict(zip(table["case"].to_pylist(), table["references"].to_pylist(), strict=True))


def _hit(
    side: Side, stored: StoredRun, kinds: tuple[str, ...], units: set[tuple[object, ...]]
) -> set[str]:
    """The cases with a bug of some kinds in one of the units."""
    found = set()
    for evidence in (WALK, INSTANCE):
        keys = ["walk", "position"] if evidence == WALK else ["instance"]
        table = side.run.table(VERDICT_TABLES[evidence], ["case", "engine", "kind", *keys])
        bug = words(stored.classes(evidence)["class"]).equal(BUG)
        bug &= words(table["engine"]).equal(side.engine) & words(table["kind"]).equal(*kinds)
        rows = table.take(np.flatnonzero(bug)).to_pylist()
        name = _unit_of_position(side, stored) if evidence == WALK else _unit_of_text(side)
        found |= {
            row["case"] for row in rows if name[row["case"], *(row[key] for key in keys)] in units
        }
    return found


def _unit_of_position(
    side: Side, stored: StoredRun
) -> dict[tuple[object, ...], tuple[object, ...]]:
    at, cases, references = stored.positions, stored.cases, _references(side)
    walks, numbers = at.walk.tolist(), at.number.tolist()
    return {
        (cases[case], walk, number): (WALK, cases[case], references[cases[case]][walk], offset)
        for case, walk, number, offset in zip(
            at.case.tolist(), walks, numbers, at.offset.tolist(), strict=True
        )
    }


def _unit_of_text(side: Side) -> dict[tuple[object, ...], tuple[object, ...]]:
    table = side.run.table("instances", ["case", "instance", "text"])
    return {
        (row["case"], row["instance"]): (INSTANCE, row["case"], row["text"])
        for row in table.to_pylist()
    }
