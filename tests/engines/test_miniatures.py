"""The honest miniature keeps the contract; each liar lies as told; the contract finds it out."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.inputs.vocabulary import byte_vocabulary
from harness.inputs.vocabulary_hostile import hostile_vocabulary
from harness.protocol import Refused, allows, complete_options, token_ids
from harness.protocol_checks.adapters import (
    NotAllowed,
    check_adapter,
    check_identity,
    known_bytes,
    mask_of,
)
from harness.protocol_checks.smoke import ContractBroken
from tests import miniatures

VOCABULARY = byte_vocabulary([b"red", b'"red"', b", ", b"ab", b"xyz"], [b"<pad>"])
RED, COMMA = VOCABULARY.ids_of(b"red")[0], VOCABULARY.ids_of(b", ")[0]
FAILING = [
    kind
    for kind in vars(miniatures).values()
    if isinstance(kind, type) and issubclass(kind, miniatures.Enumerator) and "fail" in vars(kind)
]
COLOURS = {"type": "array", "items": {"enum": ["red", "blue"]}, "minItems": 1, "maxItems": 2}


def make(kind, **options):
    return kind(VOCABULARY, complete_options(kind.OPTIONS, options))


def behind(engine, schema, text):
    """The matcher behind `text`; None where it is refused."""
    matcher = engine.compile(json.dumps(schema))
    return matcher if all(matcher.consume(byte) for byte in text.encode()) else None


def accepts(engine, schema, text):
    matcher = behind(engine, schema, text)
    return matcher is not None and matcher.consume(VOCABULARY.eos)


def allowed(engine, schema, text):
    """The tokens allowed behind `text`, as bytes."""
    matcher = behind(engine, schema, text)
    return {VOCABULARY.tokens[i] for i in token_ids(mask_of(matcher, VOCABULARY), VOCABULARY.size)}


class TestEnumerator:
    def test_keeps_the_contract(self):
        vocabulary = hostile_vocabulary(2)
        engine = miniatures.Enumerator(vocabulary, {"compact": True})
        texts = {json.dumps(COLOURS): ['["red", "blue"]', '["red","blue"]', '["blue"]']}
        check_adapter(engine, vocabulary, {**texts, '{"enum": [1, 12, "é"]}': ["1", "12", '"é"']})
        check_identity(engine)
        assert known_bytes(engine, vocabulary) == (vocabulary.ordinary, [])

    def test_the_mask_holds_the_beginnings_of_what_is_missing(self):
        assert allowed(make(miniatures.Enumerator), {"enum": ["red", "rose"]}, "") == {
            b'"',
            b'"red"',
        }
        assert allowed(make(miniatures.Enumerator), {"enum": ["red", "rose"]}, '"') == {
            b"r",
            b"red",
        }
        assert allowed(make(miniatures.Enumerator), {"enum": [1, 12]}, "1") == {b"2", b"<eos>"}

    @given(
        st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=8)
    )
    def test_allows_a_const_in_both_styles_and_nothing_else(self, value):
        engine = make(miniatures.Enumerator)
        assert accepts(engine, {"const": value}, json.dumps(value, ensure_ascii=False))
        assert not accepts(engine, {"const": value}, json.dumps([value, 0], ensure_ascii=False))

    def test_one_style_can_be_left_out(self):
        engine = make(miniatures.Enumerator, compact=False)
        assert accepts(engine, COLOURS, '["red", "blue"]')
        assert not accepts(engine, COLOURS, '["red","blue"]')

    @pytest.mark.parametrize(
        ("text", "accepted"), [("[]", False), ('["red"]', True), ('["red", "red", "red"]', False)]
    )
    def test_counts_items(self, text, accepted):
        assert accepts(make(miniatures.Enumerator), COLOURS, text) is accepted

    @pytest.mark.parametrize(
        "schema", [{}, {"type": "string"}, {"pattern": "a", "const": "a"}, True]
    )
    def test_refuses_what_it_does_not_understand(self, schema):
        with pytest.raises(Refused, match=r"no miniature understands|a miniature needs"):
            make(miniatures.Enumerator).compile(json.dumps(schema))


class TestLiars:
    def test_accepts_extra(self):
        schema = {"const": "red", "x-extra": ['"blue"']}
        assert accepts(make(miniatures.AcceptsExtra), schema, '"blue"')
        assert not accepts(make(miniatures.Enumerator), schema, '"blue"')

    def test_forgets_max_items(self):
        text = '["red", "red", "red"]'
        assert accepts(make(miniatures.ForgetsMaxItems), COLOURS, text)
        assert not accepts(make(miniatures.ForgetsMaxItems), COLOURS, text[:-1] + ', "red", "red"]')

    def test_forbids_one_token_at_one_place(self):
        schema = {"const": ["red", "red"], "x-forbidden": [['["', "red"]]}
        engine = make(miniatures.ForbidsOne)
        assert allowed(engine, schema, '["') == {b"r"}
        assert not behind(engine, schema, '["').consume(RED)
        assert allowed(engine, schema, '["red", "') == {b"r", b"red"}

    def test_mask_lies(self):
        schema = {"const": "red", "x-forbidden": [['"', "red"]]}
        matcher = behind(make(miniatures.MaskLies), schema, '"')
        assert not allows(mask_of(matcher, VOCABULARY), RED)
        assert matcher.consume(RED)

    def test_consume_lies(self):
        schema = {"const": "red", "x-forbidden": [['"', "red"]]}
        matcher = behind(make(miniatures.ConsumeLies), schema, '"')
        assert allows(mask_of(matcher, VOCABULARY), RED)
        assert not matcher.consume(RED)

    def test_never_ends(self):
        schema = {"const": "red", "x-open": ['"']}
        engine = make(miniatures.NeverEnds)
        assert accepts(engine, schema, '"red"')
        assert b"xyz" in allowed(engine, schema, '"')
        lost = behind(engine, schema, '"x' + "ab" * 300)
        tokens = token_ids(mask_of(lost, VOCABULARY), VOCABULARY.size)
        assert all(VOCABULARY.tokens[token].isalpha() for token in tokens)

    def test_allows_everything(self):
        engine = make(miniatures.AllowsEverything)
        mask = mask_of(behind(engine, {"type": "string"}, "x}"), VOCABULARY)
        assert np.array_equal(mask, VOCABULARY.ordinary_mask | VOCABULARY.eos_mask)
        ended = behind(engine, False, "x}")
        assert ended.consume(VOCABULARY.eos)
        assert not mask_of(ended, VOCABULARY).any()

    def test_refuses_all(self):
        with pytest.raises(Refused, match="refuses every schema"):
            make(miniatures.RefusesAll).compile('{"const": 1}')

    def test_chatty(self, capfd):
        mask_of(make(miniatures.Chatty).compile('{"const": 1}'), VOCABULARY)
        out, err = capfd.readouterr()
        for what in ("compile", "mask"):
            assert f"{what} on stdout" in out
            assert f"{what} on descriptor 1" in out
            assert f"{what} on stderr" in err
            assert f"warning: {what} on descriptor 2" in err


class TestTheContractFinds:
    """Nothing here is about the miniatures: each of these breaks a rule that adapters keep."""

    @pytest.mark.parametrize(
        ("kind", "message"),
        [(miniatures.MaskLies, "and is consumed"), (miniatures.ConsumeLies, "and is refused")],
    )
    def test_masks_that_lie(self, kind, message):
        texts = {'{"const": ["red"], "x-forbidden": [["", "["]]}': ['["red"]']}
        with pytest.raises(ContractBroken, match=f"mask_consume: .*{message}|no token|allowed"):
            check_adapter(make(kind), VOCABULARY, texts)

    @pytest.mark.parametrize(("const", "text"), [(1, "12"), (12, "1")])
    def test_a_text_that_cannot_be_written_or_cannot_end(self, const, text):
        with pytest.raises(NotAllowed, match="is allowed after '1'"):
            check_adapter(
                make(miniatures.Enumerator), VOCABULARY, {f'{{"const": {const}}}': [text]}
            )

    @pytest.mark.parametrize(
        ("kind", "rule"),
        [
            (miniatures.LeavesMask, "nothing that goes on so is allowed after '1'"),
            (miniatures.ChangesMask, "mask_written"),
            (miniatures.LosesInClones, "clone"),
            (miniatures.ClonesMove, "clone"),
            (miniatures.GoesBeyond, "beyond"),
            (miniatures.FollowsAll, "validate"),
        ],
    )
    def test_adapters_that_contradict_themselves(self, kind, rule):
        texts = {'{"enum": [123, 129, 23], "x-fault": "1"}': ["123", "129", "23"]}
        with pytest.raises(ContractBroken, match=f": {rule}"):
            check_adapter(make(kind), VOCABULARY, texts)

    def test_special_tokens_that_are_text(self, monkeypatch):
        every = VOCABULARY.ordinary_mask | VOCABULARY.special_mask
        monkeypatch.setattr(
            miniatures.AllowsEverything.Matcher,
            "allowed",
            lambda self, _: every * np.uint32(not self.ended),
        )
        engine, texts = make(miniatures.AllowsEverything), {"{}": ["x"]}
        check_adapter(engine, VOCABULARY, texts, special_is_text=True)
        with pytest.raises(ContractBroken, match=r"special: .*b'<pad>'"):
            check_adapter(engine, VOCABULARY, texts)

    def test_something_allowed_after_the_end(self, monkeypatch):
        honest = miniatures.LanguageMatcher.consume

        def forgetful(self, token):
            taken = honest(self, token)
            self.ended = False
            return taken

        monkeypatch.setattr(miniatures.LanguageMatcher, "consume", forgetful)
        with pytest.raises(ContractBroken, match="after the end"):
            check_adapter(
                make(miniatures.Enumerator), VOCABULARY, {'{"const": ["red"]}': ['["red"]']}
            )


class TestFailures:
    """Those that fail do so where ``x-crash`` says, and nowhere else."""

    @pytest.mark.parametrize("kind", FAILING)
    def test_without_the_annotation_they_are_honest(self, kind):
        assert accepts(make(kind), COLOURS, '["red", "blue"]')

    def test_raising(self):
        with pytest.raises(RuntimeError, match="on purpose"):
            make(miniatures.RaisesOnCompile).compile('{"const": 1, "x-crash": true}')
        matcher = behind(make(miniatures.RaisesOnMask), {"const": 123, "x-crash": 2}, "1")
        assert mask_of(matcher, VOCABULARY).any()
        assert matcher.consume(ord("2"))
        with pytest.raises(RuntimeError, match="on purpose"):
            mask_of(matcher, VOCABULARY)

    @pytest.mark.processes
    @pytest.mark.skipif(sys.platform != "linux", reason="needs limits as Linux has them")
    @pytest.mark.parametrize(
        ("name", "limit", "status"),
        [
            ("CrashesOnCompile", "", -signal.SIGSEGV),
            ("CrashesOnMask", "", -signal.SIGSEGV),
            ("ExitsOnCompile", "", 3),
            ("HangsOnCompile", "one_more_second()", -signal.SIGXCPU),
            ("HangsOnMask", "one_more_second()", -signal.SIGXCPU),
            ("SleepsOnCompile", "signal.setitimer(signal.ITIMER_REAL, 0.3)", -signal.SIGALRM),
            ("EatsMemory", "little_more_memory()", 1),
        ],
    )
    def test_they_end_the_process(self, name, limit, status):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(name=name, limit=limit)],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=False,
        )
        said = "this may take long\n" if name.startswith("Hangs") else ""
        assert (done.returncode, done.stdout) == (status, said), done.stderr
        assert ("MemoryError" in done.stderr) == (name == "EatsMemory")


PROGRAM = """
import resource, signal
import numpy as np
from harness.inputs.vocabulary import byte_vocabulary
from tests import miniatures

def one_more_second():
    used = int(resource.getrusage(resource.RUSAGE_SELF).ru_utime)
    resource.setrlimit(resource.RLIMIT_CPU, (used + 1, used + 60))

def little_more_memory():
    pages = int(open("/proc/self/statm").read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (128 << 20),) * 2)

engine = miniatures.{name}(byte_vocabulary(), {{"compact": True}})
{limit}
matcher = engine.compile('{{"const": 1, "x-crash": 0}}')
matcher.mask(np.zeros(engine.vocabulary.words, dtype=np.uint32))
print("survived")
"""
