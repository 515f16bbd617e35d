"""``maskcourt compare``: what is fixed, new, there still, and what cannot be told."""

import json
import re
import shutil
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from harness.bugs.trial import Symptom
from harness.runs.directory import RunDirectory
from harness.verdict_kinds import BUG, LOST_VALUE, SPELLING, TRAP
from harness.versions.bugs import CANNOT_TELL, FIXED, NEW, REMAINING, BugChange, bug_change
from harness.versions.compare import Comparison, sides
from harness.versions.text import comparison_markdown
from tests.buglists import bug
from tests.command import STUDY, finished_run, maskcourt
from tests.planted import AGE, PAIR

OLD, NEWER = "tests.planted:Forgetful", "llguidance"
CASES = [
    AGE,
    PAIR,
    {"id": "refused", "schema": {"type": "array", "uniqueItems": True, "items": {"enum": [1, 2]}},
     "valid": [[1]]},
]  # fmt: skip


@pytest.mark.parametrize(
    ("shows", "effect", "compiles", "right", "is_new", "becomes"),
    [
        (None, "", True, True, False, (FIXED, "")),
        (None, "", True, True, True, (NEW, "")),
        (BUG, LOST_VALUE, True, False, True, (REMAINING, "")),
        (BUG, TRAP, True, False, True, (REMAINING, "its effect is trap in 2.0")),
        (BUG, SPELLING, True, False, False, (FIXED, "2.0 takes another spelling of the value")),
        ("departure", LOST_VALUE, True, False, False, (REMAINING, "counts as departure in 2.0")),
        (None, "", False, False, True, (CANNOT_TELL, "2.0 does not compile the schema")),
        (None, "", True, False, False, (CANNOT_TELL, "2.0 does something else with the text")),
    ],
)
def test_what_became_of_a_bug_is_what_the_other_version_does(
    shows, effect, compiles, right, is_new, becomes
):
    trial = SimpleNamespace(
        spec=SimpleNamespace(name="a@2.0"),
        with_token=nullcontext,
        reproduce=lambda _: shows and Symptom(0, shows, "", ""),
        effect=lambda *_: effect,
        compiles=lambda _: compiles,
        are_right=lambda cases: [right] * len(cases),
    )
    change = bug_change(bug(), trial, "2.0", is_new=is_new)
    assert (change.status, change.reason) == becomes


def test_builds_of_one_version_are_two_sides(tmp_path):
    names = ("a@./old.whl", "a@./new.whl", "b")
    engines = {name: {"version": "1.0", "build": f"wheel of {name}"} for name in names}
    run = RunDirectory(tmp_path, {"identity": {"engines": engines}, "tables": {}})
    ((old, new),) = sides(run, run)
    assert (old.label, new.label) == ("1.0 (./old.whl)", "1.0 (./new.whl)")


def told_of(*effects, machines=({}, {}), rates=()):
    """Two versions whose new bugs have these effects, in runs on these machines."""
    figures = {"p50": 1, "p99": 2}
    times = {"time_to_first_mask": figures, "time_between_masks": dict.fromkeys(figures)}
    old, new = (SimpleNamespace(manifest={"machine": one}) for one in machines)
    one = Comparison(
        old=SimpleNamespace(label="1.0", run=old),
        new=SimpleNamespace(label="2.0", engine="a@2.0", run=new),
        changes=tuple(BugChange(bug(effect=one), NEW, "") for one in effects),
        schemas={
            "schemas": 9,
            "compiled_now": {"x": "refused: no"},
            "not_now": dict.fromkeys("abcdefghij", "died: late") | {"k": "crashed"},
            "rates": rates,
        },
        times={"old": times, "new": times},
        pending={"1.0": 0},
    )
    return comparison_markdown([one], most=2)


