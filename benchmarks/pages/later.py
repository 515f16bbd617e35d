"""The page on versions later than those that were asked: which bugs they have still, and new ones.

The pages take days, and versions come out meanwhile. The smallest case of each bug of
``results/newest`` is put to the later version of its engine, and to the published one: a case that
does not show the bug there says nothing. Other bugs are looked for in a run with both versions,
which takes half an hour.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from benchmarks.pages.layout import (
    COUNTS,
    MEANING,
    SEE_MEANING,
    SPECIFICATION,
    Published,
    Runs,
    counts,
    drawn,
    listed,
    markdown_table,
    page,
    remarks,
    schemas,
    sentences,
    smallest_case,
)
from benchmarks.pages.schema_rows import COMPILED, SchemaRows
from benchmarks.pages.values import COMPILES, TIMES, times
from benchmarks.pages.versions import compared, in_short
from benchmarks.pages.versions import rows as found_changes
from benchmarks.site.published import PublishedBug, published_bugs
from harness.bugs.trial import LIMITS, Trial
from harness.engines.environments import provide
from harness.engines.specs import parse_spec, read_spec
from harness.printable import markdown, plural
from harness.render.table import Row, Table
from harness.validators.judge import Judge
from harness.versions.bugs import CANNOT_TELL, FIXED, NEW, REMAINING, bug_change
from harness.versions.text import comparison_markdown

LATER: Final = (("xgrammar@0.2.8", "xgrammar@0.2.9"),)
"""The versions of `newest`, and later ones."""
NEWEST: Final = Path(__file__).resolve().parents[2] / "results" / "newest"
_EMBEDDED, _MASKBENCH = "embedded", "maskbench"
_MOST: Final = 10
_COLUMNS: Final = (
    *("cases", "bug", "engine", "old", "new", "status", "reason", "effect", "title", "schemas"),
    *("judged", "schema", "text"),
)
_COMPILED: Final = ("compiled_by", "version", "schemas", "loses", "leaks", "traps")
_AS_THEY_ARE: Final = ("effect", "title", "schemas", "judged", "schema", "text")
_SAID: Final = {
    REMAINING: ("is there still", "are there still"),
    FIXED: ("is fixed", "are fixed"),
    CANNOT_TELL: ("cannot be told", "cannot be told"),
}


@dataclass(frozen=True)
class Trials:
    """Those of an engine in the version that is published, and in a later one."""

    published: Trial
    later: Trial

    def became(self, one: PublishedBug, version: str) -> tuple[str, str]:
        """What becomes of a bug in the later version, and why."""
        if one.bug is None:
            return CANNOT_TELL, "its case cannot be read from what is published"
        if bug_change(one.bug, self.published, one.version, is_new=False).status != REMAINING:
            return CANNOT_TELL, f"its case alone does not show it in {one.version}"
        change = bug_change(one.bug, self.later, version, is_new=False)
        return change.status, change.reason


def changes(bugs: Iterable[PublishedBug], version: str, trials: Trials) -> Iterator[Row]:
    """A row for each published bug of an engine: what became of it in a version."""
    for one in bugs:
        status, reason = trials.became(one, version)
        about = {"cases": "newest", "bug": one.id, "engine": one.key, "old": one.version}
        about |= {"new": version, "status": status, "reason": reason}
        yield {**about, **{name: getattr(one, name) for name in _AS_THEY_ARE}}


@cache
def published_changes() -> Sequence[Row]:
    """What became of each published bug in the later version of its engine."""
    manifest = json.loads((NEWEST / "manifest.json").read_text("utf-8"))
    formats = manifest["specification"]["identity"]["rules"]["formats"]
    known = list(published_bugs(NEWEST / "bugs.json"))
    rows: list[Row] = []
    with closing(Judge(LIMITS.memory, formats=formats)) as judge:
        for specs in LATER:
            old, new = (provide(parse_spec(text)) for text in specs)
            with (
                closing(Trial(old, judge)) as published,
                closing(Trial(new, judge)) as later,
            ):
                mine = [one for one in known if one.key == read_spec(specs[0]).name]
                rows += changes(mine, later.info.version, Trials(published, later))
    return rows


def became(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many bugs of one version there are still in another, how many it fixed."""
    each = [sum(row["status"] == status for row in rows) for status in _SAID]
    words = [
        f"{count:,} {said[count != 1]}"
        for count, said in zip(each, _SAID.values(), strict=True)
        if count
    ]
    return f"of {plural(len(rows), 'bug')} of {rows[0]['old']} {listed(words)}"


