"""``maskcourt conformance`` as a user has it, on real engines and few keywords."""

import csv
import io
import json

import pytest

from tests.command import maskcourt

KEYWORDS = ("minItems", "contains")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The table of two keywords as JSON, the directory of its gate lists, and the command."""
    directory = tmp_path_factory.mktemp("conformance")
    chosen = [part for one in KEYWORDS for part in ("--keyword", one)]
    asked = ("conformance", "-e", "xgrammar,llguidance", "--out", directory / "run", *chosen)
    asked += ("--lanes", 1)
    gates = ("--write-gates", directory / "gates.json")
    return maskcourt(*asked, "--format", "json", *gates), directory, asked


@pytest.mark.processes
@pytest.mark.engines
class TestCommand:
    def cells(self, made):
        found = json.loads(made[0].stdout)["cells"]
        return {(one["keyword"], one["place"], one["engine"]): one for one in found}

    def test_the_table_has_every_place_of_each_keyword_in_each_engine(self, made):
        cells = self.cells(made)
        assert {keyword.partition("=")[0] for keyword, _, _ in cells} == set(KEYWORDS)
        assert cells["minItems", "property", "llguidance"]["outcome"] == "enforced"
        assert cells["contains", "property", "llguidance"]["outcome"] == "refused"

    def test_what_is_too_lax_has_an_invalid_text_behind_it(self, made):
        lax = [one for one in self.cells(made).values() if one["outcome"] == "too_lax"]
        assert lax
        assert all(one["let_through"]["class"] == "bug" for one in lax)
        assert made[0].returncode == 0, made[0].stderr

    def test_what_was_run_is_printed_in_other_forms_by_the_same_command(self, made):
        again = maskcourt(*made[2], "--format", "csv")
        assert len(list(csv.DictReader(io.StringIO(again.stdout)))) == len(self.cells(made))
        assert "| `minItems` |" in maskcourt(*made[2]).stdout

    def test_the_gate_lists_trust_an_engine_with_what_it_enforces(self, made):
        gates = json.loads((made[1] / "gates.json").read_text())["engines"]
        trusted = {one["engine"]: one["trusted"] for one in gates}
        assert "property" in trusted["llguidance"]["minItems"]
        assert "contains" not in trusted["llguidance"]


def test_a_keyword_without_a_case_is_refused(monkeypatch, call, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, _, problems = call("conformance", "--keyword", "minlength")
    assert code == 2
    assert "no case is about the keyword 'minlength'" in problems
