"""How commands print results: tables for people, or one JSON object and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from harness.printable import json_text
from harness.render.terminal import table_console

__all__ = ["print_json", "table_console"]


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object."""
    click.echo(json_text(value, indent=2))
