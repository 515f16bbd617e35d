"""A published run is replayed: what costs a value in full, of the rest a sample."""

import json
import os
import time

import pytest

from benchmarks.replayed import replayed
from tests.replaying import Book, stored

ENGINE = "tests.miniatures:AcceptsExtra"


@pytest.fixture
def run(tmp_path):
    """A run with four verdicts: two cost a value, and one, which does not, is wrong."""
    book = Book("one", {"enum": ["ab"], "x-extra": ['"xy"']}, "ab")
    right, wrong = book.completion(b'y"'), book.completion(b'z"')
    for completion, effect in ((right, "invalid_value"), (wrong, ""), (right, "spelling")):
        book.verdict("false_acceptance", ENGINE, b'"', b"x", completion, ENGINE, effect=effect)
    instance = book.instance(b'"xy"')
    book.instance_verdict("false_acceptance", ENGINE, instance, 5, effect="invalid_value")
    return stored(tmp_path, [book], [ENGINE])


@pytest.mark.processes
def test_what_costs_a_value_and_a_sample_are_replayed(run, monkeypatch):
    found = replayed(run, lanes=2)
    assert {name: found[name] for name in ("costly", "sampled", "replayed", "differ")} == {
        "costly": 2,
        "sampled": 4,
        "replayed": 4,
        "differ": 1,
    }
    assert "allows 2 of 5 tokens" in found["differences"][0]["difference"]
    kept = run.path / "replayed.json"
    kept.write_text(json.dumps({**found, "differ": 7}))
    assert replayed(run)["differ"] == 7, "not done again"
    kept.write_text(json.dumps({**found, "costly": 1}))
    assert replayed(run, lanes=1)["differ"] == 1
    monkeypatch.setattr("benchmarks.replayed._SAMPLE", 0)
    assert replayed(run, lanes=3)["replayed"] == 2


@pytest.mark.processes
def test_what_was_interrupted_goes_on_with_the_parts_that_are_not_done(run, monkeypatch):
    monkeypatch.setattr("benchmarks.replayed._PART", (1, 1))
    begun = run.path / "replaying.jsonl"
    part = {"verdicts": ["0"], "differences": [{"verdict": "0", "difference": "kept"}]}
    lines = [json.dumps(one) for one in ({"costly": 2, "sampled": 4}, part, {"verdicts": ["1"]})]
    begun.write_text("\n".join(lines))  # the last was cut off
    found = replayed(run, lanes=1)
    kept, again = (row["difference"] for row in found["differences"])
    assert (kept, "allows 2 of 5 tokens" in again) == ("kept", True)
    assert found["replayed"] == 4
    assert not begun.exists()


@pytest.mark.processes
def test_an_interruption_leaves_no_part_running(run, tmp_path, monkeypatch):
    program, process = tmp_path / "python", tmp_path / "process"
    program.write_text(
        f"#!/bin/sh\necho $$ > {process}.new\nmv {process}.new {process}\nexec sleep 600"
    )
    program.chmod(0o755)

    def interrupted(_):
        while not process.exists():
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr("benchmarks.replayed.sys.executable", str(program))
    monkeypatch.setattr("benchmarks.replayed.as_completed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replayed(run, lanes=1)
    with pytest.raises(ProcessLookupError):
        os.kill(int(process.read_text()), 0)
