"""What the checks say of the default engines' libraries, whose calls their adapters give."""

from __future__ import annotations

import pytest

from harness.engines.specs import parse_spec
from harness.inputs.vocabulary_hostile import hostile_vocabulary
from harness.protocol_checks.rules import RULES
from harness.protocol_checks.trial import Subject, Thoroughness, hold, places_of, routes_of
from harness.workers.host_process import load

SCHEMA = '{"type": "array", "items": {"enum": [12, "ab"]}, "maxItems": 2}'
HOW = Thoroughness(samples=0, positions=3)

pytestmark = pytest.mark.engines


@pytest.mark.parametrize(
    ("name", "known", "missing"),
    [
        ("xgrammar", {"beyond"}, {"forced_tokens", "validate"}),
        ("llguidance", {"end_again", "attempt", "rollback", "validate"}, {"draft_tree"}),
        (
            "outlines",
            {"end_consume"},
            {
                *("clone", "terminated", "forced_bytes", "forced_tokens"),
                *("ends_agree", "drafts", "draft_tree", "rows_at_once"),
            },
        ),
        (
            "maskforge",
            {"end_again"},
            {
                *("clone", "rollback", "forced_bytes", "forced_tokens", "validate", "branches"),
                *("ends_agree", "drafts", "draft_tree", "row", "rows_at_once"),
            },
        ),
        (
            "glrmask",
            set(),
            {
                *("attempt", "rollback", "reset", "completed", "forced_bytes", "validate"),
                *("drafts", "draft_tree", "rows_at_once"),
            },
        ),
        (
            "oc-earley",
            {"validate"},
            {
                *("clone", "forced_bytes", "forced_tokens", "ends_agree"),
                *("drafts", "draft_tree", "rows_at_once"),
            },
        ),
    ],
)
def test_a_library_breaks_what_is_known_at_most_and_offers_what_it_has(name, known, missing):
    vocabulary = hostile_vocabulary(2)
    spec = parse_spec(name)
    engine = load(spec.reference)(vocabulary, dict(spec.options))
    subject = Subject(engine.library(SCHEMA), vocabulary)
    texts = [(text, {}) for text in (b'[12, "ab"]', b'[12,"ab"]')]  # as each has its layout
    routes = routes_of(engine.compile(SCHEMA), vocabulary, texts, HOW, "key")
    result = {
        rule: hold(RULES[rule], subject, places_of(routes, vocabulary, HOW, rule)) for rule in RULES
    }
    assert max(map(len, routes)) > 3
    assert {rule for rule, one in result.items() if one.broken} <= known
    assert {rule for rule, one in result.items() if one.missing} == missing
    assert not [one.words for one in result.values() if one.failed]
