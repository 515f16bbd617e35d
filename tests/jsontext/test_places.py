"""What kind of place in a JSON text a position is at, in the words that tables show."""

from __future__ import annotations

import pytest

from harness.jsontext.lexer import START, Mode, advance, place_of


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "start of value"),
        ("[", "start of value"),
        ("[1, ", "start of value"),
        ('{"a": ', "start of value"),
        ("{", "start of key"),
        ('{"a": 1,', "start of key"),
        ('{"', "inside key"),
        ('{"ab', "inside key"),
        ('{"a"', "behind key"),
        ('{"a":', "start of value"),
        ('{"a": 1 ', "behind value"),
        ('["a"', "behind value"),
        ('{"a": {}', "behind value"),
        ('"', "inside string"),
        ('"aé', "inside string"),
        ('"a\\', "inside escape"),
        ('"\\u00', "inside escape"),
        ('{"\\u00', "inside escape"),
        ('"\\n', "inside string"),
        ("nul", "inside literal"),
        ("[t", "inside literal"),
        ("-", "inside number"),
        ("0", "inside number"),
        ("12.5e+3", "inside number"),
        ('"a"', "end"),
        ("{} ", "end"),
        ("true", "end"),
    ],
)
def test_places(text, place):
    assert place_of(advance(START, text.encode()), at_end=False) == place


@pytest.mark.parametrize("text", ["12", '"a"', "[]", "null"])
def test_behind_the_whole_reference_is_the_end(text):
    """A number could go on: whether it is over is for the reference to say."""
    assert place_of(advance(START, text.encode()), at_end=True) == "end"


def test_a_started_character_is_inside_the_string():
    assert place_of(advance(START, b'"\xc3'), at_end=False) == "inside string"


@pytest.mark.parametrize("mode", Mode)
def test_every_mode_has_a_place(mode):
    assert place_of(START._replace(mode=mode), at_end=False)
