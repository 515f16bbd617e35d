"""Stand-alone scripts that show a bug with nothing but the engine, and texts for its tracker.

A script is fixed text but for its data section, where everything that a run says stands as a
literal made by `repr`: no schema, text, token, version or title can become code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from packaging.version import InvalidVersion, Version

from harness.bugs.listing import Bug
from harness.bugs.specification import section
from harness.engines.specs import read_spec
from harness.printable import code, markdown, printable
from harness.verdict_kinds import REJECTIONS, WRONG_BITS

_TOP: Final = '''#!/usr/bin/env python3
"""Shows a bug of a constrained-decoding engine, with nothing but the engine.

Ends with 1 while the bug is there, 0 when it is gone, 2 when it cannot run.
"""

import sys

'''

_TOKENS: Final = """
VOCABULARY = [bytes([byte]) for byte in range(256)] + ([TOKEN] if TOKEN else [])
END = len(VOCABULARY)
TOKENS = [*TEXT[:TOKEN_AT], 256, *TEXT[TOKEN_AT + len(TOKEN) :]] if TOKEN else [*TEXT]


"""

_RUN: Final = """

try:
    count = run()
except Exception as problem:
    print(f"cannot run: {problem!r}; it needs: {INSTALL}")
    sys.exit(2)
print("schema ", repr(SCHEMA))
"""

_ALLOWED: Final = '''def run():
    """How many of the tokens, the end of sequence last, the engine allows in turn."""
    TOKENS.append(END)
'''

_TEXT_RESULT: Final = """whole = count == len(TOKENS)
print("allowed", b"".join((VOCABULARY + [b""])[token] for token in TOKENS[:count]))
print("refused", "nothing" if whole else (VOCABULARY + [b"the end"])[TOKENS[count]])
verdict = "right" if whole == VALID else "wrong"
print("jsonschema and jsonschema-rs:", "valid" if VALID else "invalid", "- the engine is", verdict)
sys.exit(whole != VALID)
"""

_DIFFERING: Final = '''def run():
    """How many tokens go before one that the mask shows and that is not taken, or the reverse."""
'''

_MASK_RESULT: Final = """if count is None:
    print("what the masks show is taken, and nothing else")
    sys.exit(0)
print("after", b"".join(VOCABULARY[token] for token in TOKENS[:count]))
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
_MASK_BODIES: Final[Mapping[str, str]] = {"xgrammar": _XGRAMMAR_MASK}
_PACKAGES: Final[Mapping[str, str]] = {"outlines": "outlines-core"}
"""What an engine is called on PyPI, where that is not its name."""
_FURTHER: Final[Mapping[str, str]] = {"formatron": " 'kbnf==0.4.2'"}
_MISMATCH: Final = "mask_consume_mismatch"
_MASK_RULE: Final = "What a mask allows is what the engine takes, or a server's sampling breaks."
_USUAL: Final = ("spec", "auto", "", False)
"""Values of options that stand for what the configuration says."""


def no_script(bug: Bug) -> str:
    """Why there is no script for a bug; empty where there is one."""
    name = read_spec(bug.engine).name
    if name not in _BODIES:
        return f"scripts are written for {', '.join(_BODIES)}"
    options = bug.options
    if options.get("config") != "spec" or any(one not in _USUAL for one in options.values()):
        return "scripts are written for the configuration spec"
    if bug.error.kind == _MISMATCH and name not in _MASK_BODIES:
        return f"for this kind scripts are written for {', '.join(_MASK_BODIES)}"
    if bug.error.kind not in (*WRONG_BITS, _MISMATCH):
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
    mismatch = bug.error.kind == _MISMATCH
    data = {
        "TITLE": bug.title,
        "ENGINE": f"{name} {bug.version}",
        "INSTALL": install(bug),
        "RULE": _MASK_RULE if mismatch else section(bug.keyword),
        "SCHEMA": bug.error.schema,
        "TEXT": bug.error.text,
        "TOKEN": bug.error.token,
        "TOKEN_AT": bug.error.token_at,
    }
    if not mismatch:
        data["VALID"] = bug.error.kind in REJECTIONS
    literals = "".join(f"{key} = {value!r}\n" for key, value in data.items())
    if mismatch:
        program = (_DIFFERING, _MASK_BODIES[name], _RUN, _MASK_RESULT)
    else:
        program = (_ALLOWED, _BODIES[name], _RUN, _TEXT_RESULT)
    return "".join((_TOP, literals, _TOKENS, *program))


def install(bug: Bug) -> str:
    """How to get the engine; says so where the run names no version that a registry could have."""
    read = read_spec(bug.engine)
    if read.path:
        return printable(f"the build {read.path}", "")
    try:
        version = Version(str(bug.version))
    except InvalidVersion:
        return "not known: the run names no version by PEP 440"
    package = _PACKAGES.get(read.name, read.name)
    return f"pip install '{package}=={version}'{_FURTHER.get(read.name, '')}"


def report(bug: Bug) -> str:
    """What to tell the engine's tracker, in Markdown."""
    return "\n".join(
        [
            f"# {markdown(bug.title)}",
            "",
            f"With {code(f'{read_spec(bug.engine).name} {bug.version}')} and the schema",
            "",
            _fenced(bug.error.schema, "json"),
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
    text = _fenced(bug.error.readable_text)
    if bug.error.kind == _MISMATCH:
        what = "the mask and what is consumed do not say the same of the end of this text:"
        return [what, "", text]
    if valid := bug.error.kind in REJECTIONS:
        token = f", as the one token {code(repr(bug.error.token))}" if bug.error.token else ""
        does, text = f"refuses it at the place marked »…«{token}", _fenced(marked(bug))
    else:
        does = "allows it to the end"
    word = "valid" if valid else "invalid"
    return [
        f"this text is {word} (jsonschema and jsonschema-rs agree), and the engine {does}:",
        "",
        text,
        "",
        f"Specified in {section(bug.keyword)}",
    ]


def _fenced(text: str, language: str = "") -> str:
    """A block of code in Markdown that no text can end."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{printable(text)}\n{fence}"


def marked(bug: Bug) -> str:
    """The text in one printable line, with the byte or the token at fault between marks."""
    before, fault, rest = (part.decode("utf-8", "backslashreplace") for part in marked_parts(bug))
    return printable(f"{before}»{fault or 'the end'}«{rest}", "")


def marked_parts(bug: Bug) -> tuple[bytes, bytes, bytes]:
    """The text before the byte or the token at fault, this (empty for the end), and the rest."""
    text = bug.error.text
    start = bug.at if 0 <= bug.at <= len(text) else len(text)
    end = start + max(1, len(bug.error.token))
    return text[:start], text[start:end], text[end:]
