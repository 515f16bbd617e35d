"""Adapters that contradict themselves: what is wrong with them is named, and no engine is charged."""

from collections import Counter
from typing import Any

import pytest

from harness.comparison.case_run import Rules
from harness.protocol_checks import adapter_faults
from harness.verdict_kinds import ERRORS
from harness.workers.outcomes import ADAPTER_FAULTS, EXCLUDING
from tests.inprocess import case, records, run_case, study
from tests.miniatures import (
    AcceptsExtra,
    ChangesMask,
    ClonesMove,
    Enumerator,
    FollowsAll,
    ForbidsOne,
    GoesBeyond,
    LeavesMask,
    LosesInClones,
)

FAULTS: dict[type[Enumerator], str] = {
    LeavesMask: "mask_not_written",
    ChangesMask: "mask_changes",
    LosesInClones: "clone_differs",
    ClonesMove: "clone_differs",
    GoesBeyond: "bits_beyond",
    FollowsAll: "faster_way",
}
STUDY = study(cap=None, on_dropout="continue")
USUAL = Rules(on_dropout="continue", generated=4, samples=4)
SCHEMA = {"enum": [123, 129, 23], "x-extra": ["125"], "x-forbidden": [["12", "3"]]}
OTHERS = (Enumerator, AcceptsExtra, ForbidsOne)


def found(rows) -> list[tuple[Any, ...]]:
    """The faults of adapters that were found: engine, what, position."""
    return [
        (one["engine"], one["outcome"], one["position"])
        for one in records(rows, "engines")
        if one["outcome"] in ADAPTER_FAULTS
    ]


def charged(rows, engine: type) -> Counter[tuple[Any, ...]]:
    """All errors of an engine, by whatever evidence."""
    return Counter(
        (table, *(one.get(name) for name in ("kind", "position", "token", "instance")))
        for table in ("verdicts", "instance_verdicts", "sample_verdicts")
        for one in records(rows, table)
        if one["kind"] in ERRORS and one["engine"] == engine.__name__
    )


@pytest.fixture
def everywhere(monkeypatch):
    """Every position is looked at."""
    monkeypatch.setattr(adapter_faults, "EVERY", 1)


def test_without_its_annotation_there_is_none():
    assert not found(run_case([Enumerator, *FAULTS], case(SCHEMA, 123, invalid=[99]), rules=STUDY))


@pytest.mark.parametrize("faulty", FAULTS)
class TestAFault:
    @pytest.mark.parametrize(("where", "rules"), [("", USUAL), ("1", STUDY)])
    @pytest.mark.usefixtures("everywhere")
    def test_is_named_and_not_charged_to_its_engine(self, faulty, where, rules):
        one = case({**SCHEMA, "x-fault": where}, 123, invalid=[99])
        rows = run_case([*OTHERS, faulty], one, rules=rules)
        assert found(rows) == [(faulty.__name__, FAULTS[faulty], len(where))]
        honest = charged(rows, Enumerator) if FAULTS[faulty] not in EXCLUDING else Counter()
        assert charged(rows, faulty) == honest

    def test_is_charged_to_nobody_where_few_positions_are_looked_at(self, faulty):
        one = case({**SCHEMA, "x-fault": "1"}, 123, invalid=[99])
        rows = run_case([*OTHERS, faulty], one, rules=USUAL)
        alone = run_case(OTHERS, one, rules=USUAL)
        assert not charged(rows, faulty) - charged(rows, Enumerator)
        for other in OTHERS:
            assert charged(rows, other).keys() == charged(alone, other).keys()


def test_a_fault_that_only_an_instance_passes_is_found_there():
    one = case({"enum": [11, 23], "x-fault": "2"}, 11, 23)
    rows = run_case([Enumerator, LeavesMask], one, rules=STUDY)
    assert found(rows) == [("LeavesMask", "mask_not_written", -1)]
    assert not charged(rows, LeavesMask)


@pytest.mark.usefixtures("everywhere")
def test_the_common_panel_compares_nothing_then():
    one = case({"const": 12, "x-fault": "1"}, 12)
    rows = run_case([Enumerator, ChangesMask], one, rules=study(cap=None))
    (row,) = records(rows, "cases")
    assert (row["status"], row["reason"]) == ("not_compared", "adapter_fault")
