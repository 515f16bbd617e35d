"""The page on the whole of MaskBench: values alone, and what compilation takes.

The run takes about 7 s of processor time a schema, 11 hours on two cores; three quarters of it are
compilations, half of these time-outs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from benchmarks.pages.layout import (
    COUNTS,
    GROUPS,
    SHIPPED,
    SPECIFICATION,
    WORDS,
    Published,
    Runs,
    counts,
    markdown_table,
    page,
    schemas,
    sentences,
    told_of,
)
from harness.engines.specs import with_version
from harness.render.table import Row, Table
from harness.report.frames import Run

_OLD: Final = ("xgrammar@0.1.32", "llguidance@1.6.1")
_SLOW: Final = 1.0
"""Seconds of compilation that a user notices."""
_TIMES: Final = ("engine", "compiled", "median_ms", "p90_ms", "max_ms", "over_1_s", "of", "share")
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


def _page(runs: Runs) -> str:
    run = runs[""]
    told = told_of(run)
    lead = (
        f"What engines do with whole values, {schemas(run)}: the whole of MaskBench, all of its"
        f" families, in an order drawn by chance. {WORDS} Compilation may take 5 s of processor"
        " time. Written by `make results ONLY=values`; counts are in [counts.csv](counts.csv),"
        " versions and options in [manifest.json](manifest.json)."
    )
    return page(
        "All of MaskBench, by values",
        lead,
        sentences(told),
        "## What compilation takes",
        "Milliseconds of processor time, of the schemas that compile; over 1 s also those that run"
        " out of time.",
        markdown_table(_TIMES, tuple(times(run, told))),
        "## By real values, and by generated ones alone",
        "Schemas that a real value shows, and others that only a generated everyday value shows.",
        markdown_table(_VALUES, tuple(values(told))),
    )


def _tables(runs: Runs) -> Mapping[str, Table]:
    told = told_of(runs[""])
    return {
        "counts": Table.of("", COUNTS, counts(told)),
        "times": Table.of("", _TIMES, times(runs[""], told)),
    }


PAGE: Final = Published(
    {
        "": (
            *("--cases", "maskbench", "--seed", "7", "--walks", "0", "--samples", "0"),
            *("--compile-timeout", "5", "--case-budget", "120", "--engines"),
            ",".join([*GROUPS[SPECIFICATION], *GROUPS[SHIPPED], *_OLD]),
        )
    },
    _page,
    _tables,
)
