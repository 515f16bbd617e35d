"""Published pages that rest on one run each: ``python -m benchmarks.published NAME``.

The run is made by ``maskcourt bench``, which goes on where it was interrupted; then the page, its
tables as CSV and the run's manifest are written from what is stored. No figure is typed by hand.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from harness.analysis.equal_schemas import COLUMNS, COUNTS
from harness.analysis.tally import summary
from harness.errors import MaskcourtError
from harness.inputs.cases import EQUAL, MARK
from harness.render.table import Row, Table, as_csv, as_markdown
from harness.report.frames import Run, load_run
from harness.runs.directory import MANIFEST

_ROOT: Final = Path(__file__).resolve().parents[1]
REWRITINGS: Final[Mapping[str, str]] = {
    "all-of-one": "`S` becomes `allOf: [S]`",
    "annotated": "a title, a description and examples are added",
    "any-items": "`items: true` is added",
    "any-of-false": "`S` becomes `anyOf: [S, false]`",
    "any-of-one": "`S` becomes `anyOf: [S]`",
    "any-of-twice": "`S` becomes `anyOf: [S, S]`",
    "const-as-enum": "`const: c` becomes `enum: [c]`",
    "enum-as-const": "`enum: [c]` becomes `const: c`",
    "grouped-pattern": "a pattern stands in `(?:…)`",
    "idle-bound": "a lower bound of 0 of a length or a number of items or members is added",
    "implied-left-out": "keywords are left out that forbid nothing beside the others",
    "lengths-as-pattern": "`minLength` and `maxLength` become a pattern",
    "other-bounds": "`minimum: 1` of an integer becomes `exclusiveMinimum: 0`, or reversed",
    "reference-inlined": "a `$ref` becomes what it refers to",
    "renamed-members": "all declared members have other names",
    "reordered-members": "members are declared in the opposite order",
    "split-members": "`properties` are spread over two parts of `allOf`",
    "subschema-defined": "a subschema becomes a `$ref`",
    "type-in-list": '`type: "t"` becomes `type: ["t"]`',
    "types-apart": "a list of types becomes a branch of `anyOf` for each",
    "unannotated": "titles, descriptions, defaults and examples are left out",
}
"""What each rewriting does, in a few words."""


@dataclass(frozen=True)
class Published:
    """A page: what its run is asked for, and what is told of it."""

    arguments: Sequence[str]
    page: Callable[[Run], str]
    tables: Callable[[Run], Mapping[str, Table]]


def tried(run: Run) -> Counter[str]:
    """How many schemas have each rewriting beside them."""
    names = run.cases.loc[run.cases["family"] == EQUAL, "case"]
    return Counter(str(name).rpartition(MARK)[2] for name in names)


def equal_rows(run: Run) -> Iterator[Row]:
    """A row for each rewriting that was tried, in the words of `REWRITINGS`."""
    for name, schemas in sorted(tried(run).items()):
        yield {"rewriting": name, "what_it_does": REWRITINGS[name], "schemas": schemas}


def equal_sentence(engine: str, version: str, rows: Sequence[Row], schemas: int) -> str:
    """What an engine does under one of two forms, the commonest first."""
    told = []
    for name, verb in zip(COUNTS, ("refuses", "loses a value in", "leaks one in"), strict=True):
        some = sorted((row for row in rows if row[name]), key=lambda row: -row[name])
        told += [
            f"{verb} {row[name]} of {row['schemas']}"
            + (
                f" as `{row['rewriting']}`"
                if row["under"] == "rewriting"
                else f" as they are, and not as `{row['rewriting']}`"
            )
            for row in some
        ]
    found = "; ".join(told) or "no difference was found"
    return f"- {engine} {version}, {schemas:,} rewritten schemas: {found}."


def equal_page(run: Run) -> str:
    """The page on schemas that mean the same."""
    told = summary(run.directory)
    rows = told["equal_schemas"]
    counts = tried(run)
    originals = len(run.cases) - counts.total()
    lead = (
        f"{originals:,} schemas of MaskBench, each with at most four of its rewritings beside it,"
        f" drawn by a seed: {counts.total():,} schemas that mean what another means. Both are"
        " asked about the same values; what an engine refuses, loses (a valid everyday value that"
        " it writes in no usual form) or leaks under one of the two forms alone is its error,"
        " whatever other engines do. Values alone, no walks over tokens. Written by `make results"
        " ONLY=equal`; conditions under which a rewriting keeps the meaning:"
        " [docs/verdicts.md](../../docs/verdicts.md#equal-schemas)."
    )
    lines = [
        equal_sentence(
            name, one["version"], [row for row in rows if row["engine"] == name], counts.total()
        )
        for name, one in told["engines"].items()
    ]
    forms = Table.of("", COLUMNS, rows)
    names = Table.of("", ("rewriting", "what_it_does", "schemas"), tuple(equal_rows(run)))
    parts = [
        *("# Schemas that mean the same", lead, "\n".join(lines)),
        *("## One form alone is wrong", as_markdown(forms).strip()),
        *("## What was tried", as_markdown(names).strip()),
    ]
    return "\n\n".join(parts) + "\n"


def _equal_tables(run: Run) -> Mapping[str, Table]:
    return {"forms": Table.of("", COLUMNS, summary(run.directory)["equal_schemas"])}


PAGES: Final[Mapping[str, Published]] = {
    "equal": Published(
        (
            *("--cases", "maskbench", "--sample", "300", "--seed", "7", "--rewritings", "4"),
            *("--walks", "0", "--samples", "0", "--generated", "8", "--compile-timeout", "3"),
        ),
        equal_page,
        _equal_tables,
    ),
}


def write(run: Run, about: Published, out: Path) -> None:
    """Write the page of a run, its tables and its manifest."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "README.md").write_text(about.page(run), "utf-8")
    for name, table in about.tables(run).items():
        (out / f"{name}.csv").write_text(as_csv(table), "utf-8")
    manifest = json.loads((run.path / MANIFEST).read_text("utf-8"))
    kept = {name: manifest[name] for name in ("identity", "versions") if name in manifest}
    (out / "manifest.json").write_text(json.dumps(kept, indent=1) + "\n", "utf-8")


@click.command()
@click.argument("name", type=click.Choice(sorted(PAGES)))
@click.option("--run", "path", type=click.Path(path_type=Path), help="A run that is there.")
@click.option("--lanes", type=int, help="Cases at the same time.")
def main(name: str, path: Path | None, lanes: int | None) -> None:
    """Make the run of a page, or go on with it, and write the page."""
    about = PAGES[name]
    if path is None:
        path = _ROOT / "runs" / name
        command = [sys.executable, "-m", "harness.cli", "bench", *about.arguments]
        command += ["--shrink-budget", "0", "--out", str(path)]
        command += ["--lanes", str(lanes)] if lanes else []
        if done := subprocess.run(command, check=False).returncode:
            sys.exit(done)
    try:
        write(load_run(path), about, _ROOT / "results" / name)
    except MaskcourtError as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
