"""A verification says of any adapter what it keeps of the contract, and how it breaks the rest."""

import sys
from dataclasses import replace

import pytest

from harness.engines.specs import parse_spec
from harness.inputs.vocabulary import byte_vocabulary
from harness.protocol_checks.adapters import BROKEN, KEPT, OPEN, verify
from tests.command import maskcourt

AGREE = "mask, consume, clone and follow agree on an enum"

PLANTED = """
from tests import miniatures
from tests.miniatures import LanguageMatcher

HONEST_CONSUME = LanguageMatcher.consume


class TakesAll(miniatures.Enumerator):
    def compile(self, schema):
        if "12" in schema:
            LanguageMatcher.consume = lambda self, token: HONEST_CONSUME(self, token) or self.count
        return super().compile(schema)


class FollowsAll(miniatures.Enumerator):
    def compile(self, schema):
        if "12" in schema:
            LanguageMatcher.follow = lambda self, tokens: len(tokens)
        return super().compile(schema)


class IsItsClone(miniatures.Enumerator):
    def compile(self, schema):
        LanguageMatcher.clone = lambda self: self
        return super().compile(schema)


class HasOtherBytes(miniatures.Enumerator):
    def token_bytes(self, ids):
        return [b"?" for _ in ids]


class Fails(miniatures.Enumerator):
    def compile(self, schema):
        if "$ref" in schema:
            raise KeyError("nope")
        return super().compile(schema)


class Dies(miniatures.Enumerator):
    def compile(self, schema):
        if "$ref" in schema:
            miniatures.crash()
        return super().compile(schema)
"""


@pytest.fixture
def found(tmp_path, monkeypatch):
    """What becomes of each check of an adapter, in hosts."""
    (tmp_path / "faulty_adapters.py").write_text(PLANTED)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "faulty_adapters", raising=False)

    def find(name, **changed):
        spec = replace(parse_spec(name), **changed)
        return {one.check: one for one in verify(spec, byte_vocabulary(), 30.0, 4 << 30)}

    return find


@pytest.mark.processes
def test_the_honest_miniature_breaks_nothing(found):
    checks = found("tests.miniatures:Enumerator")
    assert len(checks) == 16
    for check, one in checks.items():
        knows_too_little = check.startswith(AGREE[:39]) and "an enum" not in check
        assert one.outcome == (OPEN if knows_too_little else KEPT), one
        assert one.words.startswith("it refuses the schema: ") == knows_too_little


def fits(label, check):
    return label.startswith(check) and (check != AGREE or label == AGREE)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("name", "check", "words"),
    [
        ("TakesAll", AGREE, "is consumed"),
        ("FollowsAll", AGREE, "is followed"),
        ("IsItsClone", "it compiles, masks, consumes", "this adapter cannot drive maskcourt"),
        ("HasOtherBytes", "it holds the bytes of the given", "b'?' in place of b'\\x00'"),
        ("Fails", "it refuses in words", "it raises KeyError: 'nope'"),
    ],
)
def test_what_is_broken_is_said(found, name, check, words):
    (one,) = (one for label, one in found(f"faulty_adapters:{name}").items() if fits(label, check))
    assert one.outcome == BROKEN
    assert words in one.words


@pytest.mark.processes
def test_the_version_that_was_asked_for_is_the_one_that_is_driven(found):
    checks = found("tests.miniatures:Enumerator", version="0.0.1")
    assert checks["it says which engine it is"].outcome == BROKEN


@pytest.mark.processes
def test_an_engine_that_refuses_all_cannot_be_judged(found):
    *checks, last = found("tests.miniatures:RefusesAll").values()
    assert len(checks) == 16
    assert (last.outcome, last.words) == (BROKEN, "none is allowed to its end")


@pytest.mark.processes
def test_a_process_that_dies_costs_one_check_and_the_exit_code_says_so(tmp_path, vocabulary):
    (tmp_path / "faulty_adapters.py").write_text(PLANTED)
    vocabulary.save(tmp_path / "bytes")
    told = ("engines", "verify", "faulty_adapters:Dies", "--vocabulary", "bytes")
    done = maskcourt(*told, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    *lines, last = done.stdout.splitlines()
    assert len(lines) == 16
    (broken,) = (line for line in lines if line.startswith("broken"))
    assert broken.endswith("it refuses in words: its process died of SIGSEGV")
    assert f"kept        {AGREE}: 2 of 2 texts, to the end" in lines
    assert (
        last == "faulty_adapters:Dies breaks the contract in 1 of 8 checks; 8 could not be judged"
    )
