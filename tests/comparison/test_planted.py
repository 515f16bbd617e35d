"""A whole run on real engines finds what was planted in one of them, and nothing else."""

import json

import pyarrow.parquet as pq
import pytest

from tests.command import STUDY, maskcourt
from tests.planted import ALLOWS, FORBIDS, PLANTED_CASES, WRITTEN

pytestmark = [pytest.mark.processes, pytest.mark.engines]

NAME = "tests.planted:Planted"
NONE = {"tokens": 0, "positions": 0, "cases": 0}
ONE = {"tokens": 1, "positions": 1, "cases": 1}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The run's directory and its summary."""
    directory = tmp_path_factory.mktemp("planted")
    cases = directory / "planted.jsonl"
    cases.write_text("".join(json.dumps(one) + "\n" for one in PLANTED_CASES))
    engines = f"llguidance,{NAME}"
    done = maskcourt(
        *("bench", "--engines", engines, "--cases", cases, "--out", directory / "run"),
        *("--cap", "none", "--lanes", 1, "--shrink-budget", 0, "--json", *STUDY),
        *("--vocabulary", "bytes"),
    )
    assert done.returncode == 0, done.stderr
    return directory / "run", json.loads(done.stdout)


def test_the_faults_are_found_and_nothing_else(run):
    _, summary = run
    planted, honest = summary["engines"][NAME], summary["engines"]["llguidance"]
    assert planted["false_rejections"] == ONE
    assert planted["false_acceptances"] == {**ONE, "located": 1, "by_format": 0}
    assert honest["false_rejections"] == NONE
    assert honest["false_acceptances"] == {**NONE, "located": 0, "by_format": 0}
    assert not any(one["tokens"] for one in planted["other_kinds"].values())
    assert planted["compile"] | {"compiled": 2, "crashed": 1} == planted["compile"]
    assert honest["compile"]["compiled"] == 3
    for engine in (planted, honest):
        assert (engine["unresolved"], engine["contested"], engine["failures"]) == ({}, 0, {})
    assert summary["disputed_tokens"] == 2
    assert summary["not_compared"] == {"fewer_than_two_engines": 1}


def test_each_verdict_names_the_planted_token_and_its_proof(run):
    directory, _ = run
    verdicts = {one["case"]: one for one in rows(directory, "verdicts")}
    completions = {one["case"]: one["text"] for one in rows(directory, "completions")}
    places = {(one["case"], one["position"]): one["offset"] for one in rows(directory, "positions")}
    assert verdicts.keys() == {"forbids", "allows"}
    for case, verdict in verdicts.items():
        assert verdict["engine"] == NAME
        assert places[case, verdict["position"]] == len(WRITTEN)
    assert verdicts["forbids"]["accepter"] == "llguidance"
    assert WRITTEN + FORBIDS + completions["forbids"] == b"13"
    assert verdicts["allows"]["accepter"] == NAME
    assert verdicts["allows"]["keyword"] == "enum"
    assert WRITTEN + ALLOWS + completions["allows"] in (b"192", b"193")


def test_the_crash_is_told_with_its_signal(run):
    directory, _ = run
    (crash,) = (one for one in rows(directory, "engines") if one["outcome"] != "compiled")
    assert (crash["case"], crash["engine"], crash["stage"]) == ("dies", NAME, "compile")
    assert (crash["outcome"], crash["signal"]) == ("crashed", "SIGABRT")


def rows(directory, table):
    return pq.read_table(directory / f"{table}.parquet").to_pylist()
