"""``maskcourt check`` as a user has it, on engines with planted faults."""

import json
import os
import signal
import xml.etree.ElementTree as ET
from dataclasses import replace
from types import SimpleNamespace

import pytest

from harness.check.answers import Answer, ProvenError
from harness.check.request import CheckRequest
from harness.check.work import SchemaCheck, _SmallestCases
from harness.inputs.tools import NamedSchema
from harness.runs.directory import open_run
from tests.buglists import bug
from tests.command import begun, descendants, is_gone, maskcourt, until

processes = [pytest.mark.processes, pytest.mark.engines]

FORGETFUL, PLANTED = "tests.planted:Forgetful", "tests.planted:Planted"
SCHEMA = {"type": "object", "required": ["n"], "additionalProperties": False,
          "properties": {"n": {"type": "integer", "minimum": 3}}}  # fmt: skip


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA, indent=1))
    return path


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """What a check of two schemas with two engines printed as JSON, and where its runs are."""
    directory = tmp_path_factory.mktemp("check")
    (directory / "schemas").mkdir()
    (directory / "schemas" / "plain.json").write_text(json.dumps(SCHEMA, indent=1))
    (directory / "schemas" / "title.json").write_text('{"title": "dies", "enum": [12, 13]}')
    runs = directory / "runs"
    done = maskcourt(
        *("check", directory / "schemas", "-e", FORGETFUL, "-e", PLANTED, "--vocabulary", "bytes"),
        *("--json", "--out", runs, "--report", directory / "page.html", "--walks", 1),
        *("--fail-on", "leak", "--fail-on", "failed", "--junit", directory / "junit.xml"),
    )
    return done, {one["schema"].rpartition("/")[2]: one["engines"]
                  for one in json.loads(done.stdout)["schemas"]}, directory  # fmt: skip


class TestAnswers:
    pytestmark = processes

    def test_a_keyword_that_is_forgotten_lets_invalid_output_through(self, checked):
        answer = checked[1]["plain.json"][FORGETFUL]
        assert answer["answer"] == "errs"
        assert {one["keyword"] for one in answer["false_acceptances"]} == {"minimum"}
        assert {one["effect"] for one in answer["false_acceptances"]} == {"invalid_value"}
        assert all(json.loads(one["text"])["n"] < 3 for one in answer["false_acceptances"])

    def test_an_engine_that_dies_of_a_schema_gives_no_answer_and_holds_up_no_other(self, checked):
        answers = checked[1]["title.json"]
        assert answers[PLANTED]["answer"] == "failed"
        assert "while it compiled the schema" in answers[PLANTED]["why"]
        assert answers[FORGETFUL]["answer"] != "failed"

    def test_what_was_covered_is_said(self, checked):
        covered = checked[1]["plain.json"][FORGETFUL]["covered"]
        assert min(covered.values()) > 0

    def test_findings_that_are_to_be_failed_on_are_named(self, checked):
        done = checked[0]
        assert done.returncode == 1
        (last,) = (one for one in done.stderr.splitlines() if one.startswith("maskcourt: "))
        assert f"plain.json: {FORGETFUL}: leak" in last
        assert f"title.json: {PLANTED}: failed" in last
        suites = ET.parse(checked[2] / "junit.xml").getroot()
        assert [one.get("failures") for one in suites] == ["1", "1"]

    def test_what_a_baseline_has_fails_nothing(self, checked, call):
        done, _, directory = checked
        printed = json.loads(done.stdout)
        (directory / "all.json").write_text(done.stdout)
        for one in printed["schemas"]:
            one["engines"].pop(PLANTED)
        (directory / "some.json").write_text(json.dumps(printed))
        asked = (
            "check",
            directory / "schemas" / "title.json",
            "-e",
            PLANTED,
            "--fail-on",
            "failed",
        )
        asked += ("--vocabulary", "bytes", "--baseline")
        assert call(*asked, directory / "all.json")[0] == 0
        code, _, err = call(*asked, directory / "some.json")
        assert (code, err.splitlines()[-1].endswith(f"{PLANTED}: failed")) == (1, True)
        code, _, err = call(*asked, directory / "schemas" / "title.json")
        assert (code, "is not what a check printed" in err) == (2, True)

    def test_its_runs_are_runs_like_all_others(self, checked, call):
        _, _, directory = checked
        (run,) = (one for one in (directory / "runs").iterdir() if "Forgetful" in one.name)
        assert call("replay", run, "--sample", 20, "--trust", "--json")[0] == 0

    def test_the_page_is_written(self, checked):
        page = (checked[2] / "page.html").read_text()
        assert "minimum" in page
        assert page.endswith("</html>\n")

    def test_own_texts_are_tried(self, schema, tmp_path):
        """An invalid one that nothing made of the schema would hold."""
        invalid = tmp_path / "invalid.json"
        invalid.write_text('{"n":-987654}')
        options = ["-e", FORGETFUL, "--vocabulary", "bytes", "--invalid", invalid]
        options += ["--shrink-budget", 0]
        done = maskcourt("check", schema, *options, "--out", tmp_path / "runs")
        assert done.returncode == 0, done.stderr
        assert f"{FORGETFUL} " in done.stdout
        (fed,) = (tmp_path / "runs").glob("*Forgetful*")
        assert b'{"n":-987654}' in open_run(fed).table("instances")["text"].to_pylist()


