"""Which verdicts are one bug, by samples whose outcome is given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from harness.bugs.error_case import ErrorCase
from harness.bugs.groups import APART, OF_PART, PENDING, SAMPLES, ErrorRows, explain
from harness.bugs.identity import bug_id
from harness.bugs.samples import ShrunkVerdict


def verdicts(groups, cases):
    size = len(groups)
    none = np.zeros(size, dtype=np.int64)
    first = np.array(groups, dtype=np.int64)
    case = np.array(cases, dtype=np.int64)
    second = np.unique(first * 100 + case, return_inverse=True)[1]
    rank = np.arange(size, dtype=np.uint64)
    zero = none.astype(np.int8)
    return ErrorRows(
        zero, np.arange(size), none, none, case, zero, zero, [first, second, second], rank,
    )  # fmt: skip


def error(number):
    return ErrorCase("e", "false_acceptance", f'{{"minimum":{"1" * 17}{number}}}', b"x" * number)


def settled(found_verdicts, bug_of):
    """Explain with samples that are made as they are asked for; how many were."""
    samples = {}
    among = np.arange(len(found_verdicts))
    while (found := explain(found_verdicts, samples, among)).wanted:
        for one in found.wanted:
            name = found_verdicts.name(one)
            assert name not in samples
            bug = bug_of(one)
            outcome = {"error": error(bug)} if bug else {"reason": "not shown"}
            samples[name] = ShrunkVerdict(name, "case", "k", **outcome)
    return found, samples


def test_a_group_whose_samples_agree_is_one_bug():
    found, samples = settled(verdicts([0] * 50, list(range(50))), lambda _: 1)
    assert len(samples) == SAMPLES
    assert len(found.ids) == 1
    assert (found.bug == 0).all()


def test_engines_take_turns_so_that_little_time_is_for_all_of_them():
    """The first engine has two large groups, the other a small one."""
    groups = [0] * 30 + [1] * 20 + [2] * 9
    rows = verdicts(groups, range(59))
    rows = replace(rows, engine=np.array([0] * 50 + [1] * 9))
    wanted = explain(rows, {}, np.arange(59)).wanted
    assert [groups[one] for one in wanted[::SAMPLES]] == [0, 2, 1]


def test_a_group_whose_samples_differ_is_split_by_case():
    cases = [0, 1, 2, 3] * 10
    found, samples = settled(verdicts([0] * 40, cases), lambda one: 1 + cases[one] % 2)
    assert len(found.ids) == 2
    assert len(samples) <= SAMPLES + 4 * OF_PART
    for one in range(40):
        assert found.ids[found.bug[one]] == bug_id(error(1 + cases[one] % 2), -1)


def test_what_falls_apart_to_the_end_is_not_explained_but_for_the_samples():
    found, samples = settled(verdicts([0] * 9, [0] * 9), lambda one: 1 + one % 2)
    assert APART in found.reasons
    assert (found.bug >= 0).sum() == len(samples) == SAMPLES


def test_what_cannot_be_shrunk_has_its_reason():
    found, _ = settled(verdicts([0, 0, 1], [0, 1, 0]), lambda one: 0 if one < 2 else 1)
    assert [found.reasons[-1 - code] for code in found.bug[:2]] == ["not shown", "not shown"]
    assert found.ids[found.bug[2]]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=40))
def test_every_verdict_ends_in_its_bug_where_case_and_group_tell_it(rows):
    groups, cases = zip(*rows, strict=True)
    bug_of = lambda one: 1 + groups[one] + 3 * cases[one]  # noqa: E731
    found, _ = settled(verdicts(groups, cases), bug_of)
    for one in range(len(rows)):
        assert found.ids[found.bug[one]] == bug_id(error(bug_of(one)), -1)


def test_what_is_not_shrunk_yet_is_said_to_be_so_and_large_groups_come_first():
    found = explain(verdicts([0, 1, 1, 1], [0, 1, 2, 3]), {}, np.arange(4))
    assert [found.reasons[-1 - code] for code in found.bug] == [PENDING] * 4
    assert found.wanted == [1, 2, 3, 0]
