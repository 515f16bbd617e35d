"""The summary of a run, and its verdicts by one column, as tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from rich.console import Console

from harness.analysis.matrix import plural
from harness.analysis.statistics import NO_SAMPLE
from harness.analysis.stored import IN_WORDS, SEVERITIES
from harness.analysis.tally import is_tested
from harness.bugs.listing import Bug, BugList
from harness.engines.specs import with_version
from harness.printable import printable
from harness.render.table import Column, Table, plain
from harness.render.terminal import print_lines, print_table
from harness.report import tables
from harness.report.tables import Summary
from harness.runs.tables import TEXT_TABLES
from harness.validators.format_rules import ANNOTATION
from harness.verdict_kinds import FALSE_ACCEPTANCE, FALSE_REJECTION, MAIN_KINDS, WALK
from harness.workers.outcomes import ADAPTER_FAULTS, EXCLUDING

WIDTH: Final = 80
"""Columns of lines that are no table."""

LEGEND: Final = (
    "Bugs: in how many schemas; where: on the path of a usual valid text, at common tokens, at rare"
    " ones alone, or in whole texts; id; what is wrong."
)

_TOP: Final = 6
_ROWS: Final = 40
"""Up to so many rows of a breakdown are shown."""
_TIMED: Final = {"time_to_first_mask": "to first mask", "time_between_masks": "between masks"}
_AT: Final = ("mean", "p50", "p90", "p99.9", "max")


def print_summary(
    summary: Summary, path: str, console: Console, bugs: BugList | None = None
) -> None:
    """Print who is wrong, how often and why; first the bugs, where they are known."""
    if bugs is not None and bugs.verdicts:
        print_lines(_bugs(bugs, path), console)
    for table in _tables(summary):
        print_table(table, console)
    for name, engine in summary["engines"].items():
        print_lines(_causes(name, engine), console)
    print_lines(_open(summary["engines"]), console)
    print_lines(_notes(summary, path), console)


def _tables(summary: Summary) -> Iterator[Table]:
    engines, sampled = summary["engines"], summary["sampled"]
    yield tables.matrix(summary)
    yield _headline_rates(engines, sampled=sampled)
    if summary["pairs"]:
        yield _pairs(summary["pairs"], sampled=sampled)
    tested = {
        evidence
        for evidence, table in TEXT_TABLES.items()
        if any(is_tested(engine[table]) for engine in engines.values())
    }
    errors = tables.errors(summary)
    shown = tuple(row for row in errors.rows if row["evidence"] in {WALK, *tested})
    yield replace(errors, rows=shown)
    if any("estimate" in engine[FALSE_ACCEPTANCE.plural] for engine in engines.values()):
        yield _estimates(engines)
    yield tables.compilation(summary)
    if any(engine["timings"]["time_to_first_mask"]["n"] for engine in engines.values()):
        yield _timings(engines)


def _bugs(bugs: BugList, path: str) -> Iterator[str]:
    """The first bugs of each engine, and how to see all."""
    yield LEGEND
    for name in dict.fromkeys(one.engine for one in bugs.bugs):
        yield name
        yield from bug_lines(bugs, name, _TOP)
    yield f"{explained(bugs)}; all of them: maskcourt bugs {path}"


def bug_lines(bugs: BugList, engine: str, most: int) -> list[str]:
    """The first bugs of an engine, those that a model meets before others, and how many more.

    Of an engine without any it is said where verdicts are not shrunk yet: they may be its own.
    """
    mine = bugs.of(engine)
    lines = [_line(one) for one in mine[:most]]
    if more := len(mine) - len(lines):
        lines.append(f"  and {more:,} more")
    return lines or ["  none yet"] * bool(bugs.pending)


def _line(one: Bug) -> str:
    severity = IN_WORDS[one.severity].removeprefix("whole ")
    line = f"  {one.cases:>4,} {severity:<7} {one.id} {printable(one.title, '')}"
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"


def explained(bugs: BugList) -> str:
    """How many of the verdicts the bugs explain."""
    many = len(bugs.bugs)
    words = "bug explains" if many == 1 else "bugs explain"
    text = f"{many:,} {words} {bugs.percent_explained} of {bugs.verdicts:,} verdicts that are bugs"
    return f"{text}; {bugs.pending:,} are not shrunk yet" if bugs.pending else text


def _numbers(*names: str) -> list[Column]:
    return [Column(name, align="right", fold=False) for name in names]


def _headline_rates(engines: Summary, *, sampled: bool) -> Table:
    unranked = any(one["share_with_bug"]["any"]["severity"]["unranked"] for one in engines.values())
    severities = SEVERITIES if unranked else SEVERITIES[:-1]
    rows = []
    for name, engine in engines.items():
        share, rate = engine["share_with_bug"]["any"], engine["per_million"]["any"]
        of = share["of"]
        rows.append(
            {
                "engine": with_version(name, engine["version"]),
                "with a bug": _with_interval(share, percent, f" of {of:,}") or "none judged",
                "several": percent(share["several_tokens"] / of) if of else None,
                **share["severity"],
                "per million": _with_interval(rate, three_digits) or None,
            }
        )
    intervals = "in brackets: 95% intervals, resampled by schema" if sampled else NO_SAMPLE
    return Table.of(
        "How bad: walked schemas with a bug, and wrong bits per million bits of masks",
        [tables.ENGINE, *_numbers("with a bug", "several", *severities, "per million")],
        rows,
        "several: schemas in which more than one token is wrong\n"
        f"on path, common, rare: schemas by their worst bug\n{intervals}",
    )


def _pairs(pairs: list[Mapping[str, Any]], *, sampled: bool) -> Table:
    rows = [
        {
            **pair,
            "engines": f"{pair['first']}, {pair['second']}",
            "": "cannot tell apart" if pair["apart"] is False else "",
        }
        for pair in [one for one in pairs if one["kind"] != "any"][:_ROWS]
    ]
    words = [Column("kind", shown=tables.words), Column("counted", "bugs", shown=tables.words)]
    numbers = (("schemas", "of"), ("only_first", None), ("only_second", None))
    counts = [Column(name, title, align="right") for name, title in numbers]
    tested = [Column("p_holm", "p", shown=_p, fold=False), Column("")]
    note = "met: by bugs that a model meets, at more than rare tokens; all: by all bugs"
    more = "\np: McNemar's exact test, corrected for the number of pairs (Holm)"
    return Table.of(
        "Engines in pairs: schemas on which only one of the two has a bug",
        [Column("engines", ratio=1), *words, *counts, *(tested if sampled else [])],
        rows,
        note + more if sampled else note,
    )


def _p(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"


def _with_interval(ratio: Mapping[str, Any], shown: Any, of: str = "") -> str:
    if ratio["value"] is None:
        return ""
    text = f"{shown(ratio['value'])}{of}"
    if ratio["low"] is None:
        return text
    return f"{text}\n({shown(ratio['low']).rstrip('%')}-{shown(ratio['high'])})"


def percent(share: float) -> str:
    """Three digits at most; only nothing and all are shown as 0% and 100%."""
    percent = 100 * share
    return f"{percent:.0f}%" if percent in (0, 100) else f"{percent:.1f}%"


def three_digits(number: float) -> str:
    """A number as readers compare it."""
    if not number or number >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 10 else f"{number:.2f}"


def _estimates(engines: Summary) -> Table:
    rows = [
        {"engine": name, **{kind: _estimate(engine[kind]["estimate"]) for kind in MAIN_KINDS}}
        for name, engine in engines.items()
    ]
    title = "Estimates for all disputed tokens (scaled from samples; 95% intervals; not proven)"
    return Table.of(title, [tables.ENGINE, *_numbers(*MAIN_KINDS)], rows)


def _estimate(estimate: Mapping[str, int]) -> str:
    if estimate["low"] == estimate["high"]:
        return f"{estimate['tokens']:,}"
    return f"{_short(estimate['tokens'])} ({_short(estimate['low'])}-{_short(estimate['high'])})"


def _short(number: int) -> str:
    """Three digits of a large number."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if number >= 10 * size:
            digits = 0 if number >= 100 * size else 1
            return f"{number / size:,.{digits}f}{unit}"
    return f"{number:,}"


