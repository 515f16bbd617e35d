"""``maskcourt conformance`` as a user has it, on real engines and few keywords."""

import csv
import io
import json

import pytest

from tests.command import maskcourt

KEYWORDS = ("minItems", "contains")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The table of two keywords as JSON, with the gate lists that it gives, and its directory."""
    directory = tmp_path_factory.mktemp("conformance")
    chosen = [part for one in KEYWORDS for part in ("--keyword", one)]
    done = maskcourt(
        *("conformance", "-e", "xgrammar,llguidance", "--out", directory / "run", *chosen),
        *("--lanes", 1),
        *("--format", "json", "--write-gates", directory / "gates.json", "--fail-on", "too_lax"),
    )
    return done, directory


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
        assert made[0].returncode == 1
        assert "xgrammar: " in made[0].stderr.splitlines()[-1]

    def test_what_was_run_is_read_again_in_other_forms(self, made, call):
        read = ("conformance", "--run", made[1] / "run")
        lines = list(csv.DictReader(io.StringIO(call(*read, "--format", "csv")[1])))
        assert len(lines) == len(self.cells(made))
        assert "| `minItems` |" in call(*read)[1]

    def test_the_gate_lists_of_a_table_let_nothing_wrong_through(self, made, call):
        run, gates = made[1] / "run", made[1] / "gates.json"
        fail = ["--fail-on", "passed_wrongly", "--fail-on", "kept_out_wrongly"]
        code, printed, _ = call("conformance", "--run", run, "--gates", gates, *fail)
        assert code == 0
        assert "let through and wrong: 0" in printed

    def test_a_list_that_trusts_all_is_told_what_it_lets_through(self, made, call):
        gates = made[1] / "all.json"
        gates.write_text(json.dumps({"engines": [{"engine": "xgrammar", "refused": {}}]}))
        options = ["--gates", gates, "--fail-on", "passed_wrongly", "--format", "json"]
        code, printed, _ = call("conformance", "--run", made[1] / "run", *options)
        assert code == 1
        (found,) = json.loads(printed)["gates"]
        assert {one["keyword"] for one in found["passed_wrongly"]} >= {"contains"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--fail-on", "passed_wrongly"], "go with --gates"),
        (["--run", ".", "-e", "xgrammar"], "--run reads what was run"),
        (["--keyword", "minlength"], "no case is about the keyword 'minlength'"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, says, monkeypatch, call, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, _, problems = call("conformance", *options)
    assert code == 2
    assert says in problems
