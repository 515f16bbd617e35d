"""What is said of a cell, on tiny engines that err in one known way."""

import json
from dataclasses import replace

import pytest

from harness.conformance.cells import instances
from harness.conformance.outcomes import CellOutcome, ConformanceTable, WrongText, read_table
from harness.conformance.printing import as_csv, as_markdown, summary_cell
from harness.conformance.work import RULES
from harness.inputs.cases import Case
from harness.inputs.vocabulary_readers import open_vocabulary
from harness.runs.reader import UnstoredCase
from tests.inprocess import names_of, run_case
from tests.miniatures import (
    AcceptsExtra,
    CrashesOnCompile,
    CrashesOnMask,
    Enumerator,
    ForbidsOne,
    ForgetsMaxItems,
    MaskLies,
    RefusesAll,
)

AT_MOST_ONE = {"type": "array", "items": {"const": 1}, "maxItems": 1}
BYTES = open_vocabulary("bytes")


def cell(schema, valid, invalid, keyword="maxItems", place="root"):
    kinds = instances(valid), instances(invalid)
    return Case(f"conformance/{keyword}/{place}", keyword, json.dumps(schema), *kinds, "here")


def table(engines, *cases):
    """The table of some engines, each cell a run of its own in this process."""
    described = {name: {"version": "1", "options": {"x": 1}} for name in names_of(engines)}
    identity = {
        "engines": described,
        "data": {"sha256": "0"},
        "vocabulary": {"name": "bytes", "spec": "bytes", "sha256": BYTES.sha256},
    }
    runs = [
        UnstoredCase(run_case(engines, one, BYTES, RULES), {"identity": identity}) for one in cases
    ]
    tables = [read_table(run) for run in runs]
    return ConformanceTable(
        dict.fromkeys(described, "1"),
        tuple(one for some in tables for one in some.outcomes),
        {key: value for some in tables for key, value in some.unjudged.items()},
    )


def only(engine, schema=AT_MOST_ONE, valid=([], [1]), invalid=([1, 1],)):
    (found,) = table([engine], cell(schema, valid, invalid)).outcomes
    return found


@pytest.mark.parametrize(
    ("engine", "word"),
    [(Enumerator, "enforced"), (ForgetsMaxItems, "too_lax"), (RefusesAll, "refused")],
)
def test_what_an_engine_makes_of_a_keyword(engine, word):
    assert only(engine).status == word


def test_a_valid_value_that_is_forbidden_is_too_strict_with_the_text_that_shows_it():
    found = only(ForbidsOne, AT_MOST_ONE | {"x-forbidden": [["[1", "]"]]})
    forbidden = found.forbidden
    assert (found.status, forbidden.text, forbidden.class_) == ("too_strict", b"[1]", "bug")
    assert found.let_through is None


def test_an_engine_that_keeps_to_one_layout_is_not_too_strict():
    """The miniature allows the default and the compact layout; one of these is forbidden."""
    schema = {"const": [1, 2], "x-forbidden": [["[1,", " "]]}
    assert only(ForbidsOne, schema, ([1, 2],), ([1],)).status == "enforced"
    schema = {"const": [1, 2], "x-forbidden": [["[1", ","]]}
    assert only(ForbidsOne, schema, ([1, 2],), ([1],)).status == "too_strict"


@pytest.mark.parametrize(
    ("engine", "annotation"),
    [(CrashesOnCompile, {"x-crash": True}), (CrashesOnMask, {"x-crash": 1})],
)
def test_an_engine_that_dies_fails_and_is_not_said_to_enforce(engine, annotation):
    found = only(engine, AT_MOST_ONE | annotation)
    assert found.status == "failed"
    assert "SIGSEGV" in found.message
    assert found.is_wrong


class ForgetsBytes(Enumerator):
    """Forbids the first byte of every character beyond ASCII."""

    def language(self, schema):
        ascii_alone = frozenset(text for text in super().language(schema).texts if text.isascii())
        return replace(super().language(schema), texts=ascii_alone)


class ConsumesInSecret(MaskLies, AcceptsExtra):
    """Consumes other texts than its mask allows."""


def test_an_engine_that_consumes_invalid_text_which_its_mask_forbids_cannot_be_trusted():
    schema = {"const": 1, "x-extra": ["2"], "x-forbidden": [["", "2"]]}
    found = only(ConsumesInSecret, schema, (1,), (2,))
    assert (found.status, found.let_through) == ("failed", None)
    assert "its mask and what it consumes" in found.message


def test_on_single_bytes_a_text_beyond_ascii_that_is_forbidden_proves_nothing():
    """Another vocabulary has the character as one token, which the engine may well allow."""
    schema = {"enum": ["é", "a"]}
    assert only(ForgetsBytes, schema, ("é", "a"), ("b",)).status == "unproven"
    ascii_too = schema | {"x-forbidden": [['"', "a"]]}
    assert only(ForbidsOne, ascii_too, ("é", "a"), ("b",)).status == "too_strict"
    lax = only(AcceptsExtra, {"const": "a", "x-extra": ['"é"']}, ("a",), ("é",))
    assert lax.status == "too_lax"


def test_a_text_whose_label_the_validators_do_not_share_counts_for_nobody():
    found = table([AcceptsExtra], cell({"const": 1, "x-extra": ["1.0"]}, [1], [1.0]))
    (one,) = found.outcomes
    assert one.status == "enforced"


def test_a_cell_that_the_validators_cannot_judge_is_left_out():
    found = table([Enumerator], cell({"$ref": "#/nowhere"}, [1], [2]))
    assert not found.outcomes
    assert list(found.unjudged) == ["conformance/maxItems/root"]


@pytest.fixture(scope="module")
def whole():
    cells = [
        cell(AT_MOST_ONE, [[]], [[1, 1]]),
        cell({"const": True}, [True], [False], "const"),
        cell({"const": True, "x-extra": ["false"]}, [True], [False], "const", "item"),
    ]
    return table([Enumerator, ForgetsMaxItems, AcceptsExtra], *cells)


def test_a_summary_shows_the_worst_outcome_and_at_how_many_places(whole):
    found = whole.by("keyword")
    assert summary_cell(found["maxItems", "ForgetsMaxItems"]) == "too lax"
    assert summary_cell(found["const", "AcceptsExtra"]) == "too lax 1/2"
    assert summary_cell(found["const", "Enumerator"]) == "enforced"


def test_a_keyword_is_wrong_also_where_the_engine_warned_of_it():
    wrong = WrongText(b"x", "bug")
    some = [CellOutcome("e", "k", "p", status, "", wrong) for status in ("too_lax", "warned")]
    assert summary_cell(some) == "too lax"
    assert summary_cell([*some, CellOutcome("e", "k", "p", "enforced", "")]) == "too lax 2/3"


def test_the_table_as_markdown_has_a_row_for_each_keyword_each_place_and_the_totals(whole):
    text = as_markdown(whole)
    assert "| `root` | 2, 0 of 2 | 1, 1 of 2 | 2, 0 of 2 |" in text
    assert "| `const` | enforced | enforced | too lax 1/2 |" in text
    assert "| enforced | 3 | 2 | 2 |" in text


def test_the_table_as_csv_has_a_line_for_each_cell_and_engine_with_its_smallest_case(whole):
    lines = as_csv(whole).splitlines()
    assert len(lines) == 1 + 9
    assert "const,item,AcceptsExtra,1,too_lax,false,," in lines[-1]
