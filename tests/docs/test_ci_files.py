"""The action and the workflows of docs/ci: every shell step is run here, with a stub of maskcourt.

They were not run on GitHub. What stands in for it is bash with the options that GitHub gives it, the
files that it names in variables, and a `maskcourt` that writes down what it is asked.
"""

import os
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.cli.main import cli
from tests.command import ROOT

yaml = pytest.importorskip("yaml")

PLACE = ROOT / "docs" / "ci"
ACTION = yaml.safe_load((PLACE / "action.yml").read_text("utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
WORKFLOWS = {
    name: yaml.safe_load((PLACE / f"{name}.yml").read_text("utf-8"))
    for name in ("engine", "server")
}
PROGRAM = """#!/bin/bash
printf '%s\\n' "$@" > "asked-$(basename "$0")-$1"
for one in "$@"; do
  if [[ $before == --summary ]]; then echo "## maskcourt" > "$one"; fi
  before=$one
done
if [[ $1 == compare ]]; then echo "## xgrammar 1 to 2"; fi
if [[ $2 == venv ]]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi
exit "${CODE:-0}"
"""


def inputs(**given):
    """What a workflow gives the action, and the defaults of the rest."""
    defaults = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
    assert set(given) <= set(defaults)
    return {**defaults, **given}


def filled(text, given, outputs=None):
    """A text with GitHub's expressions evaluated: inputs, and the outputs of steps."""

    def value(match):
        kind, *path = match[1].split(".")
        return given[path[0]] if kind == "inputs" else (outputs or {})[path[-1]]

    return re.sub(r"\$\{\{ ([\w.]+) \}\}", value, str(text))


@pytest.fixture
def github(tmp_path):
    """A runner: ``run(step, inputs)`` gives the exit code, what was printed and what was asked."""
    programs, files = tmp_path / "programs", tmp_path / "files"
    for directory in (programs, files):
        directory.mkdir()
    for name in ("maskcourt", "python"):
        Path(programs, name).write_text(PROGRAM)
        Path(programs, name).chmod(0o755)
    work = tmp_path / "work"
    Path(work, "dist").mkdir(parents=True)
    Path(work, "dist", "xgrammar-0.3.0-py3-none-any.whl").touch()
    names = {name: str(files / name) for name in ("PATH", "OUTPUT", "STEP_SUMMARY")}

    def run(step, given, outputs=None, code=0):
        own = {name: filled(text, given, outputs) for name, text in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=work,
            env={
                **{f"GITHUB_{name}": file for name, file in names.items()},
                "PATH": f"{programs}:{os.environ['PATH']}",
                "RUNNER_TEMP": str(tmp_path),
                "CODE": str(code),
                **own,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        asked = {
            file.name.removeprefix("asked-"): file.read_text().splitlines()
            for file in work.glob("asked-*")
        }
        told = {name: Path(file).read_text() for name, file in names.items() if Path(file).exists()}
        return SimpleNamespace(code=done.returncode, printed=done.stdout, asked=asked, told=told)

    run.work = work
    return run


def understood(arguments):
    """The options of a call, as the real command reads them."""
    command, *rest = arguments
    return cli.get_command(None, command).make_context(command, rest).params


ENGINE = inputs(engine="xgrammar", build="dist/*.whl", against="0.2.8")


@pytest.mark.processes
class TestSteps:
    def test_installing(self, github, tmp_path):
        done = github(STEPS["Install maskcourt"], ENGINE)
        assert done.code == 0
        assert done.asked["python--m"] == ["-m", "pip", "install", "--quiet", "maskcourt"]
        assert done.told["PATH"] == f"{tmp_path}/maskcourt/bin\n"

    def test_the_build_becomes_a_spec(self, github):
        done = github(STEPS["Find the build"], {**ENGINE, "options": "[config=shipped]"})
        wheel = github.work / "dist" / "xgrammar-0.3.0-py3-none-any.whl"
        assert done.told["OUTPUT"] == f"spec=xgrammar@{wheel}[config=shipped]\n"

    @pytest.mark.parametrize("build", ["dist/*.zip", "dist/none.whl", "*/*.whl"])
    def test_none_and_several_are_errors(self, github, build):
        (github.work / "more").mkdir()
        (github.work / "more" / "other.whl").touch()
        done = github(STEPS["Find the build"], {**ENGINE, "build": build})
        assert done.code == 2
        assert done.printed.startswith("::error::")

    @pytest.mark.parametrize("code", [0, 1])
    def test_a_baseline_decides(self, github, code):
        (github.work / "maskcourt-baseline.txt").touch()
        step = STEPS["Hold it to the baseline"]
        done = github(step, ENGINE, {"spec": "xgrammar@/x.whl"}, code)
        assert done.code == code
        assert done.told["STEP_SUMMARY"] == "## maskcourt\n"
        options = understood(done.asked["maskcourt-bench"])
        assert options["engines"] == ("xgrammar@/x.whl",)
        assert (options["baseline"], options["write_baseline"]) == (
            Path("maskcourt-baseline.txt"),
            None,
        )
        assert options["junit"] == Path("maskcourt-results/junit.xml")

    def test_without_one_it_is_written_with_a_warning(self, github):
        done = github(STEPS["Hold it to the baseline"], ENGINE, {"spec": "xgrammar@/x.whl"})
        assert done.code == 0
        assert done.printed.startswith("::warning::there is no maskcourt-baseline.txt")
        options = understood(done.asked["maskcourt-bench"])
        assert options["baseline"] is None
        assert options["write_baseline"] == Path("maskcourt-baseline.txt")

    def test_comparing(self, github):
        (github.work / "maskcourt-results").mkdir()
        done = github(STEPS["Compare it with another version"], ENGINE)
        assert done.code == 0
        assert done.told["STEP_SUMMARY"] == "## xgrammar 1 to 2\n"
        assert understood(done.asked["maskcourt-bench"])["engines"] == ("xgrammar@0.2.8",)
        options = understood(done.asked["maskcourt-compare"])
        assert (options["old_run"], options["new_run"]) == (
            Path("maskcourt-results/old"),
            Path("maskcourt-results/new"),
        )

    @pytest.mark.parametrize("name", WORKFLOWS)
    def test_steps_of_workflows_run(self, github, name):
        for step in WORKFLOWS[name]["jobs"]["maskcourt"]["steps"]:
            if "run" in step:
                assert github(step, {}).code == 0


@pytest.mark.parametrize("file", ["action", "engine", "server"])
def test_no_expression_stands_in_a_script(file):
    document = ACTION["runs"] if file == "action" else WORKFLOWS[file]["jobs"]["maskcourt"]
    scripts = [step["run"] for step in document["steps"] if "run" in step]
    assert scripts
    assert not [script for script in scripts if "${{" in script]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows_use_the_action_as_it_is(name):
    workflow = WORKFLOWS[name]
    assert workflow["permissions"] == {"contents": "read"}
    text = (PLACE / f"{name}.yml").read_text("utf-8")
    assert "secrets." not in text
    assert "token" not in text
    (used,) = [
        step["with"]
        for step in workflow["jobs"]["maskcourt"]["steps"]
        if step.get("uses") == "./.github/actions/maskcourt"
    ]
    given = inputs(**used)
    assert all(given[one] for one, about in ACTION["inputs"].items() if about.get("required"))
