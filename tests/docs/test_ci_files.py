"""The workflow of docs/ci: every shell step is run here, with stubs of maskcourt and of python.

It was not run on GitHub. What stands in for it is bash with the options that GitHub gives it, the
files that it names in variables, and a `maskcourt` that writes down what it is asked.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.cli.main import cli
from harness.render.table import FAILED, PASSED, as_junit
from tests.command import ROOT

yaml = pytest.importorskip("yaml")

FILE = ROOT / "docs" / "ci" / "maskcourt.yml"
WORKFLOW = yaml.safe_load(FILE.read_text("utf-8"))
EVERY = WORKFLOW["jobs"]["maskcourt"]["steps"]
STEPS = {step["name"]: step for step in EVERY if "run" in step}
ENV = {name: str(value) for name, value in WORKFLOW["env"].items()}
PROGRAM = """#!/bin/bash
if [[ $1 == - ]]; then exec {python} "$@"; fi
name="asked-$(basename "$0")-$1"
printf '%s\\n' "$@" > "$name"
printf '%s\\n' "$@" > "$name-$(ls "$name"* | wc -l)"
for one in "$@"; do
  if [[ $before == --summary ]]; then echo "## maskcourt" > "$one"; fi
  before=$one
done
if [[ $1 == compare ]]; then echo "## xgrammar 1 to 2"; fi
if [[ $2 == venv ]]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi
exit "${{CODE:-0}}"
"""


@pytest.fixture
def github(tmp_path):
    """A runner: ``run(name, …)`` gives the exit code of a step, what it printed, asked and wrote."""
    programs, files, home = (tmp_path / name for name in ("programs", "files", "home"))
    for directory in (programs, files, home):
        directory.mkdir()
    for name in ("maskcourt", "python"):
        Path(programs, name).write_text(PROGRAM.format(python=sys.executable))
        Path(programs, name).chmod(0o755)
    work = tmp_path / "work"
    for directory in ("dist", "maskcourt-results", ".github/workflows"):
        Path(work, directory).mkdir(parents=True)
    Path(work, "dist", "xgrammar-0.3.0-py3-none-any.whl").touch()
    Path(work, ".github", "workflows", "maskcourt.yml").write_text(FILE.read_text("utf-8"))
    names = {name: str(files / name) for name in ("PATH", "OUTPUT", "ENV", "STEP_SUMMARY")}

    def run(name, code=0, **given):
        step = STEPS[name]
        own = dict.fromkeys(step.get("env", {}), "3.12.1")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=work,
            env={
                **{f"GITHUB_{one}": file for one, file in names.items()},
                "PATH": f"{programs}:{os.environ['PATH']}",
                "HOME": str(home),
                "RUNNER_OS": "Linux",
                "CODE": str(code),
                **ENV,
                **own,
                **given,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        asked = {
            file.name.removeprefix("asked-"): file.read_text().splitlines()
            for file in work.glob("asked-*")
        }
        told = {one: Path(file).read_text() for one, file in names.items() if Path(file).exists()}
        return SimpleNamespace(code=done.returncode, printed=done.stdout, asked=asked, told=told)

    run.work, run.home = work, home
    return run


def understood(arguments):
    """The options of a call, as the real command reads them."""
    command, *rest = arguments
    return cli.get_command(None, command).make_context(command, rest).params


SPEC = "xgrammar@/x.whl"
INSTALL, HOLD = "Install maskcourt", "Hold it to the baseline"
ANNOTATE = "Annotate what the baseline does not know"


@pytest.mark.processes
class TestSteps:
    def test_installing_takes_what_the_build_requires_once(self, github):
        wheel = github.work / "dist" / "xgrammar-0.3.0-py3-none-any.whl"
        done = github(INSTALL, OPTIONS="[config=shipped]")
        assert done.code == 0
        pip = ["-m", "pip", "install", "--quiet", "maskcourt", "dist/" + wheel.name]
        assert done.asked["python--m"] == pip
        assert done.told["PATH"] == f"{github.home}/maskcourt/bin\n"
        assert done.told["ENV"] == f"SPEC=xgrammar@{wheel}[config=shipped]\n"
        (github.work / "asked-python--m").unlink()
        assert "python--m" not in github(INSTALL).asked

    def test_what_was_not_installed_wholly_is_installed_again(self, github):
        assert github(INSTALL, code=1).code == 1
        assert github(INSTALL).asked["python--m"][:3] == ["-m", "pip", "install"]

    def test_an_interpreter_is_a_build_and_nothing_to_install(self, github):
        (github.work / "server").touch()
        done = github(INSTALL, BUILD="server")
        assert done.asked["python--m"][-1] == "maskcourt"
        assert done.told["ENV"] == f"SPEC=xgrammar@{github.work}/server\n"

    @pytest.mark.parametrize("build", ["dist/*.zip", "dist/none.whl", "*/*.whl"])
    def test_none_and_several_are_errors(self, github, build):
        (github.work / "more").mkdir()
        (github.work / "more" / "other.whl").touch()
        done = github(INSTALL, BUILD=build)
        assert done.code == 2
        assert done.printed.startswith("::error::")

    def test_the_cache_is_of_this_file_and_week(self, github):
        told = github("Name the cache").told["OUTPUT"]
        assert re.fullmatch(r"name=maskcourt-Linux-3\.12\.1-\w{12}-\d{4}-\d\d\n", told)

    @pytest.mark.parametrize("code", [0, 1])
    def test_a_baseline_decides(self, github, code):
        (github.work / "maskcourt-baseline.txt").touch()
        done = github(HOLD, code, SPEC=SPEC)
        assert done.code == code
        options = understood(done.asked["maskcourt-bench"])
        assert options["engines"] == (SPEC,)
        kept = options["baseline"], options["write_baseline"]
        assert kept == (Path("maskcourt-baseline.txt"), None)
        assert options["junit"] == Path("maskcourt-results/junit.xml")

    def test_without_one_it_is_written_and_the_job_fails(self, github):
        done = github(HOLD, SPEC=SPEC)
        assert done.code == 1
        assert done.printed.startswith("::error::there is no maskcourt-baseline.txt")
        written, held = (understood(done.asked[f"maskcourt-bench-{one}"]) for one in (1, 2))
        assert written["write_baseline"] == held["baseline"] == Path("maskcourt-baseline.txt")
        assert (written["baseline"], written["junit"]) == (None, None)
        assert held["out"] == written["out"]

    def test_what_fails_is_an_annotation(self, github):
        tests = [
            ("xgrammar", "order: a", FAILED, "wrong", "100% worse", 'schema {"a": 1}\ntext 1'),
            ("xgrammar", "b", PASSED, "correct", "as is known", ""),
        ]
        junit = github.work / "maskcourt-results" / "junit.xml"
        junit.write_text(as_junit(tests))
        (github.work / "maskcourt-results" / "summary.md").write_text("## fails\n")
        done = github(ANNOTATE)
        assert done.told["STEP_SUMMARY"] == "## fails\n"
        said = '100%25 worse%0Aschema {"a": 1}%0Atext 1'
        assert done.printed == f"::error title=order%3A a::{said}\n"

    def test_comparing(self, github):
        done = github("Compare it with another version", AGAINST="0.2.8")
        assert done.code == 0
        assert done.told["STEP_SUMMARY"] == "## xgrammar 1 to 2\n"
        assert understood(done.asked["maskcourt-bench"])["engines"] == ("xgrammar@0.2.8",)
        options = understood(done.asked["maskcourt-compare"])
        old, new = (Path("maskcourt-results", name) for name in ("old", "new"))
        assert (options["old_run"], options["new_run"]) == (old, new)

    def test_a_servers_list_is_held_against_the_build(self, github):
        done = github("Hold a server's list against it", GATES="vllm", SPEC=SPEC)
        assert done.code == 0
        options = understood(done.asked["maskcourt-conformance"])
        assert (options["gates"], options["engines"]) == ("vllm", (SPEC,))


def test_no_expression_stands_in_a_script():
    assert STEPS
    assert not [step["run"] for step in STEPS.values() if "${{" in step["run"]]


def test_the_workflow_needs_no_secret_and_stops():
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert WORKFLOW["jobs"]["maskcourt"]["timeout-minutes"] <= 15
    text = FILE.read_text("utf-8")
    assert "secrets." not in text
    assert "token" not in text


def test_what_is_restored_is_what_was_saved():
    kept = [step["with"] for step in EVERY if step.get("uses", "").startswith("actions/cache")]
    assert len(kept) == 2
    assert kept[0] == kept[1]
