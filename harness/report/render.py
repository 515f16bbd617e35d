"""The summary of a run, and its verdicts by one column, as tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.bugs.listing import BugList
from harness.counting.intervals import NO_SAMPLE
from harness.counting.severity import SEVERITIES
from harness.report.bug_lines import LEGEND, bug_lines, explained
from harness.report.matrix import COLUMNS, example_text
from harness.report.text_counts import is_tested
from harness.validators.format_rules import ANNOTATION
from harness.verdict_kinds import FALSE_ACCEPTANCE, FALSE_REJECTION, MAIN_KINDS
from harness.workers.outcomes import ADAPTER_FAULTS, EXCLUDING

_TOP = 6
_ROWS = 40
"""Up to so many rows of a breakdown are shown."""

_TEXTS = {"instances": "instances, own and made", "samples": "texts that engines wrote"}
_CLASSES = {"bug": "bugs", "warned": "warned", "departure": "departures"}


def print_summary(
    summary: Mapping[str, Any], path: str, console: Console, bugs: BugList | None = None
) -> None:
    """Print who is wrong, how often and why; first the bugs, where they are known."""
    engines = summary["engines"]
    if bugs is not None and bugs.verdicts:
        for line in _bugs(bugs, path):
            console.print(line, highlight=False, soft_wrap=True, markup=False)
    console.print(_matrix(summary["matrix"]))
    console.print(_headline_rates(engines, sampled=summary["sampled"]))
    if summary["pairs"]:
        console.print(_pairs(summary["pairs"], sampled=summary["sampled"]))
    console.print(_errors(engines))
    for table, title in _TEXTS.items():
        if any(is_tested(engine[table]) for engine in engines.values()):
            console.print(_texts(engines, table, title))
    if any("estimate" in engine[FALSE_ACCEPTANCE.plural] for engine in engines.values()):
        console.print(_estimates(engines))
    console.print(_compilation(engines))
    if any(engine["timings"]["time_to_first_mask"]["n"] for engine in engines.values()):
        console.print(_timings(engines))
    for name, engine in engines.items():
        _print_causes(name, engine, console)
    _print_open(engines, console)
    for line in _notes(summary, path):
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def _bugs(bugs: BugList, path: str) -> Iterator[str]:
    """The first bugs of each engine, and how to see all."""
    yield LEGEND
    for name in dict.fromkeys(one.engine for one in bugs.bugs):
        yield name
        yield from bug_lines(bugs, name, _TOP)
    yield f"{explained(bugs)}; all of them: maskcourt bugs {path}"


def _matrix(found: Mapping[str, Any]) -> Table:
    table = _table(None, "examples: token by token, bugs alone; maskcourt replay shows them")
    table.add_column("engine", overflow="fold", max_width=20)
    for title in COLUMNS.values():
        table.add_column(title, overflow="fold", ratio=1)
    for name, cells in found.items():
        shown = []
        for column, cell in cells.items():
            example = example_text(column, cell["example"])
            text = Text(cell["sentence"])
            shown.append(text.append(f"\ne.g. {example}", style="dim") if example else text)
        table.add_row(Text(name, style="bold"), *shown)
        table.add_section()
    return table


def _headline_rates(engines: Mapping[str, Any], *, sampled: bool) -> Table:
    several = "several: schemas in which more than one token is wrong"
    intervals = "in brackets: 95% intervals, resampled by schema" if sampled else NO_SAMPLE
    table = _by_engine(
        "How bad: walked schemas with a bug, and wrong bits per million bits of masks",
        "several: schemas in which more than one token is wrong\n"
        f"on path, common, rare: schemas by their worst bug\n{intervals}",
    )
    unranked = any(one["share_with_bug"]["any"]["severity"]["unranked"] for one in engines.values())
    severities = SEVERITIES if unranked else SEVERITIES[:-1]
    for column in ("with a bug", "several", *severities, "per million"):
        table.add_column(column.replace("_", " "), justify="right", no_wrap=True)
    for name, engine in engines.items():
        share = engine["share_with_bug"]["any"]
        several = "-" if not share["of"] else _percent(share["several_tokens"] / share["of"])
        worst = [f"{share['severity'][one]:,}" for one in severities]
        rate = _rate(engine["per_million"]["any"])
        table.add_row(Text(name), _share(share), several, *worst, rate)
    return table


def _share(share: Mapping[str, Any]) -> str:
    if share["value"] is None:
        return "none judged"
    return _with_interval(share, _percent, f" of {share['of']:,}")


def _pairs(pairs: Sequence[Mapping[str, Any]], *, sampled: bool) -> Table:
    lines = ["met: by bugs that a model meets, at more than rare tokens; all: by all bugs"]
    if sampled:
        lines += ["p: McNemar's exact test, corrected for the number of pairs (Holm)"]
    title = "Engines in pairs: schemas on which only one of the two has a bug"
    table = _table(title, "\n".join(lines))
    table.add_column("engines", overflow="fold", ratio=1)
    for column in ("kind", "bugs"):
        table.add_column(column, overflow="fold")
    for column in ("of", "only first", "only second", *(("p",) if sampled else ())):
        table.add_column(column, justify="right")
    if sampled:
        table.add_column("", overflow="fold")
    for row in [one for one in pairs if one["kind"] != "any"][:_ROWS]:
        cells = [f"{row[key]:,}" for key in ("schemas", "only_first", "only_second")]
        if sampled:
            told = "" if row["apart"] is None or row["apart"] else "cannot tell apart"
            cells += ["-" if row["p_holm"] is None else f"{row['p_holm']:.2g}", told]
        names = Text(f"{row['first']}, {row['second']}")
        table.add_row(names, *(row[one].replace("_", " ") for one in ("kind", "counted")), *cells)
    return table


def _rate(rate: Mapping[str, Any]) -> str:
    return "-" if rate["value"] is None else _with_interval(rate, _three_digits)


def _with_interval(ratio: Mapping[str, Any], shown: Any, of: str = "") -> str:
    text = f"{shown(ratio['value'])}{of}"
    if ratio["low"] is None:
        return text
    return f"{text}\n({shown(ratio['low']).rstrip('%')}-{shown(ratio['high'])})"


def _percent(share: float) -> str:
    """Three digits at most; only nothing and all are shown as 0% and 100%."""
    percent = 100 * share
    return f"{percent:.0f}%" if percent in (0, 100) else f"{percent:.1f}%"


def _three_digits(number: float) -> str:
    if not number or number >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 10 else f"{number:.2f}"


def _errors(engines: Mapping[str, Any]) -> Table:
    table = _by_engine(
        "Proven errors of walks (lower bounds: a completion proves each of them)",
        "false acceptances: the engine allowed a text that is invalid under the schema\n"
        "false rejections: it forbade a token that leads to a valid text\n"
        "bugs, warned (the engine said that it ignores the keyword) and departures\n"
        "(deviations that it documents) are tokens; cases are those of all three;\n"
        "format: tokens of all three that rest on `format` alone, an annotation by\n"
        "default since draft 2019-09",
        words=["verdict"],
        numbers=[*_CLASSES.values(), "format", "cases"],
        width=18,
    )
    for name, engine in engines.items():
        judged = f"{engine['version']}, {engine['judged']['cases']:,} judged"
        labels = [Text(name, style="bold"), Text(judged, style="dim")]
        for number, (kind, verdict, counts) in enumerate(_kinds(engine)):
            cells = [f"{engine['by_class'][kind][one]:,}" for one in _CLASSES]
            cells.append(f"{counts['by_format']:,}" if "by_format" in counts else "")
            head = labels[number] if number < len(labels) else ""
            table.add_row(head, verdict, *cells, f"{counts['cases']:,}")
        table.add_section()
    return table


def _kinds(engine: Mapping[str, Any]) -> Iterable[tuple[str, str, Mapping[str, int]]]:
    """The kinds of error to show: their names, as words, and their counts."""
    for key, kind in MAIN_KINDS.items():
        yield kind, key.replace("_", " "), engine[key]
    for kind, counts in engine["other_kinds"].items():
        if counts["tokens"]:
            yield kind, kind.replace("_", " "), counts


def _texts(engines: Mapping[str, Any], unit: str, title: str) -> Table:
    table = _by_engine(
        f"Proven errors on {title}",
        f"false acceptances: of so many invalid {unit}, those let through\n"
        f"false rejections: of so many valid {unit}, those refused",
        words=["verdict"],
        numbers=[*_CLASSES.values(), "of", "format", "cases"],
        width=14,
    )
    for name, engine in engines.items():
        found = engine[unit]
        tested = (f"{found['tested_invalid']:,}", f"{found['tested_valid']:,}")
        rows = [(key, found[key], of) for key, of in zip(MAIN_KINDS, tested, strict=True)]
        rows += [(kind, counts, "") for kind, counts in found["other_kinds"].items()]
        for number, (kind, counts, of) in enumerate(rows):
            by_format = f"{found['by_format']:,}" if kind == FALSE_ACCEPTANCE.plural else ""
            cells = [f"{counts[one]:,}" for one in _CLASSES]
            cells += [of, by_format, f"{counts['cases']:,}"]
            table.add_row(Text("" if number else name), kind.replace("_", " "), *cells)
        table.add_section()
    return table


def _estimates(engines: Mapping[str, Any]) -> Table:
    table = _by_engine(
        "Estimates for all disputed tokens (scaled from samples; 95% intervals; not proven)",
        numbers=[kind.replace("_", " ") for kind in MAIN_KINDS],
        width=18,
    )
    for name, engine in engines.items():
        table.add_row(Text(name), *(_estimate(engine[kind]["estimate"]) for kind in MAIN_KINDS))
    return table


def _by_engine(
    title: str,
    caption: str | None = None,
    *,
    words: Iterable[str] = (),
    numbers: Iterable[str] = (),
    width: int = 16,
) -> Table:
    """A table whose first column, at least `width` letters wide, has the engines."""
    table = _table(title, caption)
    table.add_column("engine", overflow="fold", min_width=width)
    for column in words:
        table.add_column(column, no_wrap=True)
    for column in numbers:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _table(title: str | None, caption: str | None = None) -> Table:
    return Table(
        title=title,
        caption=caption,
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
    )


def _estimate(estimate: Mapping[str, int]) -> str:
    if estimate["low"] == estimate["high"]:
        return f"{estimate['tokens']:,}"
    return f"{_short(estimate['tokens'])} ({_short(estimate['low'])}-{_short(estimate['high'])})"


def _short(number: int) -> str:
    """Three digits of a large number."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if number >= 10 * size:
            return (
                f"{number / size:,.0f}{unit}"
                if number >= 100 * size
                else f"{number / size:.1f}{unit}"
            )
    return f"{number:,}"


