"""The generated cases: every keyword at every place, labelled as both validators say."""

import json
from collections import Counter
from functools import cache

import pytest

from harness.comparison.text_feeding import SLOW_TOKENS
from harness.conformance.cells import (
    COMBINATIONS,
    Fragment,
    case_line,
    cells,
    fragments,
    instances,
    keyword_of,
    places_of,
)
from harness.inputs.case_selection import open_cases
from harness.inputs.cases import Instance
from harness.validators.drafts import _all_keywords
from harness.validators.judge import INVALID, VALID
from tests.inprocess import InProcessJudge


@cache
def all_cells():
    return [*cells(), *cells(COMBINATIONS)]


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
    for one in [*fragments(), *fragments(COMBINATIONS)]:
        places = list(places_of(one))
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
    for one in [*fragments(), *fragments(COMBINATIONS)]:
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
    assert instances([value]) == tuple(Instance(text) for text in texts)


def test_cases_can_be_kept_in_a_file(tmp_path):
    file = tmp_path / "cells.jsonl"
    some = {case.id: case for case in all_cells()[:40]}
    file.write_text("".join(map(case_line, some.values())), "utf-8")
    for read in open_cases(str(file)):
        case = some[read.id]
        assert (read.valid, read.invalid, read.family) == (case.valid, case.invalid, case.family)
        assert json.loads(read.schema) == json.loads(case.schema)
