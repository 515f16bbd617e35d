"""Stand-alone scripts that show a bug with nothing but the engine, and texts for its tracker.

A script is a template (``script.txt``) but for its data section, where everything that a run says
stands as a literal made by `repr`: no schema, text, token, version or title can become code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.version import InvalidVersion, Version

from harness.bugs.listing import Bug
from harness.engines.specs import adapter_class, built_in, read_spec
from harness.printable import code, escaped, markdown, printable
from harness.protocol import settle_switches
from harness.schemas.schema import LISTS, SINGLE
from harness.verdict_kinds import MEANINGS, NOT_JSON, REJECTIONS, WRONG_BITS

if TYPE_CHECKING:
    import jinja2

_DIALECTS: Final = {
    "ecma": ("regress and regex", "ECMA-262, Patterns: https://tc39.es/ecma262/#sec-patterns"),
    "rust": ("regress and regex", "Rust's crate regex: https://docs.rs/regex/latest/regex/#syntax"),
    "python": ("re and regex", "Python's re: https://docs.python.org/3/library/re.html"),
}
"""Of a pattern's dialect the programs that were asked, and where it is specified."""
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
def bodies(sort: str) -> dict[str, str]:
    """How the scripts of a sort ask libraries, by engine: texts of Jinja2 beside the adapters.

    One that does not depend on the sort is for ``text`` alone.
    """
    folder, known = files("adapters") / "scripts", {}
    for name in built_in():
        if (file := folder / f"{name.replace('-', '_')}.txt").is_file():
            text = _templates().from_string(file.read_text("utf-8"))
            body = text.render(sort=sort)
            if sort == "text" or body != text.render(sort="text"):
                known[name] = body
    return known


@cache
def _templates() -> jinja2.Environment:
    import jinja2  # takes long, and few need a script

    made = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)  # noqa: S701 - code
    made.loader = jinja2.FileSystemLoader(Path(__file__).parent)
    return made


def _sort(bug: Bug) -> str:
    if bug.error.kind == _MISMATCH:
        return "mask"
    return "pattern" if bug.error.about == "pattern" else "text"


def no_script(bug: Bug) -> str:
    """Why there is no script for a bug; empty where there is one."""
    known = bodies(_sort(bug))
    if read_spec(bug.engine).name not in known:
        return f"of this kind scripts are written for {', '.join(known)}"
    options = bug.options
    if options.get("config") != "spec" or any(value not in _USUAL for value in options.values()):
        return "scripts are written for the configuration spec"
    if bug.error.kind not in (*WRONG_BITS, _MISMATCH):
        return f"there are no scripts for the kind {bug.error.kind}"
    return ""


def script(bug: Bug) -> str:
    """A Python script that imports the engine alone; a ValueError where there is `no_script`."""
    if problem := no_script(bug):
        raise ValueError(problem)
    name, sort = read_spec(bug.engine).name, _sort(bug)
    data = {
        "TITLE": bug.title,
        "ENGINE": f"{name} {bug.version}",
        "INSTALL": install(bug),
        "EFFECT": bug.effect_in_words,
        "RULE": _MASK_RULE if sort == "mask" else section(bug.keyword),
        bug.error.about.upper(): bug.error.compiled,
        "TEXT": bug.error.text,
        "TOKEN": bug.error.token,
        "TOKEN_AT": bug.error.token_at,
    }
    if sort != "mask":
        data |= {"OPINIONS": _opinions(bug), "VALID": bug.error.kind in REJECTIONS}
    literals = "".join(f"{key} = {value!r}\n" for key, value in data.items())
    template = _templates().get_template("script.txt")
    return template.render(sort=sort, literals=literals, body=bodies(sort)[name])


def _opinions(bug: Bug) -> str:
    """The programs that say of a text what the harness says."""
    if bug.error.about == "pattern":
        return _DIALECTS[bug.keyword][0]
    return "a strict parser" if bug.effect == NOT_JSON else "jsonschema and jsonschema-rs"


def section(keyword: str) -> str:
    """Where a keyword or a dialect is specified: a title and an address; JSON where it is none."""
    if keyword in _DIALECTS:
        return _DIALECTS[keyword][1]
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
    met = f"Met in {bug.cases:,} of {bug.judged:,} {bug.error.about}s of {code(bug.data)}"
    name, meaning = f"{read_spec(bug.engine).name} {bug.version}", MEANINGS.get(bug.effect, "")
    shows = [f"There is no script: {markdown(no_script(bug))}."]
    if not no_script(bug):
        ends = "This script needs the engine alone; it ends with 1 while the bug is there:"
        shows = [ends, _fenced(script(bug), "python")]
    configured = f"configured as {code(_configuration(bug))}, and the {bug.error.about}"
    parts = [
        f"# {markdown(bug.title)}",
        f"With {code(name)} ({code(install(bug))}), {configured}",
        _fenced(bug.error.compiled, "json" * (bug.error.about == "schema")),
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
    what = f"this text is {word} by {_opinions(bug)}, and the engine {does}:"
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
