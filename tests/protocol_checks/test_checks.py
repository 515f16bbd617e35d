"""Every rule is held against an engine in its host, and what is found is tried again."""

import json

import pytest

from harness.protocol_checks.checks import Bookmark, CaseResult, CheckService
from harness.protocol_checks.results import Summary
from harness.protocol_checks.rules import RULES
from harness.protocol_checks.trial import RuleResult, Violation, read_result
from harness.workers import wire
from tests.command import maskcourt
from tests.inprocess import default_options
from tests.miniatures import Enumerator
from tests.served import GoesTooFar, ServedEnumerator

SCHEMA = '{"enum": [1, 12, "ab"]}'
ONE = Violation((49,), (256,), "it is elsewhere", again=True, written="1")


def asked(service, command, **request):
    return service.handle(wire.Message({"command": command, **request})).head


@pytest.fixture
def opened(vocabulary_file, tmp_path):
    def open_(kind):
        service = CheckService()
        asked(
            service,
            "open",
            engine=f"{kind.__module__}:{kind.__qualname__}",
            options=default_options(kind),
            vocabulary=str(vocabulary_file),
            bookmark=str(tmp_path / "bookmark"),
        )
        return service

    return open_


def begin(service, schema=SCHEMA):
    return asked(service, "case", schema=schema, references=["12"], how={}, key="key")


def test_an_engine_is_held_to_a_rule_along_references_and_samples(opened):
    service = opened(ServedEnumerator)
    assert begin(service) == {"refused": None, "finished": 3} | {
        "documented": {},
        "by_adapter": False,
    }
    for rule in RULES:
        result = read_result(asked(service, "rule", rule=rule, key="key"))
        assert not result.broken, result
        assert result.checks or rule == "ends_agree"


def test_an_adapter_without_its_library_s_calls_is_asked_itself(opened):
    service = opened(Enumerator)
    assert begin(service)["by_adapter"] is True
    result = {rule: read_result(asked(service, "rule", rule=rule, key="key")) for rule in RULES}
    assert not any(one.broken for one in result.values())
    assert result["clone"].checks
    assert result["rollback"].words == "no rollback"
    assert result["threads"].words == "no calls of the library's own"


def test_a_schema_may_be_refused(opened):
    assert begin(opened(ServedEnumerator), '{"type": "number"}')["refused"]


def test_a_trial_is_made_from_nothing_else(opened):
    service = opened(GoesTooFar)
    begin(service)
    tried = asked(service, "trial", rule="rollback", consumed=[49], tokens=[256])
    assert tried["complaint"].startswith("rolled back by 1: ")
    tried = asked(service, "trial", rule="rollback", consumed=[50], tokens=[256])
    assert tried == {"complaint": None, "reached": False}


def result_of(result=None, case="few", **about):
    rules = {"rollback": result or RuleResult(3)}
    return CaseResult("engine", "1", case, SCHEMA, rules, **about)


BAD = RuleResult(4, 1, violated=[ONE])
DIED = RuleResult(ended="its process died", crashed=True, violated=[ONE])


@pytest.mark.parametrize(
    ("several", "word", "violated"),
    [
        ([result_of(), result_of()], "kept (6)", False),
        ([result_of(), result_of(BAD)], "broken (1 of 7)", True),
        ([result_of(BAD, documented={"rollback": "so"})], "documented (1 of 4)", False),
        ([result_of(RuleResult(words="no rollback"))], "missing: no rollback", False),
        ([result_of(RuleResult(2, failed=1, words="OSError"))], "not judged: OSError", False),
        ([result_of(RuleResult(ended="it was slow"))], "not judged: it was slow", False),
        ([result_of(), result_of(DIED)], "crashed on 1 of 2 cases", True),
        ([result_of(DIED), result_of(BAD)], "crashed on 1 of 2 cases, broken (1 of 4)", True),
        ([result_of(RuleResult())], "not reached", False),
    ],
)
def test_a_summary_says_what_became_of_a_rule(several, word, violated):
    summary = Summary(several)
    assert (summary.counts["engine", "rollback"].shown, summary.violated) == (word, violated)


CASES = [{"id": "few", "schema": json.loads(SCHEMA), "valid": [12], "invalid": []}]


def test_what_is_tried_next_is_known_whatever_becomes_of_the_process(tmp_path):
    inside, outside = Bookmark(tmp_path / "mark"), Bookmark(tmp_path / "mark")
    for marked in (((1, 2), (3,)), ((1, 2), None), ((), ())):
        inside.put(*marked)
        assert outside.read() == marked
    outside.clear()
    assert inside.read() is None


@pytest.mark.processes
def test_violations_and_crashes_are_counted_and_tried_again(tmp_path, vocabulary):
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, CASES)))
    vocabulary.save(tmp_path / "bytes.vocabulary")
    own = ("--cases", "cases.jsonl", "--vocabulary", str(tmp_path / "bytes.vocabulary"))
    engines = "tests.served:DiesOfRollback,tests.served:GoesTooFar,tests.served:ServedEnumerator"
    more = ("--json", "--fail-on-violation", "--engines", engines)
    done = maskcourt("protocol", *own, *more, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)["engines"]
    outcomes = {
        name.rpartition(":")[2]: {
            rule: one["outcome"]
            for rule, one in engine["rules"].items()
            if one["outcome"] in ("broken", "crashed")
        }
        for name, engine in found.items()
    }
    assert outcomes == {
        "DiesOfRollback": {"rollback": "crashed", "branches": "crashed"},
        "GoesTooFar": {"rollback": "broken"},
        "ServedEnumerator": {},
    }
    died = found["tests.served:DiesOfRollback"]["rules"]
    smallest = died["rollback"]["smallest"]
    assert smallest["complaint"] == "its process died of SIGSEGV"
    assert (smallest["consumed"], len(smallest["tokens"]), smallest["again"]) == ([], 1, True)
    assert died["threads"]["outcome"] == "kept"  # in a new process
