"""A hearing holds every rule against an engine in its host, and what it finds can be tried again."""

from __future__ import annotations

import json

import pytest

from harness.court.docket import Docket
from harness.court.hearing import Told
from harness.court.rules import RULES, RuleResult, Violated
from harness.court.service import CourtService
from harness.workers import wire
from tests.command import maskcourt
from tests.inprocess import case, default_options
from tests.miniatures import Enumerator
from tests.served import GoesTooFar, ServedEnumerator

SCHEMA = '{"enum": [1, 12, "ab"]}'
ONE = Violated((49,), (256,), "it is elsewhere", again=True)


def asked(service, command, **request):
    return service.handle(wire.Message({"command": command, **request})).head


@pytest.fixture
def opened(vocabulary_file):
    def open_(kind):
        service = CourtService()
        engine = f"{kind.__module__}:{kind.__qualname__}"
        options = default_options(kind)
        asked(service, "open", engine=engine, options=options, vocabulary=str(vocabulary_file))
        return service

    return open_


def begin(service, schema=SCHEMA):
    return asked(service, "case", schema=schema, references=[["12", {}]], how={}, key="key")


def test_an_engine_is_held_to_a_rule_along_references_and_samples(opened):
    service = opened(ServedEnumerator)
    assert begin(service) == {"refused": None, "documented": {}, "by_adapter": False}
    for rule in RULES:
        result = asked(service, "rule", rule=rule, key="key")
        assert not result["broken"], result
        assert result["checks"] or rule == "ends_agree"


def test_an_adapter_without_its_library_s_calls_is_asked_itself(opened):
    service = opened(Enumerator)
    assert begin(service)["by_adapter"] is True
    result = {rule: asked(service, "rule", rule=rule, key="key") for rule in RULES}
    assert not any(one["broken"] for one in result.values())
    assert result["clone"]["checks"]
    assert result["rollback"]["words"] == "no rollback"
    assert result["threads"]["words"] == "no calls of the library's own"


def test_a_schema_may_be_refused(opened):
    assert begin(opened(ServedEnumerator), '{"type": "number"}')["refused"]


def test_a_trial_is_made_from_nothing_else(opened):
    service = opened(GoesTooFar)
    begin(service)
    tried = asked(service, "trial", rule="rollback", consumed=[49], tokens=[256])
    assert tried["complaint"].startswith("rolled back by 1: ")
    tried = asked(service, "trial", rule="rollback", consumed=[50], tokens=[256])
    assert tried == {"complaint": None, "reached": False}


def told(rule="rollback", result=None, **about):
    return Told("engine", "1", case({"const": 1}, 1), rule, result or RuleResult(3), **about)


@pytest.mark.parametrize(
    ("several", "word", "violated"),
    [
        ([told(), told()], "kept (6)", False),
        ([told(), told(result=RuleResult(4, 1, violated=[ONE]))], "broken (1 of 7)", True),
        (
            [told(result=RuleResult(4, 1, violated=[ONE]), documented="so")],
            "documented (1 of 4)",
            False,
        ),
        ([told(result=RuleResult(words="no rollback"))], "missing: no rollback", False),
        (
            [told(result=RuleResult(2, failed=1, words="OSError: x"))],
            "not judged: OSError: x",
            False,
        ),
        ([told(ended="its process was slow")], "not judged: its process was slow", False),
        ([told(ended="its process died", crashed=True)], "its process died", True),
        ([told(result=RuleResult())], "not reached", False),
    ],
)
def test_a_docket_says_what_became_of_a_rule(several, word, violated):
    docket = Docket()
    for one in several:
        docket.add(one)
    assert (docket.word("engine", "rollback"), docket.violated) == (word, violated)


CASES = [{"id": "few", "schema": json.loads(SCHEMA), "valid": [12], "invalid": []}]


@pytest.mark.processes
def test_violations_are_stored_and_tried_again(tmp_path, vocabulary):
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, CASES)))
    vocabulary.save(tmp_path / "bytes.vocabulary")
    own = ("--cases", "cases.jsonl", "--vocabulary", str(tmp_path / "bytes.vocabulary"))
    engines = "tests.served:ServedEnumerator,tests.served:GoesTooFar,tests.served:DiesOfRollback"
    more = ("--out", "found.jsonl", "--json", "--fail-on-violation", "--engines", engines)
    done = maskcourt("protocol", *own, *more, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)["engines"]
    outcomes = {
        name.rpartition(":")[2]: [
            rule for rule, one in engine["rules"].items() if one["outcome"] == "broken"
        ]
        for name, engine in found.items()
    }
    assert outcomes == {
        "ServedEnumerator": [],
        "GoesTooFar": ["rollback"],
        "DiesOfRollback": ["rollback"],
    }
    died = found["tests.served:DiesOfRollback"]["rules"]
    assert died["rollback"]["words"] == "its process died of SIGSEGV"
    assert died["threads"]["outcome"] == "kept"  # in a new process
    again = ("protocol", "--replay", "found.jsonl")
    refused = maskcourt(*again, cwd=tmp_path)
    assert (refused.returncode, "--trust" in refused.stderr) == (2, True)
    done = maskcourt(*again, "--trust", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "found.jsonl").read_text().splitlines()
    assert done.stdout.splitlines()[-1] == f"{len(lines)} shows"
    mended = "\n".join(lines).replace("GoesTooFar", "ServedEnumerator")
    (tmp_path / "found.jsonl").write_text(mended)
    done = maskcourt(*again, "--trust", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, f"{len(lines)} does not show")


@pytest.mark.processes
def test_a_file_of_something_else_is_told(tmp_path):
    (tmp_path / "other.jsonl").write_text('{"engine": "xgrammar"}\n')
    done = maskcourt("protocol", "--replay", "other.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert "other.jsonl:1 holds no violation" in done.stderr
