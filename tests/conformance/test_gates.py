"""Gate lists: what a table says an engine can be trusted with."""

from harness.conformance.gates import gates_of
from harness.conformance.outcomes import CellOutcome, ConformanceTable

WORDS = {
    ("minLength", "root"): "enforced",
    ("minLength", "item"): "too_lax",
    ("format=date", "root"): "enforced",
    ("format=time", "root"): "refused",
    ("pattern", "root"): "departure",
    ("pattern", "item"): "unproven",
}


def test_a_table_trusts_an_engine_where_it_enforces_and_nowhere_else():
    outcomes = tuple(CellOutcome("e", *where, word, "{}") for where, word in WORDS.items())
    table = ConformanceTable({"e": "2.0"}, {"e": {"x": 1}}, "abc", "bytes", outcomes, {})
    (gates,) = gates_of(table)["engines"]
    assert gates == {
        "engine": "e",
        "version": "2.0",
        "options": {"x": 1},
        "trusted": {"minLength": ["root"], "format=date": ["root"]},
    }
