"""What others wrote does nothing on a terminal, in a spreadsheet, or in Markdown."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET

import pytest

import harness.cli.main
from harness.console import print_json
from harness.errors import InputError
from harness.printable import LONGEST, markdown, one_line, printable, spreadsheet_cell
from harness.render.table import Column, Table, as_csv, as_junit, as_markdown
from harness.render.terminal import Terminal, print_table

ESCAPES = "\x1b[2J\x1b]0;title\x07\x9b31m\u202etxt.exe\u2066\r\x00\u2028"
FORMULAS = ("=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", ' "=1', "|cmd", "\n=1")
MARKUP = ("[a](http://b)", "![a](b)", "<img src=x>", "a|b", "*a*", "`a", "@somebody", "# a", "a\nb")


def is_harmless(text: str) -> bool:
    return text.replace("\n", "").isprintable()


class TestTerminal:
    def test_escape_sequences_are_written_out(self):
        assert printable("a\x1b[2J\u202eb") == "a\\x1b[2J\\u202eb"
        assert is_harmless(printable(ESCAPES))

    def test_what_can_be_seen_stays(self):
        assert printable("grün 漢字 😀\nnext") == "grün 漢字 😀\nnext"

    def test_styles_of_our_own_stay(self):
        console = Terminal(file=io.StringIO(), width=100, force_terminal=True, color_system="256")
        console.print("[bold]a[/bold]")
        assert console.file.getvalue() == "\x1b[1ma\x1b[0m\n"

    def test_json_says_the_same_and_is_harmless(self, capsys):
        value = {ESCAPES: [ESCAPES, "grün", "\U000e0001"]}
        print_json(value)
        printed = capsys.readouterr().out
        assert json.loads(printed) == value
        assert is_harmless(printed)
        assert "grün" in printed

    @pytest.mark.parametrize(
        "error", [InputError("x" * 10**6, "y" * 10**6), ValueError("z" * 10**6)]
    )
    def test_an_error_about_something_huge_is_one_line_of_a_length_to_read(
        self, monkeypatch, capsys, error
    ):
        def fail(**_):
            raise error

        monkeypatch.setattr("sys.argv", ["maskcourt", "tally", "x"])
        monkeypatch.setattr(harness.cli.main.cli, "main", lambda **_: fail())
        with pytest.raises(SystemExit) as leaving:
            harness.cli.main.main()
        printed = capsys.readouterr().err
        assert leaving.value.code == 2
        assert printed.count("\n") == 1
        assert len(printed) < 2 * LONGEST + 100
        assert " … " in printed

    def test_a_message_keeps_its_beginning_and_its_end(self):
        shown = one_line("begin " + "\x1b" * 10**6 + " end")
        assert shown.startswith("begin ")
        assert shown.endswith(" end")
        assert is_harmless(shown)


class TestSpreadsheet:
    @pytest.mark.parametrize("text", FORMULAS)
    def test_formulas_are_text(self, text):
        assert str(spreadsheet_cell(text)).startswith("'")

    @pytest.mark.parametrize("value", [-1, -1.5, None, "a=1", "x", "", "1e3"])
    def test_what_is_none_stays_as_it_is(self, value):
        assert spreadsheet_cell(value) == value

    def test_no_cell_of_a_table_is_computed(self):
        rows = tuple({"name": text} for text in (*FORMULAS, ESCAPES))
        _, *read = csv.reader(io.StringIO(as_csv(Table.of("title", ("name",), rows))))
        assert len(read) == len(rows)
        assert not any(re.match(r"[=+\-@\t\r]", cell) for (cell,) in read)


class TestMarkdown:
    @pytest.mark.parametrize("text", MARKUP)
    def test_markup_is_text(self, text):
        shown = markdown(text)
        assert "\n" not in shown
        assert not re.search(r"(?<!\\)[\[<|*`]|(?<![\\&])#|@", shown)

    def test_code_stays_code(self):
        assert markdown("no `a|<b>` here") == "no `a\\|<b>` here"

    def test_a_row_of_a_table_stays_one_row(self):
        rows = tuple({"name": text} for text in (*MARKUP, ESCAPES))
        table = as_markdown(Table.of("title", ("name",), rows))
        assert len(table.splitlines()) == 4 + len(rows)
        assert is_harmless(table)


class TestTable:
    """Every renderer makes harmless what is in a table by itself."""

    ROWS = tuple({"name": text, "many": number} for number, text in enumerate((ESCAPES, *MARKUP)))
    TABLE = Table.of(ESCAPES, ("name", "many"), ROWS, ESCAPES)

    def test_on_a_terminal(self):
        console = Terminal(file=io.StringIO(), width=60)
        print_table(self.TABLE, console)
        printed = console.file.getvalue()
        assert is_harmless(printed)
        assert "[a](http://b)" in printed

    def test_a_group_is_named_once(self):
        rows = [{"engine": engine, "n": n} for n, engine in enumerate(("a", "a", "b"))]
        columns = (Column("engine", group=True), "n")
        console = Terminal(file=io.StringIO(), width=60)
        print_table(Table.of("", columns, rows), console)
        lines = [line.split() for line in console.file.getvalue().splitlines()]
        assert [line for line in lines if line][2:] == [["a", "0"], ["1"], ["b", "2"]]

    def test_as_junit(self):
        statuses = ("passed", "skipped", "failed")
        tests = [(ESCAPES, "<a>", status, "bug", ESCAPES, "\x00") for status in statuses]
        read = ET.fromstring(as_junit(tests))
        (suite,) = read
        assert [suite.get(name) for name in ("tests", "skipped", "failures")] == ["3", "1", "1"]
        assert suite[2][0].text == "\\x00"
