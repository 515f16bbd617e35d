"""Choosing verdicts and reading their witnesses: which ones, in what order, and no more than that."""

import json
from collections import Counter

import pytest

from harness.errors import RunDirectoryError, UsageError
from harness.replay.witness_reader import Choice, every, named, sample, witnesses
from harness.runs import directory
from harness.runs.directory import RunDirectory, open_run
from harness.runs.reader import TableCursor, by_case
from harness.verdict_kinds import INSTANCE, WALK
from tests.replaying import EOS, VOCABULARY, Book, stored, unfinished

pytestmark = pytest.mark.thorough

CASES = 4
WALKS, INSTANCES = 20, 5


def book(number: int) -> Book:
    """A case with `WALKS` verdicts that have a witness, one that has none, and `INSTANCES` more."""
    one = Book(f"case-{number}", {"enum": [number]}, number)
    text = str(number).encode()
    for index in range(WALKS):
        completion = one.completion(b"%d" % index)
        one.verdict("false_acceptance", "engine", text, b"1", completion, "engine")
    one.verdict("unresolved", "engine", text, b"1")
    for index in range(INSTANCES):
        one.instance_verdict("false_acceptance", "engine", one.instance(b"%d" % index), 2)
    return one


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> RunDirectory:
    books = [book(number) for number in range(CASES)]
    return stored(tmp_path_factory.mktemp("run"), books, ["engine"])


def names(run: RunDirectory, choice: Choice) -> list[str]:
    return [one.name for case in witnesses(run, choice, VOCABULARY) for one in case.witnesses]


class TestChoosing:
    def test_every_verdict_with_a_witness(self, run):
        choice = every(run)
        assert len(choice) == CASES * (WALKS + INSTANCES)
        kinds = run.table("verdicts")["kind"].to_pylist()
        assert {kinds[row] for row in choice.of(WALK)} == {"false_acceptance"}

    def test_those_that_are_named(self, run):
        choice = named(run, ["3", "i7", "3", "30"])
        assert (choice.of(WALK).tolist(), choice.of(INSTANCE).tolist()) == ([3, 30], [7])

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("999", "has no verdict 999"),
            ("i999", "has no verdict i999"),
            ("s999", "has no verdict s999"),
            (str(WALKS), f"verdict {WALKS} of .* has no witness"),
            ("x", "'x' names no verdict"),
            ("i", "'i' names no verdict"),
            ("-1", "'-1' names no verdict"),
            ("²", "'²' names no verdict"),
            ("1" + "0" * 31, "names no verdict"),
        ],
    )
    def test_those_that_are_not_there_are_named_in_the_error(self, run, name, message):
        with pytest.raises(UsageError, match=message):
            named(run, [name])

    def test_a_contested_instance_that_was_refused_is_no_evidence(self, tmp_path):
        one = Book("one", {}, 1)
        one.instance_verdict("contested", "engine", one.instance(b"1"), 0, ord("1"))
        one.instance_verdict("contested", "engine", one.instance(b"2"), 2)
        assert every(stored(tmp_path, [one], ["engine"])).of(INSTANCE).tolist() == [1]

    @pytest.mark.parametrize(
        ("kind", "able"), [("dead_end", True), ("unbounded_repetition", False)]
    )
    def test_some_kinds_need_no_completion(self, tmp_path, kind, able):
        one = Book("one", {}, 1)
        one.verdict(kind, "engine", b"", b"1")
        assert len(every(stored(tmp_path, [one], ["engine"]))) == able


class TestSampling:
    def test_depends_on_the_seed_alone(self, run):
        assert names(run, sample(run, 10, 5)) == names(run, sample(run, 10, 5))
        assert len({tuple(names(run, sample(run, 10, seed))) for seed in range(5)}) == 5

    def test_does_not_depend_on_how_the_table_is_cut(self, run, monkeypatch):
        whole = [names(run, sample(run, size, 1)) for size in (1, 7, 30)]
        monkeypatch.setattr(directory, "_ROWS", 3)
        assert [names(run, sample(run, size, 1)) for size in (1, 7, 30)] == whole

    def test_a_larger_one_holds_a_smaller_one(self, run):
        small, large = (set(names(run, sample(run, size, 3))) for size in (10, 40))
        assert small < large
        assert (len(small), len(large)) == (10, 40)

    def test_takes_all_where_there_are_fewer(self, run):
        assert names(run, sample(run, 10_000, 0)) == names(run, every(run))

    @pytest.mark.parametrize("seeds", [70, pytest.param(300, marks=pytest.mark.thorough)])
    def test_is_even(self, run, seeds):
        """Each of the 100 is in a sample of 10 in about 30 of 300 seeds; sigma is 5.2."""
        seen = Counter(name for seed in range(seeds) for name in names_only(sample(run, 10, seed)))
        assert len(seen) == CASES * (WALKS + INSTANCES)
        assert max(seen.values()) < seeds / 10 + 5.5 * (0.09 * seeds) ** 0.5


