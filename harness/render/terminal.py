"""Tables and lines on a terminal."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

from harness.printable import printable
from harness.render.table import Table

WIDTH: Final = 80
"""Columns of lines that are no table."""
_WIDTH: Final = 110
"""Columns of a table where standard output is no terminal that says how wide it is."""


class Terminal(Console):
    """A console that prints nothing which a terminal would obey but its own styles."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for one in super().render(renderable, options):
            yield one if one.control else one._replace(text=printable(one.text))


def table_console() -> Console:
    """Where tables are printed: standard output."""
    console = Terminal()
    return console if console.is_terminal or "COLUMNS" in os.environ else Terminal(width=_WIDTH)


def for_terminal(table: Table) -> RichTable:
    """A table as rich prints it; what is missing is a dash."""
    out = RichTable(
        title=Text(printable(table.title)) if table.title else None,
        caption=Text(printable(table.note)) if table.note else None,
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
    )
    for column in table.columns:
        out.add_column(
            Text(printable(column.title)),
            justify="right" if table.is_right(column) else "left",
            ratio=column.ratio,
            min_width=column.width,
            max_width=column.most,
            no_wrap=not column.fold,
            overflow="fold",
        )
    groups = [at for at, column in enumerate(table.columns) if column.group]
    before: list[str] | None = None
    for row, cells in zip(table.rows, table.texts(), strict=True):
        key = [cells[at] for at in groups]
        repeated = groups if key == before else ()
        if groups and before is not None and not repeated:
            out.add_section()
        texts = [
            "-" if row[column.name] is None and not text else text
            for column, text in zip(table.columns, cells, strict=True)
        ]
        out.add_row(
            *(Text("" if at in repeated else printable(text)) for at, text in enumerate(texts))
        )
        before = key
    return out


def print_table(table: Table, console: Console | None = None) -> None:
    (console or table_console()).print(for_terminal(table))


def print_lines(lines: Iterable[str], console: Console | None = None) -> None:
    """Print lines as they are, whatever their length."""
    console = console or table_console()
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def wrapped(line: str, more: int = 4, most: int | None = None) -> list[str]:
    """A line in at `most` so many of 80 characters, those after the first indented by `more`."""
    line = printable(line, "")
    indent = " " * (len(line) - len(line.lstrip()) + more)
    wrapper = textwrap.TextWrapper(WIDTH, subsequent_indent=indent, break_on_hyphens=False)
    wrapper.max_lines, wrapper.placeholder = most, " …"
    return wrapper.wrap(line)


def cut(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"
