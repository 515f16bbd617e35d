"""The budget of a case: everything about it ends, and what was proven until then is kept."""

import pytest

from harness.comparison.case_budget import BudgetSpentError, CaseBudget
from harness.comparison.position_resolution import PositionResolution
from tests.inprocess import EFFECT, case, make_run, records, study
from tests.miniatures import Enumerator, ForbidsOne

pytestmark = pytest.mark.thorough

TEXT = "abcd" * 20
SCHEMA = {"enum": [TEXT, "abd"], "x-forbidden": [['"ab', "d"]]}
ENGINES = [Enumerator, ForbidsOne]


def run(budget):
    runner = make_run(ENGINES, rules=study(cap=None, on_dropout="continue", budget=budget))
    host = runner.panel._hosts[0]
    host.answers = 0
    submit = host.submit

    def slow(*args, **kwargs):  # each answer of the first engine costs a second
        host.processor_seconds += 1
        submit(*args, **kwargs)

    host.submit = slow
    return runner.run(case(SCHEMA, TEXT))


def test_a_case_that_stays_within_it_is_as_without():
    rows = run(600)
    assert [(row["status"], row["reason"]) for row in records(rows, "cases")] == [("walked", "")]


def test_what_was_proven_before_it_was_spent_is_kept_and_said_in_the_row():
    whole, cut = run(600), run(5)
    row = records(cut, "cases")[0]
    assert (row["status"], row["reason"]) == ("walked", "case_budget")
    assert "5 s of processor time" in row["message"]
    positions = records(cut, "positions")
    assert 0 < len(positions) < len(records(whole, "positions"))
    for table in ("positions", "verdicts", "disputes"):
        some, every = (records(rows, table, without=EFFECT) for rows in (cut, whole))
        assert some == every[: len(some)]


def test_a_case_without_time_for_anything_is_set_aside():
    row = records(run(0), "cases")[0]
    assert (row["status"], row["reason"], row["positions"]) == ("set_aside", "case_budget", 0)


def test_a_computation_of_the_coordinator_that_never_ends_is_interrupted(monkeypatch):
    def never_ends(*_):
        while True:
            pass

    monkeypatch.setattr(PositionResolution, "locate", never_ends)
    runner = make_run(ENGINES, rules=study(cap=None, budget=0.5))
    first = records(runner.run(case(SCHEMA, TEXT)), "cases")[0]
    assert first["reason"] == "case_budget"
    monkeypatch.undo()
    again = records(runner.run(case(SCHEMA, TEXT)), "cases")[0]
    assert (again["status"], again["reason"]) == ("walked", ""), "the next case runs as ever"


def test_nothing_is_interrupted_while_a_host_is_talked_to():
    spaces = {"__name__": "harness.workers.wire"}
    exec("def talk():\n    for _ in range(10**6): pass\n    return 'whole'", spaces)
    said = []

    def work():
        said.extend(spaces["talk"]() for _ in range(30))
        while True:
            pass

    with pytest.raises(BudgetSpentError), CaseBudget(0.05, lambda: 0.0).enforced():
        work()
    assert said == ["whole"] * 30
