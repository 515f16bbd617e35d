"""Stand-alone scripts that show a bug with nothing but the engine, and texts for its tracker.

A script is fixed text but for its data section, where everything that a run says stands as a
literal made by `repr`: no schema, text, token, version or title can become code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from packaging.version import InvalidVersion, Version

from harness.bugs.listing import Bug
from harness.engines.specs import adapter_class, built_in, read_spec
from harness.printable import code, escaped, markdown, printable
from harness.protocol import settle_switches
from harness.schemas.schema import LISTS, SINGLE
from harness.verdict_kinds import MEANINGS, REJECTIONS, WRONG_BITS

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
print("effect ", EFFECT or "not known")
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

_MISMATCH: Final = "mask_consume_mismatch"
_MASK_RULE: Final = "What a mask allows is what the engine takes, or a server's sampling breaks."
_USUAL: Final = ("spec", "auto", "", False)
"""Values of options that stand for what the configuration says."""
_DRAFT: Final = "https://json-schema.org/draft/2020-12/json-schema"
_JSON: Final = "RFC 8259, the grammar of JSON: https://www.rfc-editor.org/rfc/rfc8259"
_DOCUMENTS: Final[Mapping[str, Sequence[str]]] = {
    "validation": (
        *("type", "enum", "const", "maxLength", "minLength", "pattern", "format"),
        *("multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"),
        *("maxItems", "minItems", "uniqueItems", "maxContains", "minContains"),
        *("maxProperties", "minProperties", "required", "dependentRequired"),
    ),
    "core": ("$ref", "dependentSchemas", "properties", "patternProperties", *LISTS, *SINGLE),
}
"""Which part of JSON Schema 2020-12 specifies a keyword."""


@cache
def _bodies(attribute: str) -> dict[str, str]:
    """What adapters have in an attribute, by engine: how a script asks their library."""
    classes = {name: adapter_class(reference) for name, reference in built_in().items()}
    texts = {name: getattr(adapter, attribute, "") for name, adapter in classes.items()}
    return {name: text for name, text in texts.items() if text}


def no_script(bug: Bug) -> str:
    """Why there is no script for a bug; empty where there is one."""
    name, bodies, masks = read_spec(bug.engine).name, _bodies("SCRIPT"), _bodies("MASK_SCRIPT")
    if name not in bodies:
        return f"scripts are written for {', '.join(bodies)}"
    options = bug.options
    if options.get("config") != "spec" or any(value not in _USUAL for value in options.values()):
        return "scripts are written for the configuration spec"
    if bug.error.kind == _MISMATCH and name not in masks:
        return f"for this kind scripts are written for {', '.join(masks)}"
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
        "EFFECT": bug.effect_in_words,
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
        program = (_DIFFERING, _bodies("MASK_SCRIPT")[name], _RUN, _MASK_RESULT)
    else:
        program = (_ALLOWED, _bodies("SCRIPT")[name], _RUN, _TEXT_RESULT)
    return "".join((_TOP, literals, _TOKENS, *program))


def section(keyword: str) -> str:
    """Where a keyword is specified: a title and an address; JSON itself where it is none."""
    for document, keywords in _DOCUMENTS.items():
        if keyword in keywords:
            address = f"{_DRAFT}-{document}#name-{keyword.lower()}"
            return f"JSON Schema {document.title()}, {keyword}: {address}"
    return _JSON


def install(bug: Bug) -> str:
    """How to get the engine; says so where the run names no version that a registry could have."""
    read = read_spec(bug.engine)
    if read.path or read.name not in built_in():
        return printable(f"the build {read.path or read.name}", "")
    try:
        version = Version(str(bug.version))
    except InvalidVersion:
        return "not known: the run names no version by PEP 440"
    adapter = adapter_class(built_in()[read.name])
    further = "".join(f" '{package}'" for package in getattr(adapter, "SCRIPT_NEEDS", ()))
    return f"pip install '{adapter.DISTRIBUTION}=={version}'{further}"


def report(bug: Bug) -> str:
    """What to tell the engine's tracker, in Markdown."""
    shown = f": {bug.shown_in_words}" * bool(bug.shown_in_words)
    met = f"Met in {bug.cases:,} of {bug.judged:,} schemas of {code(bug.data)}"
    name, meaning = f"{read_spec(bug.engine).name} {bug.version}", MEANINGS.get(bug.effect, "")
    shows = [f"There is no script: {markdown(no_script(bug))}."]
    if not no_script(bug):
        ends = "This script needs the engine alone; it ends with 1 while the bug is there:"
        shows = [ends, _fenced(script(bug), "python")]
    configured = f"configured as {code(_configuration(bug))}, and the schema"
    parts = [
        f"# {markdown(bug.title)}",
        f"With {code(name)} ({code(install(bug))}), {configured}",
        _fenced(bug.error.schema, "json"),
        *_what_happens(bug),
        *([f"What it costs a user: {meaning}."] if meaning else []),
        f"{met}{shown}.",
        *shows,
        f"Found by maskcourt, bug {bug.id}.",
    ]
    return "\n\n".join(parts) + "\n"


def _configuration(bug: Bug) -> str:
    """The options of the engine that are not left to it, switches as the configuration has them."""
    reference = built_in().get(read_spec(bug.engine).name)
    presets = getattr(adapter_class(reference), "PRESETS", {}) if reference else {}
    options = dict(bug.options)
    if (switches := presets.get(options.get("config"))) is not None:
        options |= settle_switches({**dict.fromkeys(switches, "auto"), **options}, presets)
    chosen = (f"{name}={value}" for name, value in options.items() if value not in ("auto", ""))
    return ", ".join(chosen)


def _what_happens(bug: Bug) -> list[str]:
    text = _fenced(escaped(bug.error.text))
    if bug.error.kind == _MISMATCH:
        return ["the mask and what is consumed do not say the same of the end of this text:", text]
    word, does = "invalid", "allows it to the end"
    if bug.error.kind in REJECTIONS:
        token = f", as the one token {code(repr(bug.error.token))}" if bug.error.token else ""
        word, does = "valid", f"refuses it at the place marked »…«{token}"
        text = _fenced(marked(bug))
    what = f"this text is {word} (jsonschema and jsonschema-rs agree), and the engine {does}:"
    return [what, text, f"Specified in {section(bug.keyword)}"]


def _fenced(text: str, language: str = "") -> str:
    """A block of code in Markdown that no text can end."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{printable(text)}\n{fence}"


def marked(bug: Bug) -> str:
    """The text in one printable line, with the byte or the token at fault between marks."""
    before, fault, rest = map(escaped, marked_parts(bug))
    return printable(f"{before}»{fault or 'the end'}«{rest}", "")


def marked_parts(bug: Bug) -> tuple[bytes, bytes, bytes]:
    """The text before the byte or the token at fault, this (empty for the end), and the rest."""
    text = bug.error.text
    start = bug.at if 0 <= bug.at <= len(text) else len(text)
    end = start + max(1, len(bug.error.token))
    return text[:start], text[start:end], text[end:]
