"""The two resolvers on the same walks: sharing completions loses no proof and makes no false one."""

from collections.abc import Iterator

import pytest
from hypothesis import given

from harness.comparison.case_run import CaseRun
from harness.engines.panel import Limits
from harness.engines.specs import parse_spec
from harness.execution.lanes import Lane, LaneSettings
from harness.inputs.case_selection import open_cases
from harness.inputs.vocabulary_readers import open_vocabulary
from harness.runs.tables import Rows
from harness.workers.temporary_directories import saved_vocabulary
from tests.inprocess import EFFECT, records, study
from tests.oracle import RESOLVERS, flaws, trials, verdicts_at

Entry = tuple[int, int, str]
"""Position, token, engine."""


ACCEPTANCES = ("false_acceptance", "stops_too_early")
REJECTIONS = ("false_rejection", "never_stops")


def entries(rows: Rows, *kinds: str) -> set[Entry]:
    """The verdicts of some kinds in disputes."""
    return {
        (*place, one["engine"])
        for place, verdicts in verdicts_at(rows).items()
        for one in verdicts
        if one["kind"] in kinds
    }


def flawed(rows: Rows) -> set[Entry]:
    """Tokens behind which an engine errs in another way."""
    return {(one["position"], one["token"], one["engine"]) for one in flaws(rows)}


def tokens(found: set[Entry]) -> set[tuple[int, int]]:
    return {(position, token) for position, token, _ in found}


def assert_sharing_is_sound(rollout: Rows, shared: Rows) -> None:
    """What one resolver proves, the other does not contradict, and sharing proves no less."""
    assert_no_contradiction(rollout, shared)
    assert rollout.lists("disputes") == shared.lists("disputes")
    convicted = entries(shared, *ACCEPTANCES)
    cleared = tokens(entries(shared, *REJECTIONS))
    assert entries(rollout, *REJECTIONS) <= entries(shared, *REJECTIONS)
    for position, token, engine in entries(rollout, *ACCEPTANCES):
        assert (position, token, engine) in convicted or (position, token) in cleared


def assert_no_contradiction(rollout: Rows, shared: Rows) -> None:
    """No token is wrong to one resolver and right to the other."""
    assert rollout.lists("positions") == shared.lists("positions")
    proven = (records(one, "instance_verdicts", without=EFFECT) for one in (rollout, shared))
    assert next(proven) == next(proven)
    wrong = tokens(entries(shared, *ACCEPTANCES))
    assert not tokens(entries(rollout, *REJECTIONS)) & wrong


def assert_sharing_resolves_more(rollout: Rows, shared: Rows) -> None:
    """Fewer tokens stay open, and none that the other resolver could resolve."""
    left = entries(shared, "unresolved")
    assert tokens(left) <= tokens(entries(rollout, "unresolved"))
    assert not left & flawed(rollout)


@given(trial=trials())
def test_on_miniatures(trial):
    rollout, shared = trial.run("rollout"), trial.run("shared")
    assert_sharing_is_sound(rollout, shared)
    assert_sharing_resolves_more(rollout, shared)


@pytest.fixture(scope="module")
def runs() -> Iterator[dict[str, CaseRun]]:
    """Both resolvers on one panel of real engines."""
    rules = study(cap=10)
    specs = (parse_spec("xgrammar"), parse_spec("llguidance"))
    with saved_vocabulary(open_vocabulary()) as file:
        lane = Lane(LaneSettings(specs, str(file), Limits(compile=60), rules))
        try:
            lane.open()
            tools = (lane.panel, lane.judge, lane.vocabulary)
            yield {name: CaseRun(*tools, resolver, rules) for name, resolver in RESOLVERS.items()}
        finally:
            lane.close()


@pytest.mark.processes
@pytest.mark.engines
def test_on_real_engines(runs):
    (case,) = open_cases("embedded").read(["text/delete-and-c1"])
    rollout, shared = (runs[resolver].run(case) for resolver in ("rollout", "shared"))
    assert shared.lists("cases")["status"] == ["walked"]
    assert shared.count("verdicts"), "nothing to compare"
    assert_no_contradiction(rollout, shared)
