"""The page on later versions: what became of published bugs, of tables by hand."""

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest

from benchmarks.pages.index import later_versions
from benchmarks.pages.later import Trials, changes, of_the_same, published_part
from benchmarks.pages.schema_rows import Done, SchemaRow, SchemaRows
from benchmarks.site.published import PublishedBug
from harness.bugs.error_case import ErrorCase
from harness.bugs.identity import bug_id
from harness.bugs.trial import Symptom
from harness.render.table import Table, as_csv
from harness.verdict_kinds import BUG, INVALID_VALUE
from harness.versions.bugs import CANNOT_TELL, FIXED, NEW, REMAINING


def bug(id_, schema='{"type":"string","maxLength":1}', **about):
    title = "accepts a string that breaks `maxLength`"
    known = {"schemas": 3, "judged": 400, "effect": "invalid_value", "kind": "false_acceptance"}
    known |= about
    return PublishedBug(
        id_, "xgrammar", "0.2.8", title, schema, '"ab"', "newest/README.md", **known
    )


BECAME = {
    "aaaaaaaa": (REMAINING, ""),
    "bbbbbbbb": (FIXED, ""),
    "cccccccc": (CANNOT_TELL, "0.2.9 does not compile the schema"),
    "dddddddd": (REMAINING, ""),
}


def rows(became):
    trials = SimpleNamespace(became=lambda one, _: became[one.id])
    return list(changes(map(bug, became), "0.2.9", trials))


def write(file, told):
    file.write_text(as_csv(Table.of("", tuple(told[0]), told)), "utf-8")


@pytest.fixture
def directory(tmp_path):
    """The directory of the page."""
    (page := tmp_path / "later").mkdir()
    return page


def part(became):
    return "\n\n".join(published_part(rows(became)))


def test_what_became_of_the_bugs_is_counted_and_what_is_gone_is_listed():
    text = part(BECAME)
    assert "Of 4 bugs of 0.2.8 2 are there still, 1 is fixed and 1 cannot be told." in text
    assert (
        "Fixed:\n\n- `bbbbbbbb` invalid value in 3 of 400: accepts a string that breaks `maxLength`."
        ' Smallest case: `"ab"` under `{"type":"string","maxLength":1}`.' in text
    )
    assert "breaks `maxLength` (0.2.9 does not compile the schema)." in text
    assert "aaaaaaaa" not in text


def test_what_became_of_none_of_the_bugs_is_not_told():
    text = part({"aaaaaaaa": (REMAINING, "")})
    assert "Of 1 bug of 0.2.8 1 is there still." in text
    assert "Fixed" not in text


@pytest.mark.parametrize(
    ("new", "found"),
    [(0, "no new one was found"), (1, "1 new one was found"), (2, "2 new ones were found")],
)
def test_the_page_on_all_results_says_it_in_a_sentence(directory, new, found):
    assert later_versions(directory.parent) == ""
    told = rows(BECAME)
    told += [{**told[0], "cases": "embedded", "status": NEW}] * new
    write(directory / "changes.csv", told)
    assert later_versions(directory.parent) == (
        "xgrammar has a later version, 0.2.9, here asked by values alone: of 4 bugs of 0.2.8 2 are"
        f" there still, 1 is fixed and 1 cannot be told; {found} by the embedded cases ([later](later/README.md))."
    )


def test_and_what_it_compiles_where_both_versions_were_asked(directory):
    write(directory / "changes.csv", rows(BECAME))
    counted = {"engine": "xgrammar@0.2.8", "version": "0.2.8", "schemas": 500, "timed_out": 98}
    newer = {"engine": "xgrammar@0.2.9", "version": "0.2.9", "timed_out": 7}
    write(directory / "counts.csv", [counted, {**counted, **newer}])
    assert (
        "0.2.9, here asked by values alone: of 500 schemas it does not compile 7 in time, 0.2.8 98; of 4 bugs of 0.2.8 2 are"
        in later_versions(directory.parent)
    )
    compiled = {"compiled_by": "both", "version": "0.2.8", "schemas": 398, "loses": 40}
    both = {**compiled, "version": "0.2.9", "loses": 39}
    alone = {"compiled_by": "0.2.9", "version": "0.2.9", "schemas": 35, "loses": 31}
    write(directory / "compiled.csv", [compiled, both, alone])
    assert (
        "0.2.8 98; of the 398 that both compile it loses a value in 39, 0.2.8 in 40, and of the 35"
        " that it alone compiles in 31; of 4 bugs"
    ) in later_versions(directory.parent)


def test_versions_are_compared_on_what_both_compile():
    cells = [
        ("9.1 loss:real", "8.1 loss:real"),
        ("9.1", "8.1 leak:plain"),
        ("9.1 loss:rare", "8.1"),
        ("timed_out", "8.1 loss:plain trap:real"),
        ("9.1 leak:real", "crashed"),
        ("refused", "refused"),
    ]
    engines = {"x@1": "1.0", "x@2": "2.0"}
    told = [
        SchemaRow(str(at), 10, True, "", dict(zip(engines, map(Done.read, pair), strict=True)))
        for at, pair in enumerate(cells)
    ]
    assert of_the_same(
        SchemaRows(engines, 7, [*told, replace(told[0], done={})]), "x@1", "x@2"
    ) == (
        "Of 3 schemas that both compile 1.0 loses a value in 1, leaks one in 0 and traps in 0; 2.0"
        " loses a value in 1, leaks one in 1 and traps in 0. Of 1 that the later one alone compiles"
        " 2.0 loses a value in 1, leaks one in 0 and traps in 1."
    )


def trial(shows):
    return SimpleNamespace(
        spec=SimpleNamespace(name="engine"),
        with_token=nullcontext,
        reproduce=lambda _: Symptom(0, BUG, "", "") if shows else None,
        effect=lambda *_: INVALID_VALUE,
        compiles=lambda _: True,
        are_right=lambda cases: [True] * len(cases),
    )


@pytest.mark.parametrize(
    ("shows", "becomes"),
    [
        ((True, True), (REMAINING, "")),
        ((True, False), (FIXED, "")),
        ((False, False), (CANNOT_TELL, "its case alone does not show it in 0.2.8")),
    ],
)
def test_a_bug_is_gone_only_if_its_case_shows_it_in_the_version_that_has_it(shows, becomes):
    case = ErrorCase("xgrammar", "false_acceptance", '{"type":"string","maxLength":1}', b'"ab"')
    trials = Trials(*map(trial, shows))
    assert trials.became(bug(bug_id(case, -1)), "0.2.9") == becomes


def test_a_case_that_cannot_be_read_says_nothing():
    status, why = Trials(None, None).became(bug("00000000"), "0.2.9")
    assert (status, why) == (CANNOT_TELL, "its case cannot be read from what is published")
