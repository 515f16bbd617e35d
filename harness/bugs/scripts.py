"""Stand-alone scripts that show a bug with nothing but the engine, and texts for its tracker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.bugs.error_case import ErrorCase
from harness.bugs.listing import Bug
from harness.bugs.specification import section
from harness.engines.specs import read_spec
from harness.verdict_kinds import REJECTIONS, WRONG_BITS

_TOP: Final = '''#!/usr/bin/env python3
"""{title}

Seen with {engine} {version}: {install}
{rule}
Ends with 1 while the bug is there, 0 when it is gone, 2 when it cannot run.
"""

import sys

SCHEMA = {schema!r}
TEXT = {text!r}
EXTRA = {extra!r}  # tokens beside the 256 bytes
END = 256 + len(EXTRA)
TOKENS = {tokens}  # how the text is cut
VOCABULARY = [bytes([byte]) for byte in range(256)] + EXTRA


def {function}():
    """{counts}"""
{body}

try:
    count = {function}()
except Exception as problem:
    print("cannot run:", problem)
    sys.exit(2)
print("schema ", SCHEMA)
'''

_OF_A_TEXT: Final = """spelled = b"".join((VOCABULARY + [b""])[token] for token in TOKENS[:count])
whole = count == len(TOKENS)
print("allowed", spelled.decode("utf-8", "backslashreplace"), "and the end" if whole else "")
if not whole:
    print("refused", (VOCABULARY + [b"the end"])[TOKENS[count]])
print("the text is {ruling}, so the engine is", {verdict})
sys.exit({exit})
"""

_OF_A_MASK: Final = """if count is None:
    print("what the masks show is taken, and nothing else")
    sys.exit(0)
