"""The official suite as cases, on a tiny one."""

from __future__ import annotations

import json
import zipfile

import pytest

from harness.comparison.text_feeding import SLOW_TOKENS
from harness.conformance.work import suite_cases
from harness.errors import InputError, UsageError

GROUP = {
    "description": "at least two",
    "schema": {"minLength": 2},
    "tests": [
        {"description": "long", "data": "ab", "valid": True},
        {"description": "short", "data": "a", "valid": False},
        {"description": "no string", "data": [1, 2], "valid": True},
    ],
}


@pytest.fixture
def suite(tmp_path):
    """A checkout with two drafts, a format, and files that are no tests."""
    files = {
        "tests/draft7/minLength.json": [GROUP, GROUP | {"schema": True}],
        "tests/draft2020-12/optional/format/date.json": [GROUP],
        "tests/draft3/minLength.json": [GROUP],
        "remotes/draft7/minLength.json": {"type": "integer"},
        "output-tests/draft2020-12/type.json": [],
        "package.json": {},
    }
    for name, content in files.items():
        file = tmp_path / "suite" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content))
    return tmp_path / "suite"


def test_a_group_is_a_case_and_its_tests_are_the_instances(suite):
    first, second, third = suite_cases(suite)
    assert [one.id for one in (first, second, third)] == [
        "suite/optional/format/date/draft2020-12/000 at least two",
        "suite/minLength/draft7/000 at least two",
        "suite/minLength/draft7/001 at least two",
    ]
    assert [one.text for one in second.valid] == [b'"ab"', b"[1, 2]", b"[1,2]"]
    assert [one.text for one in second.invalid] == [b'"a"']
    assert second.family == "minLength"


def test_a_schema_says_its_draft_where_it_can(suite):
    first, second, third = suite_cases(suite)
    assert json.loads(first.schema)["$schema"].endswith("2020-12/schema")
    assert json.loads(second.schema)["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert third.schema == "true"


def test_only_the_drafts_that_are_asked_for(suite):
    assert {one.family for one in suite_cases(suite, ["draft7"])} == {"minLength"}
    with pytest.raises(UsageError, match="no draft 'draft07'"):
        list(suite_cases(suite, ["draft07"]))
    with pytest.raises(InputError, match="no test of draft4"):
        list(suite_cases(suite, ["draft4"]))


def test_an_archive_and_the_folder_of_tests_are_read_alike(suite, tmp_path):
    with zipfile.ZipFile(tmp_path / "suite.zip", "w") as archive:
        for file in suite.rglob("*.json"):
            archive.write(file, f"suite-main/{file.relative_to(suite)}")
    ids = [one.id for one in suite_cases(suite)]
    assert [one.id for one in suite_cases(tmp_path / "suite.zip")] == ids
    assert [one.id for one in suite_cases(suite / "tests")] == ids


def test_a_large_group_comes_in_parts_that_an_engine_with_slow_masks_is_fed_with(tmp_path):
    file = tmp_path / "tests" / "draft7" / "x.json"
    file.parent.mkdir(parents=True)
    lengths = (900, 900, 900, SLOW_TOKENS)
    tests = [{"description": "", "data": "a" * one, "valid": True} for one in lengths]
    file.write_text(json.dumps([GROUP | {"tests": tests}]))
    first, second = suite_cases(tmp_path)
    assert (len(first.valid), len(second.valid)) == (2, 1)
    assert first.schema == second.schema
    assert second.id == f"{first.id} (2)"


@pytest.mark.parametrize(
    ("content", "says"),
    [("{}", "no list"), ("[1]", "group 0"), ('[{"schema": {}}]', "group 0"), ("[", "cannot be")],
)
def test_a_file_that_is_no_list_of_groups_is_refused(tmp_path, content, says):
    file = tmp_path / "tests" / "draft7" / "x.json"
    file.parent.mkdir(parents=True)
    file.write_text(content)
    with pytest.raises(InputError, match=says):
        list(suite_cases(tmp_path))


def test_no_suite(tmp_path):
    with pytest.raises(InputError, match="holds no test"):
        list(suite_cases(tmp_path))
