"""Engines that need more than a run gives them: named, and nobody else's loss."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from harness.inputs.vocabulary import byte_vocabulary
from tests.command import STUDY, maskcourt
from tests.sweeping import tables

HONEST = ("Enumerator", "AcceptsExtra", "ForbidsOne")
GREEDY = ("EatsMemory", "SleepsOnMask", "EatsOnMask", "HangsBehindExtra")
SCHEMA = {"enum": ["ab", "cab"], "x-extra": ['"axxxxxx"'], "x-forbidden": [['"', "c"]]}


@pytest.mark.processes
@pytest.mark.thorough
def test_the_outcome_is_named_and_the_others_are_judged_as_ever(tmp_path):
    byte_vocabulary().save(tmp_path / "vocabulary")
    schemas = {"mask": {**SCHEMA, "x-crash": 1}, "plain": SCHEMA, "way": {**SCHEMA, "x-crash": 6}}
    cases = [{"id": id_, "schema": one, "valid": ["ab"]} for id_, one in schemas.items()]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, cases)))

    def run(out, names, *others):
        seconds = ("--compile-timeout", 2, "--mask-timeout", 2, "--resolve-timeout", 2)
        engines = ",".join(f"tests.miniatures:{name}" for name in names)
        done = maskcourt(
            *("bench", "-e", engines, "--cases", tmp_path / "own.jsonl", *STUDY),
            *("--vocabulary", tmp_path / "vocabulary", "--out", tmp_path / out, "--cap", "none"),
            *("--memory", "300M", *seconds, "--on-dropout", "continue", *others),
        )
        assert done.returncode == 0, done.stderr

    def rows(out, table, columns, engines):
        found = pq.read_table(tmp_path / out / f"{table}.parquet").to_pylist()
        chosen = [{**one, "engine": one["engine"].partition(":")[2]} for one in found]
        return [tuple(one[name] for name in columns) for one in chosen if one["engine"] in engines]

    run("all", (*HONEST, *GREEDY), "--lanes", 1)
    ends = ("case", "engine", "stage", "outcome")
    assert {one for one in rows("all", "engines", ends, GREEDY) if one[3] != "compiled"} == {
        ("mask", "EatsMemory", "compile", "out_of_memory"),
        ("way", "EatsMemory", "compile", "out_of_memory"),
        *(("mask", "SleepsOnMask", stage, "timed_out") for stage in ("walk", "instances")),
        *(("mask", "EatsOnMask", stage, "out_of_memory") for stage in ("walk", "instances")),
        *(("mask", "HangsBehindExtra", stage, "timed_out") for stage in ("walk", "instances")),
        ("way", "HangsBehindExtra", "resolve", "timed_out"),
    }
    run("honest", HONEST)
    errors = ("case", "engine", "position", "token", "kind")
    judged = rows("honest", "verdicts", errors, HONEST)
    assert rows("all", "verdicts", errors, HONEST) == judged != []
    before = tables(tmp_path / "all")
    run("all", (*HONEST, *GREEDY))  # goes on where nothing is left to do
    assert tables(tmp_path / "all") == before
