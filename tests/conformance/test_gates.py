"""Gate lists: written from a table, read, and scored against it."""

import json

import pytest

from harness.conformance.gates import GateScore, gates_of, read_gates, score
from harness.conformance.outcomes import CellOutcome, ConformanceTable, WrongText
from harness.conformance.printing import score_lines
from harness.errors import InputError, UsageError

LAX = WrongText(b'"x"', "bug")
WORDS = {
    ("minLength", "root"): "enforced",
    ("minLength", "item"): "too_lax",
    ("format=date", "root"): "enforced",
    ("format=time", "root"): "refused",
    ("pattern", "root"): "departure",
    ("pattern", "item"): "unproven",
}


@pytest.fixture
def table():
    outcomes = [
        CellOutcome("e", *where, word, "{}", LAX if word in ("too_lax", "departure") else None)
        for where, word in WORDS.items()
    ]
    return ConformanceTable({"e": "2.0"}, {"e": {"x": 1}}, "abc", "bytes", tuple(outcomes), {})


def scored(tmp_path, table, gates):
    file = tmp_path / "gates.json"
    file.write_text(json.dumps({"engines": [{"engine": "e", **gates}]}))
    (gate,) = read_gates(file, table)
    return score(gate, table).cells


def cells(some):
    return [(one.keyword, one.place) for one in some]


def test_a_table_trusts_an_engine_where_it_enforces_and_nowhere_else(table):
    (gates,) = gates_of(table)["engines"]
    assert gates == {
        "engine": "e",
        "version": "2.0",
        "options": {"x": 1},
        "trusted": {"minLength": ["root"], "format=date": ["root"]},
    }


def test_the_list_that_a_table_gives_has_no_fault(tmp_path, table):
    (gates,) = gates_of(table)["engines"]
    found = scored(tmp_path, table, {key: gates[key] for key in ("version", "options", "trusted")})
    assert len(found["passed"]) == 2
    assert not found["passed_wrongly"]
    assert not found["kept_out_wrongly"]


def test_what_is_trusted_and_wrong_and_what_is_refused_and_right(tmp_path, table):
    found = scored(tmp_path, table, {"trusted": {"minLength": ["item"], "pattern": "*"}})
    assert cells(found["passed_wrongly"]) == [("minLength", "item"), ("pattern", "root")]
    assert cells(found["kept_out_wrongly"]) == [("minLength", "root"), ("format=date", "root")]
    assert cells(found["unproven"]) == [("pattern", "item")]
    shown = "\n".join(score_lines([GateScore("e", "2.0", found)]))
    assert 'minLength at item: too lax, allows "x" under {}' in shown


def test_a_keyword_stands_for_all_of_its_forms(tmp_path, table):
    found = scored(tmp_path, table, {"trusted": {"format": "*"}})
    assert cells(found["passed"]) == [("format=date", "root")]
    assert cells(found["passed_refused"]) == [("format=time", "root")]


def test_a_list_of_what_is_refused_trusts_all_else(tmp_path, table):
    found = scored(tmp_path, table, {"refused": {"minLength": "*", "pattern": ["root"]}})
    assert cells(found["passed"]) == [("format=date", "root")]
    assert cells(found["kept_out"]) == [("minLength", "item"), ("pattern", "root")]
    assert cells(found["kept_out_wrongly"]) == [("minLength", "root")]


def test_a_list_for_another_version_is_not_scored(tmp_path, table):
    with pytest.raises(UsageError, match=r"about e 1.0, the table has 2.0"):
        scored(tmp_path, table, {"version": "1.0", "trusted": {}})


@pytest.mark.parametrize(
    ("gates", "says"),
    [
        ({"engine": "f", "trusted": {}}, "no engine 'f'"),
        ({"trusted": {"minlength": "*"}}, "no keyword 'minlength'"),
        ({"trusted": {"minLength": ["roots"]}}, "no place 'roots'"),
        ({"trusted": {"minLength": 3}}, "neither a list"),
        ({"trusted": []}, "are objects"),
        ({}, "neither what is trusted"),
        ({"trusts": {}}, "unknown key 'trusts'"),
    ],
)
def test_what_is_wrong_with_a_list_is_said(tmp_path, table, gates, says):
    with pytest.raises(InputError, match=says):
        scored(tmp_path, table, gates)


@pytest.mark.parametrize("text", ["", "[]", '{"engines": []}'])
def test_a_file_without_a_list_is_refused(tmp_path, table, text):
    file = tmp_path / "gates.json"
    file.write_text(text)
    with pytest.raises(InputError):
        read_gates(file, table)
