"""``maskcourt engines``: which there are, and to install, remove and verify one."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

import click
from rich.table import Table

from harness.cli.common import json_option
from harness.cli.printing import print_json, table_console
from harness.printable import one_line, printable

_GIB = 1 << 30


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def engines(context: click.Context, as_json: bool) -> None:
    """List the engines that can be named, with their options; or install, remove, verify one."""
    if context.invoked_subcommand is not None:
        return
    from harness.engines.environments import listed_engines
    from harness.engines.presets import load_presets

    rows = listed_engines()
    if as_json:
        print_json({"engines": rows})
        return
    table = Table(show_lines=True)
    for column in ("engine", "version", "option", "default", "meaning"):
        table.add_column(column, overflow="fold", no_wrap=column == "engine")
    for name, row in rows.items():
        options = row["options"]
        table.add_row(
            name,
            row.get("problem") or "\n".join(_versions(row)),
            "\n".join(options),
            "\n".join(json.dumps(one["default"]) for one in options.values()),
            "\n".join(one["help"] for one in options.values()),
        )
    table_console().print(table)
    known = ", ".join(f"{one.server}@{one.release}" for one in load_presets())
    click.echo(f"servers, with their versions and options: {known}")


def _versions(row: dict[str, Any]) -> list[str]:
    """Where which versions of an engine are."""
    installed, tested, at_hand = row["installed"], row["tested"], row["at_hand"]
    lines = [f"{installed} installed" if installed else "not installed"]
    lines += [f"{version} at hand" for version in at_hand]
    lines += [one_line(f"build {build} at hand") for build in row["builds"]]
    if tested and tested not in (installed, *at_hand):
        lines.append(f"{tested} can be had")
    if row["remark"]:
        lines.append(row["remark"])
    return lines


@engines.command()
@click.argument("spec")
def install(spec: str) -> None:
    """Have a version or a build in an environment of its own: NAME@VERSION, NAME@./PATH, NAME."""
    from harness.engines.environments import provide
    from harness.engines.specs import parse_spec

    asked = parse_spec(spec)
    found = provide(asked)
    where = "is installed beside maskcourt" if found is asked else f"is in {found.paths[0]}"
    click.echo(printable(f"{asked.name} {where}"))


@engines.command()
@click.argument("spec")
def remove(spec: str) -> None:
    """Remove the environment of a version of an engine."""
    from harness.engines import environments
    from harness.engines.specs import parse_spec

    asked = parse_spec(spec)
    click.echo(printable(f"{asked.name} was in {environments.remove(asked)}"))


@engines.command()
@click.argument("spec")
@click.option("--vocabulary", default="qwen2.5", show_default=True, help="As of bench.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Processor time of one check.",
)
@json_option
def verify(spec: str, vocabulary: str, seconds: float, as_json: bool) -> None:
    """Hold an adapter to the contract that docs/adding-an-engine.md states, and say how it does.

    The exit code is 1 where it breaks the contract.
    """
    from harness.engines.environments import provide
    from harness.engines.specs import parse_spec
    from harness.inputs.vocabulary_readers import open_vocabulary
    from harness.protocol_checks.adapters import BROKEN, OPEN
    from harness.protocol_checks.adapters import verify as verified

    asked = provide(parse_spec(spec))
    found = []
    for one in verified(asked, open_vocabulary(vocabulary), seconds, 4 * _GIB):
        found.append(one)
        if not as_json:
            words = f": {one_line(one.words)}" if one.words else ""
            click.echo(f"{one.outcome:<10}  {one.check}{words}")
    broken = sum(one.outcome == BROKEN for one in found)
    if as_json:
        print_json({"engine": asked.name, "broken": broken, "checks": list(map(asdict, found))})
    else:
        judged = sum(one.outcome != OPEN for one in found)
        verdict = f"breaks the contract in {broken}" if broken else "keeps the contract in all"
        unjudged = f"; {len(found) - judged} could not be judged" if judged < len(found) else ""
        click.echo(printable(f"{asked.name} {verdict} of {judged} checks{unjudged}"))
    if broken:
        sys.exit(1)
