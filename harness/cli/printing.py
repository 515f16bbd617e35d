"""How commands print results: tables for people, or one JSON object and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import click
from rich.console import Console

_WIDTH = 110
"""Columns of a table where standard output is no terminal that says how wide it is."""


def table_console() -> Console:
    """Where tables are printed."""
    console = Console()
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(width=_WIDTH)


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