def _compilation(engines: Mapping[str, Any]) -> Table:
    words = list(next(iter(engines.values()))["compile"])
    later = any(engine["failures"] for engine in engines.values())
    table = _by_engine("Schemas at compilation, and what failed later")
    for word in words:  # wrapped where there is no room for all
        table.add_column(word.replace("out_of_", "no ").replace("_", " "), justify="right")
    if later:
        table.add_column("later", overflow="fold")
    for name, engine in engines.items():
        counts = [f"{engine['compile'][word]:,}" for word in words]
        table.add_row(Text(name), *counts, *([_listed(engine["failures"]) or "-"] if later else []))
    return table


_TIMED = {"time_to_first_mask": "to first mask", "time_between_masks": "between masks"}
_AT = ("mean", "p50", "p90", "p99.9", "max")


def _timings(engines: Mapping[str, Any]) -> Table:
    table = _by_engine(
        "Times of the engines",
        "to first mask: processor time, of the schemas that the engine compiled\n"
        "between masks: consume a token and write the next mask",
        words=["time"],
        numbers=_AT,
    )
    for name, engine in engines.items():
        for number, (measure, title) in enumerate(_TIMED.items()):
            cells = [_duration(engine["timings"][measure][column]) for column in _AT]
            table.add_row(Text("" if number else name), title, *cells)
        table.add_section()
    return table


