"""Runs of hand-written cases, for tests of what is counted of them."""

from itertools import count

import pytest

from tests import books


@pytest.fixture
def stored(tmp_path):
    """Stores books as a run, each time another."""
    made = count()
    return lambda *some, **options: books.store(tmp_path / f"run{next(made)}", *some, **options)
