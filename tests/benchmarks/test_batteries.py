"""Pages of fixed batteries, of answers by hand."""

import json

import pytest

from benchmarks import batteries
from harness.protocol_checks.checks import CaseResult
from harness.protocol_checks.trial import RuleResult
from harness.spelling_profile.profile import (
    AnswerKind,
    EngineSpellings,
    Profile,
    RowAnswer,
    Spelling,
)

ENGINES = [f"engine{number}" for number in range(len(batteries.SPELLED))]


def test_the_page_on_spellings_counts_the_answers_of_all_and_shows_those_of_the_first(monkeypatch):
    row = Spelling("before", "white space", "a space", "[1 ,2]", "[1, 2]")
    answers = [
        EngineSpellings(name, "2.0", {"before": RowAnswer(AnswerKind.NO)}) for name in ENGINES
    ]
    monkeypatch.setattr(batteries, "profile_of", lambda *_, **__: Profile((row,), tuple(answers)))
    files = batteries.spellings()
    assert f"| `{ENGINES[-1]}` | 2.0 | 0 | 1 | 0 |" in files["README.md"]
    assert "engine5 2.0 |" in files["README.md"]
    assert f"{ENGINES[-1]} 2.0 |" not in files["README.md"]
    assert list(json.loads(files["profile.json"])["engines"]) == ENGINES
    assert json.loads(files["manifest.json"])["engines"] == dict.fromkeys(ENGINES, "2.0")


def test_the_page_on_the_protocol_has_a_table_for_each_vocabulary(monkeypatch):
    def checked(asked):
        rules = {"clone": RuleResult(checks=3, broken=1)}
        return [CaseResult(name, "2.0", "case", "{}", rules) for name in asked.engines]

    monkeypatch.setattr(batteries, "checked", checked)
    files = batteries.protocol()
    hostile, qwen = files["README.md"].split("## On ")[1:]
    assert hostile.startswith("hostile")
    assert "| `clone` | broken (1 of 3) |" in hostile
    assert "maskforge" in hostile
    assert "maskforge" not in qwen
    assert (
        json.loads(files["qwen2.5.json"])["engines"]["llguidance"]["rules"]["clone"]["broken"] == 1
    )


@pytest.mark.parametrize("together", [True, False])
def test_the_page_on_the_impact_tells_no_times(together):
    engine = {
        "items": 20, "answered": 9, "parsed": 9, "correct": 3, "outcomes": {"answered": 9, "cut": 11},
        "share": {"value": 0.15, "low": None, "high": None}, "tokens": 80, "overruled": 12,
        "rulings": {"right": 10, "open": 0}, "effects": {"lost_value": 2}, "cost": {"mask": 1.5},
        "removed": 0.2, "proven_mass": 0.01, "losing_mass": 0.005,
    }  # fmt: skip
    told = {
        "run": "/somewhere",
        "task": {"name": "calls", "items": 20},
        "model": {"files": {"small.gguf": "0"}},
        "generation": {"max_tokens": 64},
        "engines": {"unconstrained": engine, "a": engine} if together else {"a": engine},
        "pairs": [{"verdict": "cannot tell a and b apart"}],
        "unanswerable": 0,
    }
    files = batteries.impact_page(told, "impact bfcl --sample 20")
    assert "| a | 20 | 9 | 9 | 3 | 15.0% | 11 cut |" in files["README.md"]
    assert "| a | 80 | 12 | 2 |" in files["README.md"]
    assert files["README.md"].count("unconstrained") == together
    summary = json.loads(files["summary.json"])
    assert "run" not in summary
    assert "cost" not in summary["engines"]["a"]
