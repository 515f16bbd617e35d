"""What is published of each schema: written and read again, counted as a run counts it, joined."""

import csv
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import gathered
from benchmarks.gathered import Gathered
from benchmarks.pages.layout import Published
from benchmarks.pages.schema_rows import COMPILED, TOLD, Done, SchemaRows
from benchmarks.published import as_drawn, page_of, write
from harness.analysis.stored import WORST_FIRST
from harness.errors import UsageError
from harness.report.frames import load_run
from harness.workers.outcomes import COMPILE_STATUSES
from tests import books
from tests.books import Book

LEAKED = {"kind": "false_acceptance", "effect": "invalid_value"}


@st.composite
def dones(draw):
    outcome = draw(st.sampled_from(sorted(COMPILE_STATUSES)))
    if outcome != COMPILED:
        return Done(outcome)
    ms = draw(st.none() | st.integers(1, 9999).map(float))
    shown = draw(st.dictionaries(st.sampled_from(TOLD), st.sampled_from(WORST_FIRST)))
    bugs = {}
    for name, worst in shown.items():
        milder = WORST_FIRST[WORST_FIRST.index(worst) :]
        if bug := draw(st.none() | st.sampled_from(milder)):
            bugs[name] = bug
    failures = draw(st.lists(st.sampled_from(["instances_crashed", "mask_timed_out"])).map(tuple))
    return Done(outcome, ms, draw(st.booleans()), failures, shown, bugs)


@given(dones())
def test_a_cell_is_read_as_it_was_written(done):
    assert Done.read(str(done)) == done


@pytest.mark.parametrize(
    ("cell", "wrong", "by_bugs"),
    [
        ("12.3", False, False),
        ("timed_out", False, False),
        ("12.3 loss:rare", False, False),
        ("12.3 trap:plain", True, True),
        ("12.3 leak:real:declared", True, False),
        ("12.3 leak:real:rare", True, False),
        ("12.3 format_only:real", False, False),
    ],
)
def test_an_everyday_value_that_is_lost_leaked_or_trapped_is_wrong(cell, wrong, by_bugs):
    done = Done.read(cell)
    assert (done.is_wrong(), done.is_wrong(bugs=True)) == (wrong, by_bugs)


def case(name, outcome="compiled", *, leaks=False, seconds=0.25):
    made = Book(name, "set_aside", "values_alone", schema='{"type":"null"}')
    made.engine("a", outcome)
    if outcome == "compiled":
        made.rows.add("costs", case=name, stage="compile", engine="a", seconds=seconds)
        made.instance(0, "invalid").instance(1, "valid")
        if leaks:
            made.on_instance(0, "a", **LEAKED, shown_by="real")
    return made


@pytest.fixture
def run(tmp_path):
    """The run of some cases of `asked`."""

    def made(*cases, asked=3, version="1.0"):
        path = tmp_path / "-".join([version, *(one.name for one in cases)])
        about = {"name": "maskbench:some", "cases": asked}
        books.store(path, *cases, finish=False, engines={"a": {"version": version}}, data=about)
        return load_run(path)

    return made


def test_schemas_are_counted_as_the_run_counts_them(run):
    failing = case("k---2").engine("a", "crashed", "generated").engine("a", "crashed", "generated")
    some = run(case("k---1", leaks=True), failing, case("k---3", "refused"))
    found, counted = SchemaRows.of(some).told["a"], some.summary["engines"]["a"]
    for name in ("compile", "failures", "version"):
        assert found[name] == counted[name]
    for name in TOLD:
        assert found[name] == {key: counted[name][key] for key in found[name]}
    assert found["leak"]["real"] == found["wrong"] == 1
    assert found["failures"] == {"generated_crashed": 1}


def test_a_row_says_what_the_engine_did_with_the_schema(run):
    (table,) = SchemaRows.of(
        run(case("k---1", leaks=True), case("k---3", "refused"))
    ).tables.values()
    assert [*table.rows] == [
        {"schema": "k---1", "characters": 15, "valid": 1, "remark": "", "a": "250 leak:real"},
        {"schema": "k---3", "characters": 15, "valid": 0, "remark": "", "a": "refused"},
    ]


def test_schemas_that_were_made_for_tests_are_counted_by_family_alone(run):
    names = ("Kubernetes---1", "Synthesized---1", "Handwritten---1", "JME_1")
    tables = page_of("values").tables(SchemaRows.of(run(*(case(one, leaks=True) for one in names))))
    (counted,) = tables["counts"].rows
    assert (counted["schemas"], counted["leaks"]) == (2, 2)
    told = [(row["families"], row["leaks"], row["judged"]) for row in tables["families"].rows]
    assert told == [("JSONSchemaBench", 1, 1), ("JME", 1, 1), ("Handwritten, Synthesized", 2, 2)]


PAGE = Published(
    {"": ()}, lambda rows: f"{len(rows.rows)} of {rows.asked}", lambda _: {}, gathered=True
)


def test_a_page_keeps_what_earlier_runs_made(run, tmp_path):
    first, second = run(case("k---1"), case("BFCL_sql_1")), run(case("k---0", leaks=True))
    for number, one in enumerate((first, second, second)):
        manifest = json.loads((one.path / "run.json").read_text())
        (one.path / "run.json").write_text(
            json.dumps({**manifest, "started": f"day {min(number, 1)}"})
        )
        write({"": one}, PAGE, tmp_path / "out")

    def published(family):
        rows = csv.DictReader((tmp_path / "out" / "schemas" / f"{family}.csv").open())
        return [(row["schema"], row["a"]) for row in rows]

    assert (tmp_path / "out" / "README.md").read_text() == "3 of 3"
    assert [(name, *told) for name in ("BFCL", "k") for told in published(name)] == [
        ("BFCL", "BFCL_sql_1", "250"),
        ("k", "k---0", "250 leak:real"),
        ("k", "k---1", "250"),
    ]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [one["cases"] for one in manifest["runs"]] == [2, 1]
    assert manifest["cases"] == 3


