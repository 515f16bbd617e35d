"""What became of one resolver's false acceptances under another, on the same walks."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from harness.cli.main import cli
from harness.errors import UsageError
from harness.report.resolver_comparison import compare
from harness.runs.directory import create_or_resume
from tests.comparison.test_case_run import AllowsOnlyExtra
from tests.inprocess import case, make_run
from tests.miniatures import Enumerator, ForbidsOne
from tests.oracle import RESOLVERS

# The validators raise the limit for good, and hypothesis remarks on it.
pytestmark = pytest.mark.filterwarnings("ignore:The recursion limit will not be reset")

ENGINES = (Enumerator, AllowsOnlyExtra, ForbidsOne)


@pytest.fixture
def stored(tmp_path):
    """Runs cases with one resolver, and stores them."""
    runs = []

    def store(resolver, *cases, engines=ENGINES, seed=0):
        identity = {"engines": {kind.__name__: {} for kind in engines}, "rules": {"seed": seed}}
        run = create_or_resume(tmp_path / f"{resolver}{len(runs)}", identity, {})
        runs.append(run)
        for number, one in enumerate(cases):
            rows = make_run(engines, resolver=RESOLVERS[resolver]).run(one)
            run.write_case(number, rows)
        return run

    yield store
    for run in runs:
        run.release()


CLEARED = case({"const": 12, "x-extra": ["13"], "x-forbidden": [["", "1"]]}, 12, name="cleared")
"""One engine goes wrong behind ``1``, the honest one shows that ``1`` was right."""


def test_a_token_that_another_engine_completes_was_no_false_acceptance(stored):
    found = compare(stored("rollout", CLEARED), stored("shared", CLEARED))
    assert (found["cases"], found["cases_walked_differently"]) == (1, 0)
    nothing = {"false_acceptances": 0, "confirmed": 0, "cleared": 0, "open": 0}
    assert found["engines"] == {
        "Enumerator": nothing,
        "AllowsOnlyExtra": {**nothing, "false_acceptances": 1, "cleared": 1},
        "ForbidsOne": nothing,
    }


def test_a_token_that_nobody_completes_stays_one(stored):
    wrong = case({"const": 12, "x-extra": ["13", "20"]}, 12)
    found = compare(stored("rollout", wrong), stored("shared", wrong))
    one = found["engines"]["AllowsOnlyExtra"]
    assert (one["false_acceptances"], one["confirmed"], one["cleared"]) == (2, 2, 0)


def test_a_run_against_itself_clears_nothing(stored):
    run = stored("shared", CLEARED)
    found = compare(run, run)
    assert all(one["cleared"] == one["open"] == 0 for one in found["engines"].values())


def test_cases_that_were_walked_differently_are_left_out_and_counted(stored):
    other = case({"const": 7, "x-extra": ["8"]}, 7, name="other")
    found = compare(stored("rollout", CLEARED, other), stored("shared", CLEARED))
    assert (found["cases"], found["cases_walked_differently"]) == (1, 1)


def test_runs_of_different_seeds_do_not_compare(stored):
    with pytest.raises(UsageError, match="differ in rules"):
        compare(stored("rollout", CLEARED), stored("shared", CLEARED, seed=1))


def test_the_command_prints_the_same(stored):
    rollout, shared = stored("rollout", CLEARED), stored("shared", CLEARED)
    paths = [str(rollout.path), str(shared.path)]
    printed = CliRunner().invoke(cli, ["resolvers", *paths, "--json"])
    assert json.loads(printed.stdout) == compare(rollout, shared)
    table = CliRunner().invoke(cli, ["resolvers", *paths])
    assert "1 cases and 1 positions walked alike, 0 cases not" in table.stdout
    assert "AllowsOnlyExtra" in table.stdout
