"""What all cases of a collection would cost, from a finished run of a sample of them.

``python -m benchmarks.scale RUN`` prints the figures of time in `docs/scale.md`.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import click

from harness.inputs.case_selection import open_cases
from harness.inputs.cases import CaseSource
from harness.runs.directory import RunDirectory, open_run

LANES = (1, 64, 1024)
WALKS = (1, 10)
_HOUR = 3600.0


class Cost(NamedTuple):
    """One case of the run: what was known of it, and its seconds on a lane.

    `once` is what no further walk repeats, `walk` one walk with its disputes resolved.
    """

    family: str
    once: float
    walk: float

    def seconds(self, walks: int) -> float:
        """Of a lane, for so many walks."""
        return self.once + walks * self.walk


def costs_of(run: RunDirectory) -> list[Cost]:
    """The costs of the cases of a finished run of one walk per case.

    Engines compile at the same time, so that what a lane waited says little: what counts is the
    processor time of all engines that compiled, and the whole limit for one that timed out.
    Refusals and crashes have no time of their own.
    """
    once: dict[str, float] = defaultdict(float)
    walk: dict[str, float] = defaultdict(float)
    for row in run.table("costs").to_pylist():
        if (row["stage"] == "compile") is bool(row["engine"]):
            repeated = row["stage"] in {"walk", "resolve", "probe"}
            (walk if repeated else once)[row["case"]] += row["seconds"]
    limit = run.manifest["identity"]["limits"]["compile"]
    for row in run.table("engines", ["case", "stage", "outcome"]).to_pylist():
        if (row["stage"], row["outcome"]) == ("compile", "timed_out"):
            once[row["case"]] += limit
    return [
        Cost(
            row["family"],
            once[row["case"]],
            walk[row["case"]],
        )
        for row in run.table("cases", ["case", "family"]).to_pylist()
    ]


def total(costs: Iterable[Cost], source: CaseSource, walks: int) -> tuple[float, float]:
    """Lane seconds of a whole collection, and half of the 95% interval that the sample leaves.

    Each family's mean times its cases; those without a valid instance cost no walk. A family with
    one measured case is taken to scatter as the others do.
    """
    families: dict[str, list[Cost]] = defaultdict(list)
    for cost in costs:
        families[cost.family].append(cost)
    counts = Counter((case.family, bool(case.valid)) for case in source)
    spreads = {
        name: statistics.stdev(taken) / statistics.fmean(taken)
        for name, some in families.items()
        if len(taken := [one.seconds(walks) for one in some]) > 1
    }
    usual = statistics.fmean(spreads.values()) if spreads else 0.0
    seconds = variance = 0.0
    for name, some in families.items():
        mean = statistics.fmean(one.seconds(walks) for one in some)
        bare = statistics.fmean(one.once for one in some)
        seconds += counts[name, True] * mean + counts[name, False] * bare
        error = spreads.get(name, usual) * mean / math.sqrt(len(some))
        variance += ((counts[name, True] + counts[name, False]) * error) ** 2
    return seconds, 1.96 * math.sqrt(variance)


@click.command()
@click.argument("path", metavar="RUN", type=click.Path(path_type=Path, exists=True))
@click.option("--cases", default="maskbench", show_default=True, help="What the run sampled.")
def main(path: Path, cases: str) -> None:
    """What all cases would cost on 1, 64 and 1,024 cores, from a finished run of some of them."""
    run = open_run(path)
    if not run.finished or run.manifest["identity"]["rules"]["walks"] != 1:
        raise click.UsageError(f"{path} is no finished run of one walk per case")
    costs = costs_of(run)
    source = open_cases(cases)
    for walks in WALKS:
        ordered = sorted(one.seconds(walks) for one in costs)
        marks = [ordered[int(share * len(ordered))] for share in (0.5, 0.9, 0.99)] + ordered[-1:]
        seconds, error = total(costs, source, walks)
        shown = ", ".join(f"{mark:.0f} s" for mark in marks)
        click.echo(f"{walks} walks: median, 90%, 99% and longest case {shown}")
        click.echo(f"  all cases {seconds / _HOUR:,.0f} h ± {error / seconds:.0%}")
        for lanes in LANES:
            least = max(seconds / lanes, ordered[-1])
            click.echo(f"  {lanes:,} lanes: {least / 60:,.1f} minutes at the least")


if __name__ == "__main__":
    main()
