"""The tables behind the figures of a report: what is drawn, exported and read is the same numbers.

Every table is small whatever the size of the run. They are written as CSV for programs and as
Markdown for documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.analysis.breakdown import agreement, case_statuses, grouped
from harness.analysis.matrix import COLUMNS, example_text
from harness.analysis.rates import PAIR
from harness.analysis.stored import SEVERITIES, Classify, StoredRun, by_catalogue
from harness.analysis.tally import summarize
from harness.analysis.timing import FIGURES, MEASURES, UNIT
from harness.bugs.listing import BugList
from harness.errors import UsageError
from harness.files import writing
from harness.render.table import Row, Table, as_csv, as_markdown
from harness.runs.directory import RunDirectory
from harness.runs.tables import TEXT_TABLES
from harness.verdict_kinds import CLASSES, ERRORS, FALSE_ACCEPTANCE, KINDS, MAIN_KINDS, WALK
from harness.workers.outcomes import COMPILE_STATUSES

_RATIO: Final = ("value", "low", "high", "interval")
_WORST: Final = (*SEVERITIES, "by_format", "several_tokens")
_SEVERITY: Final = ("engine", "kind", *SEVERITIES, "by_format")
_TIMES: Final = ("engine", "measure", "unit", *FIGURES)
SEPARATOR: Final = " + "
"""Between the engines of a set."""

NAMES: Final = (
    *("matrix", "cases", "compile", "errors", "headline_rates", "pairs", "severity", "agreement"),
    "timings",
    *("by_keyword", "by_place", "by_departure", "by_family"),
)
"""The tables, in the order in which they are listed."""

_CASE: Final = ("schema", "text", "token")
BUG_COLUMNS: Final = (
    *("engine", "version", "id", "kind", "severity", "title", "cases", "judged", "share", "low"),
    *("high", "verdicts", "verdict", "state", "thread", "also_in"),
    *_CASE,
)
"""Columns of `bug_rows`; `schema`, `text` and `token` are the smallest case."""


@dataclass(frozen=True)
class Digest:
    """A run as reports show it: its summary, and tables by name, in the order of `NAMES`."""

    summary: Mapping[str, Any]
    tables: Mapping[str, Table]

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines, in the order of the run."""
        return tuple(self.summary["engines"])


def digest(run: RunDirectory, rule: Classify = by_catalogue) -> Digest:
    """Everything that figures and exports of a run, finished or not, are made from.

    Raises:
        RunDirectoryError: The run is damaged.
    """
    stored = StoredRun(run, rule)
    found = summarize(stored)
    engines = found["engines"]
    made = {
        "errors": _errors(engines),
        "headline_rates": _headline_rates(engines),
        "matrix": _matrix(found["matrix"]),
        "pairs": Table.of("Engines in pairs, on the same schemas", PAIR, found["pairs"]),
    }
    made |= {f"by_{by}": _by(stored, by) for by in ("keyword", "place", "departure", "family")}
    rows = [{"engine": name, **one["compile"]} for name, one in engines.items()]
    title = "Schemas by outcome of compilation"
    made["compile"] = Table.of(title, ("engine", *COMPILE_STATUSES), rows)
    rows = [
        {"engine": name, "kind": kind, "by_format": None, **one["severity"][kind]}
        for name, one in engines.items()
        for kind in MAIN_KINDS.values()
    ]
    made["severity"] = Table.of("Bugs of walks by severity, in tokens", _SEVERITY, rows)
    rows = [
        {"engine": name, "measure": measure, "unit": UNIT, **one["timings"][measure]}
        for name, one in engines.items()
        for measure in MEASURES
    ]
    made["timings"] = Table.of("Times of the engines", _TIMES, rows)
    made["agreement"] = _agreement(stored)
    names = ("family", "status", "reason", "cases", "positions", "disputed_tokens")
    title = "Cases by family and what became of them"
    made["cases"] = Table.of(title, names, case_statuses(stored))
    return Digest(found, {name: made[name] for name in NAMES})


