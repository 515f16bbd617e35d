"""An engine whose adapter is nobody's but its author's, as a wheel: a planted fault is caught.

The library is one function, which says what the engine makes of a schema. The adapter is a package
beside the wheels, and answers by what the honest miniature allows under that.
"""

import json
import shutil
import sys
from functools import partial
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
def told(place, monkeypatch, call):
    """Run a command where the author is."""
    small_index(place / "index", monkeypatch, exist_ok=True)
    wheel(place / "index", "tinyengine", "0.9", text=GOOD)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("MASKCOURT_ENVIRONMENTS", str(place / "environments"))
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return call


@pytest.fixture
def bench(told, vocabulary_file):
    """Hold a build to the baseline of the author."""
    return lambda spec, out, run=told: run(
        "bench", "-e", f"{spec},{OTHER}", "--cases", "cases.jsonl", "--out", out,
        "--baseline", "known.txt", "--vocabulary", vocabulary_file, "--lanes", 1,
        *STUDY,
    )  # fmt: skip


def build(name):
    return f"{ENGINE}@./{name}/tinyengine-1.0-py3-none-any.whl"


@pytest.mark.processes
def test_a_planted_wheel_fails_and_the_same_without_the_fault_passes(place, told, bench):
    apart = partial(maskcourt, cwd=place)  # a process that made a run goes on holding it
    good = bench(build("good"), "old", apart)
    assert good.returncode == 0, good.stderr
    assert "maskcourt: compared with the baseline, the run passes" in good.stderr
    code, _, printed = bench(build("planted"), "new")
    assert code == 1, printed
    (line,) = [one for one in printed.splitlines() if one.startswith("- `")]
    assert "minItems" in line

    code, compared, printed = told("compare", "old", "new", "--trust", "--lanes", 1, "--json")
    assert code == 0, printed
    found = json.loads(compared)
    assert [len(found[status]) for status in ("new", "fixed", "remaining")] == [1, 0, 0]

    shutil.copy(*(place / name / "tinyengine-1.0-py3-none-any.whl" for name in ("planted", "good")))
    another = bench(build("good"), "old", apart)
    assert another.returncode == 2
    assert "old holds a run with other engines" in another.stderr

    Path(place, "planted", "tinyengine-1.0-py3-none-any.whl").unlink()
    code, _, printed = told("replay", "new", "--all", "--trust")
    assert code == 0, printed  # its environment is there still
    shutil.rmtree(place / "environments")
    code, _, printed = told("replay", "new", "--all", "--trust")
    assert code == 2
    assert "its build is not there any more: there is no ./planted/" in printed.splitlines()[-1]


@pytest.mark.processes
def test_a_version_keeps_the_contract(told):
    code, out, printed = told("engines", "verify", f"{ENGINE}@0.9", "--vocabulary", "bytes")
    assert code == 0, out + printed
    assert "keeps the contract in all of" in out