def _duration(microseconds: float | None) -> str:
    """A time in the unit that fits it, to three digits."""
    if microseconds is None:
        return "-"
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= 0.9995 * size:
            return f"{_three_digits(microseconds / size)} {unit}"
    return f"{_three_digits(microseconds)} µs"


def _print_causes(name: str, engine: Mapping[str, Any], console: Console) -> None:
    lines = []
    for kind, column, title in (
        (FALSE_ACCEPTANCE.plural, "keyword", "accepts against"),
        (FALSE_REJECTION.plural, "place", "rejects at"),
    ):
        rows = engine["why"][kind]
        if not rows:
            continue
        shown = ", ".join(
            f"{row[column] or '?'} ({row['tokens']:,} in {_plural(row['cases'], 'case')})"
            for row in rows[:_TOP]
        )
        more = f", and {len(rows) - _TOP} more" if len(rows) > _TOP else ""
        lines.append(f"{name} {title}: {shown}{more}")
    judged = engine["judged"]
    if judged["broke_off"]:
        lines.append(
            f"{name} was walked along {_percent(judged['bytes'] / judged['of'])} of its references'"
            f" bytes: {judged['broke_off']:,} of {_plural(judged['walks'], 'walk')} broke off"
        )
    accepted, severity = engine[FALSE_ACCEPTANCE.plural], engine["severity"][FALSE_REJECTION.name]
    if accepted["tokens"]:
        lines.append(
            f"{name}: of {accepted['tokens']:,} false acceptances {accepted['located']:,}"
            " are located: the error lies at the token itself, not behind it"
        )
    rejected = engine[FALSE_REJECTION.plural]
    if rejected["only_challenger"]:
        lines.append(
            f"{name}: of {rejected['tokens']:,} false rejections {rejected['only_challenger']:,}"
            " were shown by the challenger alone: no other engine allowed the token"
        )
    if severity["on_path"]:
        lines.append(
            f"{name}: of {sum(severity.values()):,} false rejections that are bugs"
            f" {severity['on_path']:,} forbid the token that a valid text is usually written with"
        )
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def _print_open(engines: Mapping[str, Any], console: Console) -> None:
    for name, engine in engines.items():
        parts = []
        if engine["unresolved"]:
            parts.append(f"unresolved: {_listed(engine['unresolved'])}")
        if engine["contested_by"]:
            parts.append(f"contested: {_listed(engine['contested_by'])}")
        if parts:
            text = f"{name} {'; '.join(parts)}"
            console.print(text, highlight=False, soft_wrap=True, markup=False)


