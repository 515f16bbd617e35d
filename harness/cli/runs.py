"""The commands that read stored runs: ``maskcourt tally | replay``."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import click

from harness.cli.common import (
    FailOn,
    departures_option,
    fail_options,
    json_option,
    seed_option,
    trust_option,
)
from harness.cli.printing import print_json, table_console
from harness.cli.summary import Summary
from harness.errors import UsageError

GROUPINGS = (
    *("keyword", "category", "family", "departure", "draft", "case", "place", "severity"),
    *("number", "cause"),
)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@fail_options
@click.option(
    "--by",
    type=click.Choice(GROUPINGS),
    help="List the verdicts by this; by cause: those that are contested.",
)
@departures_option
@trust_option
@json_option
def tally(
    run: Path,
    by: str | None,
    departures: Path | None,
    trust: bool,
    as_json: bool,
    **options: tuple[str, ...],
) -> None:
    """Print the summary of a stored run, finished or not, or its verdicts by one column."""
    from harness.classification.departures import classify, load_catalogue
    from harness.runs.directory import open_run

    catalogue = load_catalogue(departures)
    fail_on = FailOn.of(options)
    if by is None:
        summary = Summary(open_run(run, trust=trust), catalogue, fail_on)
        summary.look_up()
        if summary.show(as_json=as_json):
            sys.exit(1)
        return
    if fail_on.kinds:
        raise UsageError("--fail-on goes with the summary, not with --by", "leave one out")
    from harness.report.breakdown import breakdown
    from harness.report.render import print_breakdown

    stored = open_run(run, trust=trust)
    found = breakdown(stored, by, functools.partial(classify, catalogue))
    if as_json:
        print_json({**found, "run": str(stored.path)})
    else:
        print_breakdown(found, str(stored.path), table_console())


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("verdicts", nargs=-1, metavar="[VERDICT]...")
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="N verdicts, by --seed.")
@click.option("--all", "everything", is_flag=True, help="Every verdict that has a witness.")
@seed_option
@click.option("--show", is_flag=True, help="Print the witness of one VERDICT; replay nothing.")
@trust_option
@json_option
def replay(
    run: Path,
    verdicts: tuple[str, ...],
    sample: int | None,
    everything: bool,
    seed: int,
    show: bool,
    trust: bool,
    as_json: bool,
) -> None:
    """Repeat stored verdicts from nothing; exit with 1 when any comes out differently.

    VERDICT is a row of the run's table of verdicts, counted from 0; with an i before it, a row
    of the table of instances' verdicts.
    """
    from harness.replay import witness_reader
    from harness.replay.printing import print_replay, print_witness
    from harness.runs.directory import open_run

    if bool(verdicts) + (sample is not None) + everything != 1:
        raise UsageError("say which verdicts to replay", "VERDICT numbers, --sample N, or --all")
    if show and len(verdicts) != 1:
        raise UsageError("--show prints one witness", "name one VERDICT")
    stored = open_run(run, trust=trust)
    if verdicts:
        choice = witness_reader.named(stored, verdicts)
    elif sample is not None:
        choice = witness_reader.sample(stored, sample, seed)
    else:
        choice = witness_reader.every(stored)
    if show:
        print_witness(stored, choice, as_json=as_json)
    elif not print_replay(stored, choice, as_json=as_json):
        sys.exit(1)
