"""Servers' lists held against what an engine keeps: differences, each with its cell."""

import csv
import io
import json

import pytest

from harness.conformance.cells import cells
from harness.conformance.gates import GateList, as_csv, as_markdown, gated, lists_of
from harness.conformance.outcomes import CellOutcome, ConformanceTable, WrongText
from harness.engines.servers import faults
from harness.errors import UsageError

SCHEMAS = {(case.family, case.id.rpartition("/")[2]): case.schema for case in cells()}
LEAK, LOSS = WrongText(b"[1,1]", "bug"), WrongText(b"[]", "bug")
DECLARED = WrongText(b"{}", "departure")


def outcome(keyword, place, status="enforced", **wrong):
    return CellOutcome("e", keyword, place, status, SCHEMAS[keyword, place], **wrong)


def judged(*outcomes, names=("minItems", "uniqueItems")):
    """The cells under a list that refuses what has one of these keywords."""
    one = GateList("b", "e", lambda schema: [name for name in names if name in json.dumps(schema)])
    return gated(ConformanceTable({"e": "1"}, outcomes, {}), [one])


@pytest.mark.parametrize(
    ("cell", "difference"),
    [
        (outcome("minItems", "root"), "refused though kept"),
        (outcome("uniqueItems", "root", "too_lax", let_through=LEAK), ""),
        (outcome("maxItems", "root", "too_lax", let_through=LEAK), "passed though it leaks"),
        (outcome("maxItems", "root", "too_strict", forbidden=LOSS), "passed though it loses"),
        (outcome("maxItems", "root"), ""),
        (outcome("maxItems", "root", "refused"), ""),
        (outcome("minItems", "root", "refused"), ""),
        (outcome("required", "root", "departure", forbidden=DECLARED), ""),
    ],
)
def test_a_difference_is_a_list_that_says_otherwise_than_the_texts(cell, difference):
    assert [one.difference for one in judged(cell)] == [difference]


def test_each_cell_that_differs_is_a_line_with_its_schema_and_a_text():
    kept, wrong = outcome("minItems", "root"), outcome("not", "root", "too_lax", let_through=LEAK)
    rows = list(
        csv.DictReader(io.StringIO(as_csv(judged(kept, wrong, outcome("maxItems", "root")))))
    )
    assert [(row["list_names"], row["text"]) for row in rows] == [
        ("minItems", "[1]"),
        ("", "[1,1]"),
    ]
    assert rows[0]["schema"] == kept.schema


def test_the_page_shows_all_of_an_entry_of_which_something_is_kept():
    text = as_markdown(
        judged(
            outcome("minItems", "root"),
            outcome("minItems", "not", "too_lax", let_through=LEAK),
            outcome("uniqueItems", "root", "too_lax", let_through=LEAK),
        )
    )
    assert "It refuses 3 of 3 cells, 1 of them kept" in text
    assert "| minItems | `minItems` | `root` | 1 of 2 |" in text
    assert "refuses `[1]` |" in text
    assert "uniqueItems" not in text


def test_what_is_kept_as_the_whole_schema_is_told_by_its_place():
    lost = [
        outcome(keyword, "not", "too_lax", let_through=LEAK)
        for keyword in ("maxItems", "maximum", "pattern", "enum")
    ]
    lost += [outcome(one.keyword, "root") for one in lost]
    wrong = [outcome("contains", place, "too_lax", let_through=LEAK) for place in ("root", "not")]
    text = as_markdown(judged(*lost, *wrong))
    assert "| all | `not` | 0 of 4 |" in text
    assert "| `contains` | `root`, `not` | 0 of 2 |" in text


class TestLists:
    def test_of_a_preset_stand_before_the_engines_that_it_pins(self):
        assert {one.backend: one.engine for one in lists_of("vllm@0.33", ())} == {
            "xgrammar": "xgrammar@0.2.8[config=shipped]",
            "guidance": "llguidance@1.7.6[config=shipped]",
        }

    def test_of_a_preset_stand_before_another_version(self):
        (one,) = lists_of("sglang", ("xgrammar@0.9,llguidance",))
        assert one.engine == "xgrammar@0.9"
        assert one.faults({"not": {}}) == ["keyword(s) not would be ignored"]

    @pytest.mark.parametrize(
        ("asked", "engines", "said"),
        [
            ("vlm", (), "known: vllm, sglang"),
            ("vllm", ("outlines",), "none of these engines"),
            ("json:nothing", ("xgrammar",), "json:nothing"),
            ("json:loads", (), "none of these engines"),
        ],
    )
    def test_that_are_none_are_an_error(self, asked, engines, said):
        with pytest.raises(UsageError, match=said):
            lists_of(asked, engines)

    def test_may_be_functions_that_return_or_raise(self):
        (has,) = lists_of("tests.conformance.test_gates:has_not", ("xgrammar",))
        (validate,) = lists_of("tests.conformance.test_gates:validate", ("xgrammar",))
        assert has.faults({"not": {}}) == ["refused"]
        assert validate.faults({"not": {}}) == ["not is unsupported"]
        assert has.faults({}) == validate.faults({}) == []


def has_not(schema):
    return "not" in schema


def validate(schema):
    if has_not(schema):
        raise ValueError("not is unsupported")


@pytest.mark.parametrize(
    ("schema", "named"),
    [
        ({"type": "array", "uniqueItems": True}, ["uniqueItems (xgrammar #968)"]),
        ({"uniqueItems": True}, []),
        ({"allOf": [{}]}, []),
        ({"items": {"allOf": [{}, {}]}}, ["allOf of several (xgrammar #937)"]),
        ({"type": ["string", "null"], "format": "iri"}, ["other formats (xgrammar #967)"]),
    ],
)
def test_the_entries_of_a_list_are_named(schema, named):
    assert faults("vllm-xgrammar", schema) == named
    assert faults("no list", schema) == []
