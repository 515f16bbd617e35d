"""What ends a run on the command line: a search for bugs that may fail, and a summary that does not."""

import json
import signal

import pytest

import harness.bugs.listing
import harness.bugs.search
from harness import interrupts
from harness.cli.common import FailOn
from harness.cli.summary import ShrinkBudget, end_run
from harness.errors import UsageError
from tests import books
from tests.buglists import bug, bug_list
from tests.report.test_terminal import ENGINES, book

pytestmark = pytest.mark.thorough


@pytest.fixture
def ended(tmp_path, monkeypatch, capsys):
    """Ends a run of two cases whose search does something; its output, its errors, the searches."""

    def end(search=lambda: None, *, finish=True, as_json=False, bugs=60, lanes=None):
        asked = []

        def noted(run, **how):
            asked.append({"finished": run.finished, **how})
            search()

        monkeypatch.setattr(harness.bugs.search, "search", noted)
        run = books.store(
            tmp_path / "run", book("one"), book("two"), engines=ENGINES, finish=finish
        )
        end_run(run, FailOn(), ShrinkBudget(bugs), lanes, as_json)
        printed = capsys.readouterr()
        return printed.out, printed.err, asked

    return end


def failing(error):
    def search():
        raise error

    return search


@pytest.mark.parametrize("error", [UsageError("the engine is gone"), RuntimeError("the\nengine")])
def test_a_search_that_fails_costs_nothing_but_a_line(ended, error):
    printed, problems, _ = ended(failing(error))
    assert "In how many schemas an engine is wrong about a value" in printed
    assert "maskcourt bugs " in printed
    assert problems.count("\n") == 1
    assert problems.startswith("maskcourt: the search for bugs failed: the engine")


def test_an_interrupted_search_ends_with_the_summary(ended, capsys):
    def interrupt():
        signal.raise_signal(signal.SIGTERM)

    with interrupts.heeded():
        with pytest.raises(KeyboardInterrupt):
            ended(interrupt)
        assert signal.getsignal(signal.SIGTERM) != signal.SIG_IGN, "the summary can be, too"
    printed = capsys.readouterr().out
    assert "In how many schemas an engine is wrong about a value" in printed
    assert "maskcourt bugs " in printed


@pytest.mark.parametrize(
    "options", [{"finish": False}, pytest.param({"bugs": 0}, marks=pytest.mark.thorough)]
)
def test_nothing_is_searched_where_the_run_is_not_finished_or_nobody_wants_it(ended, options):
    printed, problems, asked = ended(**options)
    assert (asked, problems) == ([], "")
    assert "In how many schemas an engine is wrong about a value" in printed


def test_the_search_has_as_long_and_as_many_lanes_as_it_may(ended):
    (asked,) = ended(bugs=7, lanes=1)[2]
    assert (asked["seconds"], asked["lanes"], asked["classes"]) == (7, 1, ("bug",))


def test_json_has_the_bugs_or_says_that_none_are_known(ended, monkeypatch):
    found = json.loads(ended(as_json=True)[0])
    assert (found["bugs"], found["unexplained"]) == (None, None)
    listed = bug_list(bug("a", 7), no_token=4)
    monkeypatch.setattr(harness.bugs.listing, "known_bugs", lambda *_, **__: listed)
    found = json.loads(ended(as_json=True)[0])
    assert [one["id"] for one in found["bugs"]] == ["00000007"]
    assert found["unexplained"] == {"no token": 4}
    assert found["cases"] == 2


@pytest.mark.parametrize(
    "status", ["harness_error", pytest.param("lane_died", marks=pytest.mark.thorough)]
)
def test_a_case_that_ends_in_an_error_of_the_harness_is_told_last_and_ends_with_1(
    tmp_path, capsys, status
):
    broken = books.Book("three", status=status)
    broken.rows.replace("cases", message=["Traceback\nKeyError: 8\x07"])
    run = books.store(tmp_path / "run", book("one"), broken, engines=ENGINES)
    with pytest.raises(SystemExit) as leaving:
        end_run(run, FailOn(), ShrinkBudget(0), None, as_json=False)
    assert leaving.value.code == 1
    last = capsys.readouterr().err.splitlines()[-1]
    said = "1 case ended in an error of the harness: three: KeyError: 8"
    assert last.startswith(f"maskcourt: {said}")


@pytest.mark.parametrize(("declared", "reasons"), [(3, []), (2, ["one: 1 schema with loss"])])
def test_what_an_engine_declares_is_no_reason_to_fail(declared, reasons):
    counts = {"schemas": 3, "declared": declared}
    assert FailOn(("loss",)).reasons({"one": {"loss": counts}}) == reasons


def test_it_fails_on_what_an_instance_proves(tmp_path, capsys):
    wrong = books.Book("three").instance(0, "invalid").on_instance(0, "a", "false_acceptance")
    run = books.store(tmp_path / "run", wrong, engines=ENGINES)
    with pytest.raises(SystemExit) as leaving:
        end_run(run, FailOn(("false_acceptances",)), ShrinkBudget(0), None, as_json=True)
    assert leaving.value.code == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "maskcourt: failed on a: 1 instance with false acceptances"
