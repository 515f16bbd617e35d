"""The notebooks run from a fresh clone, and what is committed of them is clean."""

import base64
import json
import os
import sys
from pathlib import Path

import nbformat
import pytest

from tests import books, notebooks
from tests.books import Book

pytestmark = pytest.mark.thorough

NAMES = sorted(file.stem for file in notebooks.DIRECTORY.glob("*.ipynb"))


def committed(name):
    return nbformat.read(notebooks.DIRECTORY / f"{name}.ipynb", as_version=4)


def text_of(notebook):
    """Everything that a reader of the outputs sees, pictures left out."""
    found = []
    for outputs in notebooks.outputs(notebook):
        for one in outputs:
            data = one.get("data", {})
            found += [
                one.get("text", ""),
                data.get("text/plain", ""),
                data.get("text/markdown", ""),
            ]
    return "\n".join(found)


def pieces(notebook):
    """Every piece of output as bytes, pictures as they are."""
    for outputs in notebooks.outputs(notebook):
        for one in outputs:
            yield one.get("text", "").encode()
            for kind, data in one.get("data", {}).items():
                yield base64.b64decode(data) if kind == "image/png" else str(data).encode()


def kinds_of(notebook):
    """The kind of each cell's outputs, as far as a reader sees them."""
    return [[one.output_type for one in outputs] for outputs in notebooks.outputs(notebook)]


def test_there_are_the_two():
    assert NAMES == ["one_dispute", "report"]


@pytest.mark.parametrize("name", NAMES)
class TestCommitted:
    def test_with_outputs_and_small(self, name):
        code = [cell for cell in committed(name).cells if cell.cell_type == "code"]
        assert sum(bool(cell.outputs) for cell in code) >= 8
        size = (notebooks.DIRECTORY / f"{name}.ipynb").stat().st_size
        assert size < notebooks.LARGEST

    def test_without_errors_or_noise(self, name):
        kinds = {one for some in kinds_of(committed(name)) for one in some}
        assert kinds <= {"execute_result", "display_data"}

    def test_with_nothing_of_a_machine(self, name):
        stored = b"\n".join(pieces(committed(name)))
        root = str(Path(__file__).parents[2])
        for trace in (root, f"{Path.home()}/", sys.prefix, "/tmp/", "/home/"):
            assert trace.encode() not in stored, trace

    def test_as_the_program_writes_them(self, name):
        notebook = committed(name)
        assert notebook == notebooks.plain(committed(name))


@pytest.mark.processes
@pytest.mark.engines
class TestExecuted:
    @pytest.fixture(autouse=True)
    def fresh(self, tmp_path, monkeypatch):
        """A clone without runs: the notebooks are executed where there is nothing."""
        monkeypatch.delenv("MASKCOURT_RUN", raising=False)
        (tmp_path / "notebooks").mkdir()
        self.directory = tmp_path / "notebooks"

    def test_one_dispute_ends_in_the_verdicts_that_it_argues_for(self):
        executed = notebooks.execute("one_dispute", self.directory)
        assert kinds_of(executed) == kinds_of(committed("one_dispute"))
        text = text_of(executed)
        assert "false acceptance by xgrammar" in text
        assert "invalid control character" in text
        assert "llguidance     xgrammar" in text, "the token that only llguidance allows"
        assert not list(self.directory.iterdir()), "it leaves nothing behind"

    def test_report_makes_its_own_run_where_there_is_none(self):
        executed = notebooks.execute("report", self.directory)
        assert kinds_of(executed) == kinds_of(committed("report"))
        assert "8 cases" in text_of(executed)
        assert len(json.dumps(executed)) < notebooks.LARGEST


WITH = {
    "engines": {name: {"version": "1"} for name in ("a", "b", "c")},
    "vocabulary": {"size": 100},
}


class TestReport:
    def book(self):
        return (
            Book("case")
            .compiled("compiled", "compiled", "refused")
            .position(0, "inside string")
            .dispute(0, 1, 2 | 4, tokens=9)
            .verdicts(0, "a", "false_acceptance", 7, keyword="enum")
        )

    def test_reads_the_newest_finished_run_or_that_which_is_named(self, tmp_path, monkeypatch):
        runs = [
            books.store(tmp_path / "runs" / name, *[self.book()] * many, finish=many != 3, **WITH)
            for many, name in enumerate(["none", "one", "two", "three"])
        ]
        for age, run in enumerate(runs):
            os.utime(run.path / "run.json", (age, age))
        os.utime(runs[1].path / "run.json", (99, 99))
        monkeypatch.chdir(tmp_path)
        monkeypatch.delenv("MASKCOURT_RUN", raising=False)
        (first, *_) = (one for one in committed("report").cells if one.cell_type == "code")
        for named, cases in ((None, 1), (runs[2].path, 2)):
            if named is not None:
                monkeypatch.setenv("MASKCOURT_RUN", str(named))
            names = {"__name__": "notebook"}
            exec(first.source, names)
            assert names["found"].summary["cases"] == cases
