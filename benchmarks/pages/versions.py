"""The page on versions: what the newest versions fixed and broke against those of the study.

Of processor time a schema takes about 3 s by the four engines, and their searches an hour.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from benchmarks.pages.layout import (
    MEANING,
    SEE_MEANING,
    Published,
    Runs,
    bugs_of,
    drawn,
    listed,
    page,
    schemas,
)
from harness.bugs.listing import BugList
from harness.engines.specs import read_spec
from harness.printable import markdown
from harness.render.table import Row, Table
from harness.report.frames import Run
from harness.verdict_kinds import COSTLY
from harness.versions.bugs import FIXED, NEW, REMAINING
from harness.versions.compare import Comparison, Side, compare, sides
from harness.versions.text import comparison_markdown

_ENGINES: Final = ("xgrammar@0.1.32", "xgrammar", "llguidance@1.6.1", "llguidance")
_LIMITS: Final = ("--walks", "0", "--compile-timeout", "5", "--case-budget", "120")
_TITLES: Final = {"maskbench": "Schemas of JSONSchemaBench", "embedded": "The embedded cases"}
_SEVERAL: Final = {"maskbench": "{} of JSONSchemaBench", "embedded": "{} among the embedded cases"}
_WHERE: Final = {"maskbench": "on JSONSchemaBench", "embedded": "on the embedded cases"}
_DOES: Final = {"leak": "leaks a value", "loss": "loses one", "trap": "traps"}
_MOST: Final = 10
"""Bugs of a status that are listed: those that cost a value come first."""
_COLUMNS: Final = (
    *("cases", "engine", "old", "new", "bug", "status", "effect", "title", "schema", "text"),
)


@cache
def compared(run: Run) -> list[Comparison]:
    """What became of the bugs of the older version of each engine in a run that was searched."""
    known = bugs_of(run)
    if known is None:
        return []

    def bugs(_: Side) -> BugList:
        return known

    pairs = sides(run.directory, run.directory)
    return [compare(*pair, bugs) for pair in pairs]


def rows(key: str, comparisons: list[Comparison]) -> Iterator[Row]:
    """A row for each bug that one version has."""
    for one in comparisons:
        for change in one.changes:
            bug = change.bug.row()
            about = {"cases": key, "old": one.old.version, "new": one.new.version}
            about |= {"bug": bug["id"], "status": change.status, "schema": change.bug.error.schema}
            about |= {"reason": change.reason, "schemas": bug["cases"], "judged": bug["judged"]}
            yield about | {name: bug[name] for name in ("engine", "effect", "title", "text")}


def in_short(one: Comparison, key: str) -> str:
    """What a version fixed and broke, in a line; `key` names the run."""
    became = [
        sum(change.bug.effect in COSTLY for change in one.having(status))
        for status in (FIXED, NEW, REMAINING)
    ]
    both = [
        f"it {_DOES[rate['kind']]} in {rate['both'] + rate['only_new']:,} (before in"
        f" {rate['both'] + rate['only_old']:,})"
        for rate in one.schemas["rates"]
    ]
    judged = "".join(
        f"; of {rate['schemas']:,} schemas that both versions compile {listed(both)}"
        for rate in one.schemas["rates"][:1]
    )
    name = f"{read_spec(one.new.engine).name} {one.old.label} → {one.new.label}"
    fixed, new, remaining = became
    return (
        f"- **{markdown(name)}**, {_WHERE[key]}: of the bugs that cost a value {fixed:,} are fixed,"
        f" {new:,} are new and {remaining:,} still there{judged}. Schemas that only the new version"
        f" compiles: {len(one.schemas['compiled_now']):,}; only the old one:"
        f" {len(one.schemas['not_now']):,}."
    )


def _page(runs: Runs) -> str:
    several = listed([_SEVERAL[key].format(schemas(run)) for key, run in runs.items()])
    lead = (
        f"Two versions of an engine on {several}, in the configuration closest to the"
        " specification; as shipped xgrammar compiles more in time ([newest](../newest/README.md))."
        f" {SEE_MEANING} Each bug is put to both versions, by its smallest case; what is refused"
        " there stands between » and «. Values alone, no walks over tokens. Written by"
        " `make results ONLY=versions`; all are in [changes.csv](changes.csv), versions and options"
        " in [manifest.json](manifest.json)."
    )
    short = [in_short(one, key) for key, run in runs.items() for one in compared(run)]
    parts = [lead, "\n".join(short)]
    for key, run in runs.items():
        text = comparison_markdown(compared(run), _MOST).replace("\n#", "\n##")
        parts += [f"## {_TITLES[key]}", f"#{text}"]
    return page("What changed between two versions", *parts, MEANING)


def _tables(runs: Runs) -> Mapping[str, Table]:
    told = [row for key, run in runs.items() for row in rows(key, compared(run))]
    return {"changes": Table.of("", _COLUMNS, told)}


PAGE: Final = Published(
    {
        "maskbench": (*drawn(300, _ENGINES), *_LIMITS),
        "embedded": ("--cases", "embedded", "--engines", ",".join(_ENGINES), *_LIMITS),
    },
    _page,
    _tables,
    {"maskbench": 1800, "embedded": 1800},
)