def _timings(engines: Summary) -> Table:
    rows = [
        {"engine": name, "time": title, **{at: engine["timings"][measure][at] for at in _AT}}
        for name, engine in engines.items()
        for measure, title in _TIMED.items()
    ]
    times = [Column(at, align="right", shown=_duration, fold=False) for at in _AT]
    return Table.of(
        "Times of the engines",
        [tables.ENGINE, Column("time", fold=False), *times],
        rows,
        "to first mask: processor time, of the schemas that the engine compiled\n"
        "between masks: consume a token and write the next mask",
    )


def _duration(microseconds: float | None) -> str:
    """A time in the unit that fits it, to three digits."""
    if microseconds is None:
        return ""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= 0.9995 * size:
            return f"{three_digits(microseconds / size)} {unit}"
    return f"{three_digits(microseconds)} µs"


def _causes(name: str, engine: Summary) -> Iterator[str]:
    for kind, column, title in (
        (FALSE_ACCEPTANCE.plural, "keyword", "accepts against"),
        (FALSE_REJECTION.plural, "place", "rejects at"),
    ):
        if rows := engine["why"][kind]:
            shown = ", ".join(
                f"{row[column] or '?'} ({row['tokens']:,} in {plural(row['cases'], 'case')})"
                for row in rows[:_TOP]
            )
            more = f", and {len(rows) - _TOP} more" if len(rows) > _TOP else ""
            yield f"{name} {title}: {shown}{more}"
    judged = engine["judged"]
    if judged["broke_off"]:
        yield (
            f"{name} was walked along {percent(judged['bytes'] / judged['of'])} of its references'"
            f" bytes: {judged['broke_off']:,} of {plural(judged['walks'], 'walk')} broke off"
        )
    accepted, rejected = (engine[plural] for plural in MAIN_KINDS)
    severity = engine["severity"][FALSE_REJECTION.name]
    if accepted["tokens"]:
        yield (
            f"{name}: of {accepted['tokens']:,} false acceptances {accepted['located']:,}"
            " are located: the error lies at the token itself, not after it"
        )
    if rejected["only_challenger"]:
        yield (
            f"{name}: of {rejected['tokens']:,} false rejections {rejected['only_challenger']:,}"
            " were shown by the challenger alone: no other engine allowed the token"
        )
    if severity["on_path"]:
        yield (
            f"{name}: of {sum(severity.values()):,} false rejections that are bugs"
            f" {severity['on_path']:,} forbid the token that a valid text is usually written with"
        )


