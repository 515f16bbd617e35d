"""What a run costs beside its engines and validators: ``python -m benchmarks.overhead [SET …]``.

Each set is a run of `maskcourt bench` on one lane, with `benchmarks/sampler` in all its processes.
Overhead is the processor time of all of them by that inside engines (compilation, masks, tokens)
and validators: 1 would be a harness that costs nothing. The figures of each run are added to
`history.jsonl` beside this module, a line a run.
"""

from __future__ import annotations

import compileall
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table

from benchmarks.report import machine
from benchmarks.sampler.sitecustomize import DIRECTORY, SORTS, SUMS
from harness.execution.bench import commit
from harness.runs.directory import open_run

SETS: Final[Mapping[str, Sequence[str]]] = {
    "quick": (),
    "maskbench": ("--cases", "maskbench", "--sample", "40", "--seed", "9"),
    "values": ("--cases", "maskbench", "--sample", "40", "--seed", "9", "--walks", "0"),
}
_ALWAYS: Final = ("--compile-timeout", "10", "--shrink-budget", "0", "--lanes", "1")
OWN: Final = ("compile", "engine", "validators")
"""What is not the harness's."""
HISTORY: Final = Path(__file__).with_name("history.jsonl")


@dataclass(frozen=True)
class Spent:
    """What processes of one kind spent: seconds by sort, and the most memory that one held."""

    kind: str
    processes: int
    seconds: Mapping[str, float]
    peak: int

    @property
    def total(self) -> float:
        return sum(self.seconds.values())


@dataclass(frozen=True)
class Cost:
    """What one run cost: by kind of process, and `processor`, the seconds of all to their end."""

    kinds: Sequence[Spent]
    processor: float
    schemas: int
    engines: int

    def of(self, *sorts: str) -> float:
        """The seconds of some sorts, of all kinds.

        A host that is ended amid a call is not seen in it: that is a compilation that took too
        long.
        """
        unseen = self.processor - sum(one.total for one in self.kinds)
        seen = sum(one.seconds[sort] for one in self.kinds for sort in sorts)
        return seen + (max(unseen, 0.0) if "compile" in sorts else 0.0)

    @property
    def overhead(self) -> float:
        return self.processor / max(self.of(*OWN), 1e-9)

    @property
    def each(self) -> float:
        """Seconds per schema and engine, compiling apart."""
        return (self.processor - self.of("compile")) / max(self.schemas * self.engines, 1)


def spent(directory: Path) -> list[Spent]:
    """What the samplers that wrote into a directory saw, hosts by their adapter."""
    found: dict[str, list[tuple[int, ...]]] = {}
    for file in sorted(directory.glob("*.sums")):
        kind = file.name.partition("-")[0]
        notes = file.with_suffix(".json")
        if kind == "engine" and notes.exists():
            names = json.loads(notes.read_text("utf-8"))["whole"]
            used = [name.split(":")[0] for name in names if name.startswith("adapters/")]
            kind = next((Path(one).stem for one in used if "/_" not in one), kind)
        found.setdefault(kind, []).append(SUMS.unpack(file.read_bytes()))
    return [
        Spent(
            kind,
            len(some),
            {sort: sum(one[at] for one in some) / 1e9 for at, sort in enumerate(SORTS)},
            max(one[-1] for one in some),
        )
        for kind, some in sorted(found.items())
    ]


def measured(options: Sequence[str], out: Path) -> Cost:
    """Run `maskcourt bench` with some options into a directory, and see what that costs.

    Raises:
        click.ClickException: The run failed; what it printed is shown.
    """
    with tempfile.TemporaryDirectory() as samples:
        path = os.pathsep.join([str(HISTORY.parent / "sampler"), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, DIRECTORY: samples, "PYTHONPATH": path.rstrip(os.pathsep)}
        for package in ("harness", "adapters"):  # as they are after the first run of a user
            compileall.compile_dir(HISTORY.parents[1] / package, quiet=2)
        command = [sys.executable, "-P", "-m", "harness.cli", "bench", *options, *_ALWAYS]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [*command, "--out", str(out)], env=environment, capture_output=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise click.ClickException(done.stderr.decode("utf-8", "replace")[-2000:])
        run = open_run(out)
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        identity = run.manifest["identity"]
        return Cost(
            spent(Path(samples)), processor, identity["data"]["cases"], len(identity["engines"])
        )


def table(name: str, cost: Cost) -> Table:
    """The seconds of each kind of process, and what is made of them."""
    shown = Table(title=f"{name}: seconds of processor time", title_justify="left")
    for column in ("process", *SORTS, "all", "peak"):
        shown.add_column(column, justify="left" if column == "process" else "right")
    for one in cost.kinds:
        seconds = (f"{one.seconds[sort]:.1f}" for sort in SORTS)
        label = f"{one.kind} ({one.processes})"
        shown.add_row(label, *seconds, f"{one.total:.1f}", f"{one.peak >> 20} MiB")
    sums = (f"{cost.of(sort):.1f}" for sort in SORTS)
    shown.add_row("all", *sums, f"{cost.processor:.1f}", "")
    shown.caption = (
        f"overhead {cost.overhead:.2f}; {cost.each:.2f} s per schema and engine besides compiling"
    )
    return shown


def as_line(name: str, cost: Cost) -> dict[str, Any]:
    """What the history keeps of a run."""
    here = machine()
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": commit(),
        "machine": {key: here[key] for key in ("processor", "processors", "load")},
        "set": name,
        "schemas": cost.schemas,
        "engines": cost.engines,
        "processor_s": round(cost.processor, 1),
        "overhead": round(cost.overhead, 3),
        "each_s": round(cost.each, 3),
        "kinds": {
            one.kind: {
                **{sort: round(one.seconds[sort], 1) for sort in SORTS},
                "processes": one.processes,
                "peak_mib": one.peak >> 20,
            }
            for one in cost.kinds
        },
    }


@click.command()
@click.argument("sets", nargs=-1, type=click.Choice(list(SETS)))
@click.option("--keep/--no-keep", default=True, help="Add the figures to the history.")
@click.option("--out", type=click.Path(path_type=Path), help="Keep the runs here.")
def main(sets: Sequence[str], *, keep: bool, out: Path | None) -> None:
    """Run sets (all by default), and show what each costs beside engines and validators."""
    console = Console(width=None if sys.stdout.isatty() else 120)
    for name in sets or SETS:
        with tempfile.TemporaryDirectory() as scratch:
            cost = measured(SETS[name], (out or Path(scratch)) / name)
        console.print(table(name, cost))
        if keep:
            with HISTORY.open("a", encoding="utf-8") as file:
                file.write(json.dumps(as_line(name, cost)) + "\n")


if __name__ == "__main__":
    main()
