"""The page on the whole of MaskBench: values alone, and what compilation takes.

The run takes about 7 s of processor time a schema, 11 hours on two cores; three quarters of it are
compilations, half of these time-outs: of what compiles nearly all does so within 3 s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from benchmarks.pages.layout import (
    ANSWERED,
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
    Runs,
    counts,
    large,
    markdown_table,
    page,
    remarks,
    schemas,
    sentences,
    versions_of,
)
from benchmarks.pages.original import REFUSED, SOURCE
from benchmarks.pages.original import SCHEMAS as STUDIED
from harness.engines.specs import with_version
from harness.render.table import Row, Table
from harness.report.frames import Run

_OLD: Final = ("xgrammar@0.1.32", "llguidance@1.6.1")
_SLOW: Final = 1.0
"""Seconds of compilation that a user notices."""
_TIMES: Final = ("engine", "compiled", "median_ms", "p90_ms", "max_ms", "over_1_s", "of", "share")
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


def times(run: Run, told: Mapping[str, Any]) -> Iterator[Row]:
    """A row for each engine: milliseconds that compilation takes of what compiles, and slow ones.

    Those that run out of time are slow, too.
    """
    costs = run.costs[run.costs["stage"] == "compile"]
    slow = costs[costs["seconds"] > _SLOW].groupby("engine", observed=False).size()
    for name, one in told["engines"].items():
        figures, of = one["timings"]["compile"], sum(one["compile"].values())
        row = {"engine": with_version(name, one["version"]), "compiled": figures["n"]}
        for column, figure in (("median_ms", "p50"), ("p90_ms", "p90"), ("max_ms", "max")):
            row |= {column: figures[figure] and figures[figure] / 1000}
        many = int(slow.get(name, 0)) + one["compile"]["timed_out"]
        share = f"{many / of:.1%}" if of else ""
        yield {**row, "over_1_s": many, "of": of, "share": share}


def values(told: Mapping[str, Any]) -> Iterator[Row]:
    """A row for each engine: schemas by what shows the worst, a real value or a generated one."""
    for name, one in told["engines"].items():
        row = {"engine": with_version(name, one["version"]), "judged": one["loss"]["of"]}
        for column, effect in (("loses", "loss"), ("leaks", "leak")):
            row |= {f"{column}_real": one[effect]["real"]}
            row |= {f"{column}_generated": one[effect]["plain"]}
        yield row


def refusals(run: Run) -> Iterator[Row]:
    """A row for each engine: what it does not compile of the schemas that the study may have.

    They are of the families of JSONSchemaBench, and have a valid value.
    """
    valid = run.instances[run.instances["label"] == "valid"]["case"]
    asked = run.cases[run.cases["family"].isin(FAMILIES) & run.cases["case"].isin(valid)]["case"]
    compiled = run.engines[(run.engines["stage"] == "compile") & run.engines["case"].isin(asked)]
    for name, version in versions_of(run).items():
        mine = compiled[compiled["engine"] == name]["outcome"]
        refused, others = int((mine == "refused").sum()), int((~mine.isin(ANSWERED)).sum())
        row = {"engine": with_version(name, version), "refused": refused, "failed": others}
        yield {**row, "of": len(mine), "share": f"{(refused + others) / max(len(mine), 1):.1%}"}


def _page(runs: Runs) -> str:
    run = runs[""]
    told = run.summary
    lead = (
        f"What engines do with whole values, {schemas(run)}: the whole of MaskBench, all of its"
        f" families, in an order drawn by chance. {SEE_MEANING} Compilation may take 3 s of"
        " processor time. Written by `make results ONLY=values`; counts are in"
        " [counts.csv](counts.csv), versions and options in [manifest.json](manifest.json)."
    )
    return page(
        "All of MaskBench, by values",
        lead,
        sentences(told),
        remarks(run),
        "## What compilation takes",
        "Milliseconds of processor time, of the schemas that compile; over 1 s also those that run"
        " out of time.",
        markdown_table(_TIMES, tuple(times(run, told))),
        "## By real values, and by generated ones alone",
        "Schemas that a real value shows, and others that only a generated everyday value shows.",
        markdown_table(_VALUES, tuple(values(told))),
        "## Large schemas",
        LARGE_MEANS,
        markdown_table(LARGE, tuple(large(run))),
        "## Refusals beside the original study",
        _BESIDE,
        markdown_table(_REFUSALS, tuple(refusals(run))),
        MEANING,
    )


def _tables(runs: Runs) -> Mapping[str, Table]:
    run = runs[""]
    told = run.summary
    return {
        "counts": Table.of("", COUNTS, counts(run)),
        "times": Table.of("", _TIMES, times(run, told)),
        "large": Table.of("", LARGE, large(run)),
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
)
