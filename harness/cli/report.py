"""The command ``maskcourt report``: a stored run as a page, figures or tables."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.common import departures_option, seed_option, trust_option
from harness.cli.printing import print_json
from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.classification.departures import Catalogue
    from harness.runs.directory import RunDirectory

SHOWN = 600
FORMATS = ("html", "csv", "markdown", "png", "svg")


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The HTML file, or the directory of tables or figures."
    "  [default: report.html, tables or figures, in the run]",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    default="html",
    show_default=True,
    help="html: one page; csv, markdown: tables; png, svg: figures.",
)
@click.option(
    "--sample",
    type=click.IntRange(min=0),
    default=SHOWN,
    show_default=True,
    metavar="N",
    help="Verdicts that the page explains, by --seed, some of every sort.",
)
@click.option(
    "--impact",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Show the answers of this impact run beside the errors of masks.",
)
@seed_option
@departures_option
@trust_option
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def report(
    run: Path,
    out: Path | None,
    kind: str,
    sample: int,
    impact: Path | None,
    seed: int,
    departures: Path | None,
    trust: bool,
    as_json: bool,
) -> None:
    """Write the report of a stored run, finished or not: one page that needs no network."""
    from harness.classification.departures import load_catalogue
    from harness.runs.directory import open_run

    stored = open_run(run, trust=trust)
    catalogue = load_catalogue(departures)
    if kind == "html":
        from harness.report.page.assemble import write
        from harness.report.page.collect import ReportRequest

        file = out or run / "report.html"
        size = write(stored, file, ReportRequest(str(run), sample, seed, catalogue, impact))
        files = {str(file): size}
    else:
        files = {str(file): file.stat().st_size for file in _written(stored, out, kind, catalogue)}
    if as_json:
        print_json({"run": str(run), "format": kind, "files": files})
        return
    for name, size in files.items():
        click.echo(f"{name} ({size / 1e6:.1f} MB)" if size >= 1e6 else f"{name} ({size:,} bytes)")


def _written(stored: RunDirectory, out: Path | None, kind: str, catalogue: Catalogue) -> list[Path]:
    """Write the tables or figures of a run; the files that there are then."""
    from harness.classification.departures import classify

    rule = functools.partial(classify, catalogue)
    directory = out or stored.path / ("tables" if kind in ("csv", "markdown") else "figures")
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is no directory", "give --out the name of a directory")
    if kind in ("csv", "markdown"):
        from harness.report import exports

        return list(exports.write(stored, directory, kind=kind, rule=rule))
    from harness.report import figures

    return list(figures.draw(stored, directory, kinds=(kind,), rule=rule))
