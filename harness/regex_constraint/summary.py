"""What a run over patterns says: each engine's wrong bits, and what they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from harness.regex_constraint.dialects import features
from harness.regex_constraint.judging import ACCEPTANCE, PARTS, REJECTION, Judged
from harness.regex_constraint.work import RegexRun
from harness.render.table import Table

_DIRECTIONS: Final = {ACCEPTANCE: "allows", REJECTION: "forbids"}
_STATUSES: Final = ("refused", "skipped", "not_judged", "contested")
_NOTE: Final = "Allows, forbids: bits of masks that are wrong, each a token at a position."
_WHERE: Final = {
    "whole": "characters",
    "partial": "a part of one",
    "special": "special tokens",
    "end": "the end",
}


def engine_rows(run: RegexRun) -> list[dict[str, Any]]:
    """One row for each engine, in the order of the run."""
    return [
        _engine_row(name, [one for one in run.lines if one.engine == name])
        for name in dict.fromkeys(one.engine for one in run.lines)
    ]


def _engine_row(name: str, lines: Sequence[Judged]) -> dict[str, Any]:
    judged = [one for one in lines if one.status == "judged"]
    bits = {
        f"{kind}_{part}": sum(one.wrong.get(kind, {}).get(part, 0) for one in lines)
        for kind in (ACCEPTANCE, REJECTION)
        for part in PARTS
    }
    counts = {status: sum(one.status == status for one in lines) for status in _STATUSES}
    return {
        "engine": name,
        "patterns": len(lines),
        "judged": len(judged),
        **counts,
        "failed": len(lines) - len(judged) - sum(counts.values()),
        "with_wrong_bits": sum(bool(one.witnesses) for one in lines),
        "positions": sum(one.positions for one in lines),
        **bits,
        **{n: sum(getattr(x, n) for x in lines) for n in ("undecided", "valid", "invalid")},
        "refused_texts": sum(one.refused for one in lines),
        "accepted_texts": sum(one.accepted for one in lines),
    }


def groups(run: RegexRun) -> list[dict[str, Any]]:
    """Wrong bits by engine, direction, kind of token and what is in the pattern.

    A pattern belongs to the smallest set of features with which another one, or it itself, has the
    same kind of error. The example is the shortest pattern; engines come in their order.
    """
    kinds: dict[tuple[str, str, str], list[tuple[Judged, dict[str, str]]]] = {}
    for one in run.lines:
        for shown in one.witnesses:
            kinds.setdefault((one.engine, shown["kind"], shown["part"]), []).append((one, shown))
    rows = []
    for (engine, kind, part), wrong in kinds.items():
        sets = {features(one.pattern) for one, _ in wrong}
        least = sorted(sets, key=lambda x: (len(x), sorted(x)))
        some: dict[frozenset[str], list[tuple[Judged, dict[str, str]]]] = {}
        for one, shown in wrong:
            mine = features(one.pattern)
            some.setdefault(next(x for x in least if x <= mine), []).append((one, shown))
        for made_of, members in some.items():
            one, shown = min(members, key=lambda x: (len(x[0].pattern), x[0].case))
            rows.append({
                "engine": engine, "kind": kind, "part": part,
                "features": sorted(made_of), "patterns": len(members),
                "bits": sum(x.wrong[kind][part] for x, _ in members),
                "case": one.case, "pattern": one.pattern,
                **{name: shown[name] for name in ("text", "token", "whole")},
            })  # fmt: skip
    order = list(dict.fromkeys(one.engine for one in run.lines))
    return sorted(rows, key=lambda row: (order.index(row["engine"]), -row["patterns"]))


def as_json(run: RegexRun) -> dict[str, Any]:
    return {
        "run": str(run.path),
        **{key: run.identity[key] for key in ("data", "vocabulary")},
        "engines": engine_rows(run),
        "groups": groups(run),
        "not_judged": [
            {"engine": x.engine, "pattern": x.pattern, "status": x.status, "message": x.message}
            for x in run.lines
            if x.status != "judged"
        ],
    }


def tables(run: RegexRun) -> list[Table]:
    """What is printed: the engines, and their groups of wrong bits."""
    engines = [
        {
            "engine": row["engine"],
            "judged": f"{row['judged']:,} of {row['patterns']:,}",
            "with errors": row["with_wrong_bits"],
            "positions": row["positions"],
            **{
                word: sum(row[f"{kind}_{part}"] for part in PARTS)
                for kind, word in _DIRECTIONS.items()
            },
            "texts refused": f"{row['refused_texts']:,} of {row['valid']:,}",
            "taken": f"{row['accepted_texts']:,} of {row['invalid']:,}",
        }
        for row in engine_rows(run)
    ]
    errors = [
        {
            "engine": row["engine"],
            "patterns": row["patterns"],
            "error": f"{_DIRECTIONS[row['kind']]} {_WHERE[row['part']]}",
            "shortest pattern": row["pattern"],
            "after": ascii(row["text"])[1:-1],
            "token": ascii(row["token"])[1:-1],
        }
        for row in groups(run)
    ]
    return [
        Table.of("Regular expressions", list(engines[0]), engines, _NOTE),
        Table.of("What the wrong bits have in common", list(errors[0]) if errors else [], errors),
    ]
