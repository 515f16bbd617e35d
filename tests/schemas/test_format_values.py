"""Both validators agree with every text of a format, and every format of 2020-12 has some."""

import json

import pytest

from harness.schemas.format_values import FormatValues, format_values
from harness.validators.formats import DEFINED
from harness.validators.validate import Validators

NAMES = sorted(DEFINED["2020-12"])


def verdicts(name: str, texts: tuple[str, ...]) -> dict[str, str]:
    judge = Validators(json.dumps({"type": "string", "format": name})).judge
    return {text: judge(json.dumps(text).encode()).verdict for text in texts}


@pytest.mark.parametrize("name", NAMES)
def test_both_validators_agree_with_every_label(name):
    known = format_values(name)
    assert verdicts(name, known.valid) == dict.fromkeys(known.valid, "valid")
    assert verdicts(name, known.invalid) == dict.fromkeys(known.invalid, "invalid")


@pytest.mark.parametrize("name", NAMES)
def test_a_format_has_several_texts_of_both_kinds_and_none_twice(name):
    known = format_values(name)
    assert min(map(len, known)) >= 8
    texts = known.valid + known.invalid
    assert len(set(texts)) == len(texts)
    assert max(map(len, texts)) <= 300


def test_a_format_that_is_not_defined_has_no_texts():
    assert format_values("color") == FormatValues()
