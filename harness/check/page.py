"""The page of a check: the answers with the texts behind them, one HTML file without a program."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from harness.analysis.stored import IN_FULL
from harness.bugs.scripts import marked_parts
from harness.check import text
from harness.check.answers import Answers, ProvenError
from harness.render.page import filled, save_page, static_page

_LEAD: Final = (
    "Each engine was tried by itself. What is called valid or invalid, jsonschema and "
    "jsonschema-rs both call so; what an engine allows, it allowed token by token to the end. No "
    "error found is no proof that there is none."
)
_TONES: Final = {
    text.LETS_THROUGH: "acc",
    text.FORBIDS: "rej",
    text.SPELLINGS: "plain",
    text.CONTRADICTS: "other",
}


def write_page(answers: Answers, out: Path) -> int:
    """Write the page of a check to a file, whole or not at all; its size in bytes.

    Raises:
        UsageError: It cannot be written.
    """
    numbered = list(enumerate(answers))
    body = filled(
        "check/page.html",
        by_schema=[
            (schema, [(at, answer) for at, answer in numbered if answer.schema == schema])
            for schema in answers.schemas
        ],
        answers=list(answers),
        advice=text.advice_on(answers),
        headline=text.headline,
        covered=text.covered_line,
        declared=text.declared_line,
        sort_of=text.sort_of,
        tones=_TONES,
        in_full=IN_FULL,
        title=_title,
        error_parts=text.error_parts,
        smallest_parts=_smallest_parts,
    )
    one = len(answers.schemas) == 1
    title = answers.schemas[0] if one else f"each of {len(answers.schemas)} schemas"
    heading = f"Which engine can be trusted with {title}?"
    return save_page(static_page("maskcourt check", heading, _LEAD, body), out)


def _title(error: ProvenError) -> str:
    return error.bug.title if error.bug is not None else f"`{error.keyword}`" * bool(error.keyword)


def _smallest_parts(error: ProvenError) -> tuple[str, ...]:
    assert error.bug is not None
    before, there, after = marked_parts(error.bug)
    parts = (
        (before, there or b"the end", after) if error.forbids else (error.bug.error.text, b"", b"")
    )
    return tuple(part.decode("utf-8", "backslashreplace") for part in parts)
