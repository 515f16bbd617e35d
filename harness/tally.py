"""The tally: the counts that a report shows, computed from the tables of a run and nothing else.

Proven counts are counts. Where a cap left disputed tokens unresolved, an estimate for all of
them stands apart: per dispute the sampled share is scaled to the dispute's size, tokens that are
always resolved count as they are, and the interval is the normal one for sampling without
replacement, with one success and one failure added (Agresti and Coull, 1998) so that a sample
without any finding is not taken for certainty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harness.outcomes import COMPILE_WORDS
from harness.store import RunDirectory

KINDS = {"false_acceptances": "false_acceptance", "false_rejections": "false_rejection"}

_PLACE = ["case", "walk", "position"]
_Z95 = 1.959963984540054


@dataclass(frozen=True)
class Estimate:
    """An estimated number of tokens with its 95% interval."""

    tokens: float
    low: float
    high: float


def summary(run: RunDirectory) -> dict[str, Any]:
    """The summary of a run as one JSON object.

    Keys: ``engines`` (per engine ``version``, ``options``, ``packages``, ``tokens_asked``,
    ``tokens_with_other_bytes``, ``compile``, ``judged``, ``false_acceptances``,
    ``false_rejections``, ``unresolved``, ``contested``, ``contested_by``, ``failures``, ``why``),
    and for the run ``cases``, ``walked``, ``set_aside``, ``not_compared``, ``harness_errors``,
    ``positions``, ``disputed_tokens``, ``resolved_tokens``, ``seconds``, ``finished``.
    """
    cases = run.table("cases")
    verdicts = _plain(run.table("verdicts"))
    disputes = _plain(run.table("disputes"))
    engine_rows = _plain(run.table("engines")).select(["case", "engine", "stage", "outcome"])
    described = run.manifest["identity"]["engines"]
    positions = _plain(run.table("positions")).select(["case", "judged"])
    capped = bool(pc.any(pc.less(disputes["drawn"], disputes["tokens"])).as_py())
    engines = {
        name: {
            **described[name],
            "compile": _compile_counts(engine_rows, name),
            "judged": _judged(positions, index),
            **{key: _counts(verdicts, name, kind) for key, kind in KINDS.items()},
            "unresolved": _reasons(verdicts, name, "unresolved"),
            "contested": sum(_reasons(verdicts, name, "contested").values()),
            "contested_by": _reasons(verdicts, name, "contested"),
            "failures": _failures(engine_rows, name),
            "why": _why(verdicts, positions_of(run), name),
        }
        for index, name in enumerate(described)
    }
    if capped:
        for index, (name, one) in enumerate(engines.items()):
            for key, kind in KINDS.items():
                value = estimate(verdicts, _concerning(disputes, index, kind), name, kind)
                one[key]["estimate"] = _rounded(value)
    status = cases.group_by(["status", "reason"]).aggregate([("case", "count")]).to_pylist()
    return {
        "engines": engines,
        "cases": cases.num_rows,
        "walked": _with_status(status, "walked"),
        "set_aside": _by_reason(status, "set_aside"),
        "not_compared": _by_reason(status, "not_compared"),
        "harness_errors": _with_status(status, "harness_error", "lane_died"),
        "positions": positions.num_rows,
        "disputed_tokens": pc.sum(disputes["tokens"]).as_py() or 0,
        "resolved_tokens": pc.sum(disputes["drawn"]).as_py() or 0,
        "seconds": run.manifest.get("seconds"),
        "finished": run.finished,
    }


def positions_of(run: RunDirectory) -> pa.Table:
    """Where each position stands in the text, to say what kind of place an error is at."""
    return _plain(run.table("positions")).select([*_PLACE, "place"])


def estimate(verdicts: pa.Table, disputes: pa.Table, engine: str, kind: str) -> Estimate:
    """How many verdicts of one kind resolving every disputed token would give.

    `disputes` are those that can give the engine such a verdict.
    """
    mine = verdicts.filter(
        pc.and_(pc.equal(verdicts["engine"], engine), pc.equal(verdicts["kind"], kind))
    )
    key = [*_PLACE, "dispute"]
    certain = pc.sum(pc.cast(mine["by_right"], pa.int64())).as_py() or 0
    sampled = mine.filter(pc.invert(mine["by_right"]))
    hits = sampled.group_by(key).aggregate([("token", "count")])
    joined = disputes.join(hits, keys=key, join_type="left outer")
    found = np.nan_to_num(joined["token_count"].to_numpy().astype(np.float64))
    rest = (joined["tokens"].to_numpy() - joined["census"].to_numpy()).astype(np.float64)
    drawn = (joined["drawn"].to_numpy() - joined["census"].to_numpy()).astype(np.float64)
    open_ = drawn < rest
    found, rest, drawn = found[open_], rest[open_], drawn[open_]
    share = np.divide(found, drawn, out=np.zeros_like(found), where=drawn > 0)
    shrunk = (found + 1) / (drawn + 2)
    correction = (rest - drawn) / np.maximum(rest - 1, 1)
    variance = float(np.sum(rest**2 * correction * shrunk * (1 - shrunk) / np.maximum(drawn, 1)))
    # rows by right of capped disputes and all rows of whole ones are counted, not scaled
    value = certain + float(np.sum(rest * share))
    proven = mine.num_rows
    ceiling = proven + float(np.sum(rest - drawn))
    half = _Z95 * sqrt(variance)
    return Estimate(value, max(proven, value - half), min(ceiling, value + half))


def _concerning(disputes: pa.Table, index: int, kind: str) -> pa.Table:
    """The disputes in which the engine is among those that `kind` is a verdict about."""
    side = disputes["accepters" if kind == "false_acceptance" else "rejecters"]
    bit = pc.bit_wise_and(side, pa.scalar(1 << index, pa.uint32()))
    return disputes.filter(pc.not_equal(bit, pa.scalar(0, pa.uint32())))


def _compile_counts(engine_rows: pa.Table, name: str) -> dict[str, int]:
    rows = engine_rows.filter(
        pc.and_(pc.equal(engine_rows["engine"], name), pc.equal(engine_rows["stage"], "compile"))
    )
    counted = Counter(rows["outcome"].to_pylist())
    return {word: counted.get(word, 0) for word in COMPILE_WORDS}


def _failures(engine_rows: pa.Table, name: str) -> dict[str, int]:
    """What ended the engine's part after compilation, by stage and outcome."""
    rows = engine_rows.filter(
        pc.and_(
            pc.equal(engine_rows["engine"], name), pc.not_equal(engine_rows["stage"], "compile")
        )
    )
    counted = Counter(
        f"{row['stage']}_{row['outcome']}" for row in rows.select(["stage", "outcome"]).to_pylist()
    )
    return dict(sorted(counted.items()))


