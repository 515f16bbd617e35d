"""The command line: ``python -m benchmarks [--quick]``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from benchmarks.curves import curves, draw
from benchmarks.measure import Measurement
from benchmarks.plan import FULL, PARTS, QUICK
from benchmarks.report import as_json, machine, show
from benchmarks.workloads import workload
from harness.engines.environments import provide_all
from harness.engines.specs import parse_specs
from harness.errors import MaskcourtError
from harness.inputs.vocabulary_readers import open_vocabulary


@click.command()
@click.option("--quick", is_flag=True, help="A small part of it, in under two minutes.")
@click.option("--cases", help="MaskBench, as for `maskcourt bench`; else the embedded cases.")
@click.option("--engines", default="xgrammar,llguidance", show_default=True)
@click.option("--vocabulary", default="qwen2.5", show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--repetitions", type=click.IntRange(1), help="Of headline figures; else three.")
@click.option("--only", type=click.Choice(PARTS), multiple=True, help="Only this part.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs/benchmark"),
    show_default=True,
    help="Where benchmark.json and the curves go.",
)
def main(
    quick: bool,
    cases: str | None,
    engines: str,
    vocabulary: str,
    seed: int,
    repetitions: int | None,
    only: tuple[str, ...],
    out: Path,
) -> None:
    """Measure what the harness costs, on this machine, with these engines."""
    plan = QUICK if quick else FULL
    if repetitions is not None:
        plan = replace(plan, repetitions=repetitions)
    clock = time.monotonic()
    console = Console(width=None if sys.stdout.isatty() else 120)

    def say(text: str) -> None:
        click.echo(f"[{time.monotonic() - clock:5.0f} s] {text}", err=True)

    try:
        work = workload(cases, plan.whole_cases, plan.variety_cases)
        if work.note:
            say(work.note)
        specs = provide_all(parse_specs([engines]))
        measurement = Measurement(plan, specs, open_vocabulary(vocabulary), work, seed, say)
        began = machine()
        whole = measured(measurement, only or PARTS)
        result = as_json(measurement, began, time.monotonic() - clock)
        finish(measurement, {**result, "complete": whole}, out, console)
    except MaskcourtError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    say("done" if whole else "interrupted: only what was measured until then")
    sys.exit(0 if whole else 130)


def measured(measurement: Measurement, parts: Sequence[str]) -> bool:
    """Measure the parts; whether nobody interrupted it."""
    try:
        measurement.run(parts)
    except KeyboardInterrupt:
        return False
    return True


def finish(
    measurement: Measurement, result: dict[str, object], out: Path, console: Console
) -> None:
    """Print the tables, write the JSON, draw the curves."""
    show(measurement.measured, console)
    out.mkdir(parents=True, exist_ok=True)
    file = out / "benchmark.json"
    file.write_text(json.dumps(result, indent=1), "utf-8")
    console.print(f"raw figures: {file}", soft_wrap=True)
    found = curves(measurement.measured)
    if not found:
        return
    try:
        files = draw(found, out)
    except ImportError:
        console.print("no curves drawn: matplotlib is not installed (extra `benchmark`)")
        return
    console.print(f"curves: {', '.join(map(str, files))}", soft_wrap=True)


if __name__ == "__main__":
    main()
