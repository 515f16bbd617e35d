"""The built-in engines keep the contract, in both configurations, and their own peculiarities."""

import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from adapters.formatron import FormatronEngine
from adapters.glrmask import GLRMaskEngine
from adapters.llama_cpp import LlamaCppEngine
from adapters.llguidance import LLGuidanceEngine
from adapters.lm_format_enforcer import LMFormatEnforcerEngine
from adapters.maskforge import MaskforgeEngine
from adapters.oc_earley import OCEarleyEngine
from adapters.outlines import OutlinesEngine
from adapters.xgrammar import XGrammarEngine, _ReplayingMatcher
from harness.engines.specs import adapter_class, built_in
from harness.errors import UsageError
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.inputs.vocabulary_hostile import hostile_vocabulary
from harness.inputs.vocabulary_readers import open_vocabulary
from harness.protocol import (
    ONLY_CONFIG,
    Engine,
    Matcher,
    Refused,
    allows,
    complete_options,
    follow_by_mask,
    token_ids,
)
from harness.protocol_checks.adapters import (
    BROKEN,
    OBJECT,
    TEXTS,
    verify,
)
from harness.protocol_checks.smoke import check_identity, known_bytes
from harness.protocol_checks.trial import Thoroughness
from tests.adapterchecks import check_adapter, check_refusal
from tests.inprocess import mask_of

pytestmark = pytest.mark.engines

FAST = (XGrammarEngine, LLGuidanceEngine, OutlinesEngine)
ENGINES = tuple(map(adapter_class, built_in().values()))


def of(kind: Any, *values: str):
    """Parameters of a test about one engine; llama.cpp converts in a child process."""
    marks = [pytest.mark.processes] if kind is LlamaCppEngine else []
    return pytest.param(kind, *values, marks=marks)


CONFIGURED = [
    of(kind, config)
    for kind in ENGINES
    for config in ("spec", "shipped")
    if config == "spec" or kind.OPTIONS["config"] is not ONLY_CONFIG
]
LARGE = [one for one in CONFIGURED if one.values[0] in FAST or one.values[1] == "spec"]
OLDER = ["xgrammar@0.1.25", "llguidance@0.7.29", "outlines@0.1.26"]

_, INTEGER, _, SHORT, MIXED = TEXTS
REFUSED = {
    (FormatronEngine, INTEGER): "Root schema type must be 'object' or 'array'",
    (FormatronEngine, SHORT): "Root schema type must be 'object' or 'array'",
    (LMFormatEnforcerEngine, MIXED): "Unsupported enum type",
    (OCEarleyEngine, SHORT): "Unicode length constraints",
}
"""What some engines cannot be walked along, because they refuse it."""


@cache
def small() -> Vocabulary:
    return hostile_vocabulary(1)


@cache
def qwen() -> Vocabulary:
    return open_vocabulary("qwen2.5")


@cache
def large_for(kind: Any) -> Vocabulary:
    """Qwen2.5's vocabulary; for engines that take long over it a part, with all that is in texts."""
    if kind in FAST:
        return qwen()
    text = "".join(map("".join, TEXTS.values())).encode()
    tokens = [one for at, one in enumerate(qwen().tokens) if at < 12_000 or one in text]
    return Vocabulary.from_tokens("a part", [*tokens, b"<|im_end|>"], [], [len(tokens)])


@cache
def make(kind: Any, vocabulary: Vocabulary, **options: bool | int | str) -> Engine:
    engine: Engine = kind(vocabulary, complete_options(kind.OPTIONS, options))
    return engine


def written(engine: Engine, vocabulary: Vocabulary, schema: str, text: str) -> Matcher:
    """The state behind `text`, byte by byte (in both vocabularies every byte is a token)."""
    matcher = engine.compile(schema)
    for byte in text.encode():
        (token, *_) = vocabulary.ids_of(bytes([byte]))
        assert matcher.consume(token), f"{chr(byte)!r} was refused"
    return matcher


def accepts(engine: Engine, schema: str, text: str) -> bool:
    """Whether the engine takes `text`, byte by byte in the small vocabulary, and then its end."""
    matcher = engine.compile(schema)
    return all(matcher.consume(token) for token in (*text.encode(), small().eos))


PATTERNS = {
    XGrammarEngine,
    LLGuidanceEngine,
    OutlinesEngine,
    LMFormatEnforcerEngine,
    FormatronEngine,
}


