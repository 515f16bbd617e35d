"""Options that several commands have, each with the same words."""

from __future__ import annotations

from pathlib import Path

import click

from harness.verdict_kinds import MAIN_KINDS

fail_on_option = click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice(list(MAIN_KINDS)),
    help="Exit with 1 when any engine has such a verdict; repeatable.",
)
departures_option = click.option(
    "--departures",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Classify by this catalogue instead of the one that comes with maskcourt.",
)
seed_option = click.option("--seed", type=int, default=0, show_default=True, help="Of the sample.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
