"""The tables behind the figures of a report: what is drawn, exported and read is the same numbers.

Every table is a list of rows with the same columns, small whatever the size of the run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.counting.counts import Classify, StoredRun, by_catalogue
from harness.counting.severity import SEVERITIES
from harness.render.table import Row, Table
from harness.report.agreement import agreement
from harness.report.breakdown import breakdown
from harness.report.estimates import Disputes
from harness.report.matrix import COLUMNS, example_text
from harness.report.pairs import COLUMNS as PAIR
from harness.report.tally import summary
from harness.report.timing import FIGURES, MEASURES, UNIT
from harness.runs.directory import RunDirectory
from harness.runs.tables import TEXT_TABLES
from harness.verdict_kinds import (
    CLASSES,
    ERRORS,
    FALSE_ACCEPTANCE,
    KINDS,
    MAIN_KINDS,
    WALK,
)
from harness.workers.outcomes import COMPILE_STATUSES

_RATIO = ("value", "low", "high", "interval")
_WORST = (*SEVERITIES, "by_format", "several_tokens")


@dataclass(frozen=True)
class Digest:
    """A run as reports show it.

    Attributes:
        summary: As `harness.report.tally.summary` gives it.
        tables: The tables by name, in the order of `NAMES`.
    """

    summary: Mapping[str, Any]
    tables: Mapping[str, Table]

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines, in the order of the run."""
        return tuple(self.summary["engines"])


def digest(run: RunDirectory, rule: Classify = by_catalogue) -> Digest:
    """Everything that figures, exports and narratives are made from.

    Args:
        run: The run, finished or not.
        rule: Gives verdicts their classes; the catalogue of departures does.

    Raises:
        RunDirectoryError: The run is damaged.
    """
    once = functools.cache(rule)  # asked for by every count
    found = summary(run, once)
    by_engine = found["engines"]
    made: dict[str, Table] = {name: make(by_engine) for name, make in _OF_ENGINES.items()}
    for by in ("keyword", "place", "departure", "family"):
        made[f"by_{by}"] = _by(by, breakdown(run, by, once)["rows"])
    made["matrix"] = _matrix(found["matrix"])
    made["pairs"] = Table.of("Engines in pairs, on the same schemas", PAIR, found["pairs"])
    made["agreement"] = _agreement(StoredRun(run, once))
    made["cases"] = _cases(run)
    return Digest(found, {name: made[name] for name in NAMES})


NAMES = (
    *("matrix", "cases", "compile", "errors", "headline_rates", "pairs", "severity", "agreement"),
    "timings",
    *("by_keyword", "by_place", "by_departure", "by_family"),
)
"""The tables, in the order in which they are listed."""


def _matrix(found: Mapping[str, Any]) -> Table:
    rows = []
    for name, cells in found.items():
        row = {"engine": name}
        for column, cell in cells.items():
            example = example_text(column, cell["example"])
            row[COLUMNS[column]] = f"{cell['sentence']}{example and f' For example: {example}.'}"
        rows.append(row)
    return Table.of("In short, with an example of each", ("engine", *COLUMNS.values()), rows)


def _compile(engines: Mapping[str, Any]) -> Table:
    rows = [{"engine": name, **one["compile"]} for name, one in engines.items()]
    return Table.of("Schemas by outcome of compilation", ("engine", *COMPILE_STATUSES), rows)


def _errors(engines: Mapping[str, Any]) -> Table:
    """Of walks in tokens, of instances and samples in texts."""
    rows: list[Row] = []
    main = MAIN_KINDS.values()
    for name, one in engines.items():
        for kind in ERRORS:
            counts = one[KINDS[kind].plural] if kind in main else one["other_kinds"][kind]
            if kind in main or counts["tokens"]:
                apart = {key: counts.get(key) for key in ("located", "by_format", "cases")}
                cells = {**one["by_class"][kind], **apart}
                rows.append({"engine": name, "evidence": WALK, "kind": kind, **cells})
        for evidence, table in TEXT_TABLES.items():
            found = one[table]
            named = {kind: found[key] for key, kind in MAIN_KINDS.items()}
            for kind, counts in {**named, **found["other_kinds"]}.items():
                by_format = found["by_format"] if kind == FALSE_ACCEPTANCE.name else None
                row = {"engine": name, "evidence": evidence, "kind": kind, "located": None}
                rows.append({**row, "by_format": by_format, **counts})
    columns = ("engine", "evidence", "kind", *CLASSES, "by_format", "located", "cases")
    return Table.of("Proven errors: tokens of walks, instances and samples", columns, rows)


