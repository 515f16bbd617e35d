"""The embedded cases: every label is proven, and together they cover the specification."""

import hashlib
import json
from collections import Counter

import pytest

from harness.directories import data_path
from harness.inputs.case_selection import open_cases, select
from harness.inputs.cases import Case
from harness.validators.validate import Validators

pytestmark = pytest.mark.thorough

CASES = list(open_cases("embedded"))
FAMILIES = sorted({case.family for case in CASES})

DECIDING = {
    "assertions": """
        type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum
        maxLength minLength pattern maxItems minItems uniqueItems maxContains minContains
        maxProperties minProperties required dependentRequired
    """,
    "applicators": """
        allOf anyOf oneOf not if then else dependentSchemas prefixItems items contains
        properties patternProperties additionalProperties propertyNames unevaluatedItems
        unevaluatedProperties $ref $defs $anchor $id $dynamicRef $dynamicAnchor
    """,
    "formats": """
        date-time date time duration email idn-email hostname idn-hostname ipv4 ipv6 uri
        uri-reference iri iri-reference uuid uri-template json-pointer
        relative-json-pointer regex
    """,
    "drafts": """
        additionalItems definitions dependencies id $recursiveRef $recursiveAnchor
    """,
}
"""By family, the keywords of JSON Schema 2020-12 that can change a verdict (Validation, section 6, and Core,
sections 8, 10 and 11), the formats (Validation, section 7.3), and the keywords of older drafts."""
DRAFTS = {f"http://json-schema.org/draft-0{number}/schema#" for number in (4, 6, 7)}
DRAFTS |= {f"https://json-schema.org/draft/{name}/schema" for name in ("2019-09", "2020-12")}


def of_family(family: str) -> list[Case]:
    return [case for case in CASES if case.family == family]


@pytest.mark.parametrize("family", FAMILIES)
def test_both_validators_agree_with_every_label(family):
    for case in of_family(family):
        labels = dict.fromkeys((each.text for each in case.valid), "valid")
        labels |= dict.fromkeys((each.text for each in case.invalid), "invalid")
        judge = Validators(case.schema).judge
        assert {text: judge(text).verdict for text in labels} == labels, case.id


@pytest.mark.parametrize("family", FAMILIES)
def test_a_case_has_instances_of_both_kinds_and_says_what_it_is_about(family):
    for case in of_family(family):
        texts = [each.text for each in case.valid + case.invalid]
        assert case.valid, case.id
        assert case.invalid, case.id
        assert len(set(texts)) == len(texts), case.id
        assert case.id.startswith(family + "/"), case.id
        assert case.source.startswith(f"embedded/{family}.jsonl:"), case.id
        assert case.about.endswith("."), case.id


def test_the_cases_of_every_family_are_enough_and_name_their_drafts():
    counts = Counter(case.family for case in CASES)
    assert counts.total() >= 150
    assert set(counts) == {*DECIDING, "numbers", "order", "realistic", "recursion", "text"}
    assert min(counts.values()) >= 12
    assert {json.loads(case.schema)["$schema"] for case in CASES} == DRAFTS
    assert {json.loads(case.schema)["$schema"] for case in of_family("drafts")} == DRAFTS


def test_no_two_cases_say_the_same():
    assert len({case.id for case in CASES}) == len(CASES)
    assert len({case.about for case in CASES}) == len(CASES)
    assert len({(case.schema, case.valid[0].text) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("family", DECIDING)
def test_every_keyword_and_format_is_there(family):
    schemas = "".join(case.schema for case in of_family(family))
    assert [word for word in DECIDING[family].split() if f'"{word}"' not in schemas] == []


def test_the_first_selection_is_drawn_from_each_family_without_a_look_at_verdicts():
    listed = json.loads((data_path("embedded") / "quick.json").read_text("utf-8"))
    quick = open_cases("quick")
    assert [case.id for case in quick] == list(quick.index) == listed["cases"]
    assert [case.id for case in select(quick, limit=20)] == listed["cases"][:20]
    for family in FAMILIES:
        able = [case.id for case in CASES if case.family == family]
        able = [id_ for id_ in able if id_ not in listed["too_slow"]]
        ranked = sorted(able, key=lambda id_: hashlib.sha256(b"0\0" + id_.encode()).digest())
        assert {id_ for id_ in listed["cases"] if id_.startswith(f"{family}/")} == set(ranked[:6])
