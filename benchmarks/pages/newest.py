"""The page on the newest engines: the same schemas put to libraries and to servers' presets.

Of processor time a schema takes about 7 s by the libraries closest to the specification, 10 s as
they are shipped and 8 s by the presets: 2 hours on two cores, and an hour's search for bugs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from benchmarks.pages.layout import (
    COUNTS,
    GROUPS,
    GROUPS_MEAN,
    LARGE,
    LARGE_MEANS,
    MEANING,
    SEE_MEANING,
    SERVERS,
    SHIPPED,
    SPECIFICATION,
    TOPICS,
    Published,
    Runs,
    bugs_by_engine,
    bugs_of,
    counts,
    drawn,
    large,
    markdown_table,
    page,
    remarks,
    schemas,
    sentences,
)
from benchmarks.pages.schema_rows import SchemaRows
from harness.render.table import Table

_SHOWN: Final = 15
"""Bugs of an engine that stand on the page; the others are in the table."""
_KEYS: Final = {"specification": SPECIFICATION, "shipped": SHIPPED, "servers": SERVERS}
_LIMITS: Final = ("--compile-timeout", "5", "--case-budget", "120")


def _page(runs: Runs) -> str:
    first = next(iter(runs.values()))
    lead = (
        f"What the newest engines do with {schemas(first)}, drawn from the ten families of"
        f" JSONSchemaBench in proportion; three engines in two configurations, and nine servers by"
        " values alone, took three hours with these on two cores, and more were not tried."
        f" {SEE_MEANING} Compilation may take 5 s. What"
        " versions that came since changed is in [later](../later/README.md). Written by"
        " `make results ONLY=newest`; all counts are in [counts.csv](counts.csv), versions and"
        " options in [manifest.json](manifest.json)."
    )
    parts = {key: [f"## {title}", *_group(key, runs)] for key, title in _KEYS.items()}
    order = [*parts["specification"], *parts["shipped"], *parts["servers"], *_large(runs)]
    return page("The newest engines", lead, *order, *_bugs(runs), MEANING)


def _large(runs: Runs) -> Iterator[str]:
    yield "## Large schemas"
    yield LARGE_MEANS
    told = {key: [*large(SchemaRows.of(run))] for key, run in runs.items()}
    yield markdown_table(LARGE, [row for key in told if key != "servers" for row in told[key]])
    if "servers" in told:
        yield "To servers values alone were put: these lines cannot be compared with those above."
        yield markdown_table(LARGE, told["servers"])


def _group(key: str, runs: Runs) -> Iterator[str]:
    if key not in runs:
        yield "This part has not been run yet."
        return
    run = runs[key]
    yield GROUPS_MEAN[_KEYS[key]]
    if not run.directory.finished:
        yield f"This part has {schemas(run)}."
    if key == "servers":
        yield "Values alone were put to these, whole, and no walks over tokens were made."
    if any(run.manifest.get("commit") != other.manifest.get("commit") for other in runs.values()):
        yield (
            f"This part was made by the code of commit {str(run.manifest.get('commit'))[:7]}; parts"
            " that other code made have other generated values, and the same real ones."
        )
    yield sentences(run.summary)
    yield remarks(run)


def _bugs(runs: Runs) -> Iterator[str]:
    """The bugs of each engine, worst first, with the smallest case of each."""
    known = bugs_of(runs["specification"]) if "specification" in runs else None
    if known is None:
        return
    yield "## Bugs, worst first"
    yield (
        f"Each is shrunk to the smallest schema and text that show it; together they explain"
        f" {known.percent_explained} of {known.verdicts:,} verdicts of the engines closest to the"
        f" specification. {TOPICS} *Upstream* is a thread, where one is known. All are in"
        " [bugs.json](bugs.json)."
    )
    yield from bugs_by_engine(known.bugs, runs["specification"].engine_names, _SHOWN)


def _tables(runs: Runs) -> Mapping[str, Table]:
    rows = [row for key, run in runs.items() for row in counts(SchemaRows.of(run), _KEYS[key])]
    big = [row for run in runs.values() for row in large(SchemaRows.of(run))]
    return {"counts": Table.of("", COUNTS, rows), "large": Table.of("", LARGE, big)}


PAGE: Final = Published(
    {
        "specification": (*drawn(500, GROUPS[SPECIFICATION]), *_LIMITS, "--cap", "30"),
        "shipped": (*drawn(500, GROUPS[SHIPPED]), *_LIMITS, "--cap", "30"),
        "servers": (*drawn(500, GROUPS[SERVERS]), *_LIMITS, "--walks", "0", "--samples", "0"),
    },
    _page,
    _tables,
    {"specification": 3600},
)
