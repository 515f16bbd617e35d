"""Every row of the battery asks about the spelling of a valid value, and about nothing else."""

from __future__ import annotations

import json
from functools import cache

import pytest

from harness.classification.departures import load_behaviours
from harness.errors import InputError
from harness.jsontext import strict_json
from harness.spelling_profile.profile import load_battery
from harness.validators.validate import Validators

ROWS = load_battery()


@cache
def validators(schema):
    return Validators(schema)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_both_validators_call_the_text_and_its_control_valid(row):
    for text in (*row.texts, *row.controls):
        assert validators(row.schema).judge(text.encode()).verdict == "valid"


@pytest.mark.parametrize("row", [row for row in ROWS if row.plain], ids=lambda row: row.id)
def test_the_plain_text_is_another_spelling_of_the_same_value(row):
    assert strict_json.parse(row.text) == strict_json.parse(row.plain)
    assert row.text != row.plain


def test_rows_without_a_plain_spelling_have_a_control_of_another_value():
    others = [row for row in ROWS if row.control]
    assert others
    for row in others:
        assert not row.plain
        assert strict_json.parse(row.text) != strict_json.parse(row.control)
    assert {row.id for row in ROWS if not row.controls} == {
        "escapes/pattern-line-feed",
        "escapes/pattern-quote",
    }


def test_the_battery_has_the_groups_and_asks_nothing_twice():
    assert len(ROWS) >= 70
    assert list(dict.fromkeys(row.group for row in ROWS)) == [
        *("white space", "order of members", "escapes", "numbers", "characters")
    ]
    asked = [(row.schema, row.text, row.controls) for row in ROWS]
    assert len(set(asked)) == len(asked)


def test_behaviours_are_of_the_list_and_characters_have_rows():
    assert {row.behaviour for row in ROWS} - {""} <= load_behaviours().keys()
    characters = {row.character for row in ROWS} - {""}
    assert {"NUL", "U+007F", "U+2028", "quotation mark", "backslash"} <= characters
    for row in ROWS:
        assert bool(row.character) == (row.group == "characters")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[row]]\nid = "x"\n', "row 1 of .*missing 4 required"),
        ('[[rows]]\nid = "x"\n', "holds rows"),
    ],
)
def test_a_bad_file_is_refused(text, message, tmp_path, monkeypatch):
    (tmp_path / "spellings.toml").write_text(text)
    monkeypatch.setenv("MASKCOURT_DATASETS", str(tmp_path))
    with pytest.raises(InputError, match=message):
        load_battery()


def test_schemas_are_plain_json():
    for row in ROWS:
        assert json.dumps(json.loads(row.schema), ensure_ascii=False) == row.schema
