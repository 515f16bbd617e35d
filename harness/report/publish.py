"""Publish a run: small tables, its manifest and figures in one directory, a narrative beside it.

``python -m harness.report.publish RUN DIRECTORY`` writes into DIRECTORY, and a ``README.md`` into
the directory above, which links what else was published there. With ``--inside`` the narrative is
``DIRECTORY/report.md``, without figures: so a publication may have several runs, and a page of its
own about them. Of an impact run there are the tables alone.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.bugs.groups import PENDING
from harness.bugs.listing import BugList, known_bugs
from harness.classification.departures import load_catalogue
from harness.counting.counts import Classify, by_catalogue
from harness.engines.specs import with_version
from harness.errors import MaskcourtError, UsageError
from harness.files import writing
from harness.impact.answer_file import MANIFEST as IMPACT
from harness.impact.answer_file import open_impact
from harness.printable import json_rows, markdown
from harness.render.table import Table, as_csv, as_markdown
from harness.report import exports, figures, narrative
from harness.report.bug_lines import explained
from harness.report.bug_tables import bug_table, bugs_in_markdown
from harness.report.figure_tables import Digest, digest
from harness.report.publish_impact import publish_impact
from harness.report.timing import distributions
from harness.runs.directory import RunDirectory, open_run

LARGEST = 1_000_000
"""Bytes: all files of a publication together are smaller."""

CHANGES = "CHANGES.md"
_SHOWN = 8
"""Bugs of an engine that the narrative lists."""

_CAPTIONS = {
    "errors": "False acceptances and rejections: bugs beside what is warned of and declared.",
    "headline_rates": "Share of schemas with a proven bug, and bugs per million mask decisions,"
    " of a capped run scaled from the samples.",
    "keywords": "On how many cases a bug is proven, by keyword.",
    "compile": "Compilation.",
    "agreement": "Which engines accept together where they do not all agree.",
    "timings": "Times of the engines, taken inside their hosts.",
}


_STUDY = (
    "The study whose method this is found that xgrammar under-constrains most, and that what can be"
    " proven against llguidance are mostly rejections."
)


def publish(
    run: RunDirectory, directory: Path, rule: Classify = by_catalogue, *, inside: bool = False
) -> list[Path]:
    """Write the tables (CSV), the manifest, the figures (SVG) and the narrative of a finished run.

    Args:
        run: The run.
        directory: Where to; the narrative becomes ``README.md`` in the directory above.
        rule: Gives verdicts their classes; the catalogue of departures does.
        inside: Whether the narrative becomes ``report.md`` in the directory itself instead, and
            figures are left out.

    Returns:
        The files.

    Raises:
        UsageError: The run is not finished, matplotlib is not installed, or it is too much.
        RunDirectoryError: The run is damaged, or the files cannot be written.
    """
    if not run.finished:
        raise UsageError(f"{run.path} is not finished", "run the same command again to go on")
    rule = functools.cache(rule)
    found, bugs = digest(run, rule), known_bugs(run, load_catalogue(), rule)
    files = exports.write_digest(found, directory)
    if not inside:
        files += figures.draw_digest(found, distributions(run), directory, ("svg",))
    written = {
        directory / "manifest.json": json.dumps(manifest(run), indent=2, ensure_ascii=False) + "\n",
        narrated(directory, inside=inside): readme(run, found, bugs, directory, inside=inside),
    }
    if bugs is not None:
        written[directory / "bugs.csv"] = as_csv(bug_table(bugs))
        written[directory / "bugs.json"] = smallest_cases(bugs)
    with writing(directory):
        for file, text in written.items():
            file.write_text(text, "utf-8")
    files += written
    if (size := sum(file.stat().st_size for file in files)) >= LARGEST:
        raise UsageError(f"what is published of {run.path} has {size:,} bytes", f"< {LARGEST:,}")
    return files


def narrated(directory: Path, *, inside: bool) -> Path:
    """Where the narrative of what is published in a directory stands."""
    return directory / "report.md" if inside else directory.parent / "README.md"


def _top(directory: Path) -> str:
    """The way from a directory of results to what is beside them all."""
    behind = directory.absolute().parts[::-1]
    return "/".join([".."] * (behind.index("results") + 1 if "results" in behind else 1))


def manifest(run: RunDirectory) -> dict[str, Any]:
    """The run's manifest, without the checksums of what is not published."""
    kept = {key: value for key, value in run.manifest.items() if key not in ("tables", "seal")}
    if "machine" in kept:
        system = str(kept["machine"].get("system", ""))
        kept["machine"] = {**kept["machine"], "system": re.split(r"[-\s]", system)[0]}
    rows = {name: one["rows"] for name, one in run.manifest["tables"].items()}
    return {**kept, "rows": rows}


def smallest_cases(bugs: BugList) -> str:
    """The smallest case of each bug as JSON, a line each."""
    names = ("id", "engine", "version", "kind", "title", "schema", "text", "at", "token")
    rows = ({name: row[name] for name in names} for row in (one.row() for one in bugs.bugs))
    return json_rows(rows)


def _changes(directory: Path) -> str:
    """Where it is said, by hand, what changed since the last publication; empty where it is not."""
    there = (directory.parent / CHANGES).is_file()
    return f" What changed since the last time, and why: [{CHANGES}]({CHANGES})." if there else ""


