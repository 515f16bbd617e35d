"""What a run over patterns says of each engine: what was judged, and how many bits are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from harness.regex_constraint.judging import ACCEPTANCE, PARTS, REJECTION, Judged
from harness.regex_constraint.work import RegexRun
from harness.render.table import Table

_DIRECTIONS: Final = {ACCEPTANCE: "allows", REJECTION: "forbids"}
_STATUSES: Final = ("refused", "skipped", "not_judged", "contested")
_NOTE: Final = "Allows, forbids: bits of masks that are wrong, each a token at a position."


def engine_rows(run: RegexRun) -> list[dict[str, Any]]:
    """One row for each engine, in the order of the run."""
    names = dict.fromkeys(one.engine for one in run.lines)
    return [_row(name, [one for one in run.lines if one.engine == name]) for name in names]


def _row(name: str, lines: Sequence[Judged]) -> dict[str, Any]:
    judged = sum(one.status == "judged" for one in lines)
    counts = {status: sum(one.status == status for one in lines) for status in _STATUSES}
    return {
        "engine": name,
        "patterns": len(lines),
        "judged": judged,
        **counts,
        "failed": len(lines) - judged - sum(counts.values()),
        "with_wrong_bits": sum(bool(one.witnesses) for one in lines),
        **{
            f"{kind}_{part}": sum(one.wrong.get(kind, {}).get(part, 0) for one in lines)
            for kind in _DIRECTIONS
            for part in PARTS
        },
        **{n: sum(getattr(x, n) for x in lines) for n in ("positions", "undecided", "valid")},
        "refused_texts": sum(one.refused for one in lines),
    }


def as_json(run: RegexRun) -> dict[str, Any]:
    told = ("engine", "pattern", "status", "message")
    rest = [{key: getattr(x, key) for key in told} for x in run.lines if x.status != "judged"]
    about = {key: run.manifest["identity"][key] for key in ("data", "vocabulary")}
    return {"run": str(run.path), **about, "engines": engine_rows(run), "not_judged": rest}


def table(run: RegexRun) -> Table:
    rows = [
        {
            "engine": row["engine"],
            "judged": f"{row['judged']:,} of {row['patterns']:,}",
            "with errors": row["with_wrong_bits"],
            "positions": row["positions"],
            **{does: sum(row[f"{x}_{part}"] for part in PARTS) for x, does in _DIRECTIONS.items()},
            "texts refused": f"{row['refused_texts']:,} of {row['valid']:,}",
        }
        for row in engine_rows(run)
    ]
    return Table.of("Regular expressions", list(rows[0]), rows, _NOTE)
