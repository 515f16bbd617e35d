"""The page on every engine that can be installed: the same schemas, and engines in pairs.

The run takes about 20 s of processor time a schema, nearly all of it for lm-format-enforcer: an
hour on two cores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from benchmarks.pages.layout import (
    COUNTS,
    MEANING,
    SEE_MEANING,
    Published,
    Runs,
    counts,
    drawn,
    markdown_table,
    page,
    remarks,
    schemas,
    sentences,
)
from benchmarks.pages.schema_rows import SchemaRows
from harness.analysis.rates import PAIR
from harness.render.table import Row, Table

_ENGINES: Final = (
    *("xgrammar", "llguidance", "outlines", "maskforge", "glrmask", "llama.cpp"),
    *("lm-format-enforcer", "formatron", "oc-earley"),
)


def alone(told: Mapping[str, Any], counted: str) -> Iterator[Row]:
    """A row for each engine: in how many schemas it errs and the engine of the column does not.

    Everyday values, of the schemas that both were judged on.
    """
    found: dict[str, dict[str, str]] = {name: {} for name in told["engines"]}
    for one in told["pairs"]:
        if one["counted"] == counted and one["values"] == "everyday":
            pair = one["first"], one["second"]
            for (engine, other), side in ((pair, "only_first"), (pair[::-1], "only_second")):
                found[engine][other] = f"{one[side]:,} of {one['schemas']:,}" * bool(one["schemas"])
    for name, row in found.items():
        yield {"engine": name, **{other: row.get(other, "") for other in found}}


def _page(runs: Runs) -> str:
    run = runs[""]
    told = run.summary
    columns = ("engine", *told["engines"])
    lead = (
        f"What {len(told['engines'])} engines do with {schemas(run)}, drawn from the ten families"
        " of JSONSchemaBench, each closest to the specification, by values alone; of these"
        f" lm-format-enforcer, which is slow, is asked about fewer values. {SEE_MEANING} An engine"
        " that refuses hard schemas is judged on easy ones: compare in pairs. Compilation may take"
        " 3 s, a mask 2 s."
        " Written by `make results ONLY=engines`; all pairs are in [pairs.csv](pairs.csv), versions"
        " and options in [manifest.json](manifest.json)."
    )
    return page(
        "Nine engines",
        lead,
        sentences(told),
        remarks(run),
        "## In pairs: which of two loses a value",
        "In how many of the schemas that both were judged on the engine of the row loses a value"
        " and that of the column loses none.",
        markdown_table(columns, tuple(alone(told, "loss"))),
        "## In pairs: which of two leaks one",
        markdown_table(columns, tuple(alone(told, "leak"))),
        MEANING,
    )


def _tables(runs: Runs) -> Mapping[str, Table]:
    run = runs[""]
    return {
        "counts": Table.of("", COUNTS, counts(SchemaRows.of(run))),
        "pairs": Table.of("", PAIR, run.summary["pairs"]),
    }


PAGE: Final = Published(
    {
        "": (
            *drawn(300, _ENGINES),
            *("--walks", "0", "--samples", "0", "--generated", "8", "--compile-timeout", "3"),
            *("--mask-timeout", "2", "--case-budget", "60"),
        )
    },
    _page,
    _tables,
)
