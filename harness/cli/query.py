"""The command ``maskcourt query``: SQL over the tables of one or many runs."""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.common import Json, Trusting
from harness.cli.options import command
from harness.console import say
from harness.errors import UsageError
from harness.options import option
from harness.printable import json_text
from harness.render.table import Column, Table, write_csv
from harness.render.terminal import print_table

if TYPE_CHECKING:
    from harness.report.query import QueryResult

_SHOWN = 200
"""Rows of a table on a terminal."""


@dataclass(frozen=True)
class Asking:
    """How an answer is printed."""

    as_csv: bool = option(False, "Print as CSV.", "--csv")


@command(Trusting, Json, Asking)
@click.argument("arguments", nargs=-1, required=True, metavar="RUN... SQL", type=click.UNPROCESSED)
def query(access: Trusting, json: Json, asking: Asking, arguments: Sequence[str]) -> None:
    """Ask SQL of the tables of one or many runs, with DuckDB.

    Every table (cases, engines, positions, disputes, completions, verdicts, instances,
    instance_verdicts, samples, sample_verdicts, masks, timings, costs, runs, run_engines) is a
    view whose first column, run, is the run's name; verdicts have class and departure. SQL is one
    statement that reads; the column "case" needs its quotes.
    """
    from harness.report.query import query as ask

    *runs, sql = arguments
    if not runs:
        raise UsageError("a query needs a run and SQL", 'maskcourt query RUN… "SELECT …"')
    if json.as_json and asking.as_csv:
        raise UsageError("--json and --csv exclude each other", "leave one out")
    stored = [access.open(Path(run)) for run in runs]
    answer = ask(stored, sql)
    if json.as_json:
        _print_json(answer)
    elif asking.as_csv:
        write_csv(sys.stdout, answer.columns, (list(map(_plain, row)) for row in answer.rows))
    else:
        _print_table(answer)


def _print_json(answer: QueryResult) -> None:
    """One object; written row by row, so that a large answer is never held whole."""
    head = json_text(list(answer.columns))
    say(f'{{\n  "columns": {head},\n  "rows": [', end="")
    names = _distinct(answer.columns)
    for number, row in enumerate(answer.rows):
        cells = dict(zip(names, map(_plain, row), strict=True))
        comma = "," if number else ""
        say(f"{comma}\n    {json_text(cells)}", end="")
    say("\n  ]\n}")


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
    match value:
        case float():
            return value if math.isfinite(value) else None
        case None | int() | str():
            return value
        case bytes() | bytearray():
            return bytes(value).decode("utf-8", "backslashreplace")
        case dict():
            return {str(key): _plain(one) for key, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
    return value.isoformat() if isinstance(value, dt.date | dt.time) else str(value)


def _print_table(answer: QueryResult) -> None:
    names = _distinct(answer.columns)
    rows = [dict(zip(names, map(_plain, row), strict=True)) for row in islice(answer.rows, _SHOWN)]
    titles = zip(names, answer.columns, strict=True)
    print_table(Table.of("", [Column(*one, shown=_cell) for one in titles], rows))
    if (more := sum(1 for _ in answer.rows)) > 0:
        say(f"and {more:,} more rows; --csv and --json print all")


def _cell(plain: Any) -> str:
    if isinstance(plain, float):
        return f"{plain:.6g}"
    return str(plain).lower() if isinstance(plain, bool) else str("" if plain is None else plain)