def _matrix(found: Mapping[str, Any]) -> Table:
    rows = []
    for name, cells in found.items():
        row = {"engine": name}
        for column, cell in cells.items():
            example = example_text(column, cell["example"])
            row[COLUMNS[column]] = f"{cell['sentence']}{example and f' For example: {example}.'}"
        rows.append(row)
    return Table.of("In short, with an example of each", ("engine", *COLUMNS.values()), rows)


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
            rows.append({**row, **counts, **{key: share[key] for key in _RATIO}, **worst})
        for kind, rate in one["per_million"].items():
            row = {"engine": name, "measure": "bugs_per_million_mask_decisions", "kind": kind}
            counts = {"found": rate["bugs"], "scaled": rate["scaled"], "of": rate["decisions"]}
            worst = {**dict.fromkeys(_WORST), "by_format": rate["by_format"]}
            rows.append({**row, **counts, **{key: rate[key] for key in _RATIO}, **worst})
    columns = ("engine", "measure", "kind", "found", "scaled", "of", *_RATIO, *_WORST)
    return Table.of("Headline rates; shares also by the schemas' worst bugs", columns, rows)


def _by(stored: StoredRun, by: str) -> Table:
    apart = ("located", "by_format")
    columns = (by, "engine", "kind", "class", "evidence", "tokens", "cases", *apart)
    filled = [{**dict.fromkeys(apart), **row} for row in grouped(stored, by)]
    return Table.of(f"Proven errors by {by}", columns, filled)


def _agreement(stored: StoredRun) -> Table:
    sides = {"accept": "accepters", "reject": "rejecters"}
    rows = [
        {**row, **{name: SEPARATOR.join(row[side]) for name, side in sides.items()}}
        for row in agreement(stored)
    ]
    numbers = ("tokens", "resolved", "wrong", "right", "disputes", "cases")
    return Table.of("Disputed tokens by who accepts them", (*sides, *numbers), rows)


def bug_rows(bugs: BugList | None) -> list[Row]:
    """Each bug as a row with `BUG_COLUMNS`, in the list's order; none where bugs are not known."""
    rows: list[Row] = []
    for one in bugs.bugs if bugs is not None else ():
        row = one.row()
        row |= {key: getattr(one.upstream, key, None) for key in ("state", "thread")}
        row |= {"engine": one.engine, "also_in": one.also_in, "schema": one.error.schema}
        row |= {**row["share"], "share": row["share"]["value"]}
        rows.append({name: row[name] for name in BUG_COLUMNS})
    return rows


def bug_table(bugs: BugList) -> Table:
    """The bugs without their cases."""
    columns = [name for name in BUG_COLUMNS if name not in _CASE]
    return Table.of("Bugs: the few errors behind the verdicts", columns, bug_rows(bugs))


def write_tables(
    run: RunDirectory, directory: Path, kind: str = "csv", rule: Classify = by_catalogue
) -> list[Path]:
    """Write the tables: as ``csv``, a file each, or as ``markdown``, all in ``tables.md``.

    Raises:
        UsageError: A kind that there is not.
        RunDirectoryError: The run is damaged, or the files cannot be written.
    """
    known_kind(kind, ("csv", "markdown"), "tables")
    tables = digest(run, rule).tables
    texts = {f"{name}.csv": as_csv(table) for name, table in tables.items()}
    if kind == "markdown":
        texts = {"tables.md": "\n".join(map(as_markdown, tables.values()))}
    return write_files(texts, directory)


def known_kind(kind: str, kinds: Sequence[str], what: str) -> None:
    """Refuse a kind that there is not."""
    if kind not in kinds:
        raise UsageError(f"no {what} of kind {kind!r}", f"one of {', '.join(kinds)}")


def write_files(texts: Mapping[str, str], directory: Path) -> list[Path]:
    """Write files, by name, into a directory that is made if need be.

    Raises:
        RunDirectoryError: They cannot be written.
    """
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (directory / name).write_text(text, "utf-8")
    return [directory / name for name in texts]


def rows_where(table: Table, **wanted: object) -> Sequence[Row]:
    """The rows of a table with these cells."""
    return [row for row in table.rows if all(row[name] == one for name, one in wanted.items())]
