"""The answers of a check as text: what somebody with a schema wants to know, in 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from harness.bugs.scripts import marked
from harness.check.answers import Answer, Answers, Covered, Declared, ProvenError
from harness.counting.severity import IN_FULL
from harness.printable import printable

WIDTH: Final = 80
_SHOWN: Final = 2
"""Errors of each sort that are shown in full."""
_DECLARED: Final = 3
_CLEAN: Final = "no error found"
_VALIDATE: Final = (
    "whatever an engine lets through, a validator finds: check each output, and ask again; what it"
    " forbids nobody sees"
)


def headline(answer: Answer) -> str:
    """The answer in one line."""
    name = f"{answer.engine} {answer.version}".strip()
    match answer.word:
        case "refuses":
            return f"{name} refuses it: {answer.message}"
        case "failed":
            return f"{name} gives no answer: {answer.message}"
        case "errs":
            return f"{name} {' and '.join(_wrongs(answer))}"
    return f"{name}: {_CLEAN}"


def _wrongs(answer: Answer) -> Iterator[str]:
    if any(one.lets_through for one in answer.errors):
        yield "lets invalid output through"
    if any(one.forbids for one in answer.errors):
        yield "forbids valid output"
    if not all(one.lets_through or one.forbids for one in answer.errors):
        yield "contradicts itself"


def answer_lines(answer: Answer) -> list[str]:
    """An answer with the errors behind it, what is declared, and what was tried."""
    lines = _wrapped(headline(answer), "", 4)
    sorts = (
        [one for one in answer.errors if one.lets_through],
        [one for one in answer.errors if one.forbids],
        [one for one in answer.errors if not one.lets_through and not one.forbids],
    )
    for errors in sorts:
        for one in errors[:_SHOWN]:
            lines += _error_lines(one)
        if (more := len(errors) - _SHOWN) > 0:
            lines.append(f"  and {more} more of this kind")
    if answer.word == "errs" and answer.message:
        lines += _wrapped(answer.message, "  ", 2)
    for stated in answer.declared[:_DECLARED]:
        lines += _wrapped(declared_line(stated), "  ", 2)
    if (more := len(answer.declared) - _DECLARED) > 0:
        lines.append(f"  and {more} more that it declares")
    if answer.word in ("errs", "no_error_found"):
        lines += _wrapped(covered_line(answer.covered), "  ", 2)
    return lines


def error_text(one: ProvenError) -> str:
    """The text that shows an error in one line; what is refused stands between marks."""
    before, there, behind = error_parts(one)
    return printable(f"{before}»{there}«{behind}" if there else before, "")


def error_parts(one: ProvenError) -> tuple[str, str, str]:
    """The text of an error up to what is refused, this, and the rest; all before it else."""
    at = one.at if one.forbids and one.at >= 0 else len(one.text)
    end = at + 1
    while one.text[end : end + 1] and one.text[end] & 0xC0 == 0x80:
        end += 1  # the whole character is shown
    parts = (one.text[:at], one.text[at:end], one.text[end:])
    before, there, behind = (part.decode("utf-8", "backslashreplace") for part in parts)
    return before, there or ("the end" if one.forbids and one.at >= 0 else ""), behind


def verb(one: ProvenError) -> str:
    """What the engine does with the text of an error."""
    if one.lets_through:
        return "invalid, and allowed"
    return "valid, and forbidden" if one.forbids else one.kind.replace("_", " ")


def _error_lines(one: ProvenError) -> Iterator[str]:
    yield _cut(f"  {verb(one)}: {error_text(one)}")
    keyword = f"`{one.keyword}`, " if one.keyword else ""
    about = f"{keyword}{IN_FULL[one.severity]}"
    if one.bug is None:
        yield _cut(f"    {about}")
        return
    yield _cut(f"    {about}: {printable(one.bug.title, '')}")
    text = printable(
        marked(one.bug) if one.forbids else one.bug.error.text.decode("utf-8", "replace"), ""
    )
    yield _cut(f"    smallest case: {text} under {printable(one.bug.error.schema, '')}")
    if one.bug.upstream is not None:
        yield f"    known upstream ({one.bug.upstream.status}): {one.bug.upstream.thread}"


def declared_line(one: Declared) -> str:
    """What an engine declares, in one sentence with its source."""
    what = "it warns of this itself" if one.warned else "on purpose"
    return f"{what}: {one.says} ({one.source})"


def covered_line(covered: Covered) -> str:
    """What was tried."""
    if not (covered.valid or covered.invalid):
        return "nothing could be tried: no valid text is known; --valid FILE gives one"
    texts = f"{len(covered.valid):,} valid and {len(covered.invalid):,} invalid texts"
    looked_at = f"tried: {texts}, {covered.positions:,} places token by token"
    return looked_at if covered.coverage is None else f"{looked_at}; {covered.coverage}"


def _wrapped(line: str, indent: str, more: int) -> list[str]:
    return textwrap.wrap(
        printable(line, ""),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + " " * more,
        break_on_hyphens=False,
    )


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"


def known_so_far(answer: Answer, *, with_schema: bool) -> str:
    """What is known from single bytes, in one line."""
    about = f"{answer.schema}: " if with_schema else ""
    example = f": {error_text(answer.errors[0])}" if answer.errors else ""
    return _cut(printable(f"so far {about}{headline(answer)}{example}", ""))


def advice_lines(answers: Answers) -> list[str]:
    """What to do about it, as far as something is known or was tried; nothing where all is well."""
    lines: list[str] = []
    for schema in answers.schemas:
        about = f" with {schema}" if len(answers.schemas) > 1 else ""
        mine = answers.of(schema)
        clean = [one.engine for one in mine if one.word == "no_error_found"]
        if len(clean) == len(mine):
            continue
        if clean:
            lines += _wrapped(f"use {' or '.join(clean)}{about}: no error was found in it", "  ", 4)
        if any(error.lets_through for one in mine for error in one.errors):
            lines += _wrapped(_VALIDATE, "  ", 4)
    stated = dict.fromkeys(line for one in answers for line in one.advice)
    return [*dict.fromkeys(lines), *(part for line in stated for part in _wrapped(line, "  ", 4))]
