"""SQL over runs: what the views hold, and what a query cannot reach."""

import csv
import io
import json

import pytest
from click.testing import CliRunner

from harness.cli.query import query as command
from harness.errors import MaskcourtError, RunDirectoryError, UsageError
from harness.report.query import query, run_names
from harness.runs.tables import SCHEMAS
from tests import books
from tests.books import Book, all_bugs, classes

ENGINES = {
    "a": {"version": "1.0", "options": {"x": True}},
    "b": {"version": "2.0"},
    "c": {"version": "3.0"},
}
DECLARED = classes({"declared": ("departure", "some-entry")})


def book(name="case", tokens=3):
    return (
        Book(name)
        .compiled("compiled", "refused", "compiled")
        .position(0, "inside string")
        .dispute(0, 1 | 4, 2, tokens=tokens)
        .verdicts(0, "a", "false_acceptance", tokens, keyword="enum", located=True)
        .verdicts(0, "b", "false_rejection", 2, keyword="type", detail="declared")
        .on_instance(0, "a", "false_rejection")
    )


@pytest.fixture
def stored(tmp_path):
    def store(name, *some, **options):
        return books.store(tmp_path / name, *some, **{"engines": ENGINES, **options})

    return store


def ask(sql, *runs, rule=DECLARED):
    return list(query(runs, sql, rule).rows)


@pytest.mark.thorough
class TestViews:
    @pytest.mark.parametrize("finish", [True, False])
    def test_hold_every_row_of_every_table(self, stored, finish):
        run = stored("one", book("x"), book("y"), finish=finish)
        for table in SCHEMAS:
            (count,) = ask(f"SELECT count(*) FROM {table}", run)
            assert count == (run.table(table).num_rows,), table

    def test_begin_with_the_run_and_the_row(self, stored):
        answer = query([stored("one", book())], "FROM verdicts")
        assert answer.columns[:3] == ("run", "row", "case")
        assert answer.columns[-2:] == ("class", "departure")
        assert [row[:2] for row in answer.rows] == [("one", number) for number in range(5)]

    @pytest.mark.parametrize("finish", [True, False])
    def test_of_verdicts_have_their_classes(self, stored, finish):
        run = stored("one", book("x"), book("y"), finish=finish)
        sql = "SELECT engine, class, departure, count(*) FROM verdicts GROUP BY ALL ORDER BY ALL"
        assert ask(sql, run) == [("a", "bug", "", 6), ("b", "departure", "some-entry", 4)]
        sql = "SELECT kind, class FROM instance_verdicts"
        assert ask(sql, run) == [("false_rejection", "bug")] * 2

    def test_of_several_runs_are_one(self, stored):
        runs = stored("one", book()), stored("two", book(tokens=5)), stored("three", finish=False)
        sql = "SELECT run, class, count(*) FROM verdicts GROUP BY ALL ORDER BY ALL"
        assert ask(sql, *runs) == [
            ("one", "bug", 3),
            ("one", "departure", 2),
            ("two", "bug", 5),
            ("two", "departure", 2),
        ]

    def test_say_which_engines_a_set_holds(self, stored):
        sql = (
            "SELECT engine, version FROM disputes JOIN run_engines USING (run)"
            " WHERE (accepters >> number) & 1 = 1 ORDER BY number"
        )
        assert ask(sql, stored("one", book())) == [("a", "1.0"), ("c", "3.0")]

    def test_say_what_the_runs_are(self, stored):
        runs = stored("one", book(), vocabulary={"name": "tiny"}), stored("two", finish=False)
        sql = "SELECT run, vocabulary, finished FROM runs"
        assert ask(sql, *runs) == [("one", "tiny", True), ("two", None, False)]

    def test_of_a_damaged_run_are_refused(self, stored):
        run = stored("one", book())
        with (run.path / "verdicts.parquet").open("ab") as file:
            file.write(b"more")
        with pytest.raises(RunDirectoryError, match="cut or altered"):
            ask("SELECT count(*) FROM verdicts", run)

    def test_tell_what_went_wrong_with_classes(self, stored):
        def broken(run, evidence):
            raise RunDirectoryError("the evidence is gone")

        with pytest.raises(RunDirectoryError, match="the evidence is gone"):
            ask("SELECT class FROM verdicts", stored("one", book()), rule=broken)


class TestNames:
    def test_are_the_ends_of_paths_that_differ(self, stored):
        runs = stored("one", book()), stored("two", book())
        assert run_names(runs) == ["one", "two"]
        alike = stored("x/run"), stored("y/run")
        assert run_names(alike) == ["x/run", "y/run"]
        with pytest.raises(UsageError, match="named twice"):
            run_names([alike[0], alike[0]])

    def test_may_hold_anything(self, stored):
        assert ask("SELECT run FROM cases", stored('o\'ne "1"', book())) == [('o\'ne "1"',)]


