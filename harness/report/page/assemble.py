"""Put a report together: one HTML file with its style, its programs and its data inside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from harness.errors import UsageError
from harness.render.page import page_with_data, save_page
from harness.report.page.collect import ReportRequest, collect
from harness.runs.directory import RunDirectory

_SCRIPTS: Final = ("base.js", "bugs.js", "figures.js", "explorer.js", "page.js")


def write(run: RunDirectory, out: Path, request: ReportRequest) -> int:
    """Write the report of a run to the file `out`, whole or not at all; its size in bytes.

    Raises:
        UsageError: It cannot be written.
        MaskcourtError: As `harness.report.page.collect.collect`.
    """
    if out.is_dir():  # before all the work
        raise UsageError(f"{out} is a directory", "give --out the name of a file")
    return save_page(assembled(collect(run, request)), out)


def assembled(data: Mapping[str, Any]) -> str:
    """The page that shows `data`."""
    scripts = tuple(f"report/page/{name}" for name in _SCRIPTS)
    return page_with_data("report/page/page.html", scripts, data)
