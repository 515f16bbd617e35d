"""The reported bugs: every label is proven, and each line says what the description promises."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest

from harness.directories import data_path
from harness.validators.validate import Validators

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
    for bug in (one for one in BUGS if one["engine"] == engine):
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
