"""The command that lists what there is to compare on: ``maskcourt cases``."""

from __future__ import annotations

from typing import Any

import click
from rich.table import Table

from harness.cli.common import json_option, seed_option
from harness.cli.printing import print_json, table_console
from harness.printable import printable


@click.command()
@click.argument("spec", default="embedded")
@click.option("--family", "families", multiple=True, help="Only this family; repeatable.")
@click.option("--id", "pattern", metavar="GLOB", help="Only cases whose id matches.")
@click.option("--limit", type=int, metavar="N", help="At most N cases, the first by id.")
@click.option("--sample", type=int, metavar="N", help="N cases with a valid instance.")
@seed_option
@click.option("--ids", is_flag=True, help="List every case, not only the families.")
@json_option
def cases(spec: str, ids: bool, as_json: bool, **choice: Any) -> None:
    """Show what a set of cases holds, and what a selection takes of it."""
    from harness.inputs.case_selection import open_cases, select

    source = open_cases(spec)
    selected = select(source, **choice, with_valid=choice["sample"] is not None)
    families = {family: {"cases": count} for family, count in selected.families.items()}
    if as_json:
        found = {"name": source.name, "sha256": source.sha256, "cases": len(selected)}
        print_json({**found, "families": families, **({"ids": selected.ids} if ids else {})})
        return
    table = Table(title=f"{source.name}: {len(selected):,} of {len(source):,} cases")
    table.add_column("family")
    table.add_column("cases", justify="right")
    for family, row in families.items():
        table.add_row(family, f"{row['cases']:,}")
    table_console().print(table)
    if ids:
        for id_ in selected.ids:
            click.echo(printable(id_, ""))
