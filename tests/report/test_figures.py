"""Figures and tables of a run: the same bytes for the same run, the numbers of the tally."""

import csv
import io
import sys
import xml.etree.ElementTree as ET

import pytest

from harness.analysis.tally import summary
from harness.errors import RunDirectoryError, UsageError
from harness.report import figures
from harness.report.tables import digest, write_tables
from tests import books
from tests.books import Book, classed, classes

ENGINES = {name: {"version": "1.2"} for name in ("a", "b", "c")}
DECLARED = classes({"declared": ("departure", "some-entry")})
TABLES = (*("matrix", "headline_rates", "pairs", "equal_schemas", "compile", "errors", "timings"),)
pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module", autouse=True)
def declared():
    with classed(DECLARED):
        yield


def book(name="case", family="family"):
    written = (
        Book(name, family=family)
        .compiled("compiled", "compiled", "timed_out")
        .position(0, "inside string", canonical=5)
        .position(1, "end")
        .dispute(0, 1 | 2, 4, tokens=50)
        .dispute(0, 1, 2 | 4, tokens=7, number=1)
        .verdicts(0, "a", "false_acceptance", 3, keyword="enum", located=True)
        .verdicts(0, "b", "false_rejection", 4, first=3, keyword="type")
        .verdicts(0, "b", "false_rejection", 2, first=8, keyword="type", detail="declared")
        .verdicts(1, "b", "never_stops", 1)
        .instance(0)
        .on_instance(0, "a", "false_rejection", keyword="type")
    )
    for engine, seconds in (("a", 0.5), ("b", 0.002)):
        for stage in ("compile", "first_mask"):
            written.rows.add("costs", case=name, stage=stage, engine=engine, seconds=seconds)
        for position in range(1, 40):
            at = {"case": name, "walk": 0, "position": position, "engine": engine}
            written.rows.add("timings", **at, mask_ns=1000 * position**2, consume_ns=500)
    return written


def rows(found, table, **wanted):
    return [
        row for row in found.tables[table].rows if all(row[key] == wanted[key] for key in wanted)
    ]


class TestTables:
    def test_are_those_that_are_named_and_whole(self, stored):
        found = digest(stored(book()))
        assert tuple(found.tables) == TABLES
        for name, table in found.tables.items():
            assert table.rows or name == "equal_schemas", name
            names = [column.name for column in table.columns]
            assert all(list(row) == names for row in table.rows), name

    def test_hold_the_numbers_of_the_tally(self, stored):
        run = stored(book("one"), book("two"))
        found = digest(run)
        assert found.summary == summary(run)
        (row,) = rows(found, "errors", engine="b", evidence="walk", kind="false_rejection")
        assert [row[key] for key in ("bug", "warned", "departure", "cases")] == [8, 0, 4, 2]


class TestExports:
    def test_csv_holds_a_table_each(self, stored, tmp_path):
        run = stored(book())
        files = write_tables(run, tmp_path / "out", "csv")
        found = digest(run)
        assert [file.name for file in files] == [f"{name}.csv" for name in TABLES]
        for file, table in zip(files, found.tables.values(), strict=True):
            header, *lines = csv.reader(io.StringIO(file.read_text("utf-8")))
            assert header == [column.name for column in table.columns]
            wanted = [
                ["" if one is None else str(one) for one in row.values()] for row in table.rows
            ]
            assert lines == wanted

    def test_markdown_holds_all_of_them(self, stored, tmp_path):
        (file,) = write_tables(stored(book()), tmp_path / "out", "markdown")
        text = file.read_text("utf-8")
        assert text.count("\n### ") == len(TABLES) - 1

    def test_where_nothing_can_be_written_are_one_error(self, stored, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(RunDirectoryError, match="cannot be written"):
            write_tables(stored(book()), tmp_path / "file" / "out")


class TestFigures:
    @pytest.fixture(scope="class")
    @classmethod
    def drawn(cls, tmp_path_factory):
        """A run and its figures."""
        directory = tmp_path_factory.mktemp("drawn")
        run = books.store(directory / "run", book(), engines=ENGINES, vocabulary={"size": 100})
        return run, figures.draw(run, directory / "out")

    def test_have_nothing_of_the_machine_or_the_day(self, drawn):
        run, files = drawn
        assert [file.name for file in files] == [f"{name}.svg" for name in figures.NAMES]
        for file in files:
            content = file.read_bytes()
            assert b"dc:date" not in content
            assert str(run.path.parent).encode() not in content
            assert ET.parse(file).getroot().tag.endswith("svg")

    def test_are_the_same_bytes_each_time_whatever_the_users_settings(self, drawn, tmp_path):
        import matplotlib as mpl

        run, files = drawn
        with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": "x"}):
            again = figures.draw(run, tmp_path)
        for one, other in zip(files, again, strict=True):
            assert one.read_bytes() == other.read_bytes(), one.name

    @pytest.mark.parametrize("cases", [0, 1])
    def test_of_a_run_that_found_nothing(self, stored, tmp_path, cases):
        some = [Book("clean").position(0)] * cases
        files = figures.draw(stored(*some), tmp_path / "out")
        assert len(files) == len(figures.NAMES)

    def test_without_matplotlib_say_what_to_install(self, stored, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(UsageError, match=r"need matplotlib.*pip install '\.\[report\]'"):
            figures.draw(stored(), tmp_path)