def in_a_sentence(
    rows: Iterable[Mapping[str, Any]],
    counted: Iterable[Mapping[str, Any]],
    compiled: Iterable[Mapping[str, Any]] = (),
) -> Iterator[str]:
    """For each later version what it compiles, what became of the published bugs, and new ones.

    `counted` are rows with `COUNTS`, those of the version that is published among them; `compiled`
    those of `of_compiled`.
    """
    does = {(one["compiled_by"], one["version"]): one for one in compiled}
    late = {(read_spec(one["engine"]).name, one["version"]): one for one in counted}
    by_version: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        by_version.setdefault((row["engine"], row["new"]), []).append(row)
    for (engine, version), all_ in by_version.items():
        mine = [row for row in all_ if row["cases"] == "newest"]
        new = sum(row["status"] == NEW for row in all_)
        found = (
            f"{new or 'no'} new {'ones were' if new > 1 else 'one was'} found by the embedded cases"
        )
        parts = [became(mine), found]
        old = mine[0]["old"]
        if {(engine, old), (engine, version)} <= late.keys():
            before, now = (late[engine, one] for one in (old, version))
            parts.insert(
                0,
                f"of {int(now['schemas']):,} schemas it does not compile {int(now['timed_out']):,}"
                f" in time, {old} {int(before['timed_out']):,}",
            )
        if {("both", old), ("both", version), (version, version)} <= does.keys():
            both, before = does["both", version], does["both", old]
            alone = does[version, version]
            parts.insert(
                1,
                f"of the {int(both['schemas']):,} that both compile it loses a value in"
                f" {int(both['loses']):,}, {old} in {int(before['loses']):,}, and of the"
                f" {int(alone['schemas']):,} that it alone compiles in {int(alone['loses']):,}",
            )
        yield (
            f"{engine} has a later version, {version}, here asked by values alone:"
            f" {'; '.join(parts)}"
        )


def published_part(rows: Sequence[Row]) -> Iterator[str]:
    """Of each later version what became of the published bugs; those are listed that are gone."""
    for (engine, version), group in groupby(rows, lambda row: (row["engine"], row["new"])):
        mine = list(group)
        sentence = became(mine)
        yield f"### {engine} {version}"
        yield f"{sentence[:1].upper()}{sentence[1:]}."
        for status, title in ((FIXED, "Fixed:"), (CANNOT_TELL, "Cannot be told:")):
            if some := [_line(row) for row in mine if row["status"] == status]:
                yield title
                yield "\n".join(some)


def _line(row: Row) -> str:
    why = f" ({row['reason']})" * bool(row["reason"])
    effect = str(row["effect"]).replace("_", " ")
    met = f"- `{row['bug']}` {effect} in {row['schemas']:,} of {row['judged']:,}"
    case = smallest_case(str(row["text"]), str(row["schema"]))
    return f"{met}: {markdown(str(row['title']))}{why}. {case}"


