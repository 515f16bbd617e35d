"""Runs that were forged, their checksums right: one line that says so, and never an exit of 1."""

import json
import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import harness.replay.repeat
from harness.runs.directory import MANIFEST
from harness.runs.tables import SCHEMAS
from tests import forged

pytestmark = pytest.mark.thorough

LONGEST = 1100
"""Characters of a line about an error."""

COLUMNS = [(table, field.name) for table, schema in SCHEMAS.items() for field in schema]
NUMBERS = (-(2**31), -2, 2**30, 2**31 - 1, 300)
WORDS = ("no such word", "/" * 5000, "=1+1\x1b[2J", "/0/" + "9" * 5000, "~2", "", "[" * 9000, "{")
VALUES = (None, True, -1, 2**70, 1e308, float("nan"), "", "x" * 10**6, [], {}, [[]], {"a": {}})


SEEDS = range(8)
SCHEMAS_THAT_ARE_NONE = ["{", "[" * 9000, "", "nul", '{"$ref": "#/a"}', "1" * 5000]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return forged.whole(tmp_path_factory.mktemp("forged"))


@pytest.fixture
def run(whole, tmp_path):
    """A copy of the run, to be forged."""
    return Path(shutil.copytree(whole, tmp_path / "run"))


@pytest.fixture
def call_all(tmp_path, monkeypatch, call):
    """Run commands in this process; each is refused in one line, or does what it should."""
    monkeypatch.setattr(harness.replay.repeat, "Lane", forged.InProcessLane)

    def run_commands(run, names=None):
        refused = {}
        for name, arguments in forged.commands(run, tmp_path / "out").items():
            if names is None or name in names:
                code, printed, problems = call(*arguments, "--trust")
                refused[name] = code == 2
                heard(name, code, printed, problems)
        return refused

    return run_commands


def heard(name, code, printed, problems):
    if code == 2:
        (line,) = (one for one in problems.splitlines() if one.startswith("maskcourt: "))
        assert len(line) < LONGEST
        assert line.isprintable()
        assert "an error of maskcourt itself" not in line
    elif code:
        assert code == 1
        assert "DIFFERS" in printed or '"differ": ' in printed or name == "as json"


def names_by(draw):
    """Some of the commands; pages take long."""
    names = [one for one in forged.commands(Path(), Path()) if one != "page"]
    return {*draw.sample(names, 3), "as json", "replay", *(["page"] if draw.random() < 0.1 else [])}


def test_a_whole_run_is_refused_by_none(run, call_all):
    refused = call_all(run)
    assert refused == dict.fromkeys(forged.commands(run, run), False)


@pytest.mark.parametrize("seed", SEEDS)
def test_columns(run, call_all, seed):
    draw = random.Random(seed)
    table, column = draw.choice(COLUMNS)
    way = draw.choice(("retyped", "dropped", "doubled", "moved", "gap", "value", "value", "value"))
    file = run / f"{table}.parquet"
    pq.write_table(changed(pq.read_table(file), column, way, draw), file)
    forged.seal(run, json.loads((run / MANIFEST).read_text()))
    refused = call_all(run, names_by(draw))
    if way not in ("value", "gap") and table == "verdicts":
        assert refused["replay"]


def changed(rows, column, way, draw):
    at = rows.column_names.index(column)
    kind = rows.schema.field(at).type
    match way:
        case "dropped":
            return rows.remove_column(at)
        case "doubled":
            return rows.append_column(column, rows.column(at))
        case "moved":
            return rows.select([column, *(one for one in rows.column_names if one != column)][::-1])
        case "retyped":
            words = pa.types.is_integer(kind) or pa.types.is_boolean(kind)
            return rows.set_column(at, column, pa.array(["x" if words else 1.5] * rows.num_rows))
    values = rows.column(at).to_pylist()
    for row in draw.sample(range(len(values)), min(3, len(values))):
        values[row] = None if way == "gap" else hostile(values[row], kind, draw)
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    made = pa.array(values, plain)
    return rows.set_column(at, column, made.dictionary_encode() if plain != kind else made)


def hostile(value, kind, draw):
    match value:
        case bool() | None:
            return not value
        case int():
            return draw.choice([one for one in NUMBERS if one >= 0 or "uint" not in str(kind)])
        case float():
            return draw.choice((float("nan"), float("inf"), -1.0))
        case str():
            return draw.choice(WORDS)
        case bytes():
            return draw.choice((b"", b"\xff\xfe", b"[" * 3000))
    number = "int" in str(kind)
    return draw.choice(([], [None], [-5], [2**20] * 3)) if number else draw.choice(([], [None]))


@pytest.mark.parametrize("schema", SCHEMAS_THAT_ARE_NONE)
def test_schemas_that_are_none(run, call_all, schema):
    rows = pq.read_table(run / "cases.parquet")
    schemas = pa.array([schema] * rows.num_rows, pa.large_string())
    rows = rows.set_column(rows.column_names.index("schema"), "schema", schemas)
    pq.write_table(rows, run / "cases.parquet")
    forged.seal(run, json.loads((run / MANIFEST).read_text()))
    page = {"page"} if schema in SCHEMAS_THAT_ARE_NONE[1:5:3] else set()
    call_all(run, {"tally", "replay", *page})


@pytest.mark.parametrize("seed", SEEDS)
def test_manifests(run, call_all, seed):
    draw = random.Random(seed)
    manifest = json.loads((run / MANIFEST).read_text())
    *above, last = draw.choice([one for one in places(manifest) if one and one != ("seal",)])
    inner = manifest
    for key in above:
        inner = inner[key]
    if draw.random() < 0.3:
        del inner[last]
    else:
        inner[last] = draw.choice(VALUES)
    forged.seal(run, manifest)
    call_all(run, names_by(draw))


def places(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, one in value.items():
            yield from places(one, (*path, key))


@pytest.mark.parametrize(
    "content", [b"[" * 200_000, b'{"a":' * 200_000, b"\xff\xfe", b"", b"1" * 5000, b'{"format": 3}']
)
def test_manifests_that_are_none(run, call_all, content):
    (run / MANIFEST).write_bytes(content)
    assert all(call_all(run, {"tally", "replay", "csv"}).values())