def _open(engines: Summary) -> Iterator[str]:
    for name, engine in engines.items():
        parts = {"unresolved": engine["unresolved"], "contested": engine["contested_by"]}
        shown = [f"{title}: {tables.listed(counts)}" for title, counts in parts.items() if counts]
        if shown:
            yield f"{name} {'; '.join(shown)}"


def _notes(summary: Summary, path: str) -> Iterator[str]:
    seconds = "" if summary["seconds"] is None else f", {summary['seconds']:,.0f} s"
    yield (
        f"{plural(summary['cases'], 'case')}, {summary['walked']:,} walked,"
        f" {summary['positions']:,} positions, {summary['disputed_tokens']:,} disputed tokens"
        f" ({summary['resolved_tokens']:,} resolved){seconds}"
    )
    if summary["capped"]:
        yield (
            "  capped: counts are of the tokens that were resolved, a sample; rates are scaled"
            " (--cap none resolves all)"
        )
    if summary["not_compared"]:
        yield f"not compared: {tables.listed(summary['not_compared'])}"
    if summary["not_compared"].get("not_compiled_by_all"):
        yield (
            "  a case is walked only where every engine compiled its schema;"
            " --on-dropout continue walks the others with the engines that did"
        )
    for name, engine in summary["engines"].items():
        for what, many in engine["adapter_faults"].items():
            excluded = ", in which it was not judged" if what in EXCLUDING else ""
            yield (
                f"fault of an adapter, no bug of {name}: {ADAPTER_FAULTS[what]}, in"
                f" {plural(many, 'case')}{excluded}"
            )
    if summary["set_aside"]:
        yield f"set aside: {tables.listed(summary['set_aside'])}"
    if (made := summary["generated"])["instances"]:
        yield (
            f"made of schemas: {plural(made['instances'], 'instance')};"
            f" {plural(made['cases'], 'case')} without a valid one walked along them"
        )
    if (wrong := summary["mislabelled"])["instances"]:
        yield (
            f"wrong labels: {plural(wrong['instances'], 'instance')} in"
            f" {plural(wrong['cases'], 'case')}; what both validators say counts"
        )
    if summary["formats"] == ANNOTATION:
        yield "formats are annotations in this run: a text is never invalid for its format"
    yield from state(summary)
    yield f"run: {path}"


def state(summary: Summary) -> Iterator[str]:
    """What went wrong in the harness itself, and whether the run goes on."""
    if summary["harness_errors"]:
        yield f"ERRORS OF THE HARNESS ITSELF: {summary['harness_errors']} cases; see cases.parquet"
    if not summary["finished"]:
        yield "this run is not finished: the same command goes on with it"


def print_breakdown(found: Mapping[str, Any], path: str, console: Console) -> None:
    """Print verdicts by one column, or contested ones by their cause; the first rows of many."""
    rows = found["rows"]
    if found["by"] == "cause":
        title = (
            f"Contested verdicts by cause: {found['contested']:,},"
            f" beside {found['decided']:,} that are decided"
        )
        names = ("reason", "keyword", "jsonschema", "jsonschema_rs", "evidence")
        units = ["tokens", "cases", "example"]
    else:
        title = f"Verdicts by {found['by']} (in tokens, for instances and samples in texts)"
        names = (found["by"], "engine", "kind", "class", "evidence")
        by_format = ["by_format"] if any(row.get("by_format") for row in rows) else []
        units = ["tokens", *by_format, "cases"]
    columns = []
    for name in names:
        shown = tables.words if name in ("kind", "severity", "reason") else plain
        fold = name not in ("kind", "class", "evidence")
        columns.append(Column(name, name.replace("_", "-"), shown=shown, fold=fold))
    filled = [{"by_format": None, **row} for row in rows[:_ROWS]]
    dashed = [{name: None if one == "" else one for name, one in row.items()} for row in filled]
    print_table(Table.of(title, [*columns, *units], dashed), console)
    if len(rows) > _ROWS:
        print_lines([f"and {len(rows) - _ROWS:,} more rows; --json lists all"], console)
    print_lines([f"run: {path}"], console)
