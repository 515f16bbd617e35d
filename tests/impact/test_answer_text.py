"""What counts as the answer of a text that nothing constrained."""

import pytest

from harness.impact.answering import outermost, whole


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        ' {"a": 1}\n',
        'Sure! Here it is: {"a": 1} I hope that helps.',
        '```json\n{"a": 1}\n```',
        'First {think}, then:\n```\n{"a": 1}\n```\nor {"b": 2}',
        'With {braces} around a word, and then {"a": 1}.',
    ],
)
def test_the_object_is_found_among_other_things(text):
    assert outermost(text.encode()).value == {"a": 1}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("I cannot do that.", "no_json"),
        ("", "no_json"),
        ("[1, 2]", "no_json"),
        ('{"a": 1} or {"a": 2}', "several"),
        ('{"a": {"b": 1}', "unfinished"),
        ('```json\n{"a": 1', "unfinished"),
        ("{'a': 1}", "no_json"),
        ('{"a": 1,}', "no_json"),
        ('{"a": 1, "a": 2}', "duplicate_keys"),
    ],
)
def test_nothing_is_repaired(text, problem):
    assert outermost(text.encode()).problem == problem


def test_what_stands_within_a_broken_object_is_no_answer():
    assert outermost(b'{"a": {"b": 1}, oops').problem == "no_json"


def test_an_array_is_looked_for_where_the_schema_wants_one():
    assert outermost(b"Calls: [1, 2].", b"[").value == [1, 2]


def test_a_constrained_text_is_json_and_nothing_else():
    assert whole(b" 1.5 ").value == 1.5
    assert whole(b"```1.5```").problem == "not_json"