def names_only(choice: Choice) -> list[str]:
    return [str(row) for row in choice.of(WALK)] + [f"i{row}" for row in choice.of(INSTANCE)]


class TestReading:
    def test_a_walk_s_witness_is_what_was_written(self, run):
        row = 2 * (WALKS + 1) + 13
        (case,) = (
            (case.case, case.schema, list(case.witnesses))
            for case in witnesses(run, named(run, [str(row)]), VOCABULARY)
        )
        name, schema, (one,) = case
        assert (name, json.loads(schema)) == ("case-2", {"enum": [2]})
        assert one.before == (ord("2"),)
        assert (one.token, one.completion) == (ord("1"), (ord("1"), ord("3"), EOS))
        assert one.text == b"2113"
        assert one.tokens == (*b"2113", EOS)

    def test_an_instance_s_witness_ends_with_the_end(self, run):
        ((one,),) = (
            list(case.witnesses) for case in witnesses(run, named(run, ["i8"]), VOCABULARY)
        )
        assert (one.case, one.place, one.text) == ("case-1", 3, b"3")
        assert (one.before, one.token, one.completion) == ((ord("3"),), EOS, ())

    @pytest.mark.parametrize("rows", [1, 3, 1 << 15])
    def test_comes_case_by_case_walks_first(self, run, monkeypatch, rows):
        monkeypatch.setattr(directory, "_ROWS", rows)
        choice = named(run, ["i0", "0", "i19", "70", "21", "25"])
        found = [
            (case.case, [one.name for one in case.witnesses])
            for case in witnesses(run, choice, VOCABULARY)
        ]
        assert found == [
            ("case-0", ["0", "i0"]),
            ("case-1", ["21", "25"]),
            ("case-3", ["70", "i19"]),
        ]

    def test_of_an_unfinished_run_is_the_same(self, run, tmp_path):
        other = unfinished(tmp_path, [book(number) for number in range(CASES)], ["engine"])
        assert names(other, every(other)) == names(run, every(run))

    def test_a_table_that_was_altered_is_refused(self, tmp_path):
        run = stored(tmp_path, [book(0)], ["engine"])
        file = run.path / "completions.parquet"
        file.write_bytes(file.read_bytes()[:-1])
        with pytest.raises(RunDirectoryError, match=r"completions\.parquet was cut or altered"):
            names(run, every(run))

    def test_tables_that_do_not_fit_together_are_refused(self, tmp_path):
        one = book(0)
        completions = one.rows.lists("verdicts")["completion"]
        one.rows.replace("verdicts", completion=[*completions[:3], 999, *completions[4:]])
        run = stored(tmp_path, [one], ["engine"])
        with pytest.raises(RunDirectoryError, match="no completion 999 of case 'case-0'"):
            names(run, every(run))


class TestCursor:
    def test_skips_cases_and_tells_those_without_rows(self, run):
        cursor = TableCursor(run, "completions", ["completion"])
        assert cursor.of("case-1")["completion"].to_pylist() == list(range(WALKS))
        assert cursor.of("case-1").num_rows == WALKS
        assert cursor.of("case-3").num_rows == WALKS
        assert TableCursor(run, "masks", []).of("case-3") is None

    def test_rows_are_numbered_as_they_lie_in_the_table(self, run, monkeypatch):
        monkeypatch.setattr(directory, "_ROWS", 4)
        parts = list(by_case(run.batches("positions", ["case"])))
        assert [case for case, _ in parts] == [f"case-{number}" for number in range(CASES)]
        numbers = [row for _, rows in parts for row in rows["row"].to_pylist()]
        assert numbers == list(range(2 * CASES))


def test_a_run_that_was_moved_is_read_all_the_same(run, tmp_path):
    moved = tmp_path / "elsewhere"
    moved.symlink_to(run.path)
    assert len(every(open_run(moved))) == len(every(run))