@pytest.mark.processes
@pytest.mark.engines
def test_of_tools_each_schema_is_asked_once_and_what_is_slow_has_a_budget(tmp_path):
    """Without time for the whole vocabulary, single bytes answer; equal schemas share an answer."""
    leaky = {"type": "number", "minimum": 1, "maximum": 4}
    tools = [{"name": f"t{number}", "inputSchema": leaky} for number in range(2)]
    tools += [{"name": f"u{number}", "inputSchema": {"maximum": number}} for number in range(4)]
    (tmp_path / "s.json").write_text(json.dumps({"tools": tools}))
    options = ("-e", "outlines", "--whole-budget", 0, "--shrink-budget", 0, "--out", tmp_path / "o")
    done = maskcourt("check", tmp_path / "s.json", *options, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["schemas"]
    assert [one["tool"] for one in found] == [one["name"] for one in tools]
    first, second = (one["engines"]["outlines"] for one in found[:2])
    assert first == second
    assert first["leaks"]
    assert min(one["engines"]["outlines"]["covered"]["valid_texts"] for one in found) > 0
    assert len(open_run(tmp_path / "o" / "outlines-bytes").table("cases")) == 5
    assert len(open_run(tmp_path / "o" / "outlines-qwen2.5").table("cases")) == 0


@pytest.mark.processes
def test_what_an_engine_has_no_time_to_compile_is_said_and_costs_the_others_nothing(tmp_path):
    tools = [{"name": f"t{one}", "inputSchema": {"enum": [one]}} for one in range(3)]
    (tmp_path / "s.json").write_text(json.dumps({"tools": tools}))
    engines = ("-e", "tests.miniatures:Enumerator", "--vocabulary", "bytes")
    done = maskcourt("check", tmp_path / "s.json", *engines, "--compile-budget", 1e-9)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "takes 1 of 3 tools and gives no answer about 2: t1, t2" in said
    assert "not tried: other schemas took 1e-09 s to compile (--compile-budget)" in said
    engines = (*engines, "-e", FORGETFUL, "--walks", 1, "--json", "--compile-budget", 1e-9)
    found = json.loads(maskcourt("check", tmp_path / "s.json", *engines).stdout)["schemas"]
    for one in found[0]["engines"].values():
        assert one["covered"]["valid_texts"] > one["covered"]["positions"] == 0
        assert (
            one["why"]
            == "its masks: not tried: other schemas took 1e-09 s to compile (--compile-budget)"
        )


@pytest.mark.processes
def test_a_check_in_the_same_directory_says_the_same(tmp_path):
    tools = [{"name": f"t{one}", "inputSchema": {"enum": [one]}} for one in range(3)]
    (tmp_path / "s.json").write_text(json.dumps({"tools": tools}))
    engines = ("-e", "tests.miniatures:Enumerator", "-e", FORGETFUL, "--walks", 1)
    asked = ("check", tmp_path / "s.json", *engines, "--vocabulary", "bytes", "--json")

    def told(out, *more):
        found = json.loads(maskcourt(*asked, "--out", tmp_path / out, *more).stdout)["schemas"]
        return [answer for one in found for answer in one["engines"].values()]

    first = told("whole")
    assert all(one["covered"]["positions"] > 0 for one in first)
    assert told("whole") == first
    told("cut", "--compile-budget", 1e-9)
    not_tried = f"not tried by the check that is in {tmp_path / 'cut'}: give another --out"
    assert {one["why"] for one in told("cut")} == {"", not_tried}


def test_walks_need_another_engine(schema, call):
    code, _, err = call("check", schema, "-e", "llguidance", "--walks", 1)
    assert (code, err.count("\n")) == (2, 1)
    assert "--walks compares engines" in err


@pytest.mark.processes
def test_interrupted_it_prints_what_is_known_and_leaves_nothing(tmp_path):
    """One engine has answered, the other waits at its gate."""
    schema, log = tmp_path / "s.json", tmp_path / "log"
    schema.write_text(json.dumps({"enum": ["a"], "x-gate": str(tmp_path / "gate")}))
    engines = ["-e", "tests.miniatures:Enumerator", "-e", "tests.planted:Gated"]
    with begun(["check", schema, *engines, "--vocabulary", "bytes"], log) as process:
        until(lambda: "Enumerator " in log.read_text(), process)
        below = descendants(process.pid)
        os.killpg(process.pid, signal.SIGTERM)
        assert process.wait() == 128 + signal.SIGTERM
    until(lambda: all(map(is_gone, below)))
    said = log.read_text()
    assert "tests.planted:Gated gives no answer: it was interrupted before that" in said
    assert said.splitlines()[-1] == "maskcourt: interrupted; what is known so far is printed"
    assert not list(tmp_path.glob("maskcourt-*"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "schema.json is empty"),
        ('{"type": "object",}', "schema.json: the schema is not JSON"),
        ('{"type": "objekt"}', "schema.json cannot be used"),
        ('{"$ref": "#/nowhere"}', "schema.json cannot be used"),
        ('{"$schema": "http://example.org/own"}', "unknown $schema"),
    ],
)
def test_bad_input_is_one_line_before_anything_starts(schema, call, text, message):
    schema.write_text(text)
    code, out, err = call("check", schema)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("maskcourt: ")
    assert message in line


