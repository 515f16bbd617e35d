"""Bugs as a list: what is one bug, of samples whose outcome is given, and what is kept beside a run."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.bugs.error_case import ErrorCase
from harness.bugs.groups import (
    APART,
    MORE_OF_PART,
    OF_PART,
    PENDING,
    SAMPLES,
    ErrorRows,
    Explanation,
    explain,
)
from harness.bugs.identity import bug_id
from harness.bugs.listing import BugList, bug_list, load_reports
from harness.bugs.samples import FILE, SampleFile, ShrunkVerdict, smallest
from harness.directories import read_toml
from harness.errors import RunDirectoryError
from harness.verdict_kinds import DEPARTURE
from tests.buglists import bug

SCHEMA = '{"type":"integer","minimum":1}'


def run(*versions):
    """A run of one engine in some versions, each judged on both of two schemas."""
    engines = {f"mini@{one}": {"version": one, "options": {}} for one in versions}
    judged = pa.table({"judged": pa.array([(1 << len(versions)) - 1] * 2, pa.uint32())})
    manifest = {"identity": {"engines": engines, "data": {"name": "maskbench"}}}
    return SimpleNamespace(manifest=manifest, table=lambda *_: judged)


def found(*rows, others=None):
    """Verdicts of one bug: of each its engine, its case and how severe it is."""
    engine, case, severity = (np.array(one, dtype=np.int64) for one in zip(*rows, strict=True))
    none = np.zeros(len(rows), dtype=np.int64)
    number = np.arange(len(rows))
    rank = number.astype(np.uint64)
    zero = none.astype(np.int8)
    about = (engine, case, severity.astype(np.int8), zero)
    verdicts = ErrorRows(zero, number, none, *about, [none], rank)
    samples = {}
    for at, (which, *_) in enumerate(rows):
        error = ErrorCase(f"mini@{VERSIONS[which]}", "false_acceptance", SCHEMA, b"0")
        samples[f"{at}"] = ShrunkVerdict(
            f"{at}", "c", "minimum", error, class_="bug", others=others
        )
    return Explanation(verdicts, number, samples, none, [samples["0"].bug])


VERSIONS = ("0.9.0", "0.10.0", "0.8.0")


def test_a_bug_says_in_which_versions_it_was_met_and_since_when():
    bugs = bug_list(run(*VERSIONS), found((0, 0, 1), (1, 0, 1), (1, 1, 2))).bugs
    assert {one.version for one in bugs} == {"0.9.0", "0.10.0"}
    assert len({one.id for one in bugs}) == 1
    for one in bugs:
        assert list(one.versions.items()) == [("0.8.0", False), ("0.9.0", True), ("0.10.0", True)]
        assert one.since == "0.9.0"


def test_a_bug_counts_its_schemas_and_verdicts_by_severity():
    newer, older = bug_list(run(*VERSIONS), found((0, 0, 2), (1, 0, 1), (1, 1, 2))).bugs
    assert (newer.version, newer.cases, newer.judged, newer.verdicts) == ("0.10.0", 2, 2, 2)
    assert (newer.severity, older.severity) == ("plain", "rare")
    assert newer.share.value == 1.0
    assert newer.share.low is not None


def test_the_list_of_one_engine_counts_its_verdicts_alone_and_knows_the_other_versions():
    listed = bug_list(run(*VERSIONS), found((0, 0, 1), (1, 0, 1), (1, 1, 2)), "mini@0.10.0")
    (mine,) = listed.bugs
    assert (listed.verdicts, listed.sampled, mine.verdicts) == (2, 2, 2)
    assert mine.since == "0.9.0"
    assert list(listed.told()) == [
        "1 bug explains 100.0% of 2 verdicts of the class bug, spellings and unclear ones left out"
    ]


def test_a_run_of_one_version_says_nothing_of_others():
    (one,) = bug_list(run("0.9.0"), found((0, 0, 1))).bugs
    assert one.since == ""


@pytest.mark.parametrize(
    ("others", "shared", "words"),
    [
        (None, False, ""),
        ({}, False, "no other engine of the run"),
        ({"mini@0.10.0": "bug"}, False, "mini@0.10.0"),
        (
            {"mini@0.10.0": "bug", "mini@0.8.0": "departure"},
            True,
            "mini@0.10.0, mini@0.8.0 (departure)",
        ),
    ],
)
def test_a_bug_says_which_other_engines_make_the_same_error(others, shared, words):
    (one,) = bug_list(run(*VERSIONS), found((0, 0, 1), others=others)).bugs
    assert (one.shared, one.also_in, one.row()["others"]) == (shared, words, others)


def test_of_a_mismatch_no_value_is_known_that_shows_it():
    assert bug("a", cases=2).shown_in_words == "2 with an everyday value"
    assert bug("a", cases=2, effect="", severity="rare").shown_in_words == ""


def test_what_is_known_upstream_has_the_id_of_its_smallest_case():
    tables = read_toml("upstream.toml")["report"]
    for one in tables:
        token = one.get("token", "").encode(), one.get("token_at", 0)
        case = ErrorCase(one["engine"], one["kind"], one["schema"], one["text"].encode(), *token)
        assert bug_id(case, one["at"]) == one["id"]
        assert one["thread"].startswith("https://github.com/")
    assert len(load_reports()) == len(tables)
    assert all(one.says and one.state for one in load_reports().values())


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
    assert [groups[one] for one in wanted] == [0, 2, 1] * SAMPLES


def test_a_group_whose_samples_differ_is_split_by_case():
    cases = [0, 1, 2, 3] * 10
    found, samples = settled(verdicts([0] * 40, cases), lambda one: 1 + cases[one] % 2)
    assert len(found.ids) == 2
    assert len(samples) <= SAMPLES + 4 * OF_PART
    for one in range(40):
        assert found.ids[found.bug[one]] == bug_id(error(1 + cases[one] % 2), -1)


@pytest.mark.parametrize(
    ("left", "words"), [({}, "100.0%"), ({"apart": 1}, "99.9%"), ({"apart": 1200}, "40.0%")]
)
def test_what_is_explained_is_never_rounded_up(left, words):
    assert BugList((), 2000, left, 0).percent_explained == words


def test_of_no_verdicts_no_share_is_told():
    """A hundred percent of nothing would read as if something had been looked for and found."""
    (told,) = BugList((), 0, {}, 0).told(DEPARTURE)
    assert told == "no verdicts of the class departure, spellings and unclear ones left out"


def test_what_falls_apart_to_the_end_is_not_explained_but_for_the_samples():
    found, samples = settled(verdicts([0] * 9, [0] * 9), lambda one: 1 + one % 2)
    assert APART in found.reasons
    assert (found.bug >= 0).sum() == len(samples) == SAMPLES


def test_one_that_cannot_be_shrunk_leaves_the_rest_of_its_part_explained():
    cases = [0] * 20 + [1] * 20
    found, samples = settled(verdicts([0] * 40, cases), lambda one: 1 + cases[one] if one else 0)
    assert found.reasons[-1 - found.bug[0]] == "not shown"
    assert all(
        found.ids[found.bug[one]] == bug_id(error(1 + cases[one]), -1) for one in range(1, 40)
    )
    assert len(samples) <= SAMPLES + OF_PART + MORE_OF_PART


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
    assert found.wanted == [1, 0, 2, 3]


TEXTS = [b'"a"', '"\u2028\x85"'.encode(), b'"\x1c\n"', b"\xff\xfe", b""]


def kept(tmp_path, tables="1"):
    manifest = {"tables": {"verdicts": {"sha256": tables}}, "identity": {"engines": {"e": {}}}}
    run = SimpleNamespace(path=tmp_path, manifest=manifest)
    return SampleFile(run, seed=3)


def samples():
    for number, text in enumerate(TEXTS):
        error = ErrorCase("e", "false_acceptance", '{"const":"\u2028"}', text)
        yield ShrunkVerdict(f"{number}", "case", "json", error, at=1, class_="bug")


def test_what_was_kept_is_read_again_and_a_line_that_was_cut_is_not(tmp_path):
    file = kept(tmp_path)
    for one in samples():
        file.append(one)
    with (tmp_path / FILE).open("a") as added:
        added.write('{"verdict": "9", "ca')
    assert kept(tmp_path).read() == ({one.verdict: one for one in samples()}, 3)


def test_what_was_shrunk_before_something_changed_is_there_when_it_is_as_it_was(tmp_path):
    many = lambda tables: len(kept(tmp_path, tables).read()[0])  # noqa: E731
    first, second, third = samples(), samples(), samples()
    for tables, some in (("1", [next(first), next(first)]), ("2", [next(second)])):
        file = kept(tmp_path, tables)
        for one in some:
            file.append(one)
    assert many("2") == 1
    assert many("1") == 2
    assert kept(tmp_path, "3").read() == ({}, None)
    again = kept(tmp_path, "1")
    again.append([*third][2])
    assert many("1") == 3
    assert many("2") == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda _: "nonsense",
        lambda _: "[]",
        lambda row: row | {"verdict": "x"},
        lambda row: row | {"error": row["error"] | {"engine": "none of the run"}},
        lambda row: row | {"error": row["error"] | {"kind": "new"}},
        lambda row: row | {"error": row["error"] | {"schema": "{"}},
        lambda row: row | {"error": row["error"] | {"text": [256]}},
        lambda row: row | {"error": row["error"] | {"token": "b", "token_at": 9}},
    ],
)
def test_a_damaged_file_is_told_in_a_line(tmp_path, change):
    file, path = kept(tmp_path), tmp_path / FILE
    file.append(next(samples()))
    head, kept_line, _ = path.read_text().split("\n")
    record = json.loads(kept_line)
    changed = change(record["shrunk"])
    text = changed if changed == "nonsense" else json.dumps(record | {"shrunk": changed})
    path.write_text(f"{head}\n{text}\n")
    with pytest.raises(RunDirectoryError, match="made again"):
        kept(tmp_path).read()


def test_which_verdict_shows_a_bug_does_not_depend_on_which_was_shrunk_first():
    error = ErrorCase("mini", "false_acceptance", SCHEMA, b"0")
    samples = [ShrunkVerdict(name, "c", "minimum", error, class_="bug") for name in ("7", "12")]
    assert smallest(samples) == smallest(samples[::-1])
