"""The adapter of docs/adding-an-engine.md, taken from the page and used as the page says."""

import json
import os
import re
import shlex
import sys
import tomllib

import pytest

from harness.inputs.vocabulary import byte_vocabulary
from harness.inputs.vocabulary_hostile import hostile_vocabulary
from harness.runs.directory import open_run
from tests.adapterchecks import check_adapter, check_refusal
from tests.command import ROOT, maskcourt

ALONE = ("--lanes", 1, "--shrink-budget", 0)
PAGE = (ROOT / "docs" / "adding-an-engine.md").read_text("utf-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A directory with the files of the page, each a block behind a line with its name."""
    directory = tmp_path_factory.mktemp("page")
    for name, text in re.findall(
        r"^`(tiny\.\w+)`:\n\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
    ):
        (directory / name).write_text(text, "utf-8")
    return directory


def test_the_adapter_keeps_the_contract(page, monkeypatch):
    monkeypatch.syspath_prepend(str(page))
    from tiny import TinyEngine

    vocabulary = hostile_vocabulary(2)
    engine = TinyEngine(vocabulary, {"compact": False})
    array = '{"type": "array", "items": {"enum": [1, -2]}}'
    check_adapter(engine, vocabulary, {array: ["[]", "[1, -2]"]})
    check_refusal(engine, '{"type": "string"}', "tiny does not know")
    monkeypatch.delitem(sys.modules, "tiny")


@pytest.mark.processes
def test_a_verification_says_what_it_keeps(page):
    (command,) = re.findall(r"^    maskcourt (engines verify .*)$", PAGE, re.MULTILINE)
    done = maskcourt(*shlex.split(command), "--vocabulary", "bytes", cwd=page)
    assert done.returncode == 0, done.stdout + done.stderr
    kept, unjudged = "tiny:TinyEngine keeps the contract in all of 8 checks", "could not be judged"
    assert done.stdout.splitlines()[-1] == f"{kept}; 8 {unjudged}"


@pytest.mark.processes
@pytest.mark.engines
def test_a_bench_finds_the_mistake_that_the_page_tells_of(page):
    (command,) = re.findall(r"^    maskcourt (bench .*)$", PAGE, re.MULTILINE)
    byte_vocabulary([b"12", b", ", b"[1"], [b"<pad>"]).save(page / "bytes")
    done = maskcourt(*shlex.split(command), "--vocabulary", "bytes", *ALONE, cwd=page)
    assert done.returncode == 0, done.stderr
    run = open_run(page / "runs" / "tiny", trust=True)
    for table in ("verdicts", "instance_verdicts"):
        rows = run.table(table, ["case", "engine", "kind"]).to_pylist()
        mine = [one for one in rows if one["engine"] == "tiny:TinyEngine"]
        accepted = {one["case"] for one in mine if one["kind"] == "false_acceptance"}
        assert accepted == {"two"}
    shown = maskcourt("replay", "runs/tiny", "0", "--show", "--trust", cwd=page)
    assert shown.returncode == 0, shown.stderr


@pytest.mark.processes
def test_an_installed_package_registers_it(page):
    (project,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    declared = tomllib.loads(project)["project"]
    installed = page / f"{declared['name'].replace('-', '_')}-{declared['version']}.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(f"Name: {declared['name']}\nVersion: 1.0\n", "utf-8")
    lines = [
        line
        for group, points in declared["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
    ]
    (installed / "entry_points.txt").write_text("\n".join(lines) + "\n", "utf-8")
    there = {"env": {**os.environ, "PYTHONPATH": str(page)}}
    done = maskcourt("engines", "--json", **there)
    listed = json.loads(done.stdout)["engines"]
    assert listed["tiny"]["adapter"] == "tiny:TinyEngine"
    assert list(listed["tiny"]["options"]) == ["compact"]
