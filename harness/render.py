"""The summary of a run as tables on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

_TOP = 6


def print_summary(summary: Mapping[str, Any], path: str, console: Console) -> None:
    """Print who is wrong, how often and why."""
    engines = summary["engines"]
    console.print(_errors(engines))
    console.print(_compilation(engines))
    for name, engine in engines.items():
        _print_why(name, engine, console)
    _print_open(engines, console)
    for line in _notes(summary, path):
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def _errors(engines: Mapping[str, Any]) -> Table:
    table = Table(
        title="Proven errors (lower bounds; every one has a witness)",
        caption="false acceptance: the engine allowed a text that is invalid under the schema."
        "  false rejection: it forbade a token that leads to a valid text.",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("engine", overflow="fold")
    table.add_column("version")
    table.add_column("judged\ncases", justify="right")
    table.add_column("false acceptances\ntokens", justify="right")
    table.add_column("positions", justify="right")
    table.add_column("cases", justify="right")
    table.add_column("false rejections\ntokens", justify="right")
    table.add_column("positions", justify="right")
    table.add_column("cases", justify="right")
    for name, engine in engines.items():
        table.add_row(
            name,
            engine["version"],
            f"{engine['judged']['cases']:,}",
            *_cells(engine["false_acceptances"]),
            *_cells(engine["false_rejections"]),
        )
    return table


def _cells(counts: Mapping[str, Any]) -> tuple[str, str, str]:
    tokens = f"{counts['tokens']:,}"
    if (estimate := counts.get("estimate")) is not None:
        low, high = estimate["low"], estimate["high"]
        tokens += f"\nest. {estimate['tokens']:,}\n({low:,} to {high:,})"
    return tokens, f"{counts['positions']:,}", f"{counts['cases']:,}"


def _compilation(engines: Mapping[str, Any]) -> Table:
    words = list(next(iter(engines.values()))["compile"])
    table = Table(title="Schemas at compilation, and what failed later", title_justify="left")
    table.add_column("engine", overflow="fold")
    for word in words:
        table.add_column(word.replace("_", " "), justify="right")
    table.add_column("failed while walking or resolving")
    for name, engine in engines.items():
        counts = [f"{engine['compile'][word]:,}" for word in words]
        table.add_row(name, *counts, _listed(engine["failures"]) or "-")
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
        f"{summary['cases']:,} cases, {summary['walked']:,} walked, {summary['positions']:,}"
        f" positions, {summary['disputed_tokens']:,} disputed tokens"
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
    if summary["resolved_tokens"] < summary["disputed_tokens"]:
        lines.append("est.: scaled from a sample per dispute, with a 95% interval; not proven")
    if not summary["finished"]:
        lines.append("this run is not finished: the same command goes on with it")
    lines.append(f"run: {path}")
    return lines


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items())


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
