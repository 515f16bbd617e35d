"""What became of schemas: compiled or not, and with a bug or not where both versions were judged.

Bugs are compared on what both versions were judged on: the same place in the same reference of a
walk, and the same instance. Texts that the engines wrote themselves differ, and stay out of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from harness.analysis.statistics import difference, is_sample, mcnemar
from harness.runs.directory import RunDirectory
from harness.runs.tables import VERDICT_TABLES
from harness.verdict_kinds import ACCEPTANCES, BUG, INSTANCE, MAIN_KINDS, REJECTIONS, WALK
from harness.versions.sides import Side

COMPILED = "compiled"

Classify = Callable[[RunDirectory, str], pa.Table]
_Key = tuple[Hashable, ...]


@dataclass(frozen=True)
class RateChange:
    """In how many schemas each version has bugs of a kind, of those judged in both.

    `low`, `high` and `p` are the 95% interval of the difference of the shares, new less old, and
    McNemar's exact p; None where the cases are no sample.
    """

    kind: str
    schemas: int
    both: int
    only_old: int
    only_new: int
    low: float | None = None
    high: float | None = None
    p: float | None = None


@dataclass(frozen=True)
class SchemaChanges:
    """What became of the schemas that are in both runs.

    `compiled_now` and `not_now` are the schemas that one version alone compiles, each with the
    outcome in the other; `outcomes` counts the schemas by outcome, old and new.
    """

    schemas: int
    compiled_now: dict[str, str]
    not_now: dict[str, str]
    outcomes: dict[tuple[str, str], int]
    rates: tuple[RateChange, ...]

    def row(self) -> dict[str, Any]:
        """As JSON."""
        return {
            **vars(self),
            "outcomes": [
                {"old": old, "new": new, "schemas": many}
                for (old, new), many in sorted(self.outcomes.items())
            ],
            "rates": [vars(rate) for rate in self.rates],
        }


def schema_changes(old: Side, new: Side, classify: Classify) -> SchemaChanges:
    """What became of the schemas that two sides have in common, by name and text."""
    before, after = (_rows(side, "cases", "case", "schema") for side in (old, new))
    texts = {row["case"]: row["schema"] for row in after}
    common = sorted(row["case"] for row in before if texts.get(row["case"]) == row["schema"])
    was, now = _outcomes(old), _outcomes(new)
    pairs = {name: (was.get(name, ("", "")), now.get(name, ("", ""))) for name in common}
    return SchemaChanges(
        len(common),
        {name: text for name, (a, b) in pairs.items() if (text := _failed(a)) and b[0] == COMPILED},
        {name: text for name, (a, b) in pairs.items() if (text := _failed(b)) and a[0] == COMPILED},
        dict(Counter((a[0], b[0]) for a, b in pairs.values())),
        _rates(old, new, set(common), classify),
    )


def _rows(side: Side, table: str, *columns: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = side.run.table(table, columns).to_pylist()
    return rows


def _outcomes(side: Side) -> dict[str, tuple[str, str]]:
    """By case: the outcome of its compilation, and its message."""
    return {
        row["case"]: (row["outcome"], row["message"] or "")
        for row in _rows(side, "engines", "case", "engine", "stage", "outcome", "message")
        if row["stage"] == "compile" and row["engine"] == side.engine
    }


def _failed(outcome: tuple[str, str]) -> str:
    """The outcome of a schema that is not compiled, with the first line of its message."""
    status, message = outcome
    first = next(iter(message.strip().splitlines()), "")
    return "" if status == COMPILED else f"{status}: {first}" if first else status


def _rates(old: Side, new: Side, common: set[str], classify: Classify) -> tuple[RateChange, ...]:
    places = _places(old), _places(new)
    both = {unit for unit in {*places[0].values()} & {*places[1].values()} if unit[1] in common}
    schemas = len({case for _, case, *_ in both})
    sampled = is_sample(old.run) and is_sample(new.run)
    rates = []
    for kind, kinds in zip(MAIN_KINDS.values(), (ACCEPTANCES, REJECTIONS), strict=True):
        before, after = (
            {unit[1] for key in _bugs(side, kinds, classify) if (unit := known.get(key)) in both}
            for side, known in zip((old, new), places, strict=True)
        )
        only_old, only_new = len(before - after), len(after - before)
        counts = (schemas, len(before & after), only_old, only_new)
        low = high = p = None
        if sampled:
            p = mcnemar(only_new, only_old)
            if only_old or only_new:
                low, high = difference(only_new, only_old, schemas)
        rates.append(RateChange(kind, *counts, low, high, p))
    return tuple(rates)


def _places(side: Side) -> dict[_Key, _Key]:
    """What the engine was judged on: by how a run's verdicts name it, what is alike in both runs.

    Both begin with the kind of evidence and the case.
    """
    references = {
        row["case"]: row["references"] for row in _rows(side, "cases", "case", "references")
    }
    found: dict[_Key, _Key] = {}
    for row in _rows(side, "positions", "case", "walk", "position", "offset", "judged"):
        if row["judged"] >> side.number & 1:
            case, walk = row["case"], row["walk"]
            text = references[case][walk] if references[case] else b""
            found[WALK, case, walk, row["position"]] = (WALK, case, text, row["offset"])
    compiled = {name for name, (status, _) in _outcomes(side).items() if status == COMPILED}
    for row in _rows(side, "instances", "case", "instance", "text"):
        if (case := row["case"]) in compiled:
            found[INSTANCE, case, row["instance"]] = (INSTANCE, case, row["text"])
    return found


def _bugs(side: Side, kinds: tuple[str, ...], classify: Classify) -> set[_Key]:
    """Where an engine has bugs of some kinds, as `_places` names it."""
    found: set[_Key] = set()
    for evidence, keys in ((WALK, ("walk", "position")), (INSTANCE, ("instance",))):
        table = side.run.table(VERDICT_TABLES[evidence], ["engine", "kind", "case", *keys])
        wanted = pc.and_(
            pc.equal(table["engine"].cast(pa.string()), side.engine),
            pc.is_in(table["kind"].cast(pa.string()), pa.array(kinds)),
        )
        classes = classify(side.run, evidence)["class"].cast(pa.string())
        table = table.filter(pc.and_(wanted, pc.equal(classes, BUG))).select(["case", *keys])
        found |= {(evidence, *row.values()) for row in table.to_pylist()}
    return found
