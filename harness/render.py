"""The summary of a run as tables on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

KINDS = ("false_acceptances", "false_rejections")

_TOP = 6


def print_summary(summary: Mapping[str, Any], path: str, console: Console) -> None:
    """Print who is wrong, how often and why."""
    engines = summary["engines"]
    console.print(_errors(engines))
    if any("estimate" in engine[KINDS[0]] for engine in engines.values()):
        console.print(_estimates(engines))
    console.print(_compilation(engines))
    for name, engine in engines.items():
        _print_why(name, engine, console)
    _print_open(engines, console)
    for line in _notes(summary, path):
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def _errors(engines: Mapping[str, Any]) -> Table:
    table = _table(
        "Proven errors (lower bounds: each one has a completion that proves it)",
        "false acceptances: the engine allowed a text that is invalid under the schema\n"
        "false rejections: it forbade a token that leads to a valid text",
    )
    table.add_column("engine", overflow="fold", min_width=24)
    table.add_column("verdict", no_wrap=True)
    for column in ("tokens", "positions", "cases"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, engine in engines.items():
        judged = f"{engine['version']}, {_plural(engine['judged']['cases'], 'case')} judged"
        for head, style, kind in ((name, "bold", KINDS[0]), (judged, "dim", KINDS[1])):
            counts = engine[kind]
            cells = [f"{counts[unit]:,}" for unit in ("tokens", "positions", "cases")]
            table.add_row(Text(head, style=style), kind.replace("_", " "), *cells)
        table.add_section()
    return table


def _estimates(engines: Mapping[str, Any]) -> Table:
    table = _table(
        "Estimates for all disputed tokens (scaled from samples; 95% intervals; not proven)"
    )
    table.add_column("engine", overflow="fold", min_width=18)
    for kind in KINDS:
        table.add_column(kind.replace("_", " "), justify="right", no_wrap=True)
    for name, engine in engines.items():
        table.add_row(name, *(_estimate(engine[kind]["estimate"]) for kind in KINDS))
    return table


def _table(title: str, caption: str | None = None) -> Table:
    return Table(
        title=title,
        caption=caption,
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
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
    table = _table("Schemas at compilation, and what failed later")
    table.add_column("engine", overflow="fold", min_width=16)
    for word in words:
        table.add_column(word.replace("out_of_", "no ").replace("_", " "), justify="right")
    if later:
        table.add_column("later", overflow="fold")
    for name, engine in engines.items():
        counts = [f"{engine['compile'][word]:,}" for word in words]
        table.add_row(name, *counts, *([_listed(engine["failures"]) or "-"] if later else []))
    return table


def _print_why(name: str, engine: Mapping[str, Any], console: Console) -> None:
    for kind, column, title in (
        ("false_acceptances", "keyword", "accepts against"),
        ("false_rejections", "place", "rejects at"),
    ):
        rows = engine["why"][kind]
        if not rows:
            continue
        shown = ", ".join(
            f"{row[column] or '?'} ({row['tokens']:,} in {_plural(row['cases'], 'case')})"
            for row in rows[:_TOP]
        )
        more = f", and {len(rows) - _TOP} more" if len(rows) > _TOP else ""
        console.print(
            f"{name} {title}: {shown}{more}", highlight=False, soft_wrap=True, markup=False
        )


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
    if summary["not_compared"]:
        lines.append(f"not compared: {_listed(summary['not_compared'])}")
    if summary["not_compared"].get("not_compiled_by_all"):
        lines.append(
            "  a case is walked only where every engine compiled its schema;"
            " --panel survivors walks the others with the engines that did"
        )
    if summary["set_aside"]:
        lines.append(f"set aside: {_listed(summary['set_aside'])}")
    if summary["harness_errors"]:
        lines.append(
            f"ERRORS OF THE HARNESS ITSELF: {summary['harness_errors']} cases; see cases.parquet"
        )
    if not summary["finished"]:
        lines.append("this run is not finished: the same command goes on with it")
    lines.append(f"run: {path}")
    return lines


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items())


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
