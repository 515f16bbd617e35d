"""The generated cases: every keyword at every place, labelled as both validators say."""

import json
import zipfile
from collections import Counter
from functools import cache

import pytest

from harness.comparison.text_feeding import SLOW_TOKENS
from harness.conformance.cells import (
    FORMAT_PLACES,
    PLACES,
    Fragment,
    case_line,
    cells,
    fragments,
    instances,
    keyword_of,
)
from harness.conformance.work import suite_cases
from harness.errors import InputError, UsageError
from harness.inputs.case_selection import open_cases
from harness.inputs.cases import Instance
from harness.validators.drafts import _all_keywords
from harness.validators.judge import INVALID, VALID
from tests.inprocess import InProcessJudge


@cache
def all_cells():
    return list(cells())


WITHOUT_FORCE = {
    *("$comment", "$defs", "$schema", "$vocabulary", "definitions", "$dynamicAnchor"),
    *("contentEncoding", "contentMediaType", "contentSchema", "id"),
    *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
}
"""Keywords that forbid no value by themselves."""


@pytest.mark.parametrize("step", [41, pytest.param(1, marks=pytest.mark.thorough)])
def test_every_case_has_values_of_both_kinds_and_both_validators_label_them_so(step):
    judge = InProcessJudge()
    wrong = []
    for case in all_cells()[::step]:
        assert case.valid, case.id
        assert case.invalid, case.id
        if (problem := judge.open(case.schema)) is not None:
            wrong.append((case.id, problem))
            continue
        for some, verdict in ((case.valid, VALID), (case.invalid, INVALID)):
            for one, ruling in zip(some, judge.judge([one.text for one in some]), strict=True):
                if ruling.verdict != verdict:
                    wrong.append((case.id, one.text, ruling))
    assert not wrong


def test_no_two_cells_have_the_same_case():
    assert len({case.id for case in all_cells()}) == len(all_cells()) > 1000


def test_a_keyword_is_missing_only_at_places_that_say_the_same_themselves():
    held = Counter(case.family for case in all_cells())
    for one in fragments():
        places = FORMAT_PLACES if keyword_of(one.name) == "format" else PLACES
        missing = {place.name for place in places if place.build(one) is None}
        assert held[one.name] == len(places) - len(missing)
        if one.draft == "2020-12":
            expected = set() if one.has_own_type else {"untyped", "type-apart"}
            expected |= {"beside-any-of"} if "anyOf" in one.schema else set()
            expected |= {"beside-ref"} if "$ref" in one.schema else set()
            assert missing == expected


def test_all_keywords_that_the_validators_know_are_there():
    known = {keyword_of(one.name) for one in fragments()} | {"if"}  # `then` and `else` show it
    known |= {"$recursiveRef"}  # of 2019-09 alone, and about whole documents
    assert _all_keywords() - WITHOUT_FORCE <= known


def test_every_case_is_small_enough_for_an_engine_with_slow_masks():
    for case in all_cells():
        assert sum(len(one.text) + 1 for one in (*case.valid, *case.invalid)) <= SLOW_TOKENS


def test_what_an_engine_forgets_lets_every_invalid_value_through():
    """The invalid values are of a type that is allowed, unless the keyword is about the type."""
    types = {"type", "enum", "const", "anyOf", "oneOf", "$ref", "$anchor", "$id", "$dynamicRef"}
    for one in fragments():
        if keyword_of(one.name) not in types | {"not", "definitions"} and one.has_own_type:
            alone = Fragment("type", {"type": one.schema["type"]}, one.valid, one.invalid)
            judge = InProcessJudge()
            assert judge.open(json.dumps(alone.schema)) is None
            texts = [json.dumps(value).encode() for value in (*one.valid, *one.invalid)]
            assert {ruling.verdict for ruling in judge.judge(texts)} == {VALID}, one.name


@pytest.mark.parametrize(
    ("value", "texts"), [(1, [b"1"]), ({"a": [1, 2]}, [b'{"a": [1, 2]}', b'{"a":[1,2]}'])]
)
def test_a_value_is_written_in_every_layout_once(value, texts):
    assert instances([value]) == tuple(Instance(text, verbatim=True) for text in texts)


def test_cases_can_be_kept_in_a_file(tmp_path):
    file = tmp_path / "cells.jsonl"
    some = {case.id: case for case in all_cells()[:40]}
    file.write_text("".join(map(case_line, some.values())), "utf-8")
    for read in open_cases(str(file)):
        case = some[read.id]
        assert (read.valid, read.invalid, read.family) == (case.valid, case.invalid, case.family)
        assert json.loads(read.schema) == json.loads(case.schema)


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
