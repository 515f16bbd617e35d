"""What several files of tests of whole sweeps need."""

import importlib.util
import json

import pytest

from tests.command import maskcourt
from tests.sweeping import Cases


@pytest.fixture(scope="module", autouse=True)
def _ray(request):
    """Skip what is marked so where it is missing: to import it costs every collection of tests."""
    if request.node.get_closest_marker("ray") and not importlib.util.find_spec("ray"):
        pytest.skip("ray is not installed: pip install '.[sweep]'")


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
