"""The tables behind the figures as files: CSV for programs, Markdown for documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from harness.counting.counts import Classify, by_catalogue
from harness.errors import UsageError
from harness.files import writing
from harness.render.table import Table, as_csv, as_markdown
from harness.report.figure_tables import Digest, digest
from harness.runs.directory import RunDirectory


def write(
    run: RunDirectory, directory: Path, kind: str = "csv", rule: Classify = by_catalogue
) -> list[Path]:
    """Write the tables behind the figures.

    Args:
        run: The run, finished or not.
        directory: Where to; made if it is not there.
        kind: ``csv``, one file per table, or ``markdown``, all of them in ``tables.md``.
        rule: Gives verdicts their classes; the catalogue of departures does.

    Returns:
        The files, in the order of `harness.report.figure_tables.NAMES`.

    Raises:
        UsageError: A kind that there is not.
        RunDirectoryError: The run is damaged, or the files cannot be written.
    """
    known_kind(kind)
    return write_digest(digest(run, rule), directory, kind)


def write_digest(found: Digest, directory: Path, kind: str = "csv") -> list[Path]:
    """As `write`, of what was read from a run before."""
    return write_texts(known_kind(kind)(found.tables), directory)


def write_texts(texts: Mapping[str, str], directory: Path) -> list[Path]:
    """Write files, by name, into a directory that is made if need be.

    Raises:
        RunDirectoryError: They cannot be written.
    """
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (directory / name).write_text(text, "utf-8")
    return [directory / name for name in texts]


def known_kind(kind: str) -> Callable[[Mapping[str, Table]], dict[str, str]]:
    """What makes files of a kind: their contents by name.

    Raises:
        UsageError: There is no such kind.
    """
    if kind not in _KINDS:
        raise UsageError(f"no tables of kind {kind!r}", f"one of {', '.join(_KINDS)}")
    return _KINDS[kind]


def _csv_files(tables: Mapping[str, Table]) -> dict[str, str]:
    return {f"{name}.csv": as_csv(table) for name, table in tables.items()}


def _markdown_files(tables: Mapping[str, Table]) -> dict[str, str]:
    return {"tables.md": "\n".join(as_markdown(table) for table in tables.values())}


_KINDS: Mapping[str, Callable[[Mapping[str, Table]], dict[str, str]]] = {
    "csv": _csv_files,
    "markdown": _markdown_files,
}
