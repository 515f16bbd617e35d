"""What a completion proves, and about whom: the one place where verdicts are decided."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.comparison.findings import (
    CODES,
    FAILED,
    Completion,
    Findings,
    Flaw,
    Status,
    judge,
    witnessed,
)
from harness.completion.rollout import ROLLOUT_OUTCOMES
from harness.validators.judge import CONTESTED, INVALID, Ruling
from harness.workers.outcomes import ADAPTER_FAULTS, AdapterFault, Failure

TOKEN = 65
FAULT = Ruling(INVALID, "", "enum", "/enum", "/0")
OPEN = Ruling(CONTESTED, "duplicate_keys")
UNRESOLVED = sorted(set(Status) - set(list(Status)[:4]))
BY_ACCEPTER = {
    Status.NOT_ASKED: None,
    Status.VALID: None,
    Status.INVALID: ("false_acceptance", ""),
    Status.CONTESTED: ("contested", "duplicate_keys"),
    Status.TOO_LONG: ("unresolved", "too_long"),
    Status.DEAD_END: ("unresolved", "dead_end"),
    Status.MASK_CONSUME_MISMATCH: ("unresolved", "mask_consume_mismatch"),
    Status.CRASHED: ("unresolved", "crashed"),
    Status.TIMED_OUT: ("unresolved", "timed_out"),
    Status.OUT_OF_MEMORY: ("unresolved", "out_of_memory"),
    Status.UNDECIDED: ("unresolved", "undecided"),
    Status.GIVEN_UP: ("unresolved", "given_up"),
}
"""What each status of an accepting engine says of that engine."""


def verdicts_of(findings, *, clears):
    findings.valid_completion_exonerates = clears
    return judge(findings)


def listed(findings, *, clears):
    """The verdicts as (token, engine, kind, reason, accepter, completion)."""
    found = verdicts_of(findings, clears=clears)
    accepters = [findings.engines[row] if row >= 0 else -1 for row in found.accepter.tolist()]
    engines = [findings.engines[row] for row in found.row.tolist()]
    kinds = [CODES[kind] for kind in found.kind.tolist()]
    columns = (found.token.tolist(), engines, kinds, found.reason, accepters, found.completion)
    return list(zip(*columns, strict=True))


def empty_findings(engines, tokens, accepts, eos_ids=()):
    ends = np.isin(tokens, eos_ids)
    return Findings(tuple(engines), tokens, accepts, ends, (accepts & ends).any(axis=1))


def findings_of(*entries, engines=None, eos_ids=()):
    """The findings about one token; an entry is an engine's status, None where it rejects.

    Engines that have a completion have one of their own, numbered like their rows.
    """
    engines = tuple(range(len(entries))) if engines is None else engines
    accepts = np.array([[entry is not None] for entry in entries])
    findings = empty_findings(engines, np.array([TOKEN], dtype=np.int32), accepts, eos_ids)
    for row, entry in enumerate(entries):
        findings.completions.append(Completion(b"%d" % row, (row,), "reference"))
        if entry in (Status.VALID, Status.INVALID, Status.CONTESTED, Status.UNDECIDED):
            findings.completion[row, 0] = row
        if entry in (Status.INVALID, Status.CONTESTED):
            findings.explain(row, np.array([0]), FAULT if entry is Status.INVALID else OPEN)
        findings.status[row, 0] = entry or 0
    return findings


def judged(*entries, clears, engines=None):
    """The verdicts as (engine, kind, reason)."""
    found = listed(findings_of(*entries, engines=engines), clears=clears)
    return [(engine, kind, reason) for _, engine, kind, reason, _, _ in found]


V, I, C = Status.VALID, Status.INVALID, Status.CONTESTED  # noqa: E741


class TestAllCombinationsOfThree:
    COMBINATIONS = tuple(itertools.product([None, *Status], repeat=3))

    def test_engines_are_convicted_cleared_or_left_open_once_each(self):
        """A valid completion clears the token for all or, in the original way, for its engine."""
        for entries, clears in itertools.product(self.COMBINATIONS, (True, False)):
            found = judged(*entries, clears=clears)
            assert len({engine for engine, _, _ in found}) == len(found)
            convicted = {engine for engine, kind, _ in found if kind == "false_rejection"}
            rejecting = {engine for engine, entry in enumerate(entries) if entry is None}
            assert convicted == (rejecting if V in entries else set())
            alone = {
                (engine, *BY_ACCEPTER[entry])
                for engine, entry in enumerate(entries)
                if entry is not None and BY_ACCEPTER[entry] is not None
            }
            accepting = {one for one in found if one[1] != "false_rejection"}
            assert accepting == (set() if clears and V in entries else alone)


class TestWitnesses:
    def test_of_a_false_rejection_is_the_first_valid_completion_and_who_allowed_it(self):
        findings = findings_of(None, I, V, V, engines=(3, 5, 4, 9))
        found = listed(findings, clears=True)
        assert found == [(TOKEN, 3, "false_rejection", "", 4, 2)]
        assert witnessed(verdicts_of(findings, clears=True)) == [(2, 0)]

    def test_of_a_false_acceptance_is_the_engines_own(self):
        findings = findings_of(None, I, I, engines=(3, 5, 4))
        assert listed(findings, clears=True) == [
            (TOKEN, 5, "false_acceptance", "", 5, 1),
            (TOKEN, 4, "false_acceptance", "", 4, 2),
        ]
        assert witnessed(verdicts_of(findings, clears=True)) == [(1, 0), (2, 0)]

    def test_of_an_open_question_is_what_it_is_about(self):
        found = listed(findings_of(C, None), clears=True)
        assert found == [(TOKEN, 0, "contested", "duplicate_keys", 0, 0)]

    @pytest.mark.parametrize("status", [one for one in UNRESOLVED if one is not Status.UNDECIDED])
    def test_without_a_completion_there_is_none(self, status):
        findings = findings_of(status, None)
        found = listed(findings, clears=False)
        assert found == [(TOKEN, 0, "unresolved", status.name.lower(), -1, -1)]
        assert witnessed(verdicts_of(findings, clears=False)) == []

    def test_each_rule_rests_on_its_own(self):
        findings = findings_of(V, I, None)
        assert witnessed(verdicts_of(findings, clears=True)) == [(0, 0)]
        assert sorted(witnessed(verdicts_of(findings, clears=False))) == [(0, 0), (1, 0)]


class TestFlaws:
    def test_what_a_probe_found_about_a_token_leaves_its_verdict_alone(self):
        findings = findings_of(I, None)
        findings.flaws.append(Flaw(0, TOKEN, "unbounded_repetition"))
        assert [one[2] for one in listed(findings, clears=True)] == [
            "false_acceptance",
            "unbounded_repetition",
        ]


class TestTables:
    @given(st.lists(st.tuples(*[st.sampled_from([None, *Status])] * 2), max_size=6), st.booleans())
    def test_tokens_are_judged_each_for_itself_in_their_order(self, columns, clears):
        tokens = np.arange(10, 10 + len(columns), dtype=np.int32)
        accepts = np.array([[entry is not None for entry in one] for one in columns], dtype=bool)
        findings = empty_findings([0, 1], tokens, accepts.reshape(-1, 2).T)
        for column, entries in enumerate(columns):
            findings.status[:, column] = [entry or 0 for entry in entries]
        found = [one[:3] for one in listed(findings, clears=clears)]
        expected = [
            (10 + column, engine, kind)
            for column, entries in enumerate(columns)
            for engine, kind, _ in judged(*entries, clears=clears)
        ]
        assert found == expected


class TestWords:
    @pytest.mark.parametrize(
        "word", [*ADAPTER_FAULTS, *(one.status for one in Failure.__args__ if one != AdapterFault)]
    )
    def test_every_failure_of_an_engine_is_a_status_that_convicts_nobody(self, word):
        assert BY_ACCEPTER[FAILED[word]][0] == "unresolved"

    @pytest.mark.parametrize("outcome", ROLLOUT_OUTCOMES)
    def test_every_outcome_of_a_roll_out_but_one_is_a_status(self, outcome):
        if outcome != "complete":
            assert BY_ACCEPTER[Status[outcome.upper()]] == ("unresolved", outcome)

    def test_every_status_is_in_the_table_of_this_test(self):
        assert set(BY_ACCEPTER) == set(Status)


class TestFewOfASort:
    def kept(self, sorts, first=()):
        """Of the rejections of one engine, a token for each of `sorts`, and of one acceptance."""
        tokens = np.arange(len(sorts) + 1, dtype=np.int32)
        findings = empty_findings(
            (0, 1), tokens, np.array([[True] * len(tokens), [False] * len(tokens)])
        )
        findings.status[0] = [*[Status.VALID] * len(sorts), Status.INVALID]
        found = judge(findings)
        alike = np.array([[*sorts, sorts[0]], found.kind])
        return found[found.few(alike, first)].token.tolist()

    def test_of_one_sort_the_first_four_are_kept(self):
        assert self.kept([7] * 6) == [0, 1, 2, 3, 6]
        assert self.kept([7, 8, 7, 8, 7, 8, 7, 8, 7, 7]) == [*range(8), 10]

    def test_those_on_the_path_come_first(self):
        assert self.kept([7] * 6, first=(5,)) == [0, 1, 2, 5, 6]