def _headline_rates(engines: Mapping[str, Any]) -> Table:
    rows = []
    for name, one in engines.items():
        for kind, share in one["share_with_bug"].items():
            row = {"engine": name, "measure": "share_of_schemas_with_a_bug", "kind": kind}
            counts = {"found": share["cases"], "scaled": None, "of": share["of"]}
            worst = {**share["severity"], **{one: share[one] for one in _WORST[-2:]}}
            rows.append({**row, **counts, **_ratio(share), **worst})
        for kind, rate in one["per_million"].items():
            row = {"engine": name, "measure": "bugs_per_million_mask_decisions", "kind": kind}
            counts = {"found": rate["bugs"], "scaled": rate["scaled"], "of": rate["decisions"]}
            worst = {**dict.fromkeys(_WORST), "by_format": rate["by_format"]}
            rows.append({**row, **counts, **_ratio(rate), **worst})
    columns = ("engine", "measure", "kind", "found", "scaled", "of", *_RATIO, *_WORST)
    return Table.of("Headline rates; shares also by the schemas' worst bugs", columns, rows)


def _ratio(one: Mapping[str, Any]) -> Row:
    return {key: one[key] for key in _RATIO}


def _severity(engines: Mapping[str, Any]) -> Table:
    rows = [
        {"engine": name, "kind": kind, "by_format": None, **one["severity"][kind]}
        for name, one in engines.items()
        for kind in MAIN_KINDS.values()
    ]
    columns = ("engine", "kind", *SEVERITIES, "by_format")
    return Table.of("Bugs of walks by severity, in tokens", columns, rows)


def _timings(engines: Mapping[str, Any]) -> Table:
    rows = [
        {"engine": name, "measure": measure, "unit": UNIT, **one["timings"][measure]}
        for name, one in engines.items()
        for measure in MEASURES
    ]
    return Table.of("Times of the engines", ("engine", "measure", "unit", *FIGURES), rows)


_OF_ENGINES: Mapping[str, Callable[[Mapping[str, Any]], Table]] = {
    "compile": _compile,
    "errors": _errors,
    "headline_rates": _headline_rates,
    "severity": _severity,
    "timings": _timings,
}


def _by(by: str, rows: Sequence[Row]) -> Table:
    apart = ("located", "by_format")
    columns = (by, "engine", "kind", "class", "evidence", "tokens", "cases", *apart)
    filled = [{**dict.fromkeys(apart), **row} for row in rows]
    return Table.of(f"Proven errors by {by}", columns, filled)


def _agreement(stored: StoredRun) -> Table:
    columns = ("engine", "kind", "class", "dispute", "always_resolved")
    walk = stored.fold(WALK, columns)
    rows = [
        {
            **row,
            "accept": SEPARATOR.join(row["accepters"]),
            "reject": SEPARATOR.join(row["rejecters"]),
        }
        for row in agreement(stored, walk, Disputes(stored).rows_of(walk))
    ]
    numbers = ("tokens", "resolved", "wrong", "right", "disputes", "cases")
    return Table.of("Disputed tokens by who accepts them", ("accept", "reject", *numbers), rows)


SEPARATOR = " + "
"""Between the engines of a set."""


def _cases(run: RunDirectory) -> Table:
    """What became of the cases, by family."""
    names = ["family", "status", "reason"]
    table = run.table("cases", [*names, "positions", "disputed_tokens"])
    grouped = table.group_by(names).aggregate(
        [("positions", "count"), ("positions", "sum"), ("disputed_tokens", "sum")]
    )
    rows = [
        {
            **{name: row[name] for name in names},
            "cases": row["positions_count"],
            "positions": row["positions_sum"],
            "disputed_tokens": row["disputed_tokens_sum"],
        }
        for row in grouped.sort_by([(name, "ascending") for name in names]).to_pylist()
    ]
    columns = (*names, "cases", "positions", "disputed_tokens")
    return Table.of("Cases by family and what became of them", columns, rows)
