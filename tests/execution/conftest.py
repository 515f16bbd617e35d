"""What several files of tests of whole sweeps need."""

from __future__ import annotations

import json

import pytest

from tests.command import maskcourt
from tests.sweeping import Cases


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """Cases, and the run of them that ``bench`` made."""
    cases = Cases(tmp_path_factory.mktemp("sweep"))
    cases.open_gates()
    done = maskcourt(*cases.arguments("bench", cases.root / "local", "--json", "--lanes", 1))
    assert done.returncode == 0, done.stderr
    return cases, json.loads(done.stdout)


@pytest.fixture
def cases(local):
    """The cases, their gates closed; what a local run of them came to is in ``local``."""
    local[0].close_gates()
    return local[0]
