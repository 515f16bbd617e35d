"""How commands print results as JSON: one object, and nothing else, on standard output."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
