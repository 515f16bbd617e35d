"""The page on schemas that mean the same: what engines do under one of two forms alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from benchmarks.pages.layout import Published, Runs, markdown_table, page
from harness.analysis.equal_schemas import COLUMNS, COUNTS
from harness.inputs.cases import EQUAL, MARK
from harness.render.table import Row, Table
from harness.report.frames import Run

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


def tried(run: Run) -> Counter[str]:
    """How many schemas have each rewriting beside them."""
    names = run.cases.loc[run.cases["family"] == EQUAL, "case"]
    return Counter(str(name).rpartition(MARK)[2] for name in names)


def equal_rows(run: Run) -> Iterator[Row]:
    """A row for each rewriting that was tried, in the words of `REWRITINGS`."""
    for name, schemas in sorted(tried(run).items()):
        yield {"rewriting": name, "what_it_does": REWRITINGS[name], "schemas": schemas}


def equal_sentence(engine: str, version: str, rows: Sequence[Row], compiled: str) -> str:
    """What an engine does under one of two forms, the commonest first; `compiled` of how many."""
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
    return f"- {engine} {version}, which compiles {compiled} of the first form: {found}."


def _page(runs: Runs) -> str:
    run = runs[""]
    told = run.summary
    rows = told["equal_schemas"]
    counts = tried(run)
    originals = len(run.cases) - counts.total()
    lead = (
        f"{originals:,} schemas of MaskBench, each with at most four of its rewritings beside it,"
        f" drawn by a seed: {counts.total():,} schemas that mean what another means. Both are"
        " asked about the same values. A difference between two forms is the engine's own error,"
        " whatever others do: it refuses one, loses a value under it (a valid everyday value that"
        " it writes in no usual form) or leaks one, and not under the other. Each count is of all"
        " schemas so rewritten, compiled or not."
        " Values alone, no walks over tokens; compilation may take 3 s of processor time. Written"
        " by `make results ONLY=equal`; conditions"
        " under which a rewriting keeps the meaning:"
        " [docs/verdicts.md](../../docs/verdicts.md#equal-schemas)."
    )
    lines = [
        equal_sentence(
            name,
            one["version"],
            [row for row in rows if row["engine"] == name],
            f"{one['compile']['compiled']:,} of {sum(one['compile'].values()):,}",
        )
        for name, one in told["engines"].items()
    ]
    names = ("rewriting", "what_it_does", "schemas")
    return page(
        "Schemas that mean the same",
        lead,
        "\n".join(lines),
        "## One form alone is wrong",
        markdown_table(COLUMNS, rows),
        "## What was tried",
        markdown_table(names, tuple(equal_rows(run))),
    )


def _tables(runs: Runs) -> Mapping[str, Table]:
    return {"forms": Table.of("", COLUMNS, runs[""].summary["equal_schemas"])}


PAGE: Final = Published(
    {
        "": (
            *("--cases", "maskbench", "--sample", "300", "--seed", "7", "--rewritings", "4"),
            *("--walks", "0", "--samples", "0", "--generated", "8", "--compile-timeout", "3"),
        )
    },
    _page,
    _tables,
)
