"""What of the bugs is already known to those who maintain the engines: ``datasets/upstream.toml``.

An entry names a thread and the smallest case that it is about; the id of the bug is made of that
case as that of any other, so that it can be checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.bugs.error_case import ErrorCase
from harness.bugs.identity import bug_id
from harness.directories import data_path
from harness.errors import InputError
from harness.inputs.toml_tables import by_id, read_tables

STATES = ("open", "closed", "fixed")


@dataclass(frozen=True)
class Report:
    """What is known of a bug upstream: the thread, and what it says in one sentence.

    Of the states ``closed`` is without a mend; `fixed_in` is the first version without the bug,
    empty where that is not known.
    """

    id: str
    thread: str
    state: str
    fixed_in: str
    says: str

    @property
    def status(self) -> str:
        """The state, and since when it is mended."""
        return f"{self.state} in {self.fixed_in}" if self.fixed_in else self.state

    def row(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def load_reports(path: Path | None = None) -> Mapping[str, Report]:
    """What is known upstream, by the id of the bug; None is the list that comes with maskcourt.

    Raises:
        InputError: The file cannot be read, or an entry is not as it must be.
    """
    file = data_path("upstream.toml") if path is None else path
    return by_id(read_tables(file, "report")["report"], _report, "report", file)


def _report(table: Any, where: str) -> Report:
    try:
        engine, kind, schema, text = (table[name] for name in ("engine", "kind", "schema", "text"))
        token, token_at = table.get("token", "").encode(), table.get("token_at", 0)
        case = ErrorCase(engine, kind, schema, text.encode(), token, token_at)
        bug = bug_id(case, table["at"])
        known = (table["id"], table["thread"], table["state"])
        report = Report(*known, table.get("fixed_in", ""), table["says"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{where} is not as it must be: {error}") from error
    if bug != report.id:
        raise InputError(f"{where}: its case is the bug {bug}, not {report.id}")
    if report.state not in STATES:
        raise InputError(f"{where}: the state {report.state!r} is none of {', '.join(STATES)}")
    return report
