"""The tables behind the figures of a report: what is drawn, exported and read is the same numbers.

Every table is small whatever the size of the run. They are written as CSV for programs and as
Markdown for documents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness import verdict_kinds as kinds
from harness.analysis.equal_schemas import COUNTS
from harness.analysis.matrix import COLUMNS, example_text
from harness.analysis.rates import PAIR
from harness.analysis.statistics import NO_SAMPLE
from harness.analysis.stored import WORST_FIRST
from harness.analysis.tally import summary
from harness.analysis.timing import FIGURES, MEASURES, UNIT
from harness.bugs.listing import BugList
from harness.engines.specs import with_version
from harness.files import write_whole
from harness.render.table import Column, Row, Table, as_csv, as_markdown, plain
from harness.runs.directory import RunDirectory
from harness.runs.tables import TEXT_TABLES
from harness.workers.outcomes import COMPILE_STATUSES

_RATIO: Final = ("value", "low", "high", "interval")

BUG_COLUMNS: Final = (
    *("engine", "version", "id", "kind", "effect", "title", "cases", "real", "plain", "rare"),
    *("judged", "share", "low", "high", "verdicts", "verdict", "state", "thread", "also_in"),
    *("schema", "text", "token"),
)
"""Columns of `bug_rows`; `schema`, `text` and `token` are the smallest case; of `cases` so many are
shown by a `real` value, by a `plain` one, by `rare` ones alone."""


Summary = Mapping[str, Any]

ENGINE: Final = Column("engine", group=True, width=16, most=20)
_ERRORS: Final = (
    "false acceptances: the engine allowed a text that is invalid under the schema\n"
    "false rejections: it forbade a token that leads to a valid text\n"
    "bugs, warned (the engine said that it ignores the keyword) and departures\n"
    "(deviations that it documents); cases are those of all three;\n"
    "by format: those of all three that rest on `format` alone, an annotation by\n"
    "default since draft 2019-09; of: texts of that sort that the engine was tested with"
)


def words(name: str) -> str:
    return name.replace("_", " ")


def listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{words(name)} {count:,}" for name, count in counts.items())


@dataclass(frozen=True)
class Digest:
    """A run as reports show it: its summary, and tables by name."""

    summary: Summary
    tables: Mapping[str, Table]


def digest(run: RunDirectory) -> Digest:
    """Everything that figures and exports of a run, finished or not, are made from."""
    found = summary(run)
    return Digest(found, {name: table(found) for name, table in _OF_SUMMARY.items()})


def headline(summary: Summary, *, intervals: bool = True) -> Table:
    """What each engine loses, leaks and refuses; shares with 95% `intervals`, if there are any."""

    def shown(rate: Mapping[str, Any]) -> str:
        if not rate["of"]:
            return "not judged"
        parts = [f"{rate['schemas']:,} of {rate['of']:,}", f"{rate['real']:,} real"]
        if intervals:
            shares = (with_interval(rate[name]) for name in ("share", "real_share"))
            parts = [f"{part}: {share}" for part, share in zip(parts, shares, strict=True)]
        parts += [f"{rate['declared']:,} declared"] * bool(rate["declared"])
        parts += [f"rare alone {rate['rare']:,}"] * bool(rate["rare"])
        return (";\n" if intervals else ", ").join(parts)

    rows = []
    for name, one in summary["engines"].items():
        given, refused = sum(one["compile"].values()), one["compile"]["refused"]
        row = {"engine": with_version(name, one.get("version") or "")}
        row |= {"loss": one["loss"], "leak": one["leak"], "refuses": f"{refused:,} of {given:,}"}
        rows.append({**row, **{key: one[key]["schemas"] for key in ("format_only", "not_json")}})
    columns = (
        Column("engine", width=16, most=20),
        Column("loss", "loses", shown=shown, fold=intervals),
        Column("leak", "leaks", shown=shown, fold=intervals),
        Column("format_only", "format", align="right", fold=False),
        Column("not_json", "no JSON", align="right", fold=False),
        Column("refuses", align="right", fold=False),
    )
    note = (
        "loses: cannot write a valid value; leaks: lets an invalid one through;\n"
        "real: with a value of the data set; declared: by the engine, or warned of;\n"
        "rare alone: beside these; format, no JSON: let through, too"
    )
    if intervals:
        note += ";\nin brackets: 95% intervals" if summary["sampled"] else f".\n{NO_SAMPLE}"
    return Table.of("In how many schemas an engine is wrong about a value", columns, rows, note)


def matrix(summary: Summary) -> Table:
    """In short what each engine refuses, leaks and loses, where it traps, how it spells."""
    rows = []
    for name, cells in summary["matrix"].items():
        row = {"engine": name}
        for column, cell in cells.items():
            example = example_text(column, cell["example"])
            row[COLUMNS[column]] = f"{cell['sentence']}{example and f' For example: {example}.'}"
        rows.append(row)
    columns = (Column(title, ratio=1) for title in COLUMNS.values())
    return Table.of("In short, with an example of each", [ENGINE, *columns], rows)


def errors(summary: Summary) -> Table:
    """Of walks in tokens, of instances and samples in texts, ``of`` so many that were tested."""
    rows: list[Row] = []
    main = kinds.MAIN_KINDS.values()
    for name, one in summary["engines"].items():
        for kind in kinds.ERRORS:
            counts = one[f"{kind}s"] if kind in main else one["other_kinds"][kind]
            if kind in main or counts["tokens"]:
                apart = {key: counts.get(key) for key in ("located", "by_format", "cases")}
                row = {"engine": name, "evidence": kinds.WALK, "kind": kind, "of": None}
                rows.append({**row, **one["by_class"][kind], **apart})
        for evidence, table in TEXT_TABLES.items():
            found = one[table]
            named = {kind: found[key] for key, kind in kinds.MAIN_KINDS.items()}
            tested = dict(zip(main, (found["tested_invalid"], found["tested_valid"]), strict=True))
            for kind, counts in {**named, **found["other_kinds"]}.items():
                by_format = found["by_format"] if kind == kinds.FALSE_ACCEPTANCE.name else None
                row = {"engine": name, "evidence": evidence, "kind": kind, "located": None}
                rows.append({**row, "by_format": by_format, "of": tested.get(kind), **counts})
    sorts = [Column("evidence", fold=False), Column("kind", shown=words, fold=False)]
    counts = ("by_format", "located", "of", "cases")
    numbers = [Column(one, align="right", fold=False) for one in (*kinds.CLASSES, *counts)]
    title = "Proven errors: tokens of walks, instances and samples"
    return Table.of(title, [ENGINE, *sorts, *numbers], rows, _ERRORS)


def compilation(summary: Summary) -> Table:
    rows = [
        {"engine": name, **one["compile"], "later": listed(one["failures"])}
        for name, one in summary["engines"].items()
    ]
    title = "Schemas by outcome of compilation, and what failed later"
    return Table.of(title, (ENGINE, *COMPILE_STATUSES, "later"), rows)


def timings(summary: Summary) -> Table:
    rows = [
        {"engine": name, "measure": measure, "unit": UNIT, **one["timings"][measure]}
        for name, one in summary["engines"].items()
        for measure in MEASURES
    ]
    return Table.of("Times of the engines", ("engine", "measure", "unit", *FIGURES), rows)


def _rates(summary: Summary) -> Table:
    """Schemas by what is wrong with values: rates for programs."""
    rows = []
    counts = ("schemas", *WORST_FIRST, "declared")
    for name, one in summary["engines"].items():
        for measure in kinds.COUNTED:
            rate = one[measure]
            real = {f"real_{key}": rate["real_share"][key] for key in _RATIO[:3]}
            row = {"engine": name, "measure": measure, "found": rate["schemas"], "of": rate["of"]}
            rows.append({**row, **{key: rate[key] for key in counts}, **rate["share"], **real})
    of_real = tuple(f"real_{key}" for key in _RATIO[:3])
    columns = ("engine", "measure", "found", "of", *counts[1:], *_RATIO, *of_real)
    filled = [{**dict.fromkeys(columns), **row} for row in rows]
    return Table.of("Rates: shares of schemas", columns, filled)


def pairs(summary: Summary, names: Sequence[str] = PAIR) -> Table:
    """Engines two by two, columns by `names`: on how many common schemas only one of them errs."""
    numbers = {"schemas": "of", "both": None, "only_first": None, "only_second": None}
    shown = {"p": _p, "p_holm": _p}
    columns = [
        Column(name, numbers.get(name), shown=shown.get(name, plain), fold=name not in numbers)
        for name in names
    ]
    note = "loss and leak by everyday values, and by real ones;\n" + (
        "p: McNemar's exact test, corrected for the number of pairs (Holm);\n"
        "apart: whether the two can be told apart"
        if summary["sampled"]
        else NO_SAMPLE
    )
    return Table.of("Engines in pairs, on the same schemas", columns, summary["pairs"], note)


def equal_schemas(summary: Summary) -> Table:
    """Rewritings of schemas that mean the same, and what engines do under one form alone."""
    numbers = ("schemas", *COUNTS)
    names = [Column(one, fold=False) for one in ("rewriting", "under")]
    columns = [ENGINE, *names, *(Column(one, align="right", fold=False) for one in numbers)]
    title = "Wrong under one of two forms of a schema that mean the same"
    return Table.of(title, [*columns, Column("example")], summary["equal_schemas"])


def _p(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"


def with_interval(ratio: Mapping[str, Any]) -> str:
    if ratio["value"] is None:
        return ""
    text = percent(ratio["value"])
    if ratio["low"] is None:
        return text
    return f"{text} ({percent(ratio['low']).rstrip('%')}-{percent(ratio['high'])})"


def percent(share: float) -> str:
    """Three digits at most; only nothing and all are shown as 0% and 100%."""
    percent = 100 * share
    return f"{percent:.0f}%" if percent in (0, 100) else f"{percent:.1f}%"


_OF_SUMMARY: Final[Mapping[str, Callable[[Summary], Table]]] = {
    "matrix": matrix,
    "headline_rates": _rates,
    "pairs": pairs,
    "equal_schemas": equal_schemas,
    "compile": compilation,
    "errors": errors,
    "timings": timings,
}
"""The tables, in the order in which they are listed."""


def bug_rows(bugs: BugList | None) -> list[Row]:
    """Each bug as a row with `BUG_COLUMNS`, in the list's order; none where bugs are not known."""
    rows: list[Row] = []
    for one in bugs.bugs if bugs is not None else ():
        row = one.row()
        row |= {key: getattr(one.upstream, key, None) for key in ("state", "thread")}
        row |= {"engine": one.engine, "also_in": one.also_in, "schema": one.error.schema}
        row |= {name: one.severities.get(name, 0) for name in kinds.SHOWN_BY}
        row |= {**row["share"], "share": row["share"]["value"]}
        rows.append({name: row[name] for name in BUG_COLUMNS})
    return rows


def write_tables(run: RunDirectory, directory: Path, kind: str = "csv") -> list[Path]:
    """Write the tables: as ``csv``, a file each, or as ``markdown``, all in ``tables.md``."""
    tables = digest(run).tables
    texts = {f"{name}.csv": as_csv(table) for name, table in tables.items()}
    if kind == "markdown":
        texts = {"tables.md": "\n".join(map(as_markdown, tables.values()))}
    return write_files(texts, directory)


def write_files(texts: Mapping[str, str], directory: Path) -> list[Path]:
    """Write files, by name, into a directory that is made if need be."""
    for name, text in texts.items():
        write_whole(directory / name, text)
    return [directory / name for name in texts]
