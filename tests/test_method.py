"""The method on miniatures, held to an oracle that knows every text an engine can write."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.case_run import Rules
from harness.protocol import allows
from harness.tables import SCHEMAS, Rows
from harness.validate import Validators
from tests import miniatures
from tests.inprocess import UNCAPPED, case, default_options, make_run, records, run_case
from tests.miniatures import (
    AcceptsExtra,
    CrashesOnCompile,
    CrashesOnMask,
    Enumerator,
    ForbidsOne,
    HangsOnMask,
    NeverEnds,
    RaisesOnMask,
)
from tests.oracle import BARRED, RESOLVERS, Trial, is_valid, splits, trials, verdicts_at

CLOCKS = ("timings", "costs")


def outcome(rows: Rows) -> dict[str, Any]:
    """All rows but those that tell how long something took."""
    return {table: rows.columns[table] for table in SCHEMAS if table not in CLOCKS}


def kinds(rows: Rows) -> set[tuple[str, str]]:
    return {(verdict["engine"], verdict["kind"]) for verdict in records(rows, "verdicts")}


class TestAgainstTheOracle:
    @pytest.mark.parametrize("resolver", RESOLVERS)
    @settings(max_examples=150)
    @given(trial=trials())
    def test_no_verdict_is_false(self, resolver, trial):
        names = [kind.__name__ for kind in trial.engines]
        rows = trial.run(resolver)
        judged = {one.place: one for one in splits(trial, rows)}
        for place, verdicts in verdicts_at(rows).items():
            split = judged[place]
            for verdict in verdicts:
                engine = names.index(verdict["engine"])
                if verdict["kind"] == "false_rejection":
                    assert engine in split.rejecters
                    assert any(
                        is_valid(trial.schema, text)
                        for one in split.accepters
                        for text in trial.endings(one, split.written, split.token)
                    )
                elif verdict["kind"] == "false_acceptance":
                    assert engine in split.accepters
                    assert any(
                        not is_valid(trial.schema, text)
                        for text in trial.endings(engine, split.written, split.token)
                    )

    @pytest.mark.parametrize("resolver", RESOLVERS)
    @settings(max_examples=150)
    @given(trial=trials())
    def test_what_can_be_found_is_found(self, resolver, trial):
        names = [kind.__name__ for kind in trial.engines]
        rows = trial.run(resolver)
        found = verdicts_at(rows)
        for split in splits(trial, rows):
            verdicts = {(one["engine"], one["kind"]) for one in found.pop(split.place)}
            outcomes = {
                engine: {
                    is_valid(trial.schema, text)
                    for text in trial.endings(engine, split.written, split.token)
                }
                for engine in split.accepters
                if trial.engines[engine] not in BARRED
            }
            if {True} in outcomes.values():
                wrong = {(names[engine], "false_rejection") for engine in split.rejecters}
                assert wrong <= verdicts
            elif outcomes and all(one == {False} for one in outcomes.values()):
                wrong = {(names[engine], "false_acceptance") for engine in outcomes}
                assert wrong <= verdicts or len(outcomes) < len(split.accepters)
            if not any(trial.engines[engine] in BARRED for engine in split.accepters):
                assert {kind for _, kind in verdicts} <= {"false_acceptance", "false_rejection"}
        assert not found, "verdicts about tokens that are not in dispute"

    @pytest.mark.parametrize("resolver", RESOLVERS)
    @settings(max_examples=60)
    @given(trial=trials())
    def test_every_witness_replays(self, resolver, trial):
        assert_witnesses_replay(trial, trial.run(resolver))
