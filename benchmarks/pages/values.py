"""The page on the whole of MaskBench: values alone, and what compilation takes.

The run takes about 7 s of processor time a schema, 11 hours on two cores; three quarters of it are
compilations, half of these time-outs: of what compiles nearly all does so within 3 s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from benchmarks.pages.layout import (
    COUNTS,
    FAMILIES,
    GROUPS,
    LARGE,
    LARGE_MEANS,
    MEANING,
    SEE_MEANING,
    SHIPPED,
    SPECIFICATION,
    Published,
    counts,
    failed,
    large,
    markdown_table,
    milliseconds,
    page,
    remarks_of,
    schemas_of,
    sentence,
)
from benchmarks.pages.original import REFUSED, SOURCE
from benchmarks.pages.original import SCHEMAS as STUDIED
from benchmarks.pages.schema_rows import FAILED, SchemaRows
from harness.engines.specs import with_version
from harness.render.table import Row, Table

_OLD: Final = ("xgrammar@0.1.32", "llguidance@1.6.1")
_SLOW: Final = 1000
"""Milliseconds of compilation that a user notices."""
TIMES: Final = ("engine", "compiled", "median_ms", "p90_ms", "max_ms", "over_1_s", "of", "share")
COMPILES: Final = (
    "Milliseconds of processor time, of the schemas that compile; over 1 s also those that run out"
    " of time."
)
"""What stands above a table with `TIMES`."""
_REFUSALS: Final = ("engine", "refused", "failed", "of", "share")
_BESIDE: Final = (
    f"The [original study]({SOURCE}) has {STUDIED:,} schemas for which a valid value exists, of"
    f" which its three engines (xgrammar 0.1.32, llguidance 1.6.1 and dotjson) do not compile"
    f" {', '.join(f'{one:,} ({one / STUDIED:.1%})' for one in REFUSED)}; which is whose could not"
    " be read. Which schemas they are is not known; here are those of the ten families of"
    " JSONSchemaBench that have a valid value in MaskBench."
)
_VALUES: Final = (
    *("engine", "judged", "loses_real", "loses_generated", "leaks_real", "leaks_generated"),
)
FOR_TESTS: Final = ("Handwritten", "Synthesized")
"""Families of MaskBench that were made to test programs: schemas that nobody has a use for."""
_BY_FAMILY: Final = (
    *("families", "engine", "schemas", "refused", "failed", "judged", "loses", "loses_declared"),
    *("leaks", "leaks_declared", "traps", "traps_declared"),
)


def times(rows: SchemaRows) -> Iterator[Row]:
    """A row for each engine: milliseconds that compilation takes of what compiles, and slow ones.

    Those that run out of time are slow, too.
    """
    for name, one in rows.told.items():
        took, of = milliseconds(rows, name), sum(one["compile"].values())
        row = {"engine": with_version(name, one["version"]), "compiled": len(took)}
        for column, share in (("median_ms", 0.5), ("p90_ms", 0.9), ("max_ms", 1)):
            row[column] = float(np.quantile(took, share)) if took else None
        many = sum(ms > _SLOW for ms in took) + one["compile"]["timed_out"]
        yield {**row, "over_1_s": many, "of": of, "share": f"{many / of:.1%}" if of else ""}


def values(rows: SchemaRows) -> Iterator[Row]:
    """A row for each engine: schemas by what shows the worst, a real value or a generated one."""
    for name, one in rows.told.items():
        row = {"engine": with_version(name, one["version"]), "judged": one["loss"]["of"]}
        for column, effect in (("loses", "loss"), ("leaks", "leak")):
            row |= {f"{column}_real": one[effect]["real"]}
            row |= {f"{column}_generated": one[effect]["plain"]}
        yield row


def in_use(rows: SchemaRows) -> SchemaRows:
    """The rows of all schemas but those that were made for tests."""
    return rows.where(one for one in rows.rows if one.family not in FOR_TESTS)


def by_family(rows: SchemaRows) -> Iterator[Row]:
    """A row for each engine and kind of family: JSONSchemaBench, what was added, and tests."""
    added = sorted({one.family for one in rows.rows} - {*FAMILIES, *FOR_TESTS})
    kinds = {"JSONSchemaBench": FAMILIES, ", ".join(added): added, ", ".join(FOR_TESTS): FOR_TESTS}
    for kind, families in kinds.items():
        some = rows.where(one for one in rows.rows if one.family in families)
        for name, one in some.told.items() if some.rows else ():
            outcomes = one["compile"]
            told = (one[effect] for effect in ("loss", "leak", "trap"))
            numbers = (
                *(sum(outcomes.values()), outcomes["refused"], failed(outcomes), one["loss"]["of"]),
                *(rate[part] for rate in told for part in ("schemas", "declared")),
            )
            row = (kind, with_version(name, one["version"]), *numbers)
            yield dict(zip(_BY_FAMILY, row, strict=True))


def refusals(rows: SchemaRows) -> Iterator[Row]:
    """A row for each engine: what it does not compile of the schemas that the study may have.

    They are of the families of JSONSchemaBench, and have a valid value.
    """
    studied = rows.where(one for one in rows.rows if one.family in FAMILIES and one.valid)
    for name, one in studied.told.items():
        outcomes, of = one["compile"], sum(one["compile"].values())
        refused, others = outcomes["refused"], failed(outcomes)
        row = {"engine": with_version(name, one["version"]), "refused": refused, "failed": others}
        yield {**row, "of": of, "share": f"{(refused + others) / max(of, 1):.1%}"}


def _page(every: SchemaRows) -> str:
    rows, asked = in_use(every), schemas_of(len(every.rows), every.asked)
    whole = "of MaskBench, all of its families, in an order drawn by chance"
    if len(every.rows) == every.asked:
        whole = "the whole of MaskBench"
    lead = (
        f"What engines do with whole values, {asked}: {whole}. The"
        f" {len(every.rows) - len(rows.rows):,} of {' and '.join(FOR_TESTS)}, which were made to"
        " test programs, are counted [by family](#by-family) and in no other table."
        f" {SEE_MEANING} Compilation"
        " may take 3 s of processor time. Written by `make results ONLY=values`; what each engine"
        " does with each schema is in [tables of their families](#each-schema), counts are in"
        " [counts.csv](counts.csv), versions and options in [manifest.json](manifest.json)."
    )
    return page(
        "MaskBench, by values",
        lead,
        "\n".join(sentence(*one) for one in rows.told.items()),
        remarks_of(rows.remarked("case_budget"), rows.remarked(*FAILED)),
        "## What compilation takes",
        COMPILES,
        markdown_table(TIMES, tuple(times(rows))),
        "## By real values, and by generated ones alone",
        "Schemas that a real value shows, and others that only a generated everyday value shows.",
        markdown_table(_VALUES, tuple(values(rows))),
        "## By family",
        "BFCL, JME and MCPspec are what MaskBench adds to the ten families of JSONSchemaBench;"
        " Handwritten and Synthesized, schemas that were made to test programs, most with `not`."
        " *Failed*: most of them not in time; *declared*: of those with a loss, leak or trap the"
        " ones in which the engine declares all of them.",
        markdown_table(_BY_FAMILY, tuple(by_family(every))),
        "## Large schemas",
        LARGE_MEANS,
        markdown_table(LARGE, tuple(large(rows))),
        "## Refusals beside the original study",
        _BESIDE,
        markdown_table(_REFUSALS, tuple(refusals(rows))),
        MEANING,
        "## Each schema",
        every.meaning(),
    )


def _tables(every: SchemaRows) -> Mapping[str, Table]:
    rows = in_use(every)
    return {
        "families": Table.of("", _BY_FAMILY, by_family(every)),
        "counts": Table.of("", COUNTS, counts(rows)),
        "times": Table.of("", TIMES, times(rows)),
        "large": Table.of("", LARGE, large(rows)),
    }


PAGE: Final = Published(
    {
        "": (
            *("--cases", "maskbench", "--seed", "7", "--walks", "0", "--samples", "0"),
            *("--compile-timeout", "3", "--case-budget", "120", "--engines"),
            ",".join([*GROUPS[SPECIFICATION], *GROUPS[SHIPPED], *_OLD]),
        )
    },
    _page,
    _tables,
    gathered=True,
)
