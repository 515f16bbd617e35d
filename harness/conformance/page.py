"""The table of conformance as a page: one HTML file without a program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from harness.conformance.outcomes import (
    BOTH,
    ENFORCED,
    FAILURE,
    TOO_LAX,
    TOO_STRICT,
    CellOutcome,
    ConformanceTable,
)
from harness.conformance.printing import SHOWN, case_in_words, summary_cell
from harness.printable import printable
from harness.render.page import static_page

_LEAD: Final = (
    "Each keyword in its smallest schema, at each place of a schema, with a few values. What is "
    "called valid or invalid, jsonschema and jsonschema-rs both call so. Shown is the worst "
    "outcome over all places, and at how many of them."
)
_TONES: Final = {TOO_LAX: "acc", BOTH: "acc", TOO_STRICT: "rej", FAILURE: "other"}


def as_page(table: ConformanceTable) -> str:
    """The page: the summary, then each keyword with the smallest case of every other outcome."""
    parts = [*_summary(table)]
    for number, keyword in enumerate(table.keywords):
        parts += _keyword(number, keyword, table)
    heading = "Which keywords does each engine keep, and where?"
    return static_page("maskcourt conformance", heading, _LEAD, "".join(parts))


def _summary(table: ConformanceTable) -> Iterator[str]:
    found = table.by_keyword()
    head = "".join(f"<th>{_safe(f'{name} {one}')}</th>" for name, one in table.engines.items())
    yield f"<section><div class='scroll'><table><thead><tr><th>keyword</th>{head}</tr></thead>"
    for number, keyword in enumerate(table.keywords):
        cells = "".join(
            f"<td>{summary_cell(found.get((keyword, name), ()))}</td>" for name in table.engines
        )
        link = f'<a href="#k{number}"><code>{_safe(keyword)}</code></a>'
        yield f"<tr><th scope='row'>{link}</th>{cells}</tr>"
    yield "</table></div></section>\n"


def _keyword(number: int, keyword: str, table: ConformanceTable) -> Iterator[str]:
    yield f'<section id="k{number}"><h2><code>{_safe(keyword)}</code></h2>'
    found = table.by_keyword()
    for name, version in table.engines.items():
        some = found.get((keyword, name), [])
        yield f"<h3>{_safe(f'{name} {version}')}: {summary_cell(some)}</h3>"
        for word in dict.fromkeys(one.word for one in some):
            yield from _same([one for one in some if one.word == word])
    yield "</section>\n"


def _same(some: Sequence[CellOutcome]) -> Iterator[str]:
    """The places with one outcome; each with its case, unless all is well."""
    word = some[0].word
    places = ", ".join(one.cell.place for one in some)
    if word == ENFORCED:
        yield f"<p>{SHOWN[word]}: {_safe(places)}</p>"
        return
    yield f'<details class="bug {_TONES.get(word, "plain")}">'
    yield f"<summary>{SHOWN[word]}: {_safe(places)}</summary>"
    for one in some:
        message = f" {one.message}" if one.message not in case_in_words(one) else ""
        yield f'<p>{_safe(one.cell.place)}</p><div class="text">'
        yield f"{_safe(case_in_words(one) + message)}</div>"
    yield "</details>"


def _safe(text: str) -> str:
    return escape(printable(text, ""))
