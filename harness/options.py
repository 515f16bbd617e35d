"""Fields of requests that are options of commands: what a user reads of them stands beside them.

A request is a frozen dataclass, and what a program passes to a package. `harness.cli.options` makes
the options of a command of its fields, so nothing is written twice.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

T = TypeVar("T")

OPTION: Final = "option"
"""The key of `FieldOption` in the metadata of a field."""

CHOICE, LIMITS, RESULT = "Cases, walks and verdicts", "Limits and tuning", "Results"
HEADINGS: Final = ("", CHOICE, LIMITS, RESULT)
"""Headings of the help text, in its order; options without one come first."""


@dataclass(frozen=True)
class FieldOption:
    """How a field is an option: its names, its help, and the values that it may have.

    `least` is the smallest number, `above` one that is too small; with `none`, the word ``none``
    stands for None; `unit` names what is counted; `writes`, "file" or "directory", has it checked
    at once that a path can be written to.
    """

    help: str
    names: tuple[str, ...] = ()
    heading: str = ""
    choices: Collection[str] | None = None
    least: float = -math.inf
    above: float = -math.inf
    none: bool = False
    metavar: str | None = None
    unit: str | None = None
    exists: bool = False
    writes: str = ""
    required: bool = False


def option(default: T, help: str, *names: str, **how: Any) -> T:  # noqa: A002 - its name in click
    """A field of a request that is an option of commands; `how` is as in `FieldOption`."""
    made: T = field(default=default, metadata={OPTION: FieldOption(help, names, **how)})
    return made


def seconds_limit(default: float, help: str, *names: str, **how: Any) -> float:  # noqa: A002
    """An `option` among the limits that counts seconds."""
    return option(default, help, *names, heading=LIMITS, unit="SECONDS", **how)


def file_option(help: str, writes: str = "file", **how: Any) -> Path | None:  # noqa: A002
    """An `option` that names a file."""
    return option(None, help, metavar="FILE", writes=writes, **how)
