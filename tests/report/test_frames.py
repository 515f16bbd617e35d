"""A run as pandas frames: the rows that were stored, chosen, typed, classified."""

import subprocess
import sys

import pytest

import harness
import harness.bugs.listing
from harness.errors import RunDirectoryError, UsageError
from harness.report.frames import Run
from harness.runs.tables import SCHEMAS
from tests.books import Book, classed, classes
from tests.buglists import REPORTED, bug, bug_list

ENGINES = {name: {"version": "1"} for name in ("a", "b", "c")}


def book(name="case"):
    return (
        Book(name, schema='{"type": "string"}')
        .compiled("compiled", "compiled", "refused")
        .position(0, "inside string")
        .position(1, "end")
        .dispute(0, 1 | 2, 4, tokens=5)
        .verdicts(0, "a", "false_acceptance", 3, keyword="enum", located=True)
        .verdicts(0, "b", "false_rejection", 2, keyword="type", detail="declared", located=None)
        .verdicts(1, "b", "unresolved", 1, reason="too_long")
        .instance(0)
        .on_instance(0, "a", "false_rejection")
    )


DECLARED = classes({"declared": ("departure", "some-entry")})


class TestImport:
    @pytest.mark.processes
    def test_needs_no_pandas(self):
        code = (
            "import sys, harness; assert harness.__version__;"
            "assert not {'pandas', 'pyarrow', 'numpy', 'harness.report.frames'} & set(sys.modules)"
        )
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_brings_load_run_when_it_is_used(self, stored):
        run = harness.load_run(stored(book()).path)
        assert repr(run).startswith("<finished run")

    def test_without_pandas_says_what_to_install(self, stored, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(UsageError, match=r"frames need pandas.*pip install '\.\[report\]'"):
            harness.load_run(stored(book()).path)


class TestBugs:
    def test_are_rows_those_first_that_lose_a_value(self, stored, monkeypatch):
        known = bug_list(bug("a", 1, effect="trap", cases=8), bug("b", 2, upstream=REPORTED))
        monkeypatch.setattr(harness.bugs.listing, "known_bugs", lambda *_: known)
        bugs = harness.load_run(stored(book()).path).bugs
        assert bugs[["engine", "id", "cases"]].values.tolist() == [
            ["b", "00000002", 3],
            ["a", "00000001", 8],
        ]
        assert bugs["state"].isna().tolist() == [False, True]
        assert bugs["schema"][0] == '{"type":"integer","minimum":0}'

    def test_are_none_where_nobody_looked_for_them(self, stored):
        bugs = harness.load_run(stored(book()).path).bugs
        assert len(bugs) == 0
        assert {"engine", "title", "cases", "schema", "text"} <= set(bugs.columns)


class TestFrames:
    def test_hold_every_row_of_every_table(self, stored):
        run = stored(book("one"), book("two"))
        frames = harness.load_run(run.path)
        assert frames.verdicts is frames.verdicts, "read once"
        for table in SCHEMAS:
            frame = getattr(frames, table)
            assert len(frame) == run.manifest["tables"][table]["rows"], table
            assert tuple(frame.columns)[: len(SCHEMAS[table].names)] == tuple(SCHEMAS[table].names)
            assert (frame.index.name, frame.index.tolist()) == ("row", list(range(len(frame))))

    def test_have_words_as_categories_and_truth_that_may_be_unknown(self, stored):
        verdicts = harness.load_run(stored(book()).path).verdicts
        for name in ("case", "engine", "kind", "effect", "shown_by", "class", "departure"):
            assert verdicts[name].dtype.name == "category", name
        assert list(map(str, verdicts["located"])) == [*["True"] * 3, "<NA>", "<NA>", "False"]
        assert verdicts["token"].dtype == "int32"

    @pytest.mark.parametrize("finish", [True, False])
    def test_of_several_cases_share_their_categories(self, stored, finish):
        run = stored(book("one"), book("two"), finish=finish)
        verdicts = harness.load_run(run.path).verdicts
        assert sorted(verdicts["case"].cat.categories) == ["one", "two"]
        assert verdicts.groupby("case", observed=True).size().to_dict() == {"one": 6, "two": 6}

    @pytest.mark.parametrize("finish", [True, False])
    def test_of_a_run_without_cases(self, stored, finish):
        run = harness.load_run(stored(finish=finish).path)
        assert run.verdicts.empty
        assert run.tallies.empty

    def test_of_no_run_or_a_damaged_one(self, stored, tmp_path):
        with pytest.raises(RunDirectoryError, match="is no run"):
            harness.load_run(tmp_path)
        run = stored(book(), shared=False)
        (run.path / "verdicts.parquet").write_bytes(b"cut")
        with pytest.raises(RunDirectoryError, match="cut or altered"):
            _ = harness.load_run(run.path).verdicts


class TestClasses:
    def test_are_those_of_the_catalogue(self, stored):
        with classed(DECLARED):
            found = Run(stored(book())).verdicts
        assert found["class"].tolist() == ["bug"] * 3 + ["departure"] * 2 + ["bug"]
        assert found["departure"].tolist() == [""] * 3 + ["some-entry"] * 2 + [""]

    def test_of_the_catalogue_say_nothing_of_what_proves_nothing(self, stored):
        found = harness.load_run(stored(book()).path).verdicts
        assert found["class"].tolist() == ["bug"] * 5 + [""]


def test_tallies_count_the_verdicts(stored):
    many = Book("many").position(0)
    many.verdicts(0, "a", "false_acceptance", 600).verdicts(0, "b", "false_rejection", 400)
    big = Run(stored(many, engines=ENGINES))
    keys = ["engine", "kind", "class"]
    counted = big.verdicts.groupby(keys, observed=True).size()
    assert big.tallies.set_index(keys)["tokens"].to_dict() == counted.to_dict()
    assert counted["a", "false_acceptance", "bug"] == 600
