"""Generated cases: a schema that takes its value, and values that it does not take, by a seed."""

import json

import pytest

from harness.errors import UsageError
from harness.inputs.case_generated import DRAFTS
from harness.inputs.case_selection import open_cases
from harness.validators.validate import Validators


def keywords(value):
    if isinstance(value, dict):
        yield from value
    for part in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from keywords(part)


@pytest.mark.parametrize("draft", DRAFTS)
def test_both_validators_take_the_value_and_none_of_the_misses(draft):
    misses = 0
    for case in open_cases(f"generated:60,draft={draft}"):
        validators = Validators(case.schema)
        assert [validators.judge(one.text).verdict for one in case.valid] == ["valid"]
        assert {validators.judge(one.text).verdict for one in case.invalid} <= {"invalid"}
        assert json.loads(case.schema)["$schema"] == DRAFTS[draft]
        misses += len(case.invalid)
    assert misses > 100


def test_a_case_depends_on_its_number_and_the_seed_alone():
    few, more, other = (open_cases(f"generated:{of}") for of in ("5", "9", "5,seed=1"))
    assert list(few) == list(more)[:5]
    assert list(more.read(["generated/00003"])) == [list(few)[3]]
    assert [case.schema for case in few] != [case.schema for case in other]
    assert few.sha256 != other.sha256


def test_keywords_and_depth_can_be_chosen():
    found = {
        word
        for case in open_cases("generated:80,keywords=pattern+const")
        for word in keywords(json.loads(case.schema))
    }
    assert {"pattern", "const"} <= found
    assert found.isdisjoint({"maxLength", "minimum", "required", "not"})
    flat = open_cases("generated:20,depth=0")
    assert all(not isinstance(json.loads(case.valid[0].text), dict | list) for case in flat)


@pytest.mark.parametrize(
    "spec", ["many", "0", "5,deep=1", "5,depth=x", "5,draft=draft-03", "5,keywords=$id"]
)
def test_what_cannot_be_generated_is_said_in_one_line(spec):
    with pytest.raises(UsageError):
        open_cases(f"generated:{spec}")
