"""How commands print results: tables for people, or one JSON object and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from harness.printable import json_text, printable

_WIDTH = 110
"""Columns of a table where standard output is no terminal that says how wide it is."""


class Terminal(Console):
    """A console that prints nothing which a terminal would obey but its own styles."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """See `rich.console.Console.render`."""
        for one in super().render(renderable, options):
            yield one if one.control else one._replace(text=printable(one.text))


def table_console() -> Console:
    """Where tables are printed."""
    console = Terminal()
    return console if console.is_terminal or "COLUMNS" in os.environ else Terminal(width=_WIDTH)


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object."""
    click.echo(json_text(value, indent=2))
