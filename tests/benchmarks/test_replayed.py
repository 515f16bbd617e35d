"""A published run is replayed: what costs a value in full, of the rest a sample."""

import json

import pytest

from benchmarks.replayed import replayed
from tests.replaying import Book, stored

ENGINE = "tests.miniatures:AcceptsExtra"


@pytest.mark.processes
def test_what_costs_a_value_and_a_sample_are_replayed(tmp_path, monkeypatch):
    """Of four verdicts two cost a value, and one, which does not, is wrong."""
    book = Book("one", {"enum": ["ab"], "x-extra": ['"xy"']}, "ab")
    right, wrong = book.completion(b'y"'), book.completion(b'z"')
    for completion, effect in ((right, "invalid_value"), (wrong, ""), (right, "spelling")):
        book.verdict("false_acceptance", ENGINE, b'"', b"x", completion, ENGINE, effect=effect)
    instance = book.instance(b'"xy"')
    book.instance_verdict("false_acceptance", ENGINE, instance, 5, effect="invalid_value")
    run = stored(tmp_path, [book], [ENGINE])
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