def _judged(positions: pa.Table, index: int) -> dict[str, int]:
    bit = pc.bit_wise_and(positions["judged"], pa.scalar(1 << index, pa.uint32()))
    mine = positions.filter(pc.not_equal(bit, pa.scalar(0, pa.uint32())))
    return {"cases": pc.count_distinct(mine["case"]).as_py(), "positions": mine.num_rows}


def _counts(verdicts: pa.Table, name: str, kind: str) -> dict[str, Any]:
    mine = verdicts.filter(
        pc.and_(pc.equal(verdicts["engine"], name), pc.equal(verdicts["kind"], kind))
    )
    return {
        "tokens": mine.num_rows,
        "positions": mine.group_by(_PLACE).aggregate([]).num_rows,
        "cases": pc.count_distinct(mine["case"]).as_py(),
    }


def _reasons(verdicts: pa.Table, name: str, kind: str) -> dict[str, int]:
    mine = verdicts.filter(
        pc.and_(pc.equal(verdicts["engine"], name), pc.equal(verdicts["kind"], kind))
    )
    return dict(sorted(Counter(mine["reason"].to_pylist()).items()))


def _why(verdicts: pa.Table, places: pa.Table, name: str) -> dict[str, list[dict[str, Any]]]:
    """What stands behind an engine's errors, the most frequent first.

    False acceptances by the keyword that the validators name, false rejections by the place in
    the text.
    """
    mine = verdicts.filter(pc.equal(verdicts["engine"], name))
    accepted = mine.filter(pc.equal(mine["kind"], "false_acceptance"))
    rejected = mine.filter(pc.equal(mine["kind"], "false_rejection")).join(places, keys=_PLACE)
    return {
        "false_acceptances": _grouped(accepted, "keyword"),
        "false_rejections": _grouped(rejected, "place"),
    }


def _grouped(rows: pa.Table, column: str) -> list[dict[str, Any]]:
    grouped = rows.group_by(column).aggregate([("token", "count"), ("case", "count_distinct")])
    found = [
        {column: row[column], "tokens": row["token_count"], "cases": row["case_count_distinct"]}
        for row in grouped.to_pylist()
    ]
    return sorted(found, key=lambda row: (-row["tokens"], row[column]))


def _with_status(rows: Iterable[Mapping[str, Any]], *status: str) -> int:
    return sum(row["case_count"] for row in rows if row["status"] in status)


def _by_reason(rows: Iterable[Mapping[str, Any]], status: str) -> dict[str, int]:
    return dict(sorted((r["reason"], r["case_count"]) for r in rows if r["status"] == status))


def _rounded(value: Estimate) -> dict[str, int]:
    return {"tokens": round(value.tokens), "low": round(value.low), "high": round(value.high)}


def _plain(table: pa.Table) -> pa.Table:
    """Dictionary columns as plain strings: joins and filters then need no special cases."""
    fields = [
        pa.field(one.name, one.type.value_type) if pa.types.is_dictionary(one.type) else one
        for one in table.schema
    ]
    return table.cast(pa.schema(fields))
