"""The one way in which the program prints: nothing that a terminal would obey, from whomever.

Results go to standard output: lines for people, or one JSON object and nothing else. All else goes
to standard error. Nothing else calls `click.echo` or writes to the streams, but the tables of
`harness.render.terminal` and the live line of `harness.live`, which are as careful.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from harness.printable import json_text, printable


def say(text: str, end: str = "\n") -> None:
    click.echo(printable(text) + end, nl=False)


def tell(text: str) -> None:
    """Print lines that are no result, on standard error."""
    click.echo(printable(text), err=True)


def print_json(value: Mapping[str, Any]) -> None:
    click.echo(json_text(value, indent=2))
