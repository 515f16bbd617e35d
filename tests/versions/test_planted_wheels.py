"""An engine whose adapter is nobody's but its author's, as a wheel: a planted fault is caught.

The library is one function, which says what the engine makes of a schema. The adapter is a package
beside the wheels, and answers by what the honest miniature allows under that.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.command import ROOT, STUDY, maskcourt
from tests.toy_packages import small_index, wheel

ADAPTER = """
from harness.protocol import EngineInfo
from tests.miniatures import Enumerator


class TinyEngine(Enumerator):
    DISTRIBUTION = "tinyengine"

    def __init__(self, vocabulary, options):
        import tinyengine

        super().__init__(vocabulary, options)
        self._library = tinyengine
        self.info = EngineInfo.installed("tinyengine", options)

    def matcher(self, schema):
        return super().matcher(self._library.understood(schema))
"""
GOOD = "def understood(schema):\n    return schema\n"
PLANTED = (
    "def understood(schema):\n"
    "    return {key: value for key, value in schema.items() if key != 'minItems'}\n"
)
CASES = [
    {"id": "colour", "schema": {"enum": ["a", "b"]}, "valid": ["a"]},
    {"id": "pair", "schema": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2,
     "maxItems": 2}, "valid": [["a", "b"]]},
]  # fmt: skip
ENGINE = "tiny_package.adapter:TinyEngine"
OTHER = "tests.miniatures:Enumerator"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """An author's directory: the adapter's package, cases, and two wheels of one version."""
    place = tmp_path_factory.mktemp("author")
    for name in ("tiny_package", "good", "planted"):
        (place / name).mkdir()
    (place / "tiny_package" / "__init__.py").touch()
    (place / "tiny_package" / "adapter.py").write_text(ADAPTER)
    (place / "cases.jsonl").write_text("".join(json.dumps(one) + "\n" for one in CASES))
    wheel(place / "good", "tinyengine", "1.0", text=GOOD)
    wheel(place / "planted", "tinyengine", "1.0", text=PLANTED)
    (place / "known.txt").write_text("# nothing is known to be wrong\n")
    return place


@pytest.fixture
def told(place, monkeypatch):
    """Run a command where the author is."""
    small_index(place / "index", monkeypatch, exist_ok=True)
    wheel(place / "index", "tinyengine", "0.9", text=GOOD)
    own = {"PYTHONPATH": str(ROOT), "MASKCOURT_ENVIRONMENTS": str(place / "environments")}
    environment = os.environ | own
    return lambda *arguments: maskcourt(*arguments, cwd=place, env=environment)


@pytest.fixture
def bench(told, vocabulary_file):
    """Hold a build to the baseline of the author."""
    return lambda spec, out: told(
        "bench", "-e", f"{spec},{OTHER}", "--cases", "cases.jsonl", "--out", out,
        "--baseline", "known.txt", "--vocabulary", vocabulary_file, "--lanes", 1, "--ahead", 0,
        *STUDY,
    )  # fmt: skip


def build(name):
    return f"{ENGINE}@./{name}/tinyengine-1.0-py3-none-any.whl"


@pytest.mark.processes
def test_a_planted_wheel_fails_and_the_same_without_the_fault_passes(place, told, bench):
    good = bench(build("good"), "old")
    assert good.returncode == 0, good.stderr
    assert "maskcourt: compared with the baseline, the run passes" in good.stderr
    planted = bench(build("planted"), "new")
    assert planted.returncode == 1, planted.stderr
    (line,) = [one for one in planted.stderr.splitlines() if one.startswith("new bug: ")]
    assert "minItems" in line

    compared = told("compare", "old", "new", "--trust", "--lanes", 1, "--json")
    assert compared.returncode == 0, compared.stderr
    found = json.loads(compared.stdout)
    assert [len(found[status]) for status in ("new", "fixed", "remaining")] == [1, 0, 0]

    shutil.copy(*(place / name / "tinyengine-1.0-py3-none-any.whl" for name in ("planted", "good")))
    another = bench(build("good"), "old")
    assert another.returncode == 2
    assert "old holds a run with other engines" in another.stderr

    Path(place, "planted", "tinyengine-1.0-py3-none-any.whl").unlink()
    replayed = told("replay", "new", "--all", "--trust")
    assert replayed.returncode == 0, replayed.stderr  # its environment is there still
    shutil.rmtree(place / "environments")
    gone = told("replay", "new", "--all", "--trust")
    assert gone.returncode == 2
    (line,) = gone.stderr.splitlines()
    assert "its build is not there any more: there is no ./planted/" in line


@pytest.mark.processes
def test_a_version_keeps_the_contract(told):
    done = told("engines", "verify", f"{ENGINE}@0.9", "--vocabulary", "bytes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "keeps the contract in all of" in done.stdout
