"""What of the bugs is already known to those who maintain the engines: ``datasets/upstream.toml``.

An entry names a thread and the smallest case that it is about; the id of the bug is made of that
case as that of any other, so that it can be checked.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.bugs.error_case import ErrorCase
from harness.bugs.identity import bug_id
from harness.directories import data_path
from harness.errors import InputError

STATES = ("open", "closed", "fixed")


@dataclass(frozen=True)
class Report:
    """What is known of a bug upstream.

    Attributes:
        thread: The address of the thread.
        state: ``open``, ``closed`` (without a mend) or ``fixed``.
        fixed_in: The first version without it, empty where that is not known.
        says: What the thread says, in one sentence.
    """

    thread: str
    state: str
    fixed_in: str
    says: str

    def row(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def load_reports(path: Path | None = None) -> Mapping[str, Report]:
    """What is known upstream, by the id of the bug; None is the list that comes with maskcourt.

    Raises:
        InputError: The file cannot be read, or an entry is not as it must be.
    """
    file = data_path("upstream.toml") if path is None else path
    try:
        tables = tomllib.loads(file.read_text("utf-8")).get("report", [])
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    found: dict[str, Report] = {}
    for number, table in enumerate(tables, start=1):
        try:
            bug, report = _report(table)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"entry {number} of {file}: {error}") from error
        if bug in found:
            raise InputError(f"{file} has two entries for the bug {bug}")
        found[bug] = report
    return found


def _report(table: Mapping[str, Any]) -> tuple[str, Report]:
    case = ErrorCase(
        table["engine"],
        table["kind"],
        table["schema"],
        table["text"].encode(),
        table.get("token", "").encode(),
        table.get("token_at", 0),
    )
    bug = bug_id(case, table["at"])
    if bug != table["id"]:
        raise ValueError(f"its case is the bug {bug}, not {table['id']}")
    if table["state"] not in STATES:
        raise ValueError(f"the state {table['state']!r} is none of {', '.join(STATES)}")
    return bug, Report(table["thread"], table["state"], table.get("fixed_in", ""), table["says"])
