"""llguidance on the official suite, held against what its own repository expects of it.

The two are not part of this project: MASKCOURT_SUITE names a checkout of the JSON-Schema-Test-Suite
at the commit that llguidance's workflow pins, MASKCOURT_LLGUIDANCE one of llguidance.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from adapters.llguidance import LLGuidanceEngine
from harness.engines.text_probe import probe
from harness.inputs.vocabulary_readers import open_vocabulary
from harness.protocol import Refused, complete_options, set_bits

SUITE, LLGUIDANCE = (os.environ.get(f"MASKCOURT_{one}") for one in ("SUITE", "LLGUIDANCE"))
EXPECTED = "json_schema_test_suite/expected_json_schema_test_suite.json"
DRAFT = "draft2020-12"
NOT_IMPLEMENTED = ("Unimplemented keys", "not supported")
OTHER_ORDER = {
    ("ref", "refs with relative uris and defs", "valid on both fields"),
    ("ref", "relative refs with absolute uris and defs", "valid on both fields"),
}
"""Where an ``x-guidance`` beside ``$ref`` and ``properties`` changes which properties come first."""

pytestmark = [
    pytest.mark.engines,
    pytest.mark.skipif(not SUITE, reason="MASKCOURT_SUITE names no checkout of the suite"),
    pytest.mark.skipif(not LLGUIDANCE, reason="MASKCOURT_LLGUIDANCE names no checkout"),
]


def categories(engine, vocabulary, file):
    """What becomes of each test of a file, in the words of llguidance's runner."""
    eos = set_bits(vocabulary.eos_ids, vocabulary.words)
    found = {}
    for group in json.loads(file.read_text("utf-8")):
        tests = group["tests"]
        try:
            matcher, refusal = engine.compile(json.dumps(group["schema"])), ""
        except Refused as refused:
            any_valid = any(one["valid"] for one in tests)
            refusal = "compile_error_valid" if any_valid else "compile_error_all_invalid"
            if any(one in str(refused) for one in NOT_IMPLEMENTED):
                refusal = "skip_compile"
        for one in tests:
            word = refusal
            if not word:
                text = json.dumps(one["data"], ensure_ascii=False, separators=(",", ":"))
                tokens = [
                    *(vocabulary.ids_of(bytes([byte]))[0] for byte in text.encode()),
                    vocabulary.eos,
                ]
                allowed = probe(matcher, tokens, eos).allowed == len(tokens)
                wrong = "false_negative" if one["valid"] else "false_positive"
                word = "pass" if allowed == one["valid"] else wrong
            found[file.name, group["description"], one["description"]] = word
    return found


@pytest.mark.parametrize(("config", "differ"), [("shipped", set()), ("spec", OTHER_ORDER)])
def test_every_test_of_the_suite_ends_as_llguidance_itself_expects(config, differ):
    vocabulary = open_vocabulary("bytes")
    options = complete_options(LLGuidanceEngine.OPTIONS, {"config": config})
    engine = LLGuidanceEngine(vocabulary, options)
    expected = json.loads(Path(LLGUIDANCE, EXPECTED).read_text("utf-8"))[DRAFT]
    found = {}
    for name in expected:
        of_file = categories(engine, vocabulary, Path(SUITE, "tests", DRAFT, f"{name}.json"))
        found |= {(name, group, test): word for (_, group, test), word in of_file.items()}
    wanted = {
        (name, group, test): word
        for name, groups in expected.items()
        for group, tests in groups.items()
        for test, word in tests.items()
    }
    assert len(wanted) > 1000
    assert {key for key, word in wanted.items() if found.get(key) != word} == differ
