"""The commands that read a stored run: ``maskcourt tally | replay | report``."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import click

from harness.cli.common import FailOn, Json, Trusting
from harness.cli.options import RUN, command
from harness.cli.summary import sum_up
from harness.console import print_json, say
from harness.errors import UsageError
from harness.files import require_writable, write_whole
from harness.options import option
from harness.report import SHOWN


@command(FailOn, Trusting, Json)
@click.argument("run", type=RUN)
def tally(fail_on: FailOn, access: Trusting, json: Json, run: Path) -> None:
    """Print the summary of a stored run, finished or not."""
    from harness.bugs.listing import known_bugs

    stored = access.open(run)
    bugs = known_bugs(stored)
    if sum_up(stored, bugs, fail_on, as_json=json.as_json):
        sys.exit(1)


@dataclass(frozen=True)
class Chosen:
    """Which verdicts are replayed, besides those that are named."""

    sample: int | None = option(None, "N verdicts, by --seed.", least=1)
    everything: bool = option(False, "Every verdict that has a witness.", "--all")
    seed: int = option(0, "Of the sample.")
    show: bool = option(False, "Print the witness of one VERDICT; replay nothing.")


@command(Chosen, Trusting, Json)
@click.argument("run", type=RUN)
@click.argument("verdicts", nargs=-1, metavar="[VERDICT]...")
def replay(
    chosen: Chosen, trusting: Trusting, json: Json, run: Path, verdicts: tuple[str, ...]
) -> None:
    """Repeat stored verdicts from nothing; exit with 1 when any comes out differently.

    VERDICT is a row of the run's table of verdicts, counted from 0; with an i before it, a row
    of the table of instances' verdicts, with an s of samples'.
    """
    from harness.replay import witness_reader
    from harness.replay.printing import print_replay, print_witness

    if bool(verdicts) + (chosen.sample is not None) + chosen.everything != 1:
        raise UsageError("say which verdicts to replay", "VERDICT numbers, --sample N, or --all")
    if chosen.show and len(verdicts) != 1:
        raise UsageError("--show prints one witness", "name one VERDICT")
    stored = trusting.open(run)
    if verdicts:
        choice = witness_reader.named(stored, verdicts)
    elif chosen.sample is not None:
        choice = witness_reader.sample(stored, chosen.sample, chosen.seed)
    else:
        choice = witness_reader.every(stored)
    if chosen.show:
        print_witness(stored, choice, as_json=json.as_json)
    elif not print_replay(stored, choice, as_json=json.as_json):
        sys.exit(1)


@dataclass(frozen=True)
class ReportOptions:
    """What is written of a run."""

    out: Path | None = option(
        None,
        "The HTML file, or the directory of tables or figures."
        "  [default: report.html, tables or figures, in the run]",
        "-o",
        metavar="PATH",
    )
    kind: str = option(
        "html",
        "html: one page; csv, markdown: tables; svg: figures.",
        "--format",
        choices=("html", "csv", "markdown", "svg"),
    )
    sample: int = option(SHOWN, "Verdicts that the page explains, some of every sort.", least=0)
    seed: int = option(0, "Of the sample.")


@command(ReportOptions, Trusting, Json)
@click.argument("run", type=RUN)
def report(asked: ReportOptions, access: Trusting, json: Json, run: Path) -> None:
    """Write the report of a stored run, finished or not: one page that needs no network."""
    file = asked.out or run / "report.html"
    if asked.out is not None or asked.kind == "html":
        require_writable(file, directory=asked.kind != "html")
    stored = access.open(run)
    if asked.kind == "html":
        from harness.report.page.collect import assembled, collect

        data = collect(stored, str(run), verdicts=asked.sample, seed=asked.seed)
        files = {str(file): write_whole(file, assembled(data))}
    else:
        from harness.report import figures
        from harness.report.tables import write_tables

        if asked.kind in ("csv", "markdown"):
            written = write_tables(stored, asked.out or stored.path / "tables", asked.kind)
        else:
            written = figures.draw(stored, asked.out or stored.path / "figures")
        files = {str(file): file.stat().st_size for file in written}
    if json.as_json:
        print_json({"run": str(run), "format": asked.kind, "files": files})
        return
    for name, size in files.items():
        say(f"{name} ({size / 1e6:.1f} MB)" if size >= 1e6 else f"{name} ({size:,} bytes)")
