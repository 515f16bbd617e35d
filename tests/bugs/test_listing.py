"""Bugs as a list, of samples whose outcome is given, and what is known of them upstream."""

from __future__ import annotations

from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from harness.bugs.error_case import ErrorCase
from harness.bugs.groups import ErrorRows, Explanation
from harness.bugs.identity import bug_id
from harness.bugs.listing import bug_list, load_reports
from harness.bugs.samples import ShrunkVerdict
from harness.errors import InputError
from harness.versions.bugs import bugs_across

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


def test_a_run_of_one_version_says_nothing_of_others():
    (one,) = bug_list(run("0.9.0"), found((0, 0, 1))).bugs
    assert one.since == ""


@pytest.mark.parametrize(
    ("others", "shared", "words"),
    [
        (None, False, ""),
        ({}, False, "no other engine that was asked"),
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


def test_of_several_runs_it_is_said_in_which_a_bug_was_met():
    here, there, unjudged = run(*VERSIONS), run(*VERSIONS), run(*VERSIONS)
    unjudged.table = lambda *_: pa.table({"judged": pa.array([0b001, 0b001], pa.uint32())})
    lists = {
        "here": (here, bug_list(here, found((0, 0, 1), (1, 1, 1)))),
        "there": (there, bug_list(there, found((0, 1, 1)))),
        "unjudged": (unjudged, bug_list(unjudged, found((0, 0, 1)))),
    }
    first, second = bugs_across(lists)
    assert (first.bug.version, first.everywhere) == ("0.10.0", False)
    assert first.met == {"here": True, "there": False, "unjudged": None}
    assert (second.bug.version, second.everywhere) == ("0.9.0", True)
    assert list(second.met.values()) == [True, True, True]


CASE = ErrorCase("xgrammar", "false_rejection", '{"minimum":0}', b"-0")
ENTRY = """
[[report]]
id = "{id}"
engine = "xgrammar"
kind = "false_rejection"
schema = '{{"minimum":0}}'
text = "-0"
at = 0
thread = "https://example.org/1"
state = "{state}"
says = "minus zero is no number here"
"""


def listed(tmp_path, *entries):
    file = tmp_path / "upstream.toml"
    file.write_text("".join(entries))
    return load_reports(file)


def test_an_entry_is_found_by_the_id_of_its_case(tmp_path):
    found = listed(tmp_path, ENTRY.format(id=bug_id(CASE, 0), state="open"))
    assert asdict(found[bug_id(CASE, 0)]) == {
        "id": bug_id(CASE, 0),
        "thread": "https://example.org/1",
        "state": "open",
        "fixed_in": "",
        "says": "minus zero is no number here",
    }


def test_what_is_wrong_with_an_entry_is_said(tmp_path):
    good = ENTRY.format(id=bug_id(CASE, 0), state="open")
    for entries, message in (
        ([ENTRY.format(id="00000000", state="open")], "is the bug"),
        ([good.replace("open", "perhaps")], "none of open, closed, fixed"),
        ([good, good], "two of the id"),
        ([good.replace("thread", "forum")], "'thread'"),
    ):
        with pytest.raises(InputError, match=message):
            listed(tmp_path, *entries)


def test_the_list_that_comes_with_maskcourt_holds():
    for one in load_reports().values():
        assert one.thread.startswith("https://github.com/")
        assert one.says