def readme(
    run: RunDirectory,
    found: Digest,
    bugs: BugList | None,
    directory: Path,
    *,
    inside: bool = False,
) -> str:
    """The narrative of a run, to stand in the directory above the published one, or inside it."""
    name = "." if inside else directory.name
    head = [
        "# Results",
        _items(narrative.answer(found)),
        "These and all other sentences here are computed from the tables by `make results`."
        + _changes(directory),
        f"## {name}",
    ]
    parts = [
        *([f"# {directory.name}"] if inside else head),
        _compared(run, found, _top(narrated(directory, inside=inside).parent)),
        "### Bugs",
        _explained(bugs),
    ]
    for engine in found.engines:
        version = found.summary["engines"][engine].get("version", "?")
        first, *others = narrative.engine_sentences(found, engine)
        parts += [f"**{markdown(with_version(engine, version))}**", markdown(first)]
        parts += [bugs_in_markdown(bugs, engine, _SHOWN)] if bugs is not None else []
        parts += [_items(others)] if others else []
    parts += [
        "### What each engine gets wrong",
        _without_title(found.tables["matrix"]),
        *([] if inside else _figures(name, ("headline_rates", "errors", "keywords", "agreement"))),
        "### Against the original study",
        _STUDY,
        _items(narrative.direction(found)),
        "### Why it may differ from the study",
        _items(narrative.differences(found, run.manifest, _cleared(directory.parent))),
        "### Compilation and times",
        *([] if inside else _figures(name, ("compile", "timings"))),
        _without_title(found.tables["compile"]),
        "### Files",
        _files(name, found, bugs),
        *([] if inside else _others(directory)),
    ]
    return "\n\n".join(parts) + "\n"


def _explained(bugs: BugList | None) -> str:
    if bugs is None:
        return "Nobody looked for the bugs behind the verdicts (`maskcourt bugs`)."
    left = "; ".join(
        f"{count:,} not: {reason}"
        for reason, count in bugs.unexplained.items()
        if reason != PENDING
    )
    return (
        f"{explained(bugs)}{f' ({left})' if left else ''}. Each is shrunk to the smallest schema"
        " and text that still show it; those that a model meets come first, then those in most"
        " schemas."
    )


def _compared(run: RunDirectory, found: Digest, top: str) -> str:
    identity, summary = run.manifest["identity"], found.summary
    families = {row["family"] for row in found.tables["cases"].rows}
    data = str(identity.get("data", {}).get("name", "its data")).partition(":")[0]
    seconds = "" if summary["seconds"] is None else f" in {summary['seconds'] / 60:,.0f} minutes"
    walked = f"{summary['walked']:,} walked, {summary['positions']:,} positions"
    return (
        f"{summary['cases']:,} cases of {markdown(f'`{data}`')} in {len(families)} families"
        f" ({walked},"
        f" {summary['disputed_tokens']:,} disputed tokens, {summary['resolved_tokens']:,}"
        f" resolved){seconds}; seed {identity.get('rules', {}).get('seed')}. The words are those"
        f" of [docs/verdicts.md]({top}/docs/verdicts.md); counts are lower bounds, scaled"
        " numbers estimates."
    )


def _items(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {markdown(one)}" for one in sentences)


def _figures(name: str, shown: Iterable[str]) -> list[str]:
    return [f"![{_CAPTIONS[one]}]({name}/{one}.svg)" for one in shown]


def _without_title(table: Table) -> str:
    return as_markdown(table).partition("\n\n")[2].rstrip("\n")


def _files(name: str, found: Digest, bugs: BugList | None) -> str:
    known = {"bugs.csv": "the bugs", "bugs.json": "their smallest cases"} if bugs else {}
    lines = [f"- [{file}]({name}/{file}): {about}" for file, about in known.items()]
    lines += [
        f"- [{one}.csv]({name}/{one}.csv): {table.title[:1].lower()}{table.title[1:]}"
        for one, table in found.tables.items()
    ]
    about = "engines, options, data, seed, limits, machine"
    return "\n".join([*lines, f"- [manifest.json]({name}/manifest.json): {about}"])


def _others(directory: Path) -> list[str]:
    """Links to what else was published here."""
    links = []
    for file in sorted(directory.parent.glob("*/README.md")):
        if file.parent.name != directory.name:
            title = file.read_text("utf-8").partition("\n")[0].lstrip("# ").strip()
            links.append(f"- [{title}]({file.parent.name}/README.md)")
    return ["## Other results", "\n".join(links)] if links else []


def _cleared(directory: Path) -> Mapping[str, Any] | None:
    """What became of the false acceptances of one roll-out per token, if that was published."""
    try:
        text = (directory / "one-roll-out" / "comparisons.json").read_text("utf-8")
        compared = [one["result"] for one in json.loads(text)["comparisons"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    rows = [row for result in compared for row in result.values()]
    keys = ("false_acceptances", "cleared")
    return {key: sum(int(row[key]) for row in rows) for key in keys}


def main(arguments: list[str]) -> int:
    """Publish as the command line asks; the exit code."""
    try:
        paths = [one for one in arguments if one not in ("--trust", "--inside")]
        if len(paths) != 2:
            raise UsageError("say what to publish", "RUN DIRECTORY [--trust] [--inside]")
        run, directory = map(Path, paths)
        inside = "--inside" in arguments
        if (run / IMPACT).is_file():
            files, there = publish_impact(open_impact(run), directory), directory / "summary.json"
        else:
            opened = open_run(run, trust="--trust" in arguments)
            files = publish(opened, directory, inside=inside)
            there = narrated(directory, inside=inside)
    except MaskcourtError as error:
        sys.stderr.write(f"maskcourt: {error}\n")
        return error.exit_code
    size = sum(file.stat().st_size for file in files)
    sys.stderr.write(f"{len(files)} files, {size:,} bytes, read {there}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
