"""The page of a check: the answers with the texts behind them, one HTML file without a program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final

from harness.bugs.scripts import marked_parts
from harness.check.answers import Answer, Answers, ProvenError
from harness.check.text import (
    CONTRADICTS,
    FORBIDS,
    LETS_THROUGH,
    SPELLINGS,
    advice_on,
    covered_line,
    declared_line,
    error_parts,
    headline,
    sort_of,
)
from harness.counting.severity import IN_FULL
from harness.printable import printable
from harness.render.page import save_page, static_page

_LEAD: Final = (
    "Each engine was tried by itself. What is called valid or invalid, jsonschema and "
    "jsonschema-rs both call so; what an engine allows, it allowed token by token to the end. No "
    "error found is no proof that there is none."
)
_OPEN: Final = 2
"""Errors of an answer that are open from the beginning."""
_TONES: Final = {LETS_THROUGH: "acc", FORBIDS: "rej", SPELLINGS: "plain", CONTRADICTS: "other"}


def write_page(answers: Answers, out: Path) -> int:
    """Write the page of a check to a file, whole or not at all; its size in bytes.

    Raises:
        UsageError: It cannot be written.
    """
    one = len(answers.schemas) == 1
    title = printable(answers.schemas[0]) if one else f"each of {len(answers.schemas)} schemas"
    heading = f"Which engine can be trusted with {title}?"
    page = static_page("maskcourt check", heading, _LEAD, "".join(_sections(answers)))
    return save_page(page, out)


def _sections(answers: Answers) -> Iterator[str]:
    numbered = list(enumerate(answers))
    for schema in answers.schemas:
        mine = [(at, answer) for at, answer in numbered if answer.schema == schema]
        yield f"<section><h2>{_safe(schema)}</h2><ul>"
        yield from (f'<li><a href="#a{at}">{_code(headline(one))}</a></li>' for at, one in mine)
        yield "</ul></section>\n"
    if advice := advice_on(answers):
        listed = "".join(f"<li>{_code(one)}</li>" for one in advice)
        yield f"<section><h2>What to do</h2><ul>{listed}</ul></section>\n"
    for at, answer in numbered:
        yield f'<section id="a{at}"><h2>{_safe(answer.name)}</h2>'
        yield from _answer(answer)
        yield "</section>\n"


def _answer(answer: Answer) -> Iterator[str]:
    yield f"<p>{_safe(answer.schema)}: {_code(headline(answer))}</p>"
    if answer.word in ("errs", "no_error_found"):
        yield f'<p class="note">{_safe(covered_line(answer.covered))}</p>'
    if answer.errors and answer.message:
        yield f"<p>{_safe(answer.message)}</p>"
    for at, error in enumerate(answer.errors):
        yield from _error(error, is_open=at < _OPEN)
    for one in answer.declared:
        yield f'<p class="note">{_safe(declared_line(one))}</p>'


def _error(one: ProvenError, *, is_open: bool) -> Iterator[str]:
    tone = _TONES[sort_of(one)]
    title = one.bug.title if one.bug is not None else f"`{one.keyword}`" if one.keyword else ""
    yield f'<details{" open" if is_open else ""} class="bug {tone}">'
    yield f'<summary><span class="in">{sort_of(one)}</span> '
    yield f"{_code(title)} <small>{IN_FULL[one.severity]}</small></summary>"
    yield _text(error_parts(one))
    if one.bug is not None:
        yield "<h4>The smallest case</h4>"
        yield f'<pre class="text">{_safe(one.bug.error.schema)}</pre>'
        before, there, behind = marked_parts(one.bug)
        parts = (before, there or b"the end", behind) if one.forbids else (one.bug.error.text,)
        yield _text([part.decode("utf-8", "backslashreplace") for part in parts])
        if one.bug.upstream is not None:
            known = one.bug.upstream
            link = f'<a href="{escape(known.thread)}" rel="noreferrer noopener">'
            yield f"<p>Known upstream, {known.state}: {link}{escape(known.thread)}</a></p>"
    yield "</details>"


def _text(parts: Sequence[str]) -> str:
    before, there, behind = (*map(_safe, parts), "", "")[:3]
    marked = f'<mark class="tok">{there.strip("»«")}</mark>' if there else ""
    return f'<div class="text">{before}{marked}{behind}</div>'


def _code(text: str) -> str:
    """A text with what stands between backticks as code."""
    parts = text.split("`")
    return "".join(
        f"<code>{_safe(one)}</code>" if at % 2 else _safe(one) for at, one in enumerate(parts)
    )


def _safe(text: str) -> str:
    return escape(printable(text, "\n"))
