"""How long engines need: to the first mask, and from one mask to the next.

The measures are those of MaskBench (https://github.com/guidance-ai/jsonschemabench, the README of
``maskbench``, which tabulates them in microseconds up to p99.9 and p100):

compile
    of one schema that compiled. Time-outs and refusals have no time: a long tail ends at the limit.
first mask
    of a schema that compiled, at the start of the text.
time to first mask
    the two together, per schema. An engine may compute masks while it compiles, or put off work
    until the first one; the sum is what engines have in common.
time between masks
    to consume one token of a walk and to write the mask after it, per position but the first.

All are taken inside the engine's host, around the call of the adapter and nothing else, alike for
every engine. Compilation and first mask are processor time of the host (all threads, so that a busy
machine blames nobody); the time between masks is wall time, since the clock of processor time costs
ten times as much: a busy machine lengthens its tail. What stays in: reading the clock, the
adapter's Python, and that engines which share caches between copies of a matcher may find them
filled by proofs made at earlier positions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from harness.analysis.stored import connected, statement
from harness.runs.directory import RunDirectory

UNIT = "us"
"""Microseconds: of every time that `timings` gives."""

MEASURES = ("compile", "first_mask", "time_to_first_mask", "time_between_masks")
PERCENTILES = (50.0, 75.0, 90.0, 99.0, 99.9)
FIGURES = ("n", "mean", *(f"p{one:g}" for one in PERCENTILES), "max")


@dataclass(frozen=True)
class Distribution:
    """Times in microseconds, equal ones folded.

    `values` are ascending, to four significant digits, with `counts`, shape ``(k,)`` each; `total`
    and `max` (0 where there is none) are exact.
    """

    values: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]
    total: float
    max: float

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    def percentile(self, percent: float) -> float:
        """The least time that at least so many percent of them do not exceed."""
        upto = np.cumsum(self.counts)
        at = int(np.searchsorted(upto, upto[-1] * percent / 100 * (1 - 1e-12)))
        return float(self.values[at])

    def figures(self) -> dict[str, Any]:
        """`FIGURES` as JSON, in microseconds; all but ``n`` are None where there is no time."""
        if not len(self.values):
            return {name: 0 if name == "n" else None for name in FIGURES}
        at = {f"p{one:g}": self.percentile(one) for one in PERCENTILES}
        found = {"mean": self.total / self.n, **at, "max": self.max}
        return {"n": self.n, **{name: float(f"{one:.4g}") for name, one in found.items()}}


Distributions = Mapping[str, Mapping[str, Distribution]]


def timings(run: RunDirectory) -> dict[str, dict[str, Any]]:
    """`FIGURES` in microseconds, to four digits, by engine and by measure of `MEASURES`.

    They are of the schemas that the engine compiled, and of the positions of walks but the first. A
    percentile is a time that occurred (nearest rank).
    """
    return {
        engine: {measure: one.figures() for measure, one in measures.items()}
        for engine, measures in distributions(run).items()
    }


def distributions(run: RunDirectory) -> dict[str, dict[str, Distribution]]:
    """Each engine's times, by engine and measure; see `timings`."""
    engines = list(run.manifest["identity"]["engines"])
    database = connected()
    columns = ["engine", "position", "mask_ns", "consume_ns"]
    database.register("raw_timings", run.table("timings", columns))
    database.register("raw_costs", run.table("costs", ["engine", "case", "stage", "seconds"]))
    database.register("raw_engines", pa.table({"name": engines, "engine": range(len(engines))}))
    found = database.execute(statement("times")).fetchnumpy()
    out: dict[str, dict[str, Distribution]] = {}
    for engine, name in enumerate(engines):
        out[name] = {}
        for measure, title in enumerate(MEASURES):
            mine = (found["engine"] == engine) & (found["measure"] == measure)
            total, longest = found["total"][mine].sum(), found["longest"][mine].max(initial=0.0)
            counts = found["value"][mine], found["n"][mine]
            out[name][title] = Distribution(*counts, float(total), float(longest))
    return out