@pytest.mark.parametrize(
    ("proof", "said"),
    [
        ({"low": 0.01, "high": 0.2, "p": 0.004}, "is +1.0% to +20.0%, McNemar's p 0.004)."),
        ({"low": -0.1, "high": 0.2, "p": 0.3}, "is not proven, McNemar's p 0.3)."),
        ({"low": None, "high": None, "p": 0.004}, "is not proven, McNemar's p 0.004)."),
        ({"low": None, "high": None, "p": None}, "(5 only now, 1 only before)."),
    ],
)
def test_of_a_sample_it_says_whether_the_difference_is_proven(proof, said):
    rate = {"kind": "loss", "schemas": 50, "both": 2, "only_old": 1, "only_new": 5}
    (line,) = (
        one for one in told_of(rates=[{**rate, **proof}]).splitlines() if "unusual ones" in one
    )
    assert "in 3 of 50 schemas before and 7 now" in line
    assert line.endswith(said)


@pytest.mark.parametrize(
    ("paces", "said"),
    [((100, 190), "took 1.9 times"), ((190, 95), "took 0.5 times"), ((100, 120), None)],
)
def test_that_two_runs_had_machines_of_another_pace_is_said_before_times(paces, said):
    """Else what is out of time on the slow one would be told as the version's doing."""
    told = told_of(machines=[{"pace": pace} for pace in paces])
    assert (f"The new run's machine {said}" in told) if said else ("machine" not in told)


def test_of_machines_whose_pace_is_not_known_nothing_is_said():
    assert "machine" not in told_of(machines=({"pace": 100}, {}))


def test_of_many_bugs_the_first_are_listed_and_those_that_cost_a_value_counted():
    told = told_of(LOST_VALUE, TRAP, SPELLING)
    assert "3 new bugs, 0 fixed" in told
    assert "of these cost a value: 2 new, 0 fixed" in told
    assert told.count("lost value:") + told.count("trap:") == 2
    assert "spelling:" not in told
    assert told.endswith("\n\nand 1 more\n")
    assert "- refused: no (1): `x`\n" in told
    assert "`f`, `g`, `h` and 2 more\n- crashed (1): `k`\n" in told
    assert "time to first mask" in told
    assert "time between masks" not in told


@pytest.fixture(scope="module")
def run(vocabulary_file, tmp_path_factory):
    """A finished run of an engine beside one that forgets two keywords."""
    directory = tmp_path_factory.mktemp("changes")
    return finished_run(directory, CASES, f"{NEWER},{OLD}", vocabulary_file, *STUDY)


@pytest.mark.processes
@pytest.mark.engines
class TestCommand:
    def compared(self, run, old, new, *options):
        return maskcourt(
            "compare", run, "--old", old, "--new", new, "--trust", "--lanes", 1, *options
        )

    def test_planted_faults_are_fixed_in_the_version_without_them(self, run):
        done = self.compared(run, OLD, NEWER, "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        statuses = ("new", "fixed", "remaining", "cannot_tell")
        assert [len(found[status]) for status in statuses] == [0, 2, 0, 0]
        (schemas,) = found["schemas"].values()
        assert (schemas["schemas"], schemas["compiled_now"]) == (3, {})
        rates = {one["kind"]: (one["only_old"], one["only_new"]) for one in schemas["rates"]}
        assert rates == {"leak": (2, 0), "loss": (0, 0), "trap": (0, 0)}

    def test_and_new_the_other_way_round(self, run):
        done = self.compared(run, NEWER, OLD, "--markdown")
        assert done.returncode == 0, done.stderr
        assert "2 new bugs, 0 fixed, 0 still there" in done.stdout
        assert "of these cost a value: 2 new, 0 fixed" in done.stdout
        assert '  - schema `{"type":"integer","minimum":1}`' in done.stdout
        assert "### New: 2" in done.stdout

    def test_what_a_search_did_not_come_to_is_said(self, run, tmp_path):
        copy = shutil.copytree(run, tmp_path / "run")
        (copy / "bugs.jsonl").unlink(missing_ok=True)
        done = self.compared(copy, OLD, NEWER, "--shrink-budget", 0, "--markdown")
        assert done.returncode == 0, done.stderr
        assert "0 new bugs, 0 fixed" in done.stdout
        stopped = r"The search was stopped, \d+ verdicts? of all engines not shrunk yet"
        assert re.search(stopped, done.stdout)

    def test_which_versions_are_meant_must_be_clear(self, run, call):
        code, _, problems = call("compare", run, "--trust")
        assert code == 2
        assert "no engine is in two versions" in problems
