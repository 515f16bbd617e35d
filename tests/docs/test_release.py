"""The wheel and the sdist have what the program needs, and it runs where there is no clone."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
import yaml

import harness
from tests.command import ROOT

pytestmark = pytest.mark.processes
LEFT_OUT = {".pyc"}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """What ``python -m build`` makes, but for the network: the sdist, and of that the wheel."""
    place = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", place, ROOT]
    own = {"GITHUB_REPOSITORY": "somebody/maskcourt"}
    done = subprocess.run(
        command, env={**os.environ, **own}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,), (sdist,) = place.glob("*.whl"), place.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def program(built, tmp_path_factory):
    """The command as it is after ``pip install`` of the wheel, outside of the clone.

    What it requires is seen in the environment of the tests, whose own path files stay unread.
    """
    place = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--quiet", built[0]], check=True)
    (packages,) = place.glob("lib/python3*/site-packages")
    (packages / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")
    empty = tmp_path_factory.mktemp("empty")
    shutil.copy(Path(__file__).with_name("order.json"), empty)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MASKCOURT", "PYTHON"))}

    def run(*arguments):
        command = [place / "bin" / "maskcourt", *map(str, arguments)]
        done = subprocess.run(
            command, cwd=empty, env=kept, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = [python, "-c", "import harness; print(harness.__file__)"]
    found = subprocess.run(where, cwd=empty, env=kept, capture_output=True, text=True, check=True)
    assert Path(found.stdout).is_relative_to(packages)
    return run


def files(*names):
    """The files below directories of the clone, as paths in it."""
    return {
        str(path.relative_to(ROOT))
        for name in names
        for path in (ROOT / name).rglob("*")
        if path.is_file() and path.suffix not in LEFT_OUT
    }


def test_the_wheel_has_every_file_of_the_packages_and_the_data(built):
    names = set(zipfile.ZipFile(built[0]).namelist())
    inside = {re.sub("^datasets/", "harness/_datasets/", one) for one in files("datasets")}
    assert files("harness", "adapters") | inside <= names
    assert not [one for one in names if not one.startswith(("harness/", "adapters/", "maskcourt-"))]


def test_the_sdist_has_what_building_and_testing_need(built):
    with tarfile.open(built[1]) as archive:
        names = {one.partition("/")[2] for one in archive.getnames()}
    assert {"pyproject.toml", "constraints.txt", "Makefile", "install.py", "LICENSE"} <= names
    assert files("harness", "adapters", "datasets", "docs", "tests") <= names


def test_its_metadata_say_version_licence_and_where_it_is(built):
    archive = zipfile.ZipFile(built[0])
    (name,) = (one for one in archive.namelist() if one.endswith("METADATA"))
    about = message_from_string(archive.read(name).decode())
    assert about["Version"] == harness.__version__
    assert about["License-Expression"] == "Apache-2.0"
    assert "Repository, https://github.com/somebody/maskcourt" in about.get_all("Project-URL")
    targets = re.findall(r"\]\(([^)]+)\)", about.get_payload())
    assert "https://github.com/somebody/maskcourt/blob/main/docs/verdicts.md" in targets
    assert not [one for one in targets if not one.startswith("https://")]
    required = [one for one in about.get_all("Requires-Dist") if "extra ==" not in one]
    assert not [one for one in required if one.startswith(("torch", "xgrammar"))]
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(rf"^## \[{re.escape(harness.__version__)}\] - ", changelog, re.MULTILINE)


@pytest.mark.engines
class TestWithoutAClone:
    def test_a_schema_is_checked(self, program):
        told = program("check", "order.json", "--engine", "llguidance", "--shrink-budget", 5)
        assert told.startswith("order.json\nllguidance ")

    def test_a_run_is_made_and_reported(self, program):
        chosen = ("--engines", "llguidance", "--family", "drafts", "--limit", 2)
        quick = ("--lanes", 1, "--samples", 1, "--generated", 2, "--cap", 3, "--shrink-budget", 5)
        program("bench", *chosen, *quick, "--out", "run")
        assert "llguidance" in program("tally", "run")
        assert "run/" in program("report", "run")
        program("report", "run", "--format", "markdown", "--out", "pages")

    def test_commands_find_their_data(self, program):
        assert "formatron" in program("engines")
        assert "vllm" in program("engines", "--help") + program("engines")
        assert "qwen2.5" in program("vocabularies")
        assert "white space" in program("spellings", "--engine", "llguidance")


def test_the_workflow_publishes_what_it_built_and_keeps_no_token():
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    build, publish = workflow["jobs"]["build"], workflow["jobs"]["publish"]
    assert publish["needs"] == "build"
    assert publish["permissions"] == {"id-token": "write"}
    assert not [step for step in build["steps"] if "${{" in step.get("run", "")]


@pytest.mark.parametrize(
    ("tag", "heading", "code"),
    [
        ("v7.1.0", "## [7.1.0] - 2031-01-31", 0),
        ("v7.1.1", "## [7.1.0] - 2031-01-31", 1),
        ("v7.1.0", "## [7.1.0] - unreleased", 1),
    ],
)
def test_a_tag_is_published_if_it_is_the_version_and_has_a_date(tmp_path, tag, heading, code):
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    (step,) = (one for one in workflow["jobs"]["build"]["steps"] if "Hold" in one.get("name", ""))
    (tmp_path / "harness").mkdir()
    (tmp_path / "harness" / "__init__.py").write_text('__version__ = "7.1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{heading}\n")
    own = {**os.environ, "GITHUB_REF_NAME": tag}
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    assert subprocess.run(shell, cwd=tmp_path, env=own, check=False).returncode == code
