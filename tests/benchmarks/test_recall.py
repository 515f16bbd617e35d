"""The truth of JSON strings under a pattern, and the shares of wrong bits that were found."""

import pytest

from benchmarks.json_strings import JsonStrings
from benchmarks.pages.recall import recall_page
from benchmarks.recall import searched, summary
from harness.regex_constraint.automata import PatternAutomaton
from harness.regex_constraint.dialects import read
from harness.regex_constraint.opinions import say
from tests.regex_miniatures import pattern_case


def strings(pattern):
    return JsonStrings(PatternAutomaton(read(pattern, "ecma", search=True).narrow))


TRIED = strings('^[a\u00e9\\u{1f600}\\n"/]{1,2}$')


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ('"a"', True),
        (' "a"\n', True),
        ('"aaa"', False),
        ('"\\u0061\\u00E9"', True),
        ('"\u00e9"', True),
        ('"\\ud83d\\uDE00"', True),
        ('"\U0001f600"', True),
        ('"\\ud83d"', False),
        ('"\\ud83da"', False),
        ('"\\ude00"', False),
        ('"\\n\\""', True),
        ('"\n"', False),
        ('"\\/"', True),
        ('"\\b"', False),
        ('"a', False),
        ('""', False),
    ],
)
def test_a_string_has_all_spellings_of_its_characters(text, matches):
    assert TRIED.matches(text) is matches


def test_texts_are_labelled_as_a_schema_means_its_pattern():
    cases = [pattern_case("a", "a", ("a",), ("xax", "b")), pattern_case("look", "(?=a)")]
    (one,) = searched(cases, say)
    assert one.line["valid"] == ["a", "xax"]
    assert one.line["invalid"] == ["b"]


def test_shares_of_bits_and_of_pairs():
    about = {"engine": "e", "direction": "false_rejection", "kind": "value"}
    missed = {"proven": False, "found": 0, "unproven": 1, "not_drawn": 2, "shared": 3}
    shared = {"proven": False, "found": 0, "unproven": 0, "not_drawn": 0, "shared": 6}
    rows = [
        {**about, **missed},
        {**about, **missed, "found": 6, "proven": True},
        {**about, **shared},
    ]
    row = summary(rows)[0]
    assert (row["wrong_bits"], row["found"], row["bits_found"]) == (24, 6, 0.25)
    assert (row["pairs"], row["pairs_found"], row["pairs_shared"]) == (3, 1, 1)


def test_the_page_names_each_pair_that_is_missed_although_engines_differ():
    about = {"engine": "e", "direction": "false_rejection", "kind": "value", "pattern": "a|b"}
    fates = {"found": 0, "unproven": 1, "not_drawn": 2000, "shared": 3}
    rows = [
        {**about, **fates, "proven": False},
        {**about, **fates, "found": 6, "proven": True},
        {**about, "proven": False, "found": 0, "unproven": 0, "not_drawn": 0, "shared": 6},
    ]
    manifest = {"cap": 9, "judged": 3, "maskbench": 1, "untrue": 0, "engines": {"e": "1.0"}}
    page = recall_page(summary(rows), rows, manifest)
    assert "| e | forbids | 4,020 | 0.15% | 3 | 1 | 1 | 1 |" in page
    assert "**Of 2 pairs on which engines differ 1 are found (50%).**" in page
    assert "- e forbids under `a|b`: 1 tokens tried, 2,000 not drawn" in page