@pytest.mark.parametrize("kind", sorted(PATTERNS, key=lambda one: one.DISTRIBUTION))
def test_takes_a_regular_expression_of_the_whole_text(kind):
    engine = make(kind, small())
    matcher = engine.compile_regex("a[bc]?")
    taken = [chr(one) for one in token_ids(mask_of(matcher, small()), 256)]
    assert taken == ["a"]
    assert matcher.consume(ord("a"))
    assert allows(mask_of(matcher, small()), small().eos)
    with pytest.raises(Refused):
        engine.compile_regex("a(")


def test_engines_with_a_dialect_take_regular_expressions():
    named = {one for one in ENGINES if getattr(one, "REGEX_DIALECT", "")}
    assert named == PATTERNS == {one for one in ENGINES if hasattr(one, "compile_regex")}


def allowed_after(engine: Engine, schema: str, text: str) -> set[bytes]:
    """The small vocabulary's tokens that are allowed behind `text`, special ones by name."""
    matcher = written(engine, small(), schema, text)
    ids = token_ids(mask_of(matcher, small()), small().size)
    return {small().tokens[token] for token in ids}


def texts_for(kind: Any, config: str) -> dict[str, list[str]]:
    """What an engine can be walked along, whichever tokens it is written with.

    Shipped outlines takes every part of a character for a character of its own; glrmask and
    oc-earley know one layout, and oc-earley one order; lm-format-enforcer takes a character with
    which no token begins, as in the small vocabulary, for the end of everything.
    """

    def can(text: str) -> bool:
        if kind is GLRMaskEngine:
            return text == json.dumps(json.loads(text), ensure_ascii=False)
        if kind is LMFormatEnforcerEngine:
            return "本" not in text
        return text.isascii() or not leaks(kind, config)

    def canonical(text: str) -> str:
        if kind is not OCEarleyEngine:
            return text
        known = json.loads(text)
        return json.dumps(known, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    return {
        schema: [canonical(text) for text in some if can(text)]
        for schema, some in TEXTS.items()
        if (kind, schema) not in REFUSED
    }


def leaks(kind: Any, config: str) -> bool:
    return kind in (LlamaCppEngine, OutlinesEngine) and config == "shipped"


class TestContract:
    @pytest.mark.parametrize(("kind", "config"), CONFIGURED)
    def test_every_token_of_a_small_vocabulary(self, kind, config, capfd):
        how = Thoroughness(positions=7 if kind in FAST else 3)
        engine, texts = make(kind, small(), config=config), texts_for(kind, config)
        check_adapter(engine, small(), texts, how, special_is_text=leaks(kind, config))
        assert capfd.readouterr().out == ""

    @pytest.mark.parametrize(("kind", "config"), LARGE)
    def test_a_sample_of_a_large_vocabulary(self, kind, config):
        how = Thoroughness(positions=3, tokens=200, whole=0)
        texts = {schema: some[:1] for schema, some in texts_for(kind, config).items()}
        texts = texts if kind in FAST else {OBJECT: texts[OBJECT]}
        engine = make(kind, large_for(kind), config=config)
        check_adapter(engine, large_for(kind), texts, how, special_is_text=leaks(kind, config))

    @pytest.mark.parametrize(("kind", "config"), CONFIGURED)
    def test_two_ids_end_the_sequence(self, kind, config):
        vocabulary = hostile_vocabulary(2)
        most = 3 if kind in FAST else 2
        texts = {schema: some[:1] for schema, some in [*texts_for(kind, config).items()][-most:]}
        engine = make(kind, vocabulary, config=config)
        check_adapter(engine, vocabulary, texts, special_is_text=leaks(kind, config))

    @pytest.mark.parametrize("kind", ENGINES)
    def test_identity(self, kind):
        check_identity(make(kind, small()))

    @pytest.mark.parametrize(
        ("kind", "message"),
        [
            (XGrammarEngine, "Cannot find field nope"),
            (LLGuidanceEngine, "'/nope' does not exist"),
            (OutlinesEngine, "Invalid reference path: nope"),
            (GLRMaskEngine, r"unresolved local \$ref \"#/nope\""),
            of(LlamaCppEngine, r"cannot resolve \$ref #/nope, nope not found"),
            (MaskforgeEngine, r"Malformed: \$ref target not found: /\$ref"),
            (FormatronEngine, "'/nope' does not exist"),
            (LMFormatEnforcerEngine, "No definitions found in schema"),
            (OCEarleyEngine, "reference target not found"),
        ],
    )
    @pytest.mark.parametrize("config", ["spec", "shipped"])
    def test_refusals_are_in_the_words_of_the_engine(self, kind, message, config):
        check_refusal(make(kind, small(), config=config), '{"$ref": "#/nope"}', message)

    @pytest.mark.parametrize(("kind", "schema"), REFUSED)
    def test_what_is_left_out_above_is_refused(self, kind, schema):
        check_refusal(make(kind, small()), schema, REFUSED[kind, schema])

    @pytest.mark.parametrize("of_kind", [lambda _: small(), large_for], ids=["small", "large"])
    @pytest.mark.parametrize("kind", ENGINES)
    def test_the_library_holds_the_bytes_of_the_vocabulary(self, kind, of_kind):
        vocabulary = of_kind(kind)
        engine, ordinary = make(kind, vocabulary, config="spec"), vocabulary.ordinary
        known, wrong = known_bytes(engine, vocabulary)
        hides = {
            LLGuidanceEngine: lambda text: b"\xff" in text,  # a marker inside
            GLRMaskEngine: lambda _: True,  # it cannot be asked
            LMFormatEnforcerEngine: lambda text: "\ufffd" in text.decode("utf-8", "replace"),
        }.get(kind, lambda _: False)
        unknown = {one for one, text in ordinary.items() if hides(text)}
        assert (set(ordinary) - set(known), wrong) == (unknown, [])


@pytest.mark.network
@pytest.mark.parametrize("spec", OLDER)
def test_an_older_version_keeps_the_contract(in_version, spec, monkeypatch):
    """With one vocabulary: for each the library is started anew."""
    for others in ("_ON_TWO_ENDS", "_ON_GIVEN"):
        monkeypatch.setattr(f"harness.protocol_checks.adapters.{others}", {})
    found = {one.check: one for one in verify(in_version(spec), byte_vocabulary(), 60.0, 4 << 30)}
    assert not [one for one in found.values() if one.outcome == BROKEN]
    written = [one for one in found.values() if one.words.endswith("texts, to the end")]
    assert len(written) >= 4, found


OPEN = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'
ORDERED = '{"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}}'
INTEGERS = '{"type": "array", "items": {"type": "integer"}}'
ESCAPED = '"\\u0041"'
OWN = '{"x-guidance": {"whitespace_flexible": false}, "type": "array"}'
UNSPACED = {"any_whitespace": "false"}
SHIPPED, TIGHT = {"config": "shipped"}, {"whitespace": "none"}


@pytest.mark.parametrize(
    ("kind", "options", "schema", "accepted", "refused"),
    [
        (XGrammarEngine, {}, OPEN, '{"a": 1, "b": 2}', '{"b": 2}'),
        (XGrammarEngine, SHIPPED, OPEN, '{"a": 1}', '{"a": 1, "b": 2}'),
        (XGrammarEngine, {"strict_mode": "true"}, OPEN, '{"a": 1}', '{"a": 1, "b": 2}'),
        (XGrammarEngine, {**SHIPPED, "strict_mode": "false"}, OPEN, '{"a": 1, "b": 2}', '{"b": 2}'),
        (XGrammarEngine, UNSPACED, OPEN, '{"a": 1}', '{ "a":1}'),
        (XGrammarEngine, {**UNSPACED, "separators": "compact"}, OPEN, '{"a":1}', '{"a": 1}'),
        (XGrammarEngine, {"max_whitespace": 2}, OPEN, '{  "a":1}', '{   "a":1}'),
        (XGrammarEngine, {}, ORDERED, '{"a": 1, "b": 2}', '{"b": 2, "a": 1}'),
        (XGrammarEngine, {"any_order": "true"}, ORDERED, '{"b": 2, "a": 1}', '{"b": 1}'),
        *(
            (kind, options, schema, *pair)
            for schema in ('{"type": "string"}', "true", "{}")
            for kind, options, escapes in (
                (LLGuidanceEngine, {}, True),
                (LLGuidanceEngine, SHIPPED, False),
                (LLGuidanceEngine, {**SHIPPED, "unicode_escapes": "true"}, True),
                (LLGuidanceEngine, {"unicode_escapes": "false"}, False),
                (GLRMaskEngine, {}, True),
                (GLRMaskEngine, SHIPPED, False),
                (GLRMaskEngine, {**SHIPPED, "llguidance_compat": "false"}, True),
                (GLRMaskEngine, {"llguidance_compat": "true"}, False),
            )
            for pair in ((ESCAPED, '"') if escapes else ('"A"', ESCAPED),)
        ),
        (LLGuidanceEngine, {}, OWN, "[1,2]", "[1, 2]"),
        (LLGuidanceEngine, TIGHT, INTEGERS, "[1,2]", "[1, 2]"),
        (LLGuidanceEngine, {**TIGHT, "separators": "spaced"}, INTEGERS, "[1, 2]", "[1,2]"),
        (LLGuidanceEngine, {"whitespace_pattern": " "}, INTEGERS, "[ 1, 2]", "[1,  2]"),
        (OutlinesEngine, {}, INTEGERS, "[1, 2]", "[1,  2]"),
        (OutlinesEngine, {"whitespace": "[ ]*"}, INTEGERS, "[1,   2]", "[1,\t2]"),
        (OutlinesEngine, {"whitespace": "(\\n )?"}, INTEGERS, "[1,\n 2]", "[1, 2]"),
    ],
)
def test_what_options_change(monkeypatch, kind, options, schema, accepted, refused):
    monkeypatch.setenv("GLRMASK_LLGUIDANCE_COMPAT", "1")  # which the option is put over
    engine = make(kind, small(), **options)
    assert accepts(engine, schema, accepted)
    assert not accepts(engine, schema, refused)


class TestXGrammar:
    def test_special_tokens_can_be_text(self):
        for text, allowed in (("auto", False), ("text", True)):
            start = make(XGrammarEngine, small(), special_tokens=text).compile('{"type": "string"}')
            assert start.consume(ord('"'))
            assert allows(mask_of(start, small()), 257) is allowed

    def test_everything_allowed_means_the_possible_ids_alone(self):
        digits = [b"0", b"1", b"2", b"<end>"]
        for tokens, special in ((digits, [3]), ([*digits, b"<pad>"], [3, 4])):
            vocabulary = Vocabulary.from_tokens("digits", tokens, special, [3])
            matcher = make(XGrammarEngine, vocabulary).compile('{"type": "integer"}')
            assert matcher.consume(1)
            assert mask_of(matcher, vocabulary).tolist() == [0b1111]

    @pytest.mark.parametrize(
        ("message", "raised"), [("std::bad_alloc", MemoryError), ("no such keyword", Refused)]
    )
    def test_running_out_of_memory_is_no_refusal(self, monkeypatch, message, raised):
        import xgrammar

        def fail(*_, **__):
            raise RuntimeError(message)

        engine = make(XGrammarEngine, small())
        monkeypatch.setattr(xgrammar.GrammarCompiler, "compile_json_schema", fail)
        with pytest.raises(raised, match=message):
            engine.compile("{}")

    def test_a_version_without_fork_is_cloned_by_replay(self, monkeypatch):
        import xgrammar

        monkeypatch.delattr(xgrammar.GrammarMatcher, "fork")
        engine = make(XGrammarEngine, small())
        assert isinstance(engine.compile("true"), _ReplayingMatcher)
        check_adapter(engine, small(), TEXTS)

    def test_a_version_without_an_option_says_so_only_when_it_is_asked_for(self, monkeypatch):
        import xgrammar

        class Compiler(xgrammar.GrammarCompiler):
            def compile_json_schema(self, schema, *, any_whitespace=True, strict_mode=True):
                return super().compile_json_schema(schema, strict_mode=strict_mode)

        monkeypatch.setattr(xgrammar, "GrammarCompiler", Compiler)
        options = complete_options(XGrammarEngine.OPTIONS, {})
        assert XGrammarEngine(small(), options).compile(OPEN).consume(ord("{"))
        with pytest.raises(UsageError, match="any_order"):
            XGrammarEngine(small(), {**options, "any_order": "true"})


class TestLLGuidance:
    HOUSE = '{"const": "greenhouse"}'

    @pytest.mark.parametrize("config", ["spec", "shipped"])
    def test_what_the_lexer_may_cost_between_two_masks_refuses_nothing(self, config):
        engine = make(LLGuidanceEngine, small(), config=config)
        costly = {"type": "string", "pattern": r"^(?:\S+\s+){0,29}\S+$", "maxLength": 300}
        text, schema = b'"' + b"word " * 8 + b'word"', json.dumps(costly)
        matcher = engine.compile(schema)
        assert [matcher.clone().follow(text) for _ in range(2)] == [len(text)] * 2
        assert follow_by_mask(matcher, text, small().words) == len(text)
        assert matcher.follow(text[:-2] + b'"!') == len(text) - 1
        alone = engine.compile(schema)
        assert all(map(alone.consume, text))
        assert not alone.consume(ord("x"))
        assert allows(mask_of(alone, small()), small().eos)

    def test_the_whole_language_or_only_the_forced_token(self):
        spec = make(LLGuidanceEngine, small())
        shipped = make(LLGuidanceEngine, small(), config="shipped")
        unforced = make(LLGuidanceEngine, small(), config="shipped", forced="false")
        assert allowed_after(shipped, self.HOUSE, "") == {b'"green'}
        for engine in (spec, unforced):
            assert allowed_after(engine, self.HOUSE, "") == {b'"', b'"green'}
        matcher = shipped.compile(self.HOUSE)
        assert (matcher.consume(ord('"')), matcher.follow([ord('"')])) == (False, 0)
        assert matcher.consume(*small().ids_of(b'"green'))

    def test_forced_tokens_are_those_of_the_real_bpe(self):
        matcher = make(LLGuidanceEngine, qwen(), config="shipped").compile('{"const": "worldwide"}')
        taken = []
        while not allows(mask_of(matcher, qwen()), qwen().eos):
            (token,) = token_ids(mask_of(matcher, qwen()), qwen().size).tolist()
            taken.append(qwen().tokens[token])
            assert matcher.consume(token)
        assert taken == [b'"', b"world", b"wide", b'"']

    def test_ids_with_the_same_bytes_are_kept_where_the_vocabulary_is_a_bpe(self):
        vocabulary = replace(byte_vocabulary([b"ab", b"ab"]), pattern="(?s:.)")
        engine = make(LLGuidanceEngine, vocabulary)
        assert engine.token_bytes([257, 258]) == [b"ab", b"ab"]

    def test_a_version_without_unicode_escapes_says_so_only_when_asked_for(self, monkeypatch):
        monkeypatch.setattr("adapters.llguidance._UNICODE_ESCAPES", "no_such_option")
        options = complete_options(LLGuidanceEngine.OPTIONS, {})
        assert not accepts(LLGuidanceEngine(small(), options), '{"type": "string"}', '"\\u0041"')
        with pytest.raises(UsageError, match="no_such_option"):
            LLGuidanceEngine(small(), {**options, "unicode_escapes": "true"})

    def test_one_of_can_be_any_of(self):
        schema = '{"oneOf": [{"type": "integer"}, {"const": 5}]}'
        check_refusal(make(LLGuidanceEngine, small()), schema, "oneOf")
        assert accepts(make(LLGuidanceEngine, small(), coerce_one_of=True), schema, "5")

    def test_lenience_ignores_what_is_not_implemented(self, capfd):
        schema = '{"type": "array", "items": {"type": "integer"}, "uniqueItems": true}'
        check_refusal(make(LLGuidanceEngine, small()), schema, "uniqueItems")
        assert accepts(make(LLGuidanceEngine, small(), lenient=True), schema, "[1,1]")
        assert "uniqueItems" in capfd.readouterr().err

    def test_what_fails_at_the_first_mask_is_refused(self):
        check_refusal(make(LLGuidanceEngine, small()), '{"$ref": "#"}', "NoExtension")

    def test_an_error_of_a_later_mask_is_raised(self):
        matcher = make(LLGuidanceEngine, small()).compile('{"type": "integer"}')
        assert not matcher.native.consume_token(ord("x"))
        for use in (
            lambda: mask_of(matcher, small()),
            lambda: matcher.consume(ord("1")),
            lambda: matcher.follow([ord("1")]),
        ):
            with pytest.raises(RuntimeError, match=r"^llguidance: "):
                use()


def test_shipped_keys_of_outlines_leak_special_tokens_and_parts_of_characters():
    engine = make(OutlinesEngine, small(), config="shipped")
    spec = allowed_after(make(OutlinesEngine, small()), '{"type": "string"}', '"a')
    leaked = {b"<|start|>", b"<tool_call>", b"\x98\x80", b"\xff\xfe"}
    assert leaked <= allowed_after(engine, '{"type": "string"}', '"a')
    assert not leaked & spec
    held = [b"a", "\ufffd".encode(), b"<|start|>", None]
    assert engine.token_bytes([ord("a"), 0xFF, 257, 256]) == held


def test_maskforge_names_what_it_does_not_support():
    engine = make(MaskforgeEngine, small())
    check_refusal(engine, r'{"pattern": "(a)\\1"}', "Unsupported: .* at /pattern")
