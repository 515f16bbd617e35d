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
    to consume one token of a walk and to write the mask behind it, per position but the first.

All are taken inside the engine's host, around the call of the adapter and nothing else: alike for
every engine, without the exchange with the coordinator, the comparison of masks and the proofs.
Compilation and first mask are processor time of the host (all threads, so that a busy machine
blames nobody); the time between masks is wall time, since the clock of processor time costs ten
times as much: a busy machine lengthens its tail. What stays in: `clock_cost` for each clock, the
adapter's Python, and that engines which share caches between copies of a matcher may find them
filled by proofs made at earlier positions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.runs.directory import RunDirectory
from harness.runs.reader import RunReader, by_case

UNIT = "us"
"""Microseconds: of every time that `timings` gives."""

MEASURES = ("compile", "first_mask", "time_to_first_mask", "time_between_masks")
PERCENTILES = (50.0, 75.0, 90.0, 99.0, 99.9)
FIGURES = ("n", "mean", *(f"p{one:g}" for one in PERCENTILES), "max")

_BUFFERED = 1 << 20
"""Times that are held before they are folded."""

Times = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Distribution:
    """Times in microseconds, equal ones folded.

    Attributes:
        values: Different times, ascending, to four significant digits, shape ``(k,)``.
        counts: How often each occurred, shape ``(k,)``.
        total: Their exact sum.
        max: The exact longest; 0 where there is none.
    """

    values: Times
    counts: npt.NDArray[np.int64]
    total: float
    max: float

    @property
    def n(self) -> int:
        """How many times there are."""
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


def timings(run: RunDirectory) -> dict[str, dict[str, Any]]:
    """Each engine's times as JSON, in microseconds.

    Returns:
        By engine, in the order of the run, by measure of `MEASURES`: ``n``, ``mean``, ``p50``,
        ``p75``, ``p90``, ``p99``, ``p99.9`` and ``max``, to four significant digits; of the
        schemas that it compiled, and of the positions of walks but the first. A percentile is a
        time that occurred (nearest rank).

    Raises:
        RunDirectoryError: The run is damaged.
    """
    return {
        engine: {measure: one.figures() for measure, one in measures.items()}
        for engine, measures in distributions(run).items()
    }


def distributions(run: RunDirectory) -> dict[str, dict[str, Distribution]]:
    """Each engine's times, by engine and measure; see `timings`. Memory does not grow with a run.

    Raises:
        RunDirectoryError: The run is damaged.
    """
    engines = list(run.manifest["identity"]["engines"])
    reader = RunReader(run)
    folds = {engine: {measure: _TimesFold() for measure in MEASURES} for engine in engines}
    for engine, measure, seconds in _costs(reader, engines):
        folds[engine][measure].add(np.array([seconds * 1e6]))
    for engine, nanoseconds in _between(reader, engines):
        folds[engine]["time_between_masks"].add(nanoseconds / 1e3)
    return {
        engine: {measure: fold.whole() for measure, fold in measures.items()}
        for engine, measures in folds.items()
    }


def clock_cost(clock: Callable[[], int] = time.perf_counter_ns, repeats: int = 2001) -> float:
    """What measuring adds to a time on this machine, in microseconds.

    Args:
        clock: The clock; the time between masks is taken by `time.perf_counter_ns`, the others by
            `time.process_time_ns`.
        repeats: How often to read it twice; the median of the differences is what is given.
    """
    found = [-clock() + clock() for _ in range(repeats)]
    return float(np.median(found)) / 1e3


class _TimesFold:
    """Gathers times, and folds them whenever many are held."""

    def __init__(self) -> None:
        self._buffer: list[Times] = []
        self._size = 0
        self._total = 0.0
        self._max = 0.0
        self._values: Times = np.zeros(0)
        self._counts = np.zeros(0, dtype=np.int64)

    def add(self, times: Times) -> None:
        """Take these in."""
        if not len(times):
            return
        self._buffer.append(_four_digits(times))
        self._size += len(times)
        self._total += float(times.sum())
        self._max = max(self._max, float(times.max()))
        if self._size >= _BUFFERED:
            self._merge()

    def whole(self) -> Distribution:
        """All that was added."""
        self._merge()
        return Distribution(self._values, self._counts, self._total, self._max)

    def _merge(self) -> None:
        found, counts = np.unique(np.concatenate([np.zeros(0), *self._buffer]), return_counts=True)
        values, place = np.unique(np.concatenate([self._values, found]), return_inverse=True)
        weights = np.concatenate([self._counts, counts])
        self._counts = np.bincount(place, weights, len(values)).astype(np.int64)
        self._values, self._buffer, self._size = values, [], 0


def _four_digits(times: Times) -> Times:
    """Times in microseconds to four significant digits, and whole nanoseconds at least."""
    scale = 10.0 ** np.clip(3 - np.floor(np.log10(np.maximum(times, 1e-3))), None, 3)
    return np.asarray(np.round(times * scale) / scale)


def _costs(reader: RunReader, engines: Sequence[str]) -> Iterator[tuple[str, str, float]]:
    """What compilations took: engine, measure, and seconds."""
    for one in by_case(reader.batches("costs", ["case", "stage", "engine", "seconds"])):
        found = {(row["engine"], row["stage"]): row["seconds"] for row in one.rows.to_pylist()}
        for engine in engines:
            compiled, masked = (found.get((engine, stage)) for stage in ("compile", "first_mask"))
            if compiled is not None and masked is not None:
                yield engine, "compile", compiled
                yield engine, "first_mask", masked
                yield engine, "time_to_first_mask", compiled + masked


def _between(reader: RunReader, engines: Sequence[str]) -> Iterator[tuple[str, Times]]:
    """Nanoseconds between masks: engine, and the times of some positions."""
    for batch in reader.batches("timings", ["position", "engine", "mask_ns", "consume_ns"]):
        column = batch.column("engine")
        names, codes = column.dictionary.to_pylist(), column.indices.to_numpy()
        spent = batch.column("mask_ns").to_numpy() + batch.column("consume_ns").to_numpy()
        behind = batch.column("position").to_numpy() > 0
        for engine in engines:
            if engine in names:
                mine = behind & (codes == names.index(engine))
                yield engine, spent[mine].astype(np.float64)
