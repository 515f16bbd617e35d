"""Hostile schemas through real engines: the run ends, and each outcome is accounted for."""

import json
import select
import socket

import pyarrow.parquet as pq
import pytest

from harness.workers.outcomes import COMPILE_STATUSES
from tests.command import maskcourt

pytestmark = [pytest.mark.processes, pytest.mark.engines]

LIMITS = ("--compile-timeout", 1, "--mask-timeout", 2, "--resolve-timeout", 1, "--memory", "2G")
DEEP = 10_000

SCHEMAS = {
    "deep objects": ('{"properties":{"a":' * DEEP + "{}" + "}}" * DEEP, {}),
    "deep arrays": ('{"items":' * DEEP + "{}" + "}" * DEEP, []),
    "deep choices": ('{"anyOf":[' * DEEP + "{}" + "]}" * DEEP, 1),
    "exploding pattern": ({"type": "string", "pattern": "^(a+)+$"}, "aaaa"),
    "exploding automaton": ({"type": "string", "pattern": "^(a|b)*a(a|b){20}$"}, "a" * 21),
    "exploding counts": ({"type": "string", "pattern": "^((a{1,999}){1,999}){1,999}$"}, "a"),
    "a megabyte of values": (
        {"enum": [f"{n:05d}" + "x" * 45 for n in range(20_000)]},
        "00000" + "x" * 45,
    ),
    "a long name": ({"type": "object", "properties": {"n" * 100_000: {}}}, {}),
    "itself": ({"$ref": "#"}, 1),
    "nowhere": ({"$ref": "#/$defs/none"}, 1),
    "remote reference": ({"$ref": "http://127.0.0.1:PORT/schema.json"}, 1),
    "remote dialect": ({"$schema": "http://127.0.0.1:PORT/dialect", "type": "integer"}, 1),
    "twice the same name": ('{"const": 1, "const": 2}', 2),
    "half a character": (r'{"const": "\ud800"}', "a"),
    "beyond all numbers": ('{"maximum": 1e400}', 1),
    "no schema": ({"type": "nonsense"}, 1),
    "a broken pattern": ({"type": "string", "pattern": "("}, "a"),
    "zero bytes": ({"type": "object", "properties": {"\0": {"const": "\0"}}}, {"\0": "\0"}),
    "zero trouble": ({"type": "boolean"}, True),
}
"""Schemas, as text where `json.dumps` cannot write them, each with a reference."""

SET_ASIDE = {
    "deep objects": "too_deep",
    "deep arrays": "too_deep",
    "deep choices": "too_deep",
    "nowhere": "unresolved_reference",
    "remote reference": "unresolved_reference",
    "remote dialect": "unknown_draft",
    "twice the same name": "duplicate_keys",
    "half a character": "lone_surrogate",
    "beyond all numbers": "number_range",
    "no schema": "both_refuse",
    "a broken pattern": "both_refuse",
}
"""Schemas under which nothing can be proven, and why."""


@pytest.fixture(scope="module")
def listener():
    """A socket that somebody who follows the remote references would connect to."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.fixture(scope="module")
def run(tmp_path_factory, listener, vocabulary_file):
    """The tables of the run, by name, and its summary."""
    root = tmp_path_factory.mktemp("hostile")
    port = str(listener.getsockname()[1])
    lines = [line(name, schema, value) for name, (schema, value) in SCHEMAS.items()]
    (root / "hostile.jsonl").write_text("\n".join(lines).replace("PORT", port))
    done = maskcourt(
        *("bench", "-e", "glrmask,llguidance", "--cases", root / "hostile.jsonl", "--cap", 5),
        *("--vocabulary", vocabulary_file, "--out", root / "run", "--shrink-budget", 0),
        *("--samples", 1, "--generated", 0, "--lanes", 1, "--json", *LIMITS),
    )
    assert done.returncode == 0, done.stderr
    names = ("cases", "engines")
    tables = {name: pq.read_table(root / f"run/{name}.parquet").to_pylist() for name in names}
    return tables, json.loads(done.stdout)


def line(name: str, schema: object, value: object) -> str:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    return f'{{"id": {json.dumps(name)}, "schema": {text}, "valid": [{json.dumps(value)}]}}'


def test_no_case_is_an_error_of_the_harness(run):
    tables, summary = run
    assert {one["case"] for one in tables["cases"]} == SCHEMAS.keys()
    assert {one["status"] for one in tables["cases"]} <= {"walked", "set_aside", "not_compared"}
    assert summary["harness_errors"] == 0
    parts = [*summary["set_aside"].values(), *summary["not_compared"].values()]
    assert summary["walked"] + sum(parts) == summary["cases"] == len(SCHEMAS)


def test_what_cannot_be_judged_is_set_aside_with_its_reason(run):
    aside = {one["case"]: one for one in run[0]["cases"] if one["case"] in SET_ASIDE}
    assert {one["status"] for one in aside.values()} == {"set_aside"}
    assert {name: one["reason"] for name, one in aside.items()} == SET_ASIDE


def test_each_engine_has_one_outcome_for_each_schema(run):
    tables, summary = run
    rows = [one for one in tables["engines"] if one["stage"] == "compile"]
    for name, engine in summary["engines"].items():
        compiled = {one["case"]: one["outcome"] for one in rows if one["engine"] == name}
        assert compiled.keys() == SCHEMAS.keys()
        assert set(compiled.values()) <= set(COMPILE_STATUSES)
        assert sum(engine["compile"].values()) == len(SCHEMAS)
        assert compiled["zero trouble"] == "compiled", "after all that may have ended the engine"
    assert max(SCHEMAS) == "zero trouble"


def test_nobody_connects_to_what_a_schema_names(run, listener):
    del run
    assert select.select([listener], [], [], 0)[0] == []
