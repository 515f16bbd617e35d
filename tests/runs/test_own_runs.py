"""A run that was made here needs no --trust; nothing in its directory can say that it was."""

from __future__ import annotations

import json
import shutil

import pytest

from harness.engines import environments
from harness.runs import directory
from harness.runs.directory import MANIFEST, create_or_resume, open_run
from harness.runs.made_with import UntrustedError, engines_of

IDENTITY = {"engines": {"xgrammar@0.1.32": {"version": "0.1.32", "packages": {}, "options": {}}}}


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("MASKCOURT_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def run(tmp_path):
    made = create_or_resume(tmp_path / "run", IDENTITY, {})
    made.finish({"seconds": 0.0})
    made.release()
    return made.path


def test_a_run_that_was_made_here_is_trusted_finished_or_not_and_wherever_it_is(tmp_path, run):
    begun = create_or_resume(tmp_path / "begun", IDENTITY, {})
    begun.release()
    assert open_run(begun.path).trusted
    assert open_run(run).trusted
    assert open_run(shutil.move(run, tmp_path / "elsewhere")).trusted


def test_one_that_was_made_elsewhere_is_not(tmp_path, run, monkeypatch):
    monkeypatch.setenv("MASKCOURT_STATE", str(tmp_path / "of somebody else"))
    assert not open_run(run).trusted


def test_one_that_was_altered_is_not_though_its_seal_is_right(run):
    manifest = json.loads((run / MANIFEST).read_text())
    manifest["identity"]["engines"] = {"evil_module:Engine": {"version": "1"}}
    directory.write_manifest(run, manifest)
    assert not open_run(run).trusted


def test_a_record_that_others_can_write_to_says_nothing(run, state):
    (state / "runs").chmod(0o666)
    assert not open_run(run).trusted


def test_a_state_that_cannot_be_written_costs_nothing_but_the_trust(tmp_path, monkeypatch):
    monkeypatch.setenv("MASKCOURT_STATE", "/dev/null/state")
    made = create_or_resume(tmp_path / "run", IDENTITY, {})
    made.release()
    assert not open_run(made.path).trusted


def test_a_version_whose_environment_is_there_needs_no_trust(run, state, monkeypatch):
    (state / "runs").unlink()
    monkeypatch.setattr(environments._Environment, "usable", lambda *_: False)
    with pytest.raises(UntrustedError, match="would have the engine"):
        engines_of(open_run(run))
    monkeypatch.setattr(environments._Environment, "usable", lambda *_: True)
    (spec,) = engines_of(open_run(run))
    assert spec.version == "0.1.32"
