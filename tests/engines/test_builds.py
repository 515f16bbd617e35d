"""A build at hand is the one that a host gets, and is told from all others by its content."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.engines.builds import TREE, content_of, find_build
from harness.engines.environments import at_hand, is_at_hand, provide
from harness.engines.panel import Limits, Panel
from harness.engines.specs import parse_spec
from tests.toy_packages import refusal, wheel

BACKEND = """
import pathlib, shutil

def build_wheel(directory, settings=None, metadata=None):
    found = list(pathlib.Path("made").glob("*.whl"))
    if not found:
        raise RuntimeError("there is no compiler here")
    shutil.copy(found[0], directory)
    return found[0].name
"""
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


@pytest.fixture
def dist(toy):
    """The directory for builds, from where the tests are."""
    Path("dist").mkdir()
    return Path("dist")


@pytest.fixture
def tree(toy):
    """A source tree that pip can build; the wheel in `made` is what the building makes."""
    tree = Path("tree")
    Path(tree, "made").mkdir(parents=True)
    Path(tree, "pyproject.toml").write_text(PROJECT)
    Path(tree, "backend.py").write_text(BACKEND)
    return tree


def asked_again(spec):
    """A spec as a run of it asks for it: the build is known, where it was made is not."""
    return replace(parse_spec(spec.name), build=spec.build)


def module_of(spec):
    return Path(spec.paths[0], "toy_engine.py").read_text()


def committed(tree):
    """Have git know of a tree as it is."""
    mail = ["-c", "user.email=a@b", "-c", "user.name=a"]
    for command in (["init", "-q"], ["add", "."], [*mail, "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", tree, *command], check=True)


@pytest.mark.processes
class TestWheel:
    def test_it_wins_over_the_same_version_beside_maskcourt(
        self, toy, dist, index, installed, vocabulary, vocabulary_file
    ):
        installed(index / "toy_engine-2.0-py3-none-any.whl")
        wheel(dist, "toy-engine", "2.0", ["toy-base>=1"], text="PLANTED = True\n")
        spec = provide(toy("@dist/toy_engine-2.0-py3-none-any.whl"))
        assert spec.name == "toy_adapter:Toy@./dist/toy_engine-2.0-py3-none-any.whl"
        assert "PLANTED" in module_of(spec)
        assert Path(spec.paths[0], "toy_base.py").exists(), "what it needs comes from the index"
        panel = Panel([spec], str(vocabulary_file), vocabulary.words, Limits())
        try:
            assert not panel.open()
            assert (panel.infos[0].version, panel.infos[0].build) == ("2.0", spec.build)
        finally:
            panel.close()

    def test_another_one_under_its_name_is_another_build(self, toy, dist, index, capfd):
        path = wheel(dist, "toy-engine", "3.0rc1")
        first = provide(toy(f"@{path}"))
        assert first.build.startswith("wheel sha256:")
        wheel(dist, "toy-engine", "3.0rc1", text="PLANTED = True\n")
        second = provide(toy(f"@./{path}"))
        assert capfd.readouterr().err.count("installing toy-engine of ") == 2
        assert first.name == second.name
        assert first.build != second.build
        assert "PLANTED" in module_of(second)
        assert "PLANTED" not in module_of(first)
        assert at_hand("toy-engine") == []

        shutil.rmtree(Path(second.interpreter).parents[1])
        path.unlink()  # an environment that is there has what an earlier run was made with
        assert provide(asked_again(first)) == first
        shutil.rmtree(Path(first.interpreter).parents[1])
        assert "its build is not there any more: there is no ./dist/" in refusal(asked_again(first))
        assert refusal(toy(f"@{path}")).startswith(
            f"engine 'toy_adapter:Toy@./{path}': there is no"
        )


def test_a_build_is_no_part_of_what_an_untrusted_run_may_start(toy, dist):
    path = wheel(dist, "toy-engine", "1.0")
    assert not is_at_hand(toy(f"@{path}"))
    assert not is_at_hand(toy(f"@{sys.executable}"))


@pytest.mark.processes
class TestTree:
    def test_it_is_built_once_and_again_when_a_file_changes(self, toy, tree, capfd):
        wheel(tree / "made", "toy-engine", "4.0")
        committed(tree)
        first = provide(toy("@./tree"))
        commit = subprocess.check_output(["git", "-C", tree, "rev-parse", "HEAD"], text=True)
        assert f" commit {commit[:12]}, built sha256:" in first.build
        assert provide(toy("@./tree/")) == first
        assert capfd.readouterr().err.count("installing ") == 1
        wheel(tree / "made", "toy-engine", "4.0", text="PLANTED = True\n")
        second = provide(toy("@./tree"))
        assert f" commit {commit[:12]} dirty, built sha256:" in second.build
        assert "PLANTED" in module_of(second)

    def test_what_building_leaves_there_is_no_change(self, toy, tree):
        def content():
            return find_build("tree", "engine", "toy-engine").identity

        before = content()
        Path(tree, "build").mkdir()
        Path(tree, "build", "x.o").write_text("made")
        Path(tree, "toy.egg-info").write_text("made")
        assert content() == before
        assert before.endswith("no commit")
        Path(tree, "x.c").write_text("new")
        assert content() != before
        committed(tree)
        assert content_of(content()) not in ("", content_of(before))

    def test_one_that_cannot_be_built_says_why(self, toy, tree):
        message = refusal(toy("@./tree"))
        assert "tree cannot be installed: " in message
        assert "there is no compiler here" in message

    def test_one_of_another_library(self, toy, tree, dist):
        wheel(tree / "made", "toy-base", "1.0")
        assert "tree is a build of toy-base (its adapter drives toy-engine)" in refusal(
            toy("@./tree")
        )
        path = wheel(dist, "toy-base", "1.0")
        assert f"{path} is a build of toy-base" in refusal(toy(f"@{path}"))


@pytest.mark.processes
class TestInterpreter:
    def test_it_is_told_by_what_it_has(self, toy, dist):
        python = provide(toy(f"@{wheel(dist, 'toy-engine', '1.0')}")).interpreter
        first = provide(toy(f"@{python}"))
        assert first.interpreter == python
        assert first.build.startswith("python sha256:")
        assert first.build.endswith(" version 1.0")
        assert Path(first.paths[0], "toy_engine.py").exists()
        with Path(first.paths[0], "toy_engine.py").open("a") as module:
            module.write("PLANTED = True\n")
        assert provide(toy(f"@{python}")).build != first.build
        assert "is not there any more" in refusal(asked_again(first))

    def test_one_that_has_something_else(self, toy, dist):
        message = refusal(toy(f"@{sys.executable}"))
        assert f"{sys.executable} has no toy-engine" in message
        program = Path(dist, "program")
        program.write_text("#!/bin/sh\necho hello\n")
        program.chmod(0o755)
        assert "program is no Python" in refusal(toy("@dist/program"))


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("toy.whl", "a path has a slash: @./toy.whl"),
        ("dist/none.whl", "there is no ./dist/none.whl (a path is taken from where you are)"),
        ("./dist", "pyproject.toml"),
        ("dist/notes.txt", "./dist/notes.txt is no wheel, no directory and no interpreter"),
        ("~nobody-of-this-name/x.whl", "there is no ~nobody-of-this-name/x.whl"),
    ],
)
def test_what_is_no_build_is_told_in_one_line(toy, dist, path, words):
    Path(dist, "notes.txt").write_text("")
    assert words in refusal(toy(f"@{path}"))


@pytest.mark.processes
def test_links_and_missing_files_are_part_of_a_tree(tree):
    committed(tree)
    os.symlink("nowhere", tree / "link")  # noqa: PTH211 - of a target that is not there
    linked = find_build("tree", "engine", "toy-engine")
    Path(tree, "backend.py").unlink()
    assert linked.kind == TREE
    Path(tree, "inner").mkdir()
    Path(tree, "inner", "x.c").write_text("of a repository inside")
    committed(tree / "inner")
    inside = find_build("tree", "engine", "toy-engine")
    Path(tree, "inner", "x.c").write_text("changed")
    now = find_build("tree", "engine", "toy-engine")
    assert len({one.digest for one in (linked, inside, now)}) == 3
