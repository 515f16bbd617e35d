"""The summary of a run as tables and lines on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from rich.console import Console

from harness.analysis.tally import is_tested
from harness.bugs.listing import BugList, met_by_any, severities_of, topics
from harness.printable import plural, printable
from harness.render.table import Column, Table
from harness.render.terminal import cut, print_lines, print_table
from harness.report import tables
from harness.report.tables import Summary
from harness.runs.tables import TEXT_TABLES
from harness.validators.format_rules import ANNOTATION
from harness.verdict_kinds import WALK
from harness.workers.outcomes import ADAPTER_FAULTS, EXCLUDING

LEGEND: Final = (
    "Bugs: in how many schemas; in how many of these a real value of the data set shows it, a plain"
    " one that was made, rare ones alone; id, + others that cost the same under the same keywords;"
    " what is wrong."
)

_TOP: Final = 6
_ROWS: Final = 40
_OF_PAIR: Final = ("counted", "values", "first", "second", "schemas", "only_first", "only_second")
_TIMED: Final = {"time_to_first_mask": "to first mask", "time_between_masks": "between masks"}
_AT: Final = ("mean", "p50", "p90", "p99.9", "max")


def print_summary(
    summary: Summary, path: str, console: Console, bugs: BugList | None = None
) -> None:
    """Print who is wrong, how often and why: losses and leaks, then the bugs that are known."""
    print_table(tables.headline(summary), console)
    if bugs is not None and bugs.verdicts:
        print_lines(_bugs(bugs, path), console)
    for table in _tables(summary):
        print_table(table, console)
    print_lines(_by_engine(summary["engines"]), console)
    print_lines(_notes(summary, path), console)


def _tables(summary: Summary) -> Iterator[Table]:
    engines = summary["engines"]
    yield tables.matrix(summary)
    if summary["pairs"]:
        tests = ("p_holm", "apart") if summary["sampled"] else ()
        pairs = tables.pairs(summary, (*_OF_PAIR, *tests))
        more = "\n--json prints all rows" * (len(pairs.rows) > _ROWS)
        yield replace(pairs, rows=pairs.rows[:_ROWS], note=pairs.note + more)
    if summary["equal_schemas"]:
        yield tables.equal_schemas(summary)
    tested = {
        evidence
        for evidence, table in TEXT_TABLES.items()
        if any(is_tested(engine[table]) for engine in engines.values())
    }
    errors = tables.errors(summary)
    shown = tuple(row for row in errors.rows if row["evidence"] in {WALK, *tested})
    yield replace(errors, rows=shown)
    yield tables.compilation(summary)
    if any(engine["timings"]["time_to_first_mask"]["n"] for engine in engines.values()):
        yield _timings(summary)


def _bugs(bugs: BugList, path: str) -> Iterator[str]:
    yield LEGEND
    for name in dict.fromkeys(one.engine for one in bugs.bugs):
        yield name
        yield from bug_lines(bugs, name, _TOP)
    yield f"{'; '.join(bugs.told(most=2))}; all of them: maskcourt bugs {path}"


def bug_lines(bugs: BugList, engine: str, most: int) -> list[str]:
    """The first bugs of an engine, and how many more; of none, whether there may be some yet."""
    mine, lines = topics(bugs.of(engine)), []
    for first, *others in mine[:most]:
        met = met_by_any([first, *others])
        shown = "/".join(map(str, severities_of(met).values()))
        alike = f" +{len(others)}" * bool(others)
        text = f"  {len(met):>4,} {shown:<8} {first.id}{alike} {printable(first.title, '')}"
        lines.append(cut(text))
    if more := sum(map(len, mine[most:])):
        lines.append(f"  and {more:,} more")
    return lines or ["  none shown so far"] * bool(bugs.pending)


def _timings(summary: Summary) -> Table:
    rows = [
        {**row, "time": _TIMED[row["measure"]]}
        for row in tables.timings(summary).rows
        if row["measure"] in _TIMED
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
    sizes = {"s": 1e6, "ms": 1e3}
    unit = next((one for one, size in sizes.items() if microseconds >= 0.9995 * size), "µs")
    number = microseconds / sizes.get(unit, 1)
    places = 0 if not number or number >= 100 else 1 if number >= 10 else 2
    return f"{number:,.{places}f} {unit}"


def _by_engine(engines: Summary) -> Iterator[str]:
    for name, engine in engines.items():
        judged = engine["judged"]
        if judged["broke_off"]:
            share = tables.percent(judged["bytes"] / judged["of"])
            walks = f"{judged['broke_off']:,} of {plural(judged['walks'], 'walk')} broke off"
            yield f"{name} was walked along {share} of the bytes of its references: {walks}"
    for name, engine in engines.items():
        parts = {"unresolved": engine["unresolved"], "contested": engine["contested_by"]}
        shown = [f"{title}: {tables.listed(counts)}" for title, counts in parts.items() if counts]
        if shown:
            yield f"{name} {'; '.join(shown)}"


def _notes(summary: Summary, path: str) -> Iterator[str]:
    seconds = "" if summary["seconds"] is None else f", {summary['seconds']:,.0f} s"
    yield (
        f"{plural(summary['cases'], 'case')}, {summary['walked']:,} walked,"
        f" {plural(summary['positions'], 'position')},"
        f" {plural(summary['disputed_tokens'], 'disputed token')}"
        f" ({summary['resolved_tokens']:,} resolved){seconds}"
    )
    if summary["capped"]:
        yield "  capped: tokens were resolved by a sample, few of one sort (--cap none: all)"
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
    yield from instances_told(summary)
    if summary["formats"] == ANNOTATION:
        yield "formats are annotations in this run: a text is never invalid for its format"
    yield from state(summary)
    yield f"run: {path}"


def instances_told(summary: Summary) -> Iterator[str]:
    """Which instances were made, and which bear a wrong label."""
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


def state(summary: Summary) -> Iterator[str]:
    """What went wrong in the harness itself, and whether the run goes on."""
    if summary["harness_errors"]:
        cases = plural(summary["harness_errors"], "case")
        yield f"ERRORS OF THE HARNESS ITSELF: {cases}; see cases.parquet"
    if not summary["finished"]:
        yield "this run is not finished: the same command goes on with it"
