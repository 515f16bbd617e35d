"""Write a finished run for publication: tables, manifest, figures, and a page of what they show.

``python -m harness.report.publish RUN DIRECTORY [--trust]`` takes runs of ``bench`` and of
``impact``. The page, ``README.md`` in the directory, is made of the tables alone.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from harness.analysis.stored import Classify, by_catalogue
from harness.analysis.timing import distributions
from harness.bugs.listing import BugList, known_bugs
from harness.bugs.samples import smallest
from harness.classification.departures import load_catalogue
from harness.console import tell
from harness.errors import MaskcourtError, UsageError
from harness.impact.answers import MANIFEST, ImpactRun, open_impact
from harness.impact.causes import read_causes
from harness.impact.overruled import RULINGS
from harness.impact.summary import summarize
from harness.printable import escaped, json_rows, markdown
from harness.render.table import Table, as_csv, as_markdown
from harness.report import figures
from harness.report.page.collect import manifest_without_seals
from harness.report.tables import Digest, bug_table, digest, headline, write_files
from harness.report.terminal import explained
from harness.runs.directory import RunDirectory, open_run

_CASE: Final = ("id", "engine", "version", "kind", "title", "schema", "text", "at", "token")
_ITEM: Final = ("item", "condition", "engine", "outcome", "parsed", "correct", "reason")


def publish(run: RunDirectory, directory: Path, rule: Classify = by_catalogue) -> list[Path]:
    """Write the tables (CSV), figures (SVG), bugs, manifest and page of a finished run.

    Raises:
        UsageError: The run is not finished, or matplotlib is not installed.
        RunDirectoryError: The run is damaged, or the files cannot be written.
    """
    if not run.finished:
        raise UsageError(f"{run.path} is not finished", "run the same command again to go on")
    rule = functools.cache(rule)
    found, bugs = digest(run, rule), known_bugs(run, load_catalogue(), rule)
    texts = {f"{name}.csv": as_csv(table) for name, table in found.tables.items()}
    files = figures.draw_digest(found, distributions(run), directory, ("svg",))
    texts["manifest.json"] = _manifest(run)
    if bugs is not None:
        texts["bugs.csv"] = as_csv(bug_table(bugs))
        cases = ({name: row[name] for name in _CASE} for row in (one.row() for one in bugs.bugs))
        texts["bugs.json"] = json_rows(cases)
    data = str(run.manifest["identity"].get("data", {}).get("name", "its data"))
    lead = f"{found.summary['cases']:,} cases of `{data}`, {found.summary['walked']:,} walked."
    texts["README.md"] = "\n".join(_page(directory.name, lead, bugs, found))
    return files + write_files(texts, directory)


def _page(name: str, lead: str, bugs: BugList | None, found: Digest) -> Iterator[str]:
    yield f"# {markdown(name)}\n"
    yield f"{markdown(lead)} Written from the tables by `python -m harness.report.publish`.\n"
    yield as_markdown(headline(found.summary), 2)
    yield as_markdown(found.tables["matrix"], 2)
    tables = dict(found.tables)
    if bugs is not None:
        yield f"{explained(bugs)}.\n"
        tables = {"bugs": bug_table(bugs), **tables}
    yield from (f"![{one.replace('_', ' ')}]({one}.svg)\n" for one in figures.NAMES)
    yield from (f"- [{one}.csv]({one}.csv): {table.title}" for one, table in tables.items())
    yield ""


def _manifest(run: RunDirectory) -> str:
    """The run's manifest, without checksums and the name of the machine."""
    kept = manifest_without_seals(run)
    if "machine" in kept:
        system = str(kept["machine"].get("system", "")).replace("-", " ").partition(" ")[0]
        kept["machine"] = {**kept["machine"], "system": system}
    return _json(kept)


def publish_impact(run: ImpactRun, directory: Path) -> list[Path]:
    """Write the summary, items, smallest cases of bugs, and manifest of an impact run.

    Raises:
        RunDirectoryError: The run is damaged, or the files cannot be written.
    """
    summary = summarize(run)
    del summary["run"]
    texts = {
        "summary.json": _json(summary),
        "items.csv": as_csv(_items(run)),
        "bugs.json": json_rows(_smallest_cases(run)),
        "manifest.json": _json(run.manifest),
    }
    return write_files(texts, directory)


def _items(run: ImpactRun) -> Table:
    """A row for each item and engine: what became of the answer, and of the overruled steps."""
    rows = []
    for one in run.answers():
        ruled = {word: sum(step.ruling == word for step in one.overruled) for word in RULINGS}
        row = {name: getattr(one, name) for name in _ITEM}
        rows.append({**row, "tokens": len(one.tokens), "overruled": len(one.overruled), **ruled})
    return Table.of("Items by engine", (*_ITEM, "tokens", "overruled", *RULINGS), rows)


def _smallest_cases(run: ImpactRun) -> Iterator[dict[str, Any]]:
    """The smallest case of each bug that is known in each engine."""
    found = smallest(read_causes(run).values())
    for (bug, engine), one in sorted(found.items(), key=lambda entry: entry[0][::-1]):
        if one.error is not None:
            about = {"class": one.class_, "departure": one.departure, "schema": one.error.schema}
            text = escaped(one.error.text)
            yield {"engine": engine, "bug": bug, **about, "text": text, "at": one.at}


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Publish as the command line asks; the exit code."""
    try:
        paths = [Path(one) for one in arguments if one != "--trust"]
        if len(paths) != 2:
            raise UsageError("say what to publish", "RUN DIRECTORY [--trust]")
        run, directory = paths
        if (run / MANIFEST).is_file():
            files = publish_impact(open_impact(run), directory)
        else:
            files = publish(open_run(run, trust="--trust" in arguments), directory)
    except MaskcourtError as error:
        tell(f"maskcourt: {error}")
        return error.exit_code
    size = sum(file.stat().st_size for file in files)
    tell(f"{len(files)} files, {size:,} bytes, under {directory}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
