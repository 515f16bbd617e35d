"""The adapter of llama.cpp: what ends a process costs a refusal, and what is remembered is right."""

import os
import signal

import pytest

from adapters import llama_cpp
from adapters.llama_cpp import LlamaCppEngine
from harness.errors import UsageError
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.protocol import allows
from tests.adapterchecks import check_refusal
from tests.inprocess import mask_of

pytestmark = [pytest.mark.engines, pytest.mark.processes]

STRING = '{"type": "string"}'


def engine(vocabulary: Vocabulary | None = None, config: str = "spec") -> LlamaCppEngine:
    return LlamaCppEngine(vocabulary or byte_vocabulary(), {"config": config})


def fails(monkeypatch, how):
    """Let the converter do something else in the child."""
    monkeypatch.setattr(llama_cpp, "_convert", lambda *_: how())


def test_a_pattern_that_it_cannot_convert_is_warned_of(capfd):
    matcher = engine().compile('{"type": "string", "pattern": "a"}')
    assert matcher.follow([*b'"b"', 256]) == 4
    said = capfd.readouterr()
    assert "conversion was incomplete: pattern a is not supported" in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("true", "schema must be an object"),
        ("{", "parse error"),
        ('{"type": "string", "minLength": 5000}', "number of repetitions exceeds sane defaults"),
        ('{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}', "left recursion"),
    ],
)
def test_exceptions_of_converter_and_parser_are_refusals(schema, message):
    check_refusal(engine(), schema, message)


def test_running_out_of_memory_is_no_refusal(monkeypatch):
    def run_out():
        os.write(2, b"terminate called\n  what():  std::bad_alloc\n")
        os.abort()

    fails(monkeypatch, run_out)
    with pytest.raises(MemoryError, match="bad_alloc"):
        engine().compile(STRING)


def test_what_would_end_a_server_ends_the_host(monkeypatch):
    tried, ended = engine(), []
    fails(monkeypatch, lambda: signal.raise_signal(signal.SIGKILL))
    monkeypatch.setattr(os, "kill", lambda *of: ended.append(of))
    with pytest.raises(RuntimeError):
        tried.compile(STRING)
    assert ended == [(os.getpid(), signal.SIGKILL)]


def test_a_version_without_a_name_that_is_called_is_told(monkeypatch):
    calls = {**llama_cpp._CALLS, "convert": ("no_such_name", None, ())}
    monkeypatch.setattr(llama_cpp, "_CALLS", calls)
    with pytest.raises(UsageError, match=r"xllamacpp \S+ has no no_such_name"):
        llama_cpp._library.__wrapped__("2026.1.1")


@pytest.mark.parametrize(("config", "allowed"), [("spec", False), ("shipped", True)])
def test_as_shipped_special_tokens_write_their_names(config, allowed):
    matcher = engine(byte_vocabulary(specials=[b"<pad>"]), config).compile(STRING)
    assert matcher.consume(ord('"'))
    assert matcher.clone().consume(257) is allowed


@pytest.mark.parametrize("config", ["spec", "shipped"])
def test_a_name_that_it_takes_for_an_end_neither_ends_nor_writes(config):
    vocabulary = byte_vocabulary([b"</s>", b"</s>"], [b"<|endoftext|>"])
    matcher = engine(vocabulary, config).compile(STRING)
    for byte in b'"a"':
        assert matcher.follow([257]) == matcher.follow([258]) == 0
        assert not any(allows(mask_of(matcher, vocabulary), one) for one in (257, 258, 259))
        assert matcher.consume(byte)
    assert allows(mask_of(matcher, vocabulary), 256)
    assert [matcher.clone().consume(one) for one in (257, 258, 259, 256)] == [False] * 3 + [True]


def test_masks_are_what_each_token_alone_is_allowed_in_a_vocabulary_without_most_characters():
    tokens = [b'"', b"ab", b"abc", b'b"', "é日".encode(), b"\xc3", b"\xa9", b"\x80", b"<end>"]
    vocabulary = Vocabulary.from_tokens("few", tokens, [8], [8])
    tried = engine(vocabulary)
    matcher, path = tried.compile(STRING), [0, 1, 2, 5, 6, 4, 3]
    alone = tried.compile(STRING)  # it is asked for no mask after its start, and looks at none
    for length, token in enumerate([*path, 8]):
        mask = mask_of(matcher, vocabulary)
        for one in range(len(tokens)):
            assert alone.follow([*path[:length], one]) == length + allows(mask, one)
        assert matcher.consume(token)