before = b"".join(VOCABULARY[token] for token in TOKENS[:count])
print("behind", before.decode("utf-8", "backslashreplace"))
print("the mask and what is taken differ on", VOCABULARY[TOKENS[count]])
sys.exit(1)
"""

_XGRAMMAR_MASKS: Final = """    import xgrammar

    tokenizer = xgrammar.TokenizerInfo(
        VOCABULARY + [b""], xgrammar.VocabType.RAW, vocab_size=END + 1, stop_token_ids=[END]
    )
    compiler = xgrammar.GrammarCompiler(tokenizer, max_threads=1, cache_enabled=False)
    matcher = xgrammar.GrammarMatcher(compiler.compile_json_schema(SCHEMA, strict_mode=False))
    mask = xgrammar.allocate_token_bitmask(1, END + 1)
    for count, token in enumerate(TOKENS):
        matcher.fill_next_token_bitmask(mask)
        shown = bool(int(mask[0, token // 32]) >> token % 32 & 1)
        taken = matcher.accept_token(token)
"""

_XGRAMMAR: Final = f"""{_XGRAMMAR_MASKS}\
        if not (shown and taken):
            return count
    return len(TOKENS)
"""

_XGRAMMAR_MASK: Final = f"""{_XGRAMMAR_MASKS}\
        if shown != taken:
            return count
        if not taken:
            break
    return None
"""

_LLGUIDANCE: Final = """    import llguidance

    class Bytes:  # what the library asks of a tokenizer
        eos_token_id, bos_token_id = END, None
        tokens, special_token_ids = VOCABULARY + [b"<end>"], [END]

        def __call__(self, text):
            return list(text)

    tokenizer = llguidance.LLTokenizer(
        llguidance.TokenizerWrapper(Bytes()), n_vocab=END + 1, eos_token=END
    )
    allow = '"x-guidance":{"json_allow_general_unicode_escapes":true}'
    for option in (allow, ""):  # older versions know no such option
        schema = SCHEMA
        if schema.startswith("{"):
            schema = "{" + ",".join(part for part in (option, schema[1:-1]) if part) + "}"
        grammar = '%llguidance {"no_forcing": true}\\nstart: %json ' + schema
        grammar = llguidance.LLMatcher.grammar_from_lark(grammar)
        matcher = llguidance.LLMatcher(tokenizer, grammar, log_level=0)
        if not matcher.is_error():
            break
    else:
        raise ValueError(matcher.get_error())
    count = matcher.validate_tokens(TOKENS[:-1])
    matcher.consume_tokens(TOKENS[:count])
    return count + (count == len(TOKENS) - 1 and matcher.is_accepting())
"""

_OUTLINES: Final = """    import outlines_core
    from outlines_core.json_schema import build_regex_from_schema

    ids = {}
    for token, text in enumerate(VOCABULARY):
        ids.setdefault(text, []).append(token)
    vocabulary = outlines_core.Vocabulary(END, ids)
    index = outlines_core.Index(build_regex_from_schema(SCHEMA, None), vocabulary)
    state = index.get_initial_state()
    for count, token in enumerate(TOKENS[:-1]):
        state = index.get_next_state(state, token)
        if state is None:
            return count
    return len(TOKENS) - 1 + index.is_final_state(state)
"""

_GLRMASK: Final = """    import os

    os.environ["GLRMASK_LLGUIDANCE_COMPAT"] = "0"  # read schemas as they are
    import glrmask

    value, end = glrmask.Grammar.from_json_schema(SCHEMA), glrmask.TokenSet([END])
    grammar = glrmask.Grammar.from_expr(glrmask.Expr.sequence(value, end))
    vocabulary = glrmask.Vocab.from_id_to_bytes(dict(enumerate(VOCABULARY)))
    state = grammar.compile(vocabulary).start()
    for count, token in enumerate(TOKENS):
        if not state.commit_token(token):
            return count
    return len(TOKENS)
"""

_MASKFORGE: Final = """    import maskforge

    vocabulary = maskforge.Vocabulary.from_id_ordered_tokens(
        [*VOCABULARY, None], eos_token_id=END, logits_vocab_size=END + 1
    )
    session = maskforge.Compiler().compile(SCHEMA).bind(vocabulary).start_session()
    for count, token in enumerate(TOKENS):
        try:
            session.advance(token)
        except maskforge.MaskforgeError:
            return count
    return len(TOKENS)
"""

_LM_FORMAT_ENFORCER: Final = """    import json
    import os

    os.environ["LMFE_MAX_CONSECUTIVE_WHITESPACES"] = "1000000"
    os.environ["LMFE_MAX_JSON_ARRAY_LENGTH"] = "0"  # for any number
    from lmformatenforcer import JsonSchemaParser, TokenEnforcer, TokenEnforcerTokenizerData

    def decode(tokens):
        text = b"".join(VOCABULARY[token] for token in tokens)
        return text.decode("utf-8", "replace").rstrip("\\ufffd")

    texts = [text.decode("utf-8", "replace") for text in VOCABULARY]
    known = [(token, text, False) for token, text in enumerate(texts)]
    data = TokenEnforcerTokenizerData(known, decode, END, False, END + 1)
    enforcer = TokenEnforcer(data, JsonSchemaParser(json.loads(SCHEMA)))
    for count, token in enumerate(TOKENS):
        if token not in enforcer.get_allowed_tokens(TOKENS[:count]).allowed_tokens:
            return count
    return len(TOKENS)
"""

_FORMATRON: Final = """    import json
    import typing

    import kbnf
    import pydantic

    if not hasattr(pydantic, "typing"):
        pydantic.typing = typing  # which the library imports from there
    from formatron.formatter import FormatterBuilder
    from formatron.schemas.json_schema import create_schema

    named = {
        "$id": "https://example.com/schema",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
    }
    builder = FormatterBuilder()
    builder.append_str(f"{builder.json(create_schema({**named, **json.loads(SCHEMA)}))}")
    known = {token: kbnf.Token(text) for token, text in enumerate(VOCABULARY)}
    texts = {token: text.decode("utf-8", "replace") for token, text in enumerate(VOCABULARY)}
    formatter = builder.build(
        kbnf.Vocabulary(known, texts), lambda tokens: "".join(map(texts.__getitem__, tokens))
    )
    for count, token in enumerate(TOKENS):
        if formatter.is_completed():
            return count + (token == END)
        formatter.compute_allowed_tokens()
        if token not in formatter.get_allowed_tokens_since_last_computation():
            return count
        formatter.accept_token(token)
    return len(TOKENS)
"""

_BODIES: Final[Mapping[str, str]] = {
    "xgrammar": _XGRAMMAR,
    "llguidance": _LLGUIDANCE,
    "outlines": _OUTLINES,
    "glrmask": _GLRMASK,
    "maskforge": _MASKFORGE,
    "lm-format-enforcer": _LM_FORMAT_ENFORCER,
    "formatron": _FORMATRON,
}
_BODIES_OF_MASKS: Final[Mapping[str, str]] = {"xgrammar": _XGRAMMAR_MASK}
_PACKAGES: Final[Mapping[str, str]] = {
    "xgrammar": "'xgrammar=={version}'",
    "llguidance": "'llguidance=={version}'",
    "outlines": "'outlines-core=={version}'",
    "glrmask": "'glrmask=={version}'",
    "maskforge": "'maskforge=={version}'",
    "lm-format-enforcer": "'lm-format-enforcer=={version}'",
    "formatron": "'formatron=={version}' 'kbnf==0.4.2'",
}
_LIES: Final = "mask_consume_mismatch"
_ALLOWED: Final = "How many of the tokens, the end of sequence last, the engine allows in turn."
_DIFFERING: Final = (
    "How many tokens go before one that the mask shows and that is not taken, or the reverse."
)
_MASK_RULE: Final = "What a mask allows is what the engine takes, or a server's sampling breaks."
_USUAL: Final = {"spec", "auto", "", False}
"""Values of options that stand for what the configuration says."""


def no_script(bug: Bug) -> str:
    """Why there is no script for a bug; empty where there is one."""
    spec = read_spec(bug.engine)
    if spec.name not in _BODIES:
        return f"scripts are written for {', '.join(_BODIES)}"
    if bug.options.get("config") != "spec" or set(bug.options.values()) - _USUAL:
        return "scripts are written for the configuration spec"
    if bug.error.kind == _LIES and spec.name not in _BODIES_OF_MASKS:
        return f"for this kind scripts are written for {', '.join(_BODIES_OF_MASKS)}"
    if bug.error.kind not in (*WRONG_BITS, _LIES):
        return f"there are no scripts for the kind {bug.error.kind}"
    return ""


def script(bug: Bug) -> str:
    """A Python script that imports the engine alone.

    Raises:
        ValueError: There is none, as `no_script` says.
    """
    if problem := no_script(bug):
        raise ValueError(problem)
    name = read_spec(bug.engine).name
    valid = bug.error.kind in REJECTIONS
    lies = bug.error.kind == _LIES
    ruling = "valid" if valid else "invalid"
    judged = f"The text is {ruling} under the schema, by jsonschema and jsonschema-rs."
    return (_TOP + (_OF_A_MASK if lies else _OF_A_TEXT)).format(
        function="differing" if lies else "allowed",
        counts=_DIFFERING if lies else _ALLOWED,
        title=bug.title,
        engine=name,
        version=bug.version,
        install=_install(bug),
        rule=_MASK_RULE if lies else f"{judged}\n{section(bug.keyword)}",
        ruling=ruling,
        schema=bug.error.schema,
        text=bug.error.text,
        tokens=_tokens(bug.error),
        extra=[bug.error.token] if bug.error.token else [],
        body=(_BODIES_OF_MASKS if lies else _BODIES)[name],
        verdict="'right' if whole else 'wrong'" if valid else "'wrong' if whole else 'right'",
        exit="0 if whole else 1" if valid else "1 if whole else 0",
    )


def _install(bug: Bug) -> str:
    """Where the engine is to be had."""
    read = read_spec(bug.engine)
    packages = _PACKAGES[read.name].format(version=bug.version)
    return f"the build {read.path}" if read.path else f"pip install {packages}"


def _tokens(case: ErrorCase) -> str:
    """How the script cuts the text."""
    last = [] if case.kind == _LIES else ["END"]
    parts = ["*TEXT"]
    if case.token:
        end = case.token_at + len(case.token)
        parts = [f"*TEXT[:{case.token_at}]", "256", f"*TEXT[{end}:]"]
    return f"[{', '.join([*parts, *last])}]"


def report(bug: Bug) -> str:
    """What to tell the engine's tracker, in Markdown."""
    return "\n".join(
        [
            f"# {bug.title}",
            "",
            f"With {read_spec(bug.engine).name} {bug.version} and the schema",
            "",
            f"```json\n{bug.error.schema}\n```",
            "",
            *_what_happens(bug),
            "",
            f"Met in {bug.cases} of {bug.judged} schemas. The script beside this text needs the",
            "engine alone; it ends with 1 while the bug is there, and with 0 when it is gone.",
            "",
            f"Found by maskcourt, bug {bug.id}.",
            "",
        ]
    )


def _what_happens(bug: Bug) -> list[str]:
    if bug.error.kind == _LIES:
        what = "the mask and what is consumed do not say the same of the end of this text:"
        return [what, "", f"```\n{bug.error.readable_text}\n```"]
    valid = bug.error.kind in REJECTIONS
    token = f", as the one token `{bug.error.token!r}`" if bug.error.token else ""
    word = "valid" if valid else "invalid"
    does = f"refuses it at the place marked »…«{token}" if valid else "allows it to the end"
    return [
        f"this text is {word} (jsonschema and jsonschema-rs agree), and the engine {does}:",
        "",
        f"```\n{marked(bug) if valid else bug.error.readable_text}\n```",
        "",
        f"Specified in {section(bug.keyword)}",
    ]


def marked(bug: Bug) -> str:
    """The text with the byte or the token at fault between marks."""
    before, there, behind = (one.decode("utf-8", "backslashreplace") for one in marked_parts(bug))
    return f"{before}»{there or 'the end'}«{behind}"


def marked_parts(bug: Bug) -> tuple[bytes, bytes, bytes]:
    """The text before the byte or the token at fault, this (empty for the end), and the rest."""
    at = bug.at if 0 <= bug.at <= len(bug.error.text) else len(bug.error.text)
    end = at + max(1, len(bug.error.token))
    return bug.error.text[:at], bug.error.text[at:end], bug.error.text[end:]