def _notes(summary: Mapping[str, Any], path: str) -> list[str]:
    lines = [
        f"{_plural(summary['cases'], 'case')}, {summary['walked']:,} walked,"
        f" {summary['positions']:,} positions, {summary['disputed_tokens']:,} disputed tokens"
        f" ({summary['resolved_tokens']:,} resolved)"
        + (f", {summary['seconds']:,.0f} s" if summary["seconds"] is not None else "")
    ]
    if summary["capped"]:
        lines.append(
            "  capped: counts are of the tokens that were resolved, a sample; rates are scaled"
            " (--cap none resolves all)"
        )
    if summary["not_compared"]:
        lines.append(f"not compared: {_listed(summary['not_compared'])}")
    if summary["not_compared"].get("not_compiled_by_all"):
        lines.append(
            "  a case is walked only where every engine compiled its schema;"
            " --on-dropout continue walks the others with the engines that did"
        )
    lines += [
        f"fault of an adapter, no bug of {name}: {ADAPTER_FAULTS[what]}, in"
        f" {_plural(many, 'case')}" + (", in which it was not judged" if what in EXCLUDING else "")
        for name, engine in summary["engines"].items()
        for what, many in engine["adapter_faults"].items()
    ]
    if summary["set_aside"]:
        lines.append(f"set aside: {_listed(summary['set_aside'])}")
    if (made := summary["generated"])["instances"]:
        lines.append(
            f"made of schemas: {_plural(made['instances'], 'instance')};"
            f" {_plural(made['cases'], 'case')} without a valid one walked along them"
        )
    if (wrong := summary["mislabelled"])["instances"]:
        lines.append(
            f"wrong labels: {_plural(wrong['instances'], 'instance')} in"
            f" {_plural(wrong['cases'], 'case')}; what both validators say counts"
        )
    if summary["formats"] == ANNOTATION:
        lines.append("formats are annotations in this run: a text is never invalid for its format")
    if summary["harness_errors"]:
        lines.append(
            f"ERRORS OF THE HARNESS ITSELF: {summary['harness_errors']} cases; see cases.parquet"
        )
    if not summary["finished"]:
        lines.append("this run is not finished: the same command goes on with it")
    lines.append(f"run: {path}")
    return lines


def print_breakdown(found: Mapping[str, Any], path: str, console: Console) -> None:
    """Print verdicts by one column, or contested ones by their cause; the first rows of many."""
    rows = found["rows"]
    if found["by"] == "cause":
        title = (
            f"Contested verdicts by cause: {found['contested']:,},"
            f" beside {found['decided']:,} that are decided"
        )
        columns = ("reason", "keyword", "jsonschema", "jsonschema_rs", "evidence")
        table = _breakdown(title, columns, ("tokens", "cases", "example"), rows)
    else:
        title = f"Verdicts by {found['by']} (in tokens, for instances and samples in texts)"
        columns = (found["by"], "engine", "kind", "class", "evidence")
        by_format = ["by_format"] if any(row.get("by_format") for row in rows) else []
        table = _breakdown(title, columns, ("tokens", *by_format, "cases"), rows)
    console.print(table)
    if len(rows) > _ROWS:
        more = f"and {len(rows) - _ROWS:,} more rows; --json lists all"
        console.print(more, highlight=False, soft_wrap=True, markup=False)
    console.print(f"run: {path}", highlight=False, soft_wrap=True, markup=False)


def _breakdown(
    title: str,
    words: Sequence[str],
    others: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
) -> Table:
    table = _table(title)
    for column in words:
        whole = column in ("kind", "class", "evidence")
        table.add_column(column.replace("_", "-"), overflow="fold", no_wrap=whole)
    for column in others:
        if column == "example":
            table.add_column(column, overflow="fold")
        else:
            table.add_column(column.replace("_", " "), justify="right")
    for row in rows[:_ROWS]:
        cells = [_cell(row, column) or "-" for column in words]
        cells += [_cell(row, column) for column in others]
        table.add_row(*map(Text, cells))
    return table


def _cell(row: Mapping[str, Any], column: str) -> str:
    value = row.get(column, "")
    if isinstance(value, int):
        return f"{value:,}"
    return str(value).replace("_", " ") if column in ("kind", "severity", "reason") else str(value)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items())


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
