"""Shortest ways to finish a string for a regular expression."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.schemas.patterns import Pattern, pattern

EXPRESSIONS = [
    "^[a-z]+-[0-9]{3}$",
    "^(?:cat|dog)s?$",
    "^$",
    "b",
    r"^\d{4}-\d{2}$",
    "^[^\\s]+@x$",
    "^(a|b)*abb$",
    "^.{3,2000}$",
    r"^\/[a-z]\.txt",
    "^(?=a)a",
    "end$",
    "^[A-Fa-f0-9]{8}$",
    "^(-?[0-9]+(\\.[0-9]+)?)?$",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_finishing_nothing_gives_a_match(expression):
    automaton = pattern(expression)
    assert re.search(expression, automaton.finish(automaton.start))


@pytest.mark.parametrize(
    ("expression", "written", "rest"),
    [
        ("^[a-z]+-[0-9]{3}$", "ab", "-000"),
        ("^[a-z]+-[0-9]{3}$", "ab-1", "00"),
        ("^(?:cat|dog)s?$", "do", "g"),
        ("^(?:cat|dog)s?$", "x", None),
        ("^(a|b)*abb$", "ab", "b"),
        ("b", "xyz", "b"),
        ("b", "xbz", ""),
        ("^$", "a", None),
    ],
)
def test_finishing_what_is_written(expression, written, rest):
    automaton = pattern(expression)
    assert automaton.finish(automaton.walk(automaton.start, written)) == rest


def test_a_least_length_is_kept():
    automaton = pattern("^[a-z]*1$")
    assert automaton.finish(automaton.start, 4) == "aaa1"
    assert pattern("^ab$").finish(pattern("^ab$").start, 3) is None


@given(st.sampled_from(EXPRESSIONS), st.text(alphabet="abcdogts-019./@x end\n", max_size=8))
def test_the_automaton_matches_what_re_finds(expression, text):
    automaton = pattern(expression)
    # `$` of JSON Schema is the very end; Python's is also before a final newline.
    found = re.search(expression.replace("$", r"\Z"), text)
    assert automaton.accepts(automaton.walk(automaton.start, text)) == bool(found)


def test_the_dead_state_stays_dead():
    automaton = pattern("^a$")
    assert automaton.walk(automaton.start, "xa") == Pattern.DEAD


@pytest.mark.parametrize(
    "expression", ["(", "(a)\\1", "\\p{L}", "(" * 2000 + ")" * 2000, "^.{9000}$"]
)
def test_what_has_no_automaton_is_none(expression):
    assert pattern(expression) is None


def test_named_groups_are_read_as_ecma_writes_them():
    automaton = pattern("^(?<year>[0-9]{2})$")
    assert automaton.finish(automaton.start) == "00"
