"""``maskcourt conformance`` as a user has it, on real engines and few keywords."""

import csv
import io

import pytest

from tests.command import maskcourt


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The differences of vLLM's lists on two keywords as CSV, and the command."""
    out = tmp_path_factory.mktemp("conformance") / "run"
    asked = ("conformance", "--keyword", "minItems", "--keyword", "contains", "--lanes", 1)
    asked += ("--out", out, "-e", "xgrammar,llguidance", "--format", "csv")
    return maskcourt(*asked), asked


@pytest.mark.processes
@pytest.mark.engines
class TestCommand:
    def cells(self, printed):
        found = csv.DictReader(io.StringIO(printed.stdout))
        return {(one["keyword"], one["place"], one["engine"]): one for one in found}

    def test_the_table_has_every_place_of_each_keyword_in_each_engine(self, made):
        cells = self.cells(made[0])
        assert {keyword for keyword, _, _ in cells} == {"minItems", "contains"}
        assert cells["minItems", "property", "llguidance"]["outcome"] == "enforced"
        assert cells["contains", "property", "llguidance"]["outcome"] == "refused"

    def test_what_is_too_lax_has_an_invalid_text_behind_it(self, made):
        lax = [one for one in self.cells(made[0]).values() if one["outcome"] == "too_lax"]
        assert lax
        assert all(one["let_through"] for one in lax)
        assert made[0].returncode == 0, made[0].stderr

    def test_what_was_run_is_printed_in_another_form_by_the_same_command(self, made):
        assert "| `minItems` |" in maskcourt(*made[1][:-2]).stdout

    def test_a_list_is_held_against_the_engine(self, tmp_path):
        asked = ("--keyword", "contains", "-e", "xgrammar", "--out", tmp_path, "--lanes", 1)
        told = maskcourt("conformance", "--gates", "vllm", *asked).stdout
        assert "## xgrammar: `xgrammar`" in told
        assert "| `contains`, `contains=any` | `untyped` | 0 of 2 |" in told


def test_a_keyword_without_a_case_is_refused(monkeypatch, call, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, _, problems = call("conformance", "--keyword", "minlength")
    assert code == 2
    assert "no case is about the keyword 'minlength'" in problems
