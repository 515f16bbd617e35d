"""The reported bugs: every label is proven, and each line says what the description promises."""

import json
import re
from collections import Counter
from typing import Any

import pytest

from harness.comparison.generated_instances import make
from harness.directories import data_path
from harness.schemas.violations import traits
from harness.validators.judge import VALID
from harness.validators.validate import Validators
from tests.inprocess import InProcessJudge

BUGS: list[dict[str, Any]] = [
    json.loads(line)
    for line in data_path("known_bugs.jsonl").read_text(encoding="utf-8").splitlines()
]
ENGINES = ("xgrammar", "llguidance", "outlines", "lm-format-enforcer", "llama.cpp")
EFFECTS = {
    "lost_value": True,
    "spelling": True,
    "trap": True,
    "refusal": True,
    "crash": True,
    "invalid_value": False,
    "format_only": False,
    "not_json": False,
}
"""Whether the text of such a case is valid."""


@pytest.mark.parametrize("engine", ENGINES)
def test_both_validators_agree_with_every_label(engine):
    for bug in (bug for bug in BUGS if bug["engine"] == engine):
        outcome = Validators(json.dumps(bug["schema"])).judge(bug["text"].encode())
        assert outcome.verdict == ("valid" if bug["valid"] else "invalid"), bug["id"]
        assert (outcome.reason == "not_json") == (bug["effect"] == "not_json"), bug["id"]


def test_what_only_a_format_forbids_is_valid_without_it():
    for bug in (one for one in BUGS if one["effect"] == "format_only"):
        outcome = Validators(json.dumps(bug["schema"]), "annotation").judge(bug["text"].encode())
        assert outcome.verdict == "valid", bug["id"]


def test_every_line_has_a_thread_an_effect_and_a_sentence():
    assert len(BUGS) >= 120
    assert max(Counter(bug["id"] for bug in BUGS).values()) == 1
    said = Counter(
        json.dumps([bug[key] for key in ("url", "engine", "schema", "text")]) for bug in BUGS
    )
    assert max(said.values()) == 1
    thread = re.compile(r"https://github\.com/[\w.-]+/([\w.-]+)/(?:issues|pull)/(\d+)")
    for bug in BUGS:
        found = thread.fullmatch(bug["url"])
        assert found, bug["id"]
        assert bug["id"].split("/")[0] == f"{found[1]}-{found[2]}"
        assert bug["engine"] in ENGINES, bug["id"]
        assert bug["state"] in ("open", "closed", "merged"), bug["id"]
        assert bug["valid"] is EFFECTS[bug["effect"]], bug["id"]
        assert bug["about"].endswith("."), bug["id"]


CHARACTERS = set('"\\/\n\t') | {"é"}


def shown_by(bug: dict[str, Any], judge: InProcessJudge) -> bool:
    """Whether a value that is generated fails as the reported one does.

    An invalid one breaks the same keyword at the same place; a valid one has its odd characters and
    kinds of scalars, and a member beside the declared ones where it has one.
    """
    judge.open(json.dumps(bug["schema"]))
    found = make(judge, bug["schema"], [], {})
    if not bug["valid"]:
        (ruling,) = judge.judge([bug["text"].encode()])
        places = {(one.ruling.keyword, one.ruling.schema_pointer) for one in found.fed(32, ())}
        return (ruling.keyword, ruling.schema_pointer) in places
    declared = set(bug["schema"].get("properties", ()))

    def odd(value: Any) -> set[str]:
        """What is odd about a value."""
        text = json.dumps(value, ensure_ascii=False)
        plain = "".join(one for one in traits(value) if len(one) == 1)
        beside = isinstance(value, dict) and bool(declared and set(value) - declared)
        kinds = {one for one in ("null", "true", "false") if one in text}
        fraction = {"fraction"} if re.search(r"\d\.[1-9]", text) else set()
        return {*plain} & CHARACTERS | kinds | fraction | ({"beside"} if beside else set())

    values = [json.loads(one.text) for one in found.fed(32, ()) if one.ruling.verdict == VALID]
    return odd(json.loads(bug["text"])) <= {one for value in values for one in odd(value)}


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.thorough)])
def test_values_that_are_generated_show_what_was_reported(step):
    effects = ("lost_value", "invalid_value", "format_only")
    bugs = [bug for bug in BUGS if bug["effect"] in effects][::step]
    judge = InProcessJudge()
    missed = [bug["id"] for bug in bugs if not shown_by(bug, judge)]
    assert len(missed) <= 0.05 * len(bugs), missed
