"""The usual spellings of a value, and which texts have one value."""

import json

import pytest

from harness.jsontext.usual_spellings import as_given, usual_spellings, value_key

DIGITS = "123456789012345678901234567890"


@pytest.mark.parametrize(
    ("text", "other", "are_one"),
    [
        ("1", "1.0", True),
        ("1", "10e-1", True),
        ("0", "-0.0", True),
        ('{"a": 1, "b": 2}', '{"b":2,"a":1}', True),
        ('"\\u0061"', '"a"', True),
        ("1", '"1"', False),
        ("1", "true", False),
        ("[1]", "[[1]]", False),
        (f"{DIGITS}1", f"{DIGITS}2", False),
        (f"{DIGITS}.1", f"{DIGITS}.2", False),
        ("1e9999999", "10e9999998", True),
        ("1e99999999999999999999", '"1e99999999999999999999"', False),
    ],
)
def test_texts_of_one_value_have_one_key(text, other, are_one):
    assert (value_key(text.encode()) == value_key(other.encode())) is are_one


@pytest.mark.parametrize(
    ("text", "written", "spelled"),
    [
        ('{"a":[1, "\\u00e9"]}', 0, {'{"a": [1, "é"]}', '{\n  "a": [\n    1,\n    "é"\n  ]\n}'}),
        ('{"b": 1, "a": 2}', 0, {'{"a": 2, "b": 1}', '{"b":1,"a":2}'}),
        ('{"b": 1, "a": 2}', 2, {'{"b": 1, "a": 2}', '{"b":1,"a":2}'}),
        ('"\x7f"', 0, {'"\x7f"', '"\\u007f"'}),
        ("1e-8", 0, {"1e-8", "1e-08", "0.00000001"}),
        ("1e300", 0, {"1e300", "1e+300", "1" + 300 * "0"}),
        ("1.0", 0, {"1.0", "1"}),
        ("[0.000, 1]", 5, {"[0.000, 1]", "[0.00, 1]"}),
        ("-0E0", 2, {"-0E0", "-0"}),
        ("[5E-1]", 2, {"[5E-1]"}),
        (f"{DIGITS}.50", 0, {f"{DIGITS}.50", f"{DIGITS}.5"}),
    ],
)
def test_a_value_is_finished_in_each_usual_way(text, written, spelled):
    orders = (as_given, lambda _path, names: sorted(names))
    usual = {one.decode() for one in usual_spellings(text.encode(), written, orders)}
    assert spelled <= usual
    assert all(read(one) == read(text) for one in usual)
    assert {one[:written] for one in usual} == {text[:written]}


def read(text: str) -> object:
    """A value as most programs read it, with doubles for numbers."""
    return json.loads(text, parse_int=float)


@pytest.mark.parametrize(("text", "written"), [("3.14", "3.1400000000000001"), ("2.5", "2.5")])
def test_a_number_is_written_in_the_digits_that_keep_its_double(text, written):
    usual = [one.decode() for one in usual_spellings(text.encode())]
    assert written in usual
    assert {float(one) for one in usual} == {float(text)}


@pytest.mark.parametrize(
    "text",
    ['{"a": [1, "b: c"]}', '{"a":1}', '"\\u00e9, é"', "[1,  [ ],  2]", '{"é": {}, "b": -1e3}'],
)
def test_the_first_spelling_goes_on_as_python_writes_it(text):
    as_written = json.dumps(json.loads(text, parse_float=lambda _: -1000), ensure_ascii=False)
    first = [next(iter(usual_spellings(text.encode(), at))) for at in range(len(text.encode()) + 1)]
    assert first[0].decode().replace("-1e3", "-1000") == as_written
    assert first[-1] == text.encode()
    assert {value_key(one) for one in first} == {value_key(text.encode())}