def test_a_run_of_some_engines_amends_what_is_said_of_these(tmp_path):
    both = {"a": {"version": "1"}, "b": {"version": "1"}}

    def made(day, engines, leaks):
        one = case("k---1", leaks=leaks, seconds=0.25 + day)
        for name in engines[1:]:
            one.engine(name, "compiled").on_instance(0, name, **LEAKED, shown_by="real")
        about, asked = {"name": "some", "cases": 1}, {name: both[name] for name in engines}
        path = tmp_path / f"day {day}"
        books.store(path, one, finish=False, engines=asked, data=about)
        return load_run(path), {"identity": {"engines": asked}, "started": f"day {day}"}

    known = Gathered.of(*made(0, "ab", leaks=True), None)
    found = Gathered.of(*made(1, "a", leaks=False), known)
    (row,) = found.rows.rows
    assert [str(row.done[name]) for name in "ab"] == ["250", str(known.rows.rows[0].done["b"])]
    assert found.identity == known.identity
    assert [one.get("engines") for one in found.runs] == [None, ["a"]]
    with pytest.raises(UsageError, match="other engines"):
        Gathered.of(*made(2, "a", leaks=False), replace(known, identity={"engines": {"a": {}}}))


def test_a_run_that_found_all_published_changes_nothing(run):
    known = Gathered.of(run(case("k---1")), {"identity": {}, "started": "day 0"}, None)
    assert Gathered.of(run(version="empty"), {"identity": {}, "started": "day 1"}, known) == known


def test_what_is_published_is_not_run_again(run):
    asked = {"identity": {"engines": "x"}}
    known = Gathered.of(run(case("k---1")), {**asked, "started": "day 0"}, None)
    taken = []

    def executor(_settings, _cases, begin, _telling):
        taken.extend(job[1].id for job in begin({})[1])

    def begun(_engines):
        jobs = [(number, SimpleNamespace(id=f"k---{number}")) for number in range(3)]
        return SimpleNamespace(manifest=asked), iter(jobs)

    skipped = []
    as_drawn(executor, known)(None, 3, begun, SimpleNamespace(skip=skipped.append, done=4))
    assert sorted(taken) == ["k---0", "k---2"]
    assert skipped == [5]


def test_runs_that_ask_something_else_are_not_told_as_one(run):
    known = Gathered.of(run(case("k---1")), {"identity": {"rules": 1}, "started": "day 0"}, None)
    known.require_same({"rules": 1, "harness": "other code"})
    with pytest.raises(UsageError, match="other rules"):
        known.require_same({"rules": 2})


@pytest.fixture
def on_days(run, monkeypatch):
    """Runs of two schemas each, whose compilations took so many times a quarter of a second."""
    monkeypatch.setattr(gathered, "FAIR", 2)

    def made(*paces):
        for day, pace in enumerate(paces):
            yield run(*(case(f"k---{day}-{one}", seconds=0.25 * pace) for one in range(2)))

    return made


@pytest.mark.parametrize(("pace", "alike"), [(1.2, True), (0.9, True), (1.5, False), (0.5, False)])
def test_a_run_joins_a_page_only_if_its_machine_was_about_as_fast(on_days, pace, alike):
    """Elsewhere, under the same limit, other schemas would be out of time."""
    first, second = on_days(1, pace)
    known = Gathered.of(first, {"identity": {}, "started": "day 0"}, None)
    about = {"identity": {}, "started": "day 1"}
    if alike:
        assert Gathered.of(second, about, known).runs[1]["pace"] == pace
    else:
        with pytest.raises(UsageError, match=f"take {pace} times as long here"):
            Gathered.of(second, about, known)


def test_a_run_that_makes_schemas_again_is_held_against_the_same_ones(run, monkeypatch):
    """Those may all be large ones, which chance did not draw."""
    monkeypatch.setattr(gathered, "FAIR", 2)
    slow, quick = case("k---slow", seconds=2.0), case("k---quick", seconds=0.25)
    known = Gathered.of(run(slow, quick), {"identity": {}, "started": "day 0"}, None)
    again = run(case("k---slow", seconds=2.2))
    runs = Gathered.of(again, {"identity": {}, "started": "day 1"}, known).runs
    assert runs[1]["pace"] == 1.1
    assert len(runs) == 2


def test_a_run_that_goes_on_is_not_held_against_itself(on_days):
    (first,) = on_days(1)
    known = Gathered.of(first, {"identity": {}, "started": "day 0"}, None)
    again = Gathered.of(first, {"identity": {}, "started": "day 0"}, known)
    assert "pace" not in again.runs[0]


def test_a_run_on_a_slower_machine_stops_after_its_first_schemas(on_days):
    first, second = on_days(1, 2)
    known = Gathered.of(first, {"identity": {}, "started": "day 0"}, None)

    def executor(_settings, _cases, begin, _telling):
        _, jobs = begin({})
        assert len([next(jobs), next(jobs)]) == 2
        next(jobs)

    def begun(_engines):
        jobs = [(number, SimpleNamespace(id=f"new{number}")) for number in range(3)]
        return SimpleNamespace(manifest={"identity": {}}, path=second.path), iter(jobs)

    telling = SimpleNamespace(skip=lambda _: None, done=0)
    with pytest.raises(UsageError, match="take 2 times as long here"):
        as_drawn(executor, known)(None, 3, begun, telling)
