"""What changed from one version to another in words: Markdown, from which the page is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from harness.bugs.scripts import marked
from harness.changes.bug_changes import CANNOT_TELL, FIXED, NEW, REMAINING, BugChange
from harness.changes.comparison import TOLD_TIMES, Comparison
from harness.changes.schema_changes import RateChange
from harness.engines.specs import read_spec
from harness.printable import code, markdown
from harness.render.page import save_page, static_page
from harness.verdict_kinds import REJECTIONS

_HEADINGS: Final = {
    NEW: "New",
    FIXED: "Fixed",
    REMAINING: "Still there",
    CANNOT_TELL: "Cannot be told",
}
_DOES: Final = {
    "false_acceptance": "let invalid output through",
    "false_rejection": "forbid valid output",
}
_MOST: Final = 20
"""Schemas that are listed by name."""

LEAD: Final = (
    "Every bug is a smallest case that one version gets wrong, put to the other version. Fixed:"
    " that one gets it right. What is valid, jsonschema and jsonschema-rs both call so."
)


def as_markdown(comparisons: Sequence[Comparison]) -> str:
    """The comparisons, each with its own heading."""
    return "\n".join(line for one in comparisons for line in _lines(one)) + "\n"


def write_page(comparisons: Sequence[Comparison], out: Path) -> int:
    """Write the page to a file, whole or not at all; its size in bytes.

    Raises:
        UsageError: It cannot be written.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False})
    body = parser.enable("table").render(as_markdown(comparisons))
    heading = "; ".join(map(heading_of, comparisons))
    return save_page(
        static_page("maskcourt compare", heading, LEAD, f"<section>{body}</section>"), out
    )


def heading_of(one: Comparison) -> str:
    """Which versions are compared."""
    return f"{read_spec(one.new.engine).name} {one.old.label} → {one.new.label}"


def _lines(one: Comparison) -> Iterator[str]:
    yield f"## {markdown(heading_of(one))}"
    yield ""
    counted = {status: len(found) for status, found in one.by_status.items()}
    yield (
        f"{counted[NEW]} new bugs, {counted[FIXED]} fixed, {counted[REMAINING]} still there,"
        f" {counted[CANNOT_TELL]} that cannot be told."
    )
    if left := max(one.pending.values()):
        yield (
            f"The search for bugs was stopped: {left:,} verdicts are not shrunk yet, so there may"
            " be more of each."
        )
    yield ""
    yield from _schemas(one)
    yield ""
    yield from _times(one)
    for status, heading in _HEADINGS.items():
        if found := one.by_status[status]:
            yield ""
            yield f"### {heading}: {len(found)}"
            yield ""
            for change in found:
                yield from _bug(change)


def _schemas(one: Comparison) -> Iterator[str]:
    found = one.schemas
    now, no_more = len(found.compiled_now), len(found.not_now)
    yield (
        f"Of {found.schemas:,} schemas in both runs, {now:,} compile now that did not,"
        f" {no_more:,} no longer do."
    )
    for rate in found.rates:
        yield _rate(rate)
    for title, listed in (("Compiled now", found.compiled_now), ("No longer", found.not_now)):
        if listed:
            yield ""
            yield f"{title}:"
            yield ""
        for name, reason in list(listed.items())[:_MOST]:
            yield f"- {code(name)}: {markdown(reason)}"
        if len(listed) > _MOST:
            yield f"- and {len(listed) - _MOST:,} more"


def _rate(rate: RateChange) -> str:
    before, after = rate.both + rate.only_old, rate.both + rate.only_new
    words = (
        f"On what both were judged on, bugs that {_DOES[rate.kind]} are in {before:,} of"
        f" {rate.schemas:,} schemas before and {after:,} now ({rate.only_new:,} only now,"
        f" {rate.only_old:,} only before"
    )
    if rate.low is not None and rate.high is not None:
        words += f"; the difference is {rate.low:+.1%} to {rate.high:+.1%}"
    if rate.p is not None:
        words += f", McNemar's p {rate.p:.2g}"
    return words + ")."


def _times(one: Comparison) -> Iterator[str]:
    yield "| time, in µs | old p50 | new p50 | old p99 | new p99 |"
    yield "| --- | --- | --- | --- | --- |"
    for measure in TOLD_TIMES:
        cells = (
            _number(one.times[side][measure][figure])
            for figure in ("p50", "p99")
            for side in ("old", "new")
        )
        yield f"| {measure.replace('_', ' ')} | {' | '.join(cells)} |"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:,.4g}"


def _bug(change: BugChange) -> Iterator[str]:
    bug = change.bug
    met = f"{bug.cases:,} of {bug.judged:,} schemas"
    about = "; ".join(filter(None, (met, change.reason)))
    yield f"- {code(bug.id)} {markdown(bug.title)} ({about})"
    yield f"  - schema {code(bug.error.schema)}"
    text = marked(bug) if bug.error.kind in REJECTIONS else bug.error.readable_text
    yield f"  - text {code(text)}"
