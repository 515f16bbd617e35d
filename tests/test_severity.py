"""How severe an error is, by the token it is about."""

from __future__ import annotations

import numpy as np
import pytest

from harness.report.severity import SEVERITIES, severities


def severity(token, size=1000, on_path=False, ends=False):
    one = np.array([on_path]), np.array([ends])
    (found,) = severities(np.array([token], dtype=np.int32), *one, size)
    return SEVERITIES[found]


@pytest.mark.parametrize(
    ("token", "word"), [(0, "common"), (199, "common"), (200, "rare"), (999, "rare")]
)
def test_the_first_fifth_of_the_ids_is_common(token, word):
    assert severity(token) == word


def test_large_vocabularies_do_not_overflow():
    assert severity(2**31 - 2, size=2**31 - 1) == "rare"


def test_the_end_is_common_whatever_its_id():
    assert severity(999, ends=True) == "common"


def test_the_canonical_token_is_on_path_whatever_its_rank():
    assert severity(999, on_path=True) == "on_path"
    assert severity(999, size=None, on_path=True) == "on_path"


def test_without_a_size_there_are_no_ranks():
    assert severity(5, size=None) == "unranked"


def test_what_is_about_no_token_has_no_rank():
    assert severity(-1) == "unranked"
