"""Replaying verdicts: what was proven comes out again, and what was not is told apart."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from harness import __version__
from harness.errors import UsageError
from harness.panel import Limits
from harness.replay import chosen, replay
from harness.store import RunDirectory, create_or_resume, open_run
from harness.vocabulary import byte_vocabulary
from tests.inprocess import UNCAPPED, case, run_case
from tests.miniatures import AcceptsExtra, Enumerator, ForbidsOne

ENGINES = (Enumerator, AcceptsExtra, ForbidsOne)
SPECS = [f"tests.miniatures:{engine.__name__}" for engine in ENGINES]
CASE = case({"enum": ["ab", "cd"], "x-extra": ['"xy"'], "x-forbidden": [['"a', "b"]]}, "ab")


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> RunDirectory:
    """A run of three miniatures with one false acceptance and one false rejection."""
    return _stored(tmp_path_factory.mktemp("run"), lambda columns: None)


def _stored(directory: Path, damage) -> RunDirectory:
    vocabulary = byte_vocabulary()
    rows = run_case(ENGINES, CASE, vocabulary=vocabulary, rules=UNCAPPED)
    named = dict(zip([engine.__name__ for engine in ENGINES], SPECS, strict=True))
    for column in ("engine", "accepter"):
        values = rows.columns["verdicts"][column]
        rows.columns["verdicts"][column] = [named.get(value, value) for value in values]
    damage(rows.columns)
    saved = directory / "vocabulary"
    vocabulary.save(saved)
    identity = {
        "engines": {spec: {"packages": {"maskcourt": __version__}} for spec in SPECS},
        "vocabulary": {"spec": str(saved), "eos": None, "sha256": vocabulary.sha256},
        "limits": asdict(Limits()),
    }
    run = create_or_resume(directory / "run", identity, {})
    run.write_case(0, rows)
    run.finish({"seconds": 0.0})
    return run


def _kinds(run: RunDirectory) -> list[str]:
    return run.table("verdicts")["kind"].to_pylist()


def test_what_was_proven_comes_out_again(stored):
    assert {"false_acceptance", "false_rejection"} <= set(_kinds(stored))
    results = replay(stored, chosen(stored, (), None, 0))
    assert results
    assert [str(one) for one in results if not one.agrees] == []
    texts = {one.witness.kind: one.witness.text for one in results}
    assert texts["false_acceptance"] == b'"xy"'
    assert texts["false_rejection"] == b'"ab"'


def test_a_false_rejection_charged_to_an_engine_that_allows_the_token_differs(tmp_path):
    def blame_the_honest_one(columns):
        verdicts = columns["verdicts"]
        row = verdicts["kind"].index("false_rejection")
        verdicts["engine"][row] = SPECS[0]

    run = _stored(tmp_path, blame_the_honest_one)
    row = _kinds(run).index("false_rejection")
    (result,) = replay(run, [row])
    assert not result.agrees
    assert "Enumerator allows 3 tokens, not exactly 2" in result.difference


def test_a_completion_that_the_engine_does_not_allow_differs(tmp_path):
    def cut_a_token_out(columns):
        columns["completions"]["tokens"] = [
            tokens[1:] for tokens in columns["completions"]["tokens"]
        ]

    run = _stored(tmp_path, cut_a_token_out)
    results = replay(run, chosen(run, (), None, 0))
    assert all("allows" in one.difference for one in results)
    assert not any(one.agrees for one in results)


def test_a_verdict_of_the_wrong_kind_differs(tmp_path):
    def swap_kinds(columns):
        kinds = columns["verdicts"]["kind"]
        columns["verdicts"]["kind"] = [
            "contested" if kind == "false_acceptance" else kind for kind in kinds
        ]

    run = _stored(tmp_path, swap_kinds)
    (result,) = replay(run, [_kinds(run).index("contested")])
    assert result.difference == "the validators say invalid"


def test_a_sample_depends_on_its_seed_alone(stored):
    everything = chosen(stored, (), None, 0)
    assert chosen(stored, (), 1, 5) == chosen(stored, (), 1, 5)
    assert set(chosen(stored, (), 1, 5)) < set(everything)
    assert chosen(stored, (), 10_000, 0) == everything


def test_a_verdict_that_is_not_there_is_named(stored):
    with pytest.raises(UsageError, match="has no verdict 999"):
        chosen(stored, (999,), None, 0)


def test_another_version_of_an_engine_is_refused(tmp_path):
    run = _stored(tmp_path, lambda columns: None)
    manifest = json.loads((run.path / "run.json").read_text())
    manifest["identity"]["engines"][SPECS[1]]["packages"] = {"maskcourt": "0.0.1"}
    other = RunDirectory(run.path, manifest)
    with pytest.raises(UsageError, match=r"made with .*AcceptsExtra as .*0\.0\.1"):
        replay(other, [0])


def test_the_command_prints_each_and_exits_by_agreement(stored, tmp_path):
    command = [sys.executable, "-m", "harness.cli", "replay"]
    done = subprocess.run(
        [*command, str(stored.path), "--all"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith(" agree, 0 differ")

    def cut_a_token_out(columns):
        columns["completions"]["tokens"] = [one[1:] for one in columns["completions"]["tokens"]]

    broken = _stored(tmp_path, cut_a_token_out)
    done = subprocess.run(
        [*command, str(broken.path), "--all", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert answer["differ"] == answer["replayed"] > 0
    assert open_run(broken.path).finished
