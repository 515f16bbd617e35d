"""What became of published bugs in later versions: ``python -m benchmarks.later``.

The pages take days, and versions come out meanwhile. The smallest case of each bug of
``results/newest`` is put to the later version of its engine, and to the published one: a case that
does not show the bug there says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import click

from benchmarks.pages.layout import listed, page
from benchmarks.site.published import PublishedBug, published_bugs
from harness.bugs.trial import Trial
from harness.classification.departures import load_catalogue
from harness.engines.environments import provide
from harness.engines.specs import parse_spec, read_spec
from harness.errors import MaskcourtError
from harness.printable import code, one_line, plural
from harness.render.table import Row, Table, as_csv
from harness.validators.judge import Judge
from harness.versions.bugs import CANNOT_TELL, FIXED, REMAINING, bug_change

_RESULTS: Final = Path(__file__).resolve().parents[1] / "results"
LATER: Final = ("xgrammar@0.2.9",)
"""Versions later than those that were asked."""
_SOURCE: Final = "newest"
_MEMORY: Final = 4 << 30
_LONGEST: Final = 160
_COLUMNS: Final = (
    *("bug", "engine", "old", "new", "status", "reason", "effect", "title", "schemas", "judged"),
    *("schema", "text"),
)
_SAID: Final = {
    REMAINING: ("is there still", "are there still"),
    FIXED: ("is fixed", "are fixed"),
    CANNOT_TELL: ("cannot be told", "cannot be told"),
}
Try = Callable[[PublishedBug, str], tuple[str, str]]
"""What becomes of a bug under a version, and why."""


@dataclass(frozen=True)
class Trials:
    """Those of an engine in the version that is published, and in a later one."""

    published: Trial
    later: Trial

    def __call__(self, one: PublishedBug, version: str) -> tuple[str, str]:
        if one.bug is None:
            return CANNOT_TELL, "its case cannot be read from what is published"
        if bug_change(one.bug, self.published, one.version, is_new=False).status != REMAINING:
            return CANNOT_TELL, f"its case alone does not show it in {one.version}"
        change = bug_change(one.bug, self.later, version, is_new=False)
        return change.status, change.reason


def changes(bugs: Iterable[PublishedBug], version: str, become: Try) -> Iterator[Row]:
    """A row for each bug of an engine: what became of it in a version."""
    for one in bugs:
        status, reason = become(one, version)
        row: Row = {"bug": one.id, "engine": one.key, "old": one.version, "new": version}
        row = {**row, "status": status, "reason": reason, "effect": one.effect}
        row = {**row, "title": one.title, "schemas": one.schemas, "judged": one.judged}
        yield {**row, "schema": one.schema, "text": one.text}


def became(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many bugs of one version there are still in another, how many it fixed."""
    each = [sum(row["status"] == status for row in rows) for status in _SAID]
    told = [
        f"{count:,} {words[count != 1]}" for count, words in zip(each, _SAID.values(), strict=True)
    ]
    some = [words for words, count in zip(told, each, strict=True) if count]
    return f"of {plural(len(rows), 'bug')} of {rows[0]['old']} {listed(some)}"


def later_page(rows: Sequence[Row]) -> str:
    """The page on later versions, of the rows of `changes`."""
    parts = []
    for (engine, version), group in groupby(rows, lambda row: (row["engine"], row["new"])):
        mine = list(group)
        sentence = became(mine)
        parts += [f"## {engine} {version}", f"{sentence[:1].upper()}{sentence[1:]}."]
        for status, title in ((FIXED, "Fixed:"), (CANNOT_TELL, "Cannot be told:")):
            if some := [_line(row) for row in mine if row["status"] == status]:
                parts += [title, "\n".join(some)]
    return page(
        "Later versions",
        "What became of bugs in versions later than those of [the newest engines](../newest/"
        "README.md): the smallest case of each bug there is put to the later version. Whether that"
        " brought other bugs was not looked for. Each bug is in [changes.csv](changes.csv). Written"
        " by `make results ONLY=later`.",
        *parts,
    )


def _line(row: Row) -> str:
    text, schema = (code(one_line(str(row[name]), _LONGEST)) for name in ("text", "schema"))
    why = f" ({row['reason']})" * bool(row["reason"])
    effect = str(row["effect"]).replace("_", " ")
    met = f"- `{row['bug']}` {effect} in {row['schemas']:,} of {row['judged']:,}"
    return f"{met}: {row['title']}{why}. Smallest case: {text} under {schema}."


def write(rows: Sequence[Row], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "README.md").write_text(later_page(rows), "utf-8")
    (out / "changes.csv").write_text(as_csv(Table.of("", _COLUMNS, rows)), "utf-8")


@click.command()
@click.argument("specs", nargs=-1)
@click.option("--results", type=click.Path(path_type=Path), default=_RESULTS)
def main(specs: Sequence[str], results: Path) -> None:
    """Put the published bugs to later versions, XGRAMMAR@VERSION and the like."""
    file = results / _SOURCE / "bugs.json"
    if not file.exists():
        raise click.UsageError(f"there is no {file}: make results ONLY={_SOURCE} first")
    formats = json.loads((file.parent / "manifest.json").read_text("utf-8"))["specification"]
    known = list(published_bugs(file))
    rows: list[Row] = []
    try:
        with closing(Judge(_MEMORY, formats=formats["identity"]["rules"]["formats"])) as judge:
            for text in specs or LATER:
                spec, name = parse_spec(text), read_spec(text).name
                if not (mine := [one for one in known if one.key == name]):
                    raise click.UsageError(f"{file} lists no bug of {name}")
                old = provide(parse_spec(f"{name}@{mine[0].version}"))
                with (
                    closing(Trial(old, judge, load_catalogue())) as published,
                    closing(Trial(provide(spec), judge, load_catalogue())) as later,
                ):
                    rows += changes(mine, later.info.version, Trials(published, later))
    except MaskcourtError as error:
        raise click.ClickException(str(error)) from error
    write(rows, results / "later")


if __name__ == "__main__":
    main()
