"""Questions under four placements of an instruction, and final answers to mathematics."""

import json
from fractions import Fraction

import pytest

from harness.errors import InputError
from harness.impact.keys import (
    IN_KEY,
    IN_PROMPT,
    NEUTRAL_KEY,
    boxed,
    last_number,
    load,
)

GSM8K = {"question": "How many?", "answer": "2 and 1 more.\n#### 1,003"}
NAMED = {**GSM8K, "id": "algebra/7"}


@pytest.fixture
def task(tmp_path):
    def made(*lines):
        path = tmp_path / "questions.jsonl"
        path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
        return load(path)

    return made


def test_a_question_makes_four_items_of_one_group(task):
    items = task(NAMED).items()
    assert [one.id for one in items] == [f"algebra/7/{one.condition}" for one in items]
    assert [one.condition for one in items] == ["R00", "R01", "R10", "R11"]
    assert {one.group for one in items} == {"algebra/7"}


def test_the_first_digit_is_the_prompt_and_the_second_the_key(task):
    for item in task(GSM8K).items():
        assert (IN_PROMPT in item.messages[0].content) == (item.condition[1] == "1")
        assert (IN_KEY in item.schema) == (item.condition[2] == "1")


def test_the_schemas_differ_in_one_name_only(task):
    items = task(GSM8K).items()
    renamed = {one.schema.replace(IN_KEY, NEUTRAL_KEY) for one in items}
    assert len({one.schema for one in items}) == 2
    assert len(renamed) == 1
    assert list(json.loads(items[0].schema)["properties"]) == ["text", "answer"]


@pytest.mark.parametrize(
    ("line", "given", "reason"),
    [
        (GSM8K, "It is $1,003.00.", ""),
        (GSM8K, 1003, ""),
        (GSM8K, "1004", "wrong_answer"),
        (GSM8K, 1e22, "wrong_answer"),
        (GSM8K, "many", "no_answer"),
        (GSM8K, None, "no_answer"),
        (GSM8K, True, "no_answer"),
        (GSM8K, r"so \boxed{1003}, of 9", ""),
    ],
)
def test_the_answer_is_compared_with_the_reference(task, line, given, reason):
    made = task(line)
    score = made.score(made.items()[0], {"text": "", "answer": given})
    assert (score.correct, score.reason) == (not reason, reason)


def test_what_is_no_object_with_an_answer_is_no_answer(task):
    made = task(GSM8K)
    for answer in ("1003", {}, [1003], None):
        assert made.score(made.items()[0], answer).reason == "no_answer"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "has no question"),
        ([GSM8K, {"answer": "1"}], ":2 has no text 'question'"),
        ([NAMED, NAMED], ":2: the id 'algebra/7' is there twice"),
        ([{"question": "?", "answer": "none"}], ":1: the answer has no number"),
        ([{"question": "?"}], ":1 has no text 'answer'"),
        ([1], ":1 is no object"),
    ],
)
def test_a_file_that_is_not_of_the_kind_is_refused_with_its_line(task, lines, message):
    with pytest.raises(InputError, match=message):
        task(*lines)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        load(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("18", 18),
        ("She pays $1,234.50.", "1234.5"),
        ("3 + 4 = 7 apples", 7),
        ("1,2", 2),
        ("20%", 20),
        ("-5 degrees", -5),
        ("in 2023-05", 5),
        (".5", "0.5"),
        ("it was 3 #### 72", 72),
        (r"\boxed{7}, of 9", 7),
    ],
)
def test_the_last_number_of_a_text_counts(text, number):
    assert last_number(text) == Fraction(number)


def test_a_text_without_a_number_has_none():
    assert last_number("seven") is None


def test_the_last_box_that_closes_counts():
    assert boxed(r"first \boxed{1}, then \boxed{\frac{1}{2}}, and \boxed{3") == r"\frac{1}{2}"
    assert boxed("1") is None
