"""One table of results, and the same table as Markdown, CSV and JUnit's XML.

A renderer makes harmless what others wrote: control characters, markup, formulas. Cells of a row
are raw values; a column says how people read them, programs (CSV, JSON) get them as they are.
`harness.render.terminal` prints a table.
"""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from harness.printable import markdown, printable, spreadsheet_cell

Row = Mapping[str, Any]


def plain(value: Any) -> str:
    """A cell as people read it: large numbers grouped, fractions to four digits, None empty."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
        case list() | tuple():
            return ", ".join(map(plain, value))
        case _:
            return str(value)


@dataclass(frozen=True)
class Column:
    """A column of a table; `shown` says how people read a cell.

    `align` is ``left`` or ``right`` (empty: right where all cells are numbers). The rest is for a
    terminal: `group` prints equal cells that follow each other once and rules the groups off,
    `ratio` is the share of the room that the column takes, `width` how much it takes at least,
    `most` at most, and `fold` whether a long cell goes on in the next line.
    """

    name: str
    heading: str | None = None
    align: str = ""
    shown: Callable[[Any], str] = plain
    group: bool = False
    ratio: int | None = None
    width: int | None = None
    most: int | None = None
    fold: bool = True

    @property
    def title(self) -> str:
        return self.name.replace("_", " ") if self.heading is None else self.heading


@dataclass(frozen=True)
class Table:
    """Rows with the same columns, a title above and a note below; either may be empty."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...] = field(repr=False)
    note: str = ""

    @classmethod
    def of(
        cls,
        title: str,
        columns: Iterable[str | Column],
        rows: Iterable[Row | Sequence[Any]],
        note: str = "",
    ) -> Table:
        """A table; a column may be given by its name alone, a row by its cells."""
        made = tuple(one if isinstance(one, Column) else Column(one) for one in columns)
        names = [column.name for column in made]
        every = (
            row if isinstance(row, Mapping) else dict(zip(names, row, strict=True)) for row in rows
        )
        return cls(title, made, tuple({name: row[name] for name in names} for row in every), note)

    def is_right(self, column: Column) -> bool:
        if column.align:
            return column.align == "right"
        cells = [row[column.name] for row in self.rows if row[column.name] is not None]
        return bool(cells) and all(isinstance(cell, int | float) for cell in cells)

    def texts(self) -> list[list[str]]:
        """The cells as people read them, row by row."""
        return [[column.shown(row[column.name]) for column in self.columns] for row in self.rows]

    def laid_out(self) -> dict[str, Any]:
        """The table as a page shows it: title and alignment of columns, texts, note."""
        columns = [[column.title, self.is_right(column)] for column in self.columns]
        return {"title": self.title, "columns": columns, "rows": self.texts(), "note": self.note}


def as_csv(table: Table) -> str:
    """CSV (RFC 4180, but for plain line feeds): raw values, a missing one empty, no formulas."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(spreadsheet_cell(column.name) for column in table.columns)
    writer.writerows([_csv_cell(cell) for cell in row.values()] for row in table.rows)
    return text.getvalue()


def _csv_cell(value: Any) -> Any:
    if isinstance(value, list | tuple | dict):
        value = json.dumps(value)
    return "" if value is None else spreadsheet_cell(value)


def as_markdown(table: Table) -> str:
    """GitHub's Markdown, the title as a heading; backticks stay code."""
    lines = [f"### {markdown(table.title)}", ""] if table.title else []
    lines.append(_line(markdown(column.title) for column in table.columns))
    lines.append(_line("---:" if table.is_right(one) else "---" for one in table.columns))
    lines += [_line(map(markdown, cells)) for cells in table.texts()]
    lines += ["", markdown(table.note)] if table.note else []
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def html(text: str) -> str:
    """A text as HTML: nothing in it is markup, what is in backticks is code."""
    parts = escape(printable(text)).split("`")
    if len(parts) % 2 == 0:
        return "`".join(parts)
    return "".join(f"<code>{one}</code>" if at % 2 else one for at, one in enumerate(parts))


PASSED, SKIPPED, FAILED = "passed", "skipped", "failed"


def as_junit(tests: Iterable[tuple[str, str, str, str, str, str]]) -> str:
    """JUnit's XML of tests: suite, name, `PASSED` or other status, type, message, text of each."""
    root = ET.Element("testsuites", name="maskcourt")
    suites: dict[str, ET.Element] = {}
    for suite_name, test_name, status, *about in tests:
        name, (sort, message, text) = printable(suite_name), map(printable, about)
        if name not in suites:
            suites[name] = ET.SubElement(root, "testsuite", name=name)
        test = ET.SubElement(suites[name], "testcase", classname=name, name=printable(test_name))
        if status == SKIPPED:
            ET.SubElement(test, "skipped", message=message)
        elif status == FAILED:
            ET.SubElement(test, "failure", type=sort, message=message).text = text
    for suite in suites.values():
        suite.set("tests", str(len(suite)))
        suite.set("failures", str(len(suite.findall("testcase/failure"))))
        suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
