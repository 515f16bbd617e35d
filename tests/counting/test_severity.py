"""How severe an error is, by the token it is about."""

from __future__ import annotations

import numpy as np
import pytest

from harness.counting.severity import SEVERITIES, severities
from harness.inputs.vocabulary_readers import open_vocabulary


def severity(token, size=10_000, on_path=False, ends=False):
    one = np.array([on_path]), np.array([ends])
    (found,) = severities(np.array([token], dtype=np.int32), *one, size)
    return SEVERITIES[found]


@pytest.mark.parametrize(
    ("token", "word"), [(0, "common"), (1999, "common"), (2000, "rare"), (9999, "rare")]
)
def test_the_first_fifth_of_the_ids_is_common(token, word):
    assert severity(token) == word


@pytest.mark.parametrize(
    ("byte", "word"),
    [
        *((b'"', "common"), (b" ", "common"), (b"\n", "common"), (b"\t", "common")),
        *((b"\x7f", "rare"), (b"\x00", "rare"), (b"\xc3", "rare"), (b"\xff", "rare")),
    ],
)
def test_of_single_bytes_those_that_are_written_are_common(byte, word):
    """In the vocabularies that come with the project; bytes of one have the order of GPT-2's."""
    for name in ("qwen2.5", "bytes"):
        vocabulary = open_vocabulary(name, None)
        (token,) = (one for one in range(256) if vocabulary[one] == byte)
        assert severity(token, size=vocabulary.size) == word


def test_large_vocabularies_do_not_overflow():
    assert severity(2**31 - 2, size=2**31 - 1) == "rare"


def test_the_end_is_common_whatever_its_id():
    assert severity(9999, ends=True) == "common"


def test_the_canonical_token_is_on_path_whatever_its_rank():
    assert severity(9999, on_path=True) == "on_path"
    assert severity(9999, size=None, on_path=True) == "on_path"


def test_without_a_size_there_are_no_ranks():
    assert severity(5, size=None) == "unranked"


def test_what_is_about_no_token_has_no_rank():
    assert severity(-1) == "unranked"