class TestReach:
    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT * FROM read_text('{run}/run.json')",
            "SELECT * FROM read_csv('/etc/passwd')",
            "SELECT * FROM glob('/*')",
            "SELECT * FROM '{run}/other.parquet'",
            "SELECT * FROM read_parquet('http://127.0.0.1:9/x.parquet')",
            "SELECT * FROM read_parquet('s3://bucket/x.parquet')",
        ],
    )
    def test_ends_at_the_tables_of_the_runs(self, stored, sql):
        run = stored("one", book())
        (run.path / "other.parquet").write_bytes((run.path / "cases.parquet").read_bytes())
        with pytest.raises(UsageError, match="the query failed"):
            ask(sql.format(run=run.path), run)

    @pytest.mark.parametrize(
        "sql",
        [
            "COPY cases TO '{run}/cases.csv'",
            "COPY (SELECT 1) TO '{run}/cases.parquet'",
            "CREATE TABLE mine AS SELECT 1",
            "DROP VIEW cases",
            "ATTACH '{run}/x.db'",
            "INSTALL httpfs",
            "LOAD httpfs",
            "SET enable_external_access = true",
            "PRAGMA enable_object_cache",
            "SELECT 1; DROP VIEW cases",
            "SELECT 1; SELECT 2",
            "",
        ],
    )
    def test_is_that_of_one_statement_that_reads(self, stored, sql):
        run = stored("one", book())
        before = sorted(run.path.iterdir())
        with pytest.raises(UsageError, match="one statement that reads"):
            ask(sql.format(run=run.path), run)
        assert sorted(run.path.iterdir()) == before

    def test_holds_no_variables_of_python(self, stored):
        with pytest.raises(UsageError, match="does not exist"):
            ask("SELECT * FROM ENGINES_TABLE", stored("one", book()))

    def test_settings_stay_as_they_are(self, stored):
        found = ask(
            "SELECT value FROM duckdb_settings() WHERE name IN ('enable_external_access',"
            " 'lock_configuration') ORDER BY name",
            stored("one", book()),
        )
        assert found == [("false",), ("true",)]


ENGINES_TABLE = "a name that DuckDB could look up here"


class TestErrors:
    def test_are_one_line(self, stored):
        with pytest.raises(UsageError) as caught:
            ask("SELECT engin FROM verdicts", stored("one", book()))
        assert "\n" not in str(caught.value)
        assert "engin" in str(caught.value)

    def test_say_that_case_needs_quotes(self, stored):
        run = stored("one", book())
        with pytest.raises(UsageError, match='write the column as "case"'):
            ask("SELECT case FROM cases", run)
        assert ask('SELECT "case" FROM cases', run) == [("case",)]

    def test_while_rows_are_fetched_are_one_line_too(self, stored):
        with pytest.raises(UsageError, match="the query failed"):
            ask("SELECT error('boom') FROM verdicts", stored("one", book()))


class TestCommand:
    def run(self, *arguments):
        return CliRunner().invoke(command, list(map(str, arguments)), catch_exceptions=False)

    def test_prints_a_table(self, stored):
        run = stored("one", book())
        printed = self.run(run.path, "SELECT engine, count(*) AS n FROM verdicts GROUP BY 1")
        words = [line.split() for line in printed.output.splitlines()]
        assert ["engine", "n"] in words
        assert ["a", "3"] in words

    def test_prints_json(self, stored):
        run = stored("one", book())
        sql = (
            "SELECT engine, located, 'x'::BLOB AS raw, [1, 2] AS list, 1 / 0 AS nothing, kind AS"
            " engine FROM verdicts LIMIT 1"
        )
        assert json.loads(self.run(run.path, sql, "--json").output) == {
            "columns": ["engine", "located", "raw", "list", "nothing", "engine"],
            "rows": [
                {
                    "engine": "a",
                    "located": True,
                    "raw": "x",
                    "list": [1, 2],
                    "nothing": None,
                    "engine_2": "false_acceptance",
                }
            ],
        }

    def test_prints_csv(self, stored):
        run = stored("one", book())
        sql = "SELECT 'a,\"b' AS text, NULL AS nothing, 7 AS n"
        rows = list(csv.reader(io.StringIO(self.run(run.path, "--csv", sql).output)))
        assert rows == [["text", "nothing", "n"], ['a,"b', "", "7"]]

    def test_says_how_many_rows_it_left_out(self, stored):
        run = stored("one", book())
        assert "and 1,800 more rows" in self.run(run.path, "FROM range(2000)").output
        assert len(self.run(run.path, "FROM range(2000)", "--csv").output.splitlines()) == 2001

    def test_reads_many_runs(self, stored):
        runs = stored("one", book()), stored("two", book())
        sql = "SELECT DISTINCT run FROM cases ORDER BY 1"
        printed = self.run(*(run.path for run in runs), sql, "--csv")
        assert printed.output.split() == ["run", "one", "two"]

    def test_needs_runs_and_one_way_to_print(self, stored):
        with pytest.raises(MaskcourtError, match="needs a run and SQL"):
            self.run("SELECT 1")
        with pytest.raises(MaskcourtError, match="exclude each other"):
            self.run(stored("one").path, "SELECT 1", "--json", "--csv")


def test_the_default_rule_is_the_catalogue(stored):
    run = stored("one", book())
    by_default = list(query([run], "SELECT class, departure FROM verdicts").rows)
    assert by_default == ask("SELECT class, departure FROM verdicts", run, rule=all_bugs)