def test_an_error_over_one_engine_leaves_the_others_their_answers(tmp_path, monkeypatch):
    def answered(_, spec):
        if spec.name == "llguidance":
            raise ValueError("unheard of")
        yield Answer("s", spec.name, status="no_error_found", whole=True)

    monkeypatch.setattr(SchemaCheck, "_answered", answered)
    asked = CheckRequest(engines=("llguidance", "outlines"))
    named = [NamedSchema("s", "{}")]
    with SchemaCheck(asked, named, tmp_path) as check:
        found = {one.engine: one for one in check.answers()}
    assert found["outlines"].status == "no_error_found"
    assert found["llguidance"].status == "failed"
    assert "unheard of" in found["llguidance"].message


@pytest.mark.parametrize(
    ("effect", "severity", "fail_on", "code"),
    [
        ("invalid_value", "plain", "value", 1),
        ("invalid_value", "rare", "value", 0),
        ("invalid_value", "rare", "leak", 0),
        ("invalid_value", "rare", "false_acceptances", 1),
        ("not_json", "rare", "not_json", 1),
    ],
)
def test_what_unusual_values_alone_show_costs_nobody_a_value(
    effect, severity, fail_on, code, schema, call, monkeypatch
):
    error = ProvenError(effect, "false_acceptance", b'"a"', 0, "type", severity)

    def answered(_, spec):
        yield Answer(str(schema), spec.name, status="errs", errors=(error,), whole=True)

    monkeypatch.setattr(SchemaCheck, "_answered", answered)
    assert call("check", schema, "-e", "llguidance", "--fail-on", fail_on)[0] == code


