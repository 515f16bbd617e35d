"""The page on later versions: what became of published bugs, of tables by hand."""

import csv
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from benchmarks.later import Trials, changes, later_page, main, write
from benchmarks.pages.index import later_versions
from benchmarks.site.published import PublishedBug
from harness.bugs.error_case import ErrorCase
from harness.bugs.identity import bug_id
from harness.bugs.trial import Symptom
from harness.verdict_kinds import BUG, INVALID_VALUE
from harness.versions.bugs import CANNOT_TELL, FIXED, REMAINING


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
    return list(changes(map(bug, became), "0.2.9", lambda one, _: became[one.id]))


def test_what_became_of_the_bugs_is_counted_and_what_is_gone_is_listed():
    text = later_page(rows(BECAME))
    assert "Of 4 bugs of 0.2.8 2 are there still, 1 is fixed and 1 cannot be told." in text
    assert (
        "Fixed:\n\n- `bbbbbbbb` invalid value in 3 of 400: accepts a string that breaks `maxLength`."
        ' Smallest case: `"ab"` under `{"type":"string","maxLength":1}`.' in text
    )
    assert "breaks `maxLength` (0.2.9 does not compile the schema)." in text
    assert "aaaaaaaa" not in text


def test_what_became_of_none_of_the_bugs_is_not_told():
    text = later_page(rows({"aaaaaaaa": (REMAINING, "")}))
    assert "Of 1 bug of 0.2.8 1 is there still." in text
    assert "Fixed" not in text


def test_the_page_on_all_results_says_it_in_a_sentence(tmp_path):
    assert later_versions(tmp_path) == ""
    write(rows(BECAME), tmp_path / "later")
    assert later_versions(tmp_path) == (
        "xgrammar has a later version, 0.2.9: of 4 bugs of 0.2.8 2 are there still, 1 is fixed and 1"
        " cannot be told ([later](later/README.md))."
    )
    with (tmp_path / "later" / "changes.csv").open(encoding="utf-8") as file:
        assert [one["status"] for one in csv.DictReader(file)] == [
            one for one, _ in BECAME.values()
        ]


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
    asked = Trials(*map(trial, shows))
    assert asked(bug(bug_id(case, -1)), "0.2.9") == becomes


def test_a_case_that_cannot_be_read_says_nothing():
    status, why = Trials(None, None)(bug("00000000"), "0.2.9")
    assert (status, why) == (CANNOT_TELL, "its case cannot be read from what is published")


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({}, "make results ONLY=newest first"),
        ({"bugs.json": "[]"}, "lists no bug of xgrammar"),
    ],
)
def test_without_published_bugs_it_says_so(tmp_path, files, problem):
    (tmp_path / "newest").mkdir()
    manifest = '{"specification": {"identity": {"rules": {"formats": "assertion"}}}}'
    for name, text in {**files, "manifest.json": manifest}.items():
        (tmp_path / "newest" / name).write_text(text)
    result = CliRunner().invoke(main, ["xgrammar@0.2.9", "--results", str(tmp_path)])
    assert result.exit_code == 2
    assert problem in " ".join(result.output.replace("│", " ").split())
