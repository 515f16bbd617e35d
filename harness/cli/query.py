"""The command ``maskcourt query``: SQL over the tables of one or many runs."""

from __future__ import annotations

import csv
import datetime as dt
import functools
import itertools
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.common import departures_option, json_option, trust_option
from harness.cli.printing import table_console
from harness.errors import UsageError
from harness.printable import json_text, spreadsheet_cell

if TYPE_CHECKING:
    from harness.report.query import QueryResult

_SHOWN = 200
"""Rows of a table on a terminal."""


@click.command()
@click.argument("arguments", nargs=-1, required=True, metavar="RUN... SQL", type=click.UNPROCESSED)
@departures_option
@trust_option
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print as CSV.")
def query(
    arguments: Sequence[str], departures: Path | None, trust: bool, as_json: bool, as_csv: bool
) -> None:
    """Ask SQL of the tables of one or many runs, with DuckDB.

    Every table (cases, engines, positions, disputes, completions, verdicts, instances,
    instance_verdicts, samples, sample_verdicts, masks, timings, costs, runs, run_engines) is a
    view whose first column, run, is the run's name; verdicts have class and departure. SQL is one
    statement that reads; the column "case" needs its quotes.
    """
    from harness.classification.departures import classify, load_catalogue
    from harness.counting.counts import by_catalogue
    from harness.report.query import query as ask
    from harness.runs.directory import open_run

    *runs, sql = arguments
    if not runs:
        raise UsageError("a query needs a run and SQL", 'maskcourt query RUN… "SELECT …"')
    if as_json and as_csv:
        raise UsageError("--json and --csv exclude each other", "leave one out")
    rule = by_catalogue
    if departures is not None:
        rule = functools.partial(classify, load_catalogue(departures))
    answer = ask([open_run(Path(run), trust=trust) for run in runs], sql, rule)
    if as_json:
        _print_json(answer)
    elif as_csv:
        _print_csv(answer)
    else:
        _print_table(answer)


def _print_json(answer: QueryResult) -> None:
    """One object; written row by row, so that a large answer is never held whole."""
    head = json_text(list(answer.columns))
    click.echo(f'{{\n  "columns": {head},\n  "rows": [', nl=False)
    names = _distinct(answer.columns)
    for number, row in enumerate(answer.rows):
        cells = dict(zip(names, map(_plain, row), strict=True))
        comma = "," if number else ""
        click.echo(f"{comma}\n    {json_text(cells)}", nl=False)
    click.echo("\n  ]\n}")


def _distinct(columns: Iterable[str]) -> list[str]:
    """Names for the keys of an object; a column that comes again gets a number."""
    seen: dict[str, int] = {}
    out = []
    for name in columns:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return out


def _plain(value: Any) -> Any:
    """A value of DuckDB as one of JSON; bytes as text, what JSON has no number for as null."""
    plain: Any
    match value:
        case None | bool() | int() | str():
            plain = value
        case float():
            plain = value if math.isfinite(value) else None
        case bytes() | bytearray():
            plain = bytes(value).decode("utf-8", "backslashreplace")
        case dict():
            plain = {str(key): _plain(one) for key, one in value.items()}
        case list() | tuple():
            plain = [_plain(one) for one in value]
        case dt.date() | dt.time():
            plain = value.isoformat()
        case _:
            plain = str(value)
    return plain


def _print_csv(answer: QueryResult) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(map(spreadsheet_cell, answer.columns))
    writer.writerows(_lines(answer.rows))


def _lines(rows: Iterable[Sequence[Any]]) -> Iterator[list[Any]]:
    for row in rows:
        cells = map(_plain, row)
        texts = (json.dumps(one) if isinstance(one, list | dict) else one for one in cells)
        yield list(map(spreadsheet_cell, texts))


def _print_table(answer: QueryResult) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    shown = list(itertools.islice(answer.rows, _SHOWN))
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for at, name in enumerate(answer.columns):
        numeric = any(isinstance(row[at], int | float) for row in shown)
        table.add_column(name, overflow="fold", justify="right" if numeric else "left")
    for row in shown:
        table.add_row(*(Text(_cell(one)) for one in row))
    console = table_console()
    console.print(table)
    if (more := sum(1 for _ in answer.rows)) > 0:
        console.print(f"and {more:,} more rows; --csv and --json print all", highlight=False)


def _cell(value: Any) -> str:
    plain = _plain(value)
    if plain is None:
        return "-"
    if isinstance(plain, bool):
        return str(plain).lower()
    return f"{plain:.6g}" if isinstance(plain, float) else str(plain)
