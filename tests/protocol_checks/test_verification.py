"""A verification says of any adapter what it keeps of the contract, and how it breaks the rest."""

from __future__ import annotations

import pytest

from harness.engines.specs import EngineSpec
from harness.protocol_checks.adapters import (
    BROKEN,
    CHECKS,
    KEPT,
    OPEN,
    Finding,
    VerificationService,
    verify,
)
from harness.workers import wire
from tests import miniatures
from tests.command import maskcourt
from tests.inprocess import default_options

AGREE = "mask, consume, clone and follow agree on an enum"
HONEST_CONSUME = miniatures.LanguageMatcher.consume


@pytest.fixture
def found(vocabulary_file):
    """What becomes of a check of a miniature, in this process."""

    def find(check: str, name: str = "Enumerator", version: str | None = None) -> Finding:
        subject = {
            "engine": f"tests.miniatures:{name}",
            "options": default_options(getattr(miniatures, name)),
            "version": version,
            "vocabulary": str(vocabulary_file),
        }
        answer = VerificationService().handle(wire.Message({"check": check, **subject}))
        return Finding(check, answer.head["outcome"], answer.head["words"])

    return find


@pytest.mark.parametrize("check", CHECKS)
def test_the_honest_miniature_breaks_nothing(found, check):
    one = found(check)
    knows_too_little = check.startswith(AGREE[:39]) and "an enum" not in check
    assert one.outcome == (OPEN if knows_too_little else KEPT), one.words
    assert one.words.startswith("it refuses the schema: ") == knows_too_little


def taking_all(self, token):
    return HONEST_CONSUME(self, token) or self.count > 0


@pytest.mark.parametrize(
    ("check", "method", "replacement", "said"),
    [
        (AGREE, "consume", taking_all, "is consumed"),
        (AGREE, "follow", lambda self, tokens: len(tokens), "it validates 1, and consumes 0"),
        ("it compiles, masks", "clone", lambda self: self, "this adapter cannot drive maskcourt"),
    ],
)
def test_what_is_broken_is_said(found, monkeypatch, check, method, replacement, said):
    (check, *_) = (one for one in CHECKS if one.startswith(check))
    monkeypatch.setattr(miniatures.LanguageMatcher, method, replacement, raising=False)
    one = found(check)
    assert one.outcome == BROKEN
    assert said in one.words


def test_the_version_that_was_asked_for_is_the_one_that_is_driven(found):
    assert found("it says which engine it is", version="0.0.1").outcome == BROKEN


def test_bytes_of_another_vocabulary(found, monkeypatch):
    monkeypatch.setattr(miniatures.Enumerator, "token_bytes", lambda self, ids: [b"?" for _ in ids])
    one = found("it holds the bytes of the given vocabulary")
    assert one.outcome == BROKEN
    assert "b'?' in place of b'\\x00'" in one.words


def test_anything_else_than_a_refusal_in_words(found, monkeypatch):
    def compile_(self, schema):
        if "$ref" in schema:
            raise KeyError("nope")
        return self.matcher({"enum": [True]})

    monkeypatch.setattr(miniatures.Enumerator, "compile", compile_)
    one = found("it refuses in words")
    assert one.outcome == BROKEN
    assert one.words.startswith("it raises KeyError: 'nope' (at test_verification.py:")


@pytest.mark.processes
def test_an_engine_that_refuses_all_cannot_be_judged(vocabulary):
    options = default_options(miniatures.RefusesAll)
    spec = EngineSpec("none", "tests.miniatures:RefusesAll", options)
    *checks, last = verify(spec, vocabulary, 30.0, 4 << 30)
    assert [one.check for one in checks] == list(CHECKS)
    assert (last.outcome, last.words) == (BROKEN, "none is allowed to its end")


PLANTED = """
from tests import miniatures


class Planted(miniatures.Enumerator):
    def compile(self, schema):
        if "$ref" in schema:
            miniatures.crash()
        return super().compile(schema)
"""


@pytest.mark.processes
def test_a_process_that_dies_costs_one_check_and_the_exit_code_says_so(tmp_path, vocabulary):
    (tmp_path / "planted.py").write_text(PLANTED)
    vocabulary.save(tmp_path / "bytes")
    told = ("engines", "verify", "planted:Planted", "--vocabulary", "bytes")
    done = maskcourt(*told, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    *lines, last = done.stdout.splitlines()
    assert len(lines) == len(CHECKS)
    (broken,) = (line for line in lines if line.startswith("broken"))
    assert broken.endswith("it refuses in words: its process died of SIGSEGV")
    assert f"kept        {AGREE}: 2 of 2 texts, to the end" in lines
    assert last == "planted:Planted breaks the contract in 1 of 8 checks; 8 could not be judged"
