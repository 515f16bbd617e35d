"""The page on generated schemas: bugs that neither the embedded cases nor MaskBench show.

The three runs take about 40 minutes on two cores, their searches for bugs as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from benchmarks.pages.layout import (
    GROUPS,
    SPECIFICATION,
    TOPICS,
    Published,
    Runs,
    bugs_by_engine,
    bugs_of,
    drawn,
    page,
    sentences,
    words,
)
from harness.bugs.listing import Bug
from harness.printable import plural
from harness.render.table import Row, Table
from harness.verdict_kinds import COSTLY

_VALUES: Final = (
    *("--walks", "0", "--samples", "0", "--generated", "8"),
    *("--compile-timeout", "3", "--case-budget", "120"),
)
_MADE, _OTHERS = (
    "generated",
    {
        "embedded": "the embedded cases",
        "maskbench": "300 of JSONSchemaBench",
    },
)
_REAL: Final = "those that a schema was made for, the others are made from it afterwards"
_COLUMNS: Final = (
    *("engine", "id", "effect", "cases", "judged", "shown_by", "title", "schema", "text"),
)


def _shown(runs: Runs) -> dict[str, Sequence[Bug]]:
    """The bugs that the other cases show, by the run."""
    known = {key: bugs_of(runs[key]) for key in _OTHERS if key in runs}
    return {key: some.bugs for key, some in known.items() if some}


def _bugs(runs: Runs) -> list[Bug]:
    """The bugs of generated schemas that cost a value."""
    known = bugs_of(runs[_MADE]) if _MADE in runs else None
    return [bug for bug in known.bugs if bug.effect in COSTLY] if known else []


def _rows(runs: Runs) -> Iterator[Row]:
    others = {key: {bug.id for bug in bugs} for key, bugs in _shown(runs).items()}
    for bug in _bugs(runs):
        row = {name: one for name, one in bug.row().items() if name in _COLUMNS}
        shown = [_OTHERS[key] for key, ids in others.items() if bug.id in ids]
        yield {**row, "schema": bug.error.schema, "shown_by": ", ".join(shown) or "these alone"}


def _page(runs: Runs) -> str:
    found, known = _bugs(runs), [*chain.from_iterable(_shown(runs).values())]
    ids, on = {bug.id for bug in known}, {(bug.engine, bug.topic) for bug in known}
    alone = [bug for bug in found if bug.id not in ids]
    new = sum((bug.engine, bug.topic) not in on for bug in alone)
    made = len(runs[_MADE].cases) if _MADE in runs else 0
    several = " or ".join(words for key, words in _OTHERS.items() if key in runs)
    lead = (
        f"{made:,} schemas that were made by a seed, each with a value that it takes and values"
        " that break one keyword: keywords as often as MaskBench has them, beside each other as it"
        f" seldom has them. They show {plural(len(found), 'bug')} that cost a value; of these"
        f" {len(alone):,} are shown by none of {several}, and {new:,} are on topics on which those"
        " show no bug at all. So it is with 8 values made of each schema: with more, those cases"
        " show some of these, too ([versions](../versions/README.md))."
        f" {TOPICS} {words(_REAL)} A bug says what an engine does, and not how often users meet"
        " it. Values alone, no walks over tokens; compilation may take 3 s of processor time."
        " Written by `make results ONLY=generated`; all are in [found.csv](found.csv), versions and"
        " options in [manifest.json](manifest.json)."
    )
    parts = [lead, sentences(runs[_MADE].summary) if _MADE in runs else ""]
    parts.append("## What these alone show, by engine")
    parts += bugs_by_engine(alone, dict.fromkeys(bug.engine for bug in alone), len(alone))
    return page("Generated schemas", *parts)


def _tables(runs: Runs) -> Mapping[str, Table]:
    return {"found": Table.of("", _COLUMNS, _rows(runs))}


PAGE: Final = Published(
    {
        _MADE: ("--cases", "generated:1500", "--seed", "7", *_VALUES),
        "embedded": ("--cases", "embedded", *_VALUES),
        "maskbench": (*drawn(300, GROUPS[SPECIFICATION]), *_VALUES),
    },
    _page,
    _tables,
    {_MADE: 1800, "embedded": 900, "maskbench": 900},
)