@pytest.mark.parametrize(
    ("severity", "class_", "code"),
    [("plain", "bug", 0), ("rare", "bug", 1), ("plain", "departure", 1)],
)
def test_a_baseline_covers_what_is_no_worse(
    severity, class_, code, schema, call, monkeypatch, tmp_path
):
    new = ProvenError("lost_value", "false_rejection", b'"a"', 0, "type", "plain")
    before = replace(new, severity=severity, class_=class_)
    errors = [before]

    def answered(_, spec):
        yield Answer(str(schema), spec.name, status="errs", errors=tuple(errors), whole=True)

    monkeypatch.setattr(SchemaCheck, "_answered", answered)
    asked = "check", schema, "-e", "llguidance"
    baseline = tmp_path / "baseline.json"
    baseline.write_text(call(*asked, "--json")[1])
    errors[:] = [new]
    assert call(*asked, "--fail-on", "value", "--baseline", baseline)[0] == code


def test_an_everyday_error_that_cannot_be_shrunk_is_not_dropped_for_a_rare_one(monkeypatch):
    run = object()
    rare = ProvenError("lost_value", "false_rejection", b"1", 0, "type", "rare")
    rare = replace(rare, run=run, witness=object())
    plain = replace(rare, severity="plain", witness=object())
    cases = _SmallestCases(None, None)
    shrunk = {id(rare.witness): SimpleNamespace(error=object())}
    none = SimpleNamespace(error=None)
    cases._shrinkers[run] = SimpleNamespace(sample=lambda one, *_: shrunk.get(id(one), none))
    monkeypatch.setattr("harness.check.work.bug_of", lambda *_: bug("a"))
    found, _ = cases.of([plain, rare], "{}", lambda: False)
    assert [(one.severity, one.bug is None) for one in found] == [("plain", True), ("rare", False)]


@pytest.mark.parametrize(("late", "shown"), [(False, 1), (True, 0)])
def test_a_smallest_case_whose_search_was_cut_short_is_not_shown_as_one(late, shown, monkeypatch):
    run, error = object(), ProvenError("lost_value", "false_rejection", b"1", 0, "type", "plain")
    cases = _SmallestCases(None, None)
    sample = SimpleNamespace(error=object())
    cases._shrinkers[run] = SimpleNamespace(sample=lambda *_: sample)
    monkeypatch.setattr("harness.check.work.bug_of", lambda *_: bug("a"))
    asked = iter([False, late, late])
    one = replace(error, run=run, witness=object())
    (found,), skipped = cases.of([one], "{}", lambda: next(asked))
    assert (found.bug is not None, skipped) == (bool(shown), 1 - shown)


LOST = "xgrammar@./nowhere.whl"


@pytest.mark.processes
@pytest.mark.parametrize("engines", [["xgrammar@./."], [LOST, "llguidance@./none.whl"]])
def test_without_any_engine_that_can_be_had_it_ends_with_2_and_one_line(
    schema, call, engines, monkeypatch
):
    monkeypatch.chdir(schema.parent)  # in which there is no build
    code, out, err = call("check", schema, *(part for one in engines for part in ("-e", one)))
    assert (code, out) == (2, "")
    *progress, line = err.splitlines()
    assert all(one.startswith("installing ") for one in progress)
    assert line.startswith("maskcourt: ")
    assert all(one in line for one in engines)


@pytest.mark.processes
def test_an_engine_that_cannot_be_had_is_told_of_and_the_others_answer(schema):
    engines = ("-e", LOST, "-e", FORGETFUL)
    done = maskcourt("check", schema, *engines, "--vocabulary", "bytes", "--shrink-budget", 0)
    assert done.returncode == 0, done.stderr
    assert f"{LOST} gives no answer: engine " in done.stdout
    assert f"{FORGETFUL} " in done.stdout