def _page(runs: Runs) -> str:
    lead = (
        "What became of bugs in versions later than those of [the newest engines](../newest/"
        f"README.md), in the configuration closest to the specification. {SEE_MEANING} All are in"
        " [changes.csv](changes.csv), versions and options in [manifest.json](manifest.json)."
        " Written by `make results ONLY=later`."
    )
    pairs = compared(runs[_EMBEDDED])
    text = comparison_markdown(pairs, _MOST).replace("\n#", "\n##")
    return page(
        "Later versions",
        lead,
        "\n".join(in_short(one, _EMBEDDED) for one in pairs),
        *_maskbench(runs),
        "## The published bugs",
        "The smallest case of each bug of the newest engines, put to the later version.",
        *published_part(published_changes()),
        "## The embedded cases",
        "A run with both versions, values alone, no walks over tokens, searched for bugs. Each is"
        " put to both, by its smallest case; what is refused there stands between » and «.",
        f"#{text}",
        MEANING,
    )


def _maskbench(runs: Runs) -> Iterator[str]:
    """What both versions do with the schemas of `newest`, and how long compilation takes."""
    if _MASKBENCH not in runs:
        return
    run = runs[_MASKBENCH]
    told = SchemaRows.of(run)
    yield "## The schemas of the newest engines"
    yield (
        f"Both versions on {schemas(run)}, in one run on one machine: values alone, no walks over"
        " tokens. Compilation may take 5 s of processor time."
    )
    yield sentences(run.summary)
    yield "\n".join(of_the_same(told, *pair) for pair in LATER)
    yield remarks(run)
    yield f"{COMPILES} All counts are in [counts.csv](counts.csv)."
    yield markdown_table(TIMES, tuple(times(told)))


def of_compiled(rows: SchemaRows, old: str, new: str) -> Iterator[Row]:
    """What two versions do with the schemas that both compile, and the new one with others."""
    compiling = [
        {name for name in (old, new) if name in one.done and one.done[name].outcome == COMPILED}
        for one in rows.rows
    ]

    for compiled, name in (({old, new}, old), ({old, new}, new), ({new}, new)):
        some = [one for one, names in zip(rows.rows, compiling, strict=True) if names == compiled]
        one = rows.where(some).told[name]
        effects = {"loses": "loss", "leaks": "leak", "traps": "trap"}
        yield {
            "compiled_by": "both" if len(compiled) > 1 else one["version"],
            "version": one["version"],
            "schemas": len(some),
            **{column: one[effect]["schemas"] for column, effect in effects.items()},
        }


def of_the_same(rows: SchemaRows, old: str, new: str) -> str:
    """The same in words."""
    before, now, alone = of_compiled(rows, old, new)

    def does(one: Row) -> str:
        return (
            f"{one['version']} loses a value in {one['loses']:,}, leaks one in {one['leaks']:,} and"
            f" traps in {one['traps']:,}"
        )

    return (
        f"Of {plural(int(now['schemas']), 'schema')} that both compile {does(before)};"
        f" {does(now)}. Of {alone['schemas']:,} that the later one alone compiles {does(alone)}."
    )


def _tables(runs: Runs) -> Mapping[str, Table]:
    found = found_changes(_EMBEDDED, compared(runs[_EMBEDDED]))
    tables = {"changes": Table.of("", _COLUMNS, [*published_changes(), *found])}
    if _MASKBENCH in runs:
        rows = SchemaRows.of(runs[_MASKBENCH])
        tables["counts"] = Table.of("", COUNTS, counts(rows, SPECIFICATION))
        compiled = [one for pair in LATER for one in of_compiled(rows, *pair)]
        tables["compiled"] = Table.of("", _COMPILED, compiled)
    return tables


_SPECS: Final = tuple(spec for pair in LATER for spec in pair)
PAGE: Final = Published(
    {
        _EMBEDDED: ("--cases", "embedded", "--walks", "0", "--engines", ",".join(_SPECS)),
        _MASKBENCH: (
            *(*drawn(500, _SPECS), "--walks", "0", "--samples", "0"),
            *("--compile-timeout", "5", "--case-budget", "120"),
        ),
    },
    _page,
    _tables,
    {_EMBEDDED: 1800},
)
