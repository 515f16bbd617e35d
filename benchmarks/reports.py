"""Reports for the engines' trackers: ``python -m benchmarks.reports``.

``results/reports/reports.toml`` says of each what is expected and what happens, with cases. A
script that needs the engine alone is made of the cases, and run against the installed engine and
other versions; the page has the script and what it printed. Where a script does not show what the
report says, nothing is written.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from benchmarks.report_counts import counted
from harness.bugs.scripts import bodies
from harness.engines.environments import provide
from harness.engines.specs import adapter_class, built_in, parse_spec
from harness.errors import MaskcourtError, UsageError
from harness.files import write_whole
from harness.validators.validate import Validators

ROOT: Final = Path(__file__).resolve().parents[1]
DATA: Final = "reports.toml"
COUNTS: Final = "counts.json"
CALLS: Final[Mapping[str, str]] = {
    "xgrammar": "`compile_json_schema(schema, strict_mode=False)`",
    "llguidance": "`%json` with `no_forcing` and general Unicode escapes",
    "outlines": "`Index(build_regex_from_schema(schema, None), vocabulary)`",
}
"""How a script asks each engine: the setting that is closest to JSON Schema."""
_AT_ONCE: Final = 4
"""Reports whose scripts run at the same time: they wait for their libraries to be read."""
_COLUMNS: Final = (
    "#",
    "engine",
    "what",
    "effect",
    "have the feature: MaskBench",
    "have the feature: tools",
    "thread",
)
_SCRIPT: Final = '''"""Ends with 1 while the bug is there. It needs: pip install {install}"""

import sys

CASES = [  # a schema, a text, whether the text is valid under the schema
{cases}]
VOCABULARY = [bytes([byte]) for byte in range(256)]
END = len(VOCABULARY)


def allowed(SCHEMA, TEXT):
    """How many tokens, a byte each and the end last, the engine allows in turn."""
    TOKENS = [*TEXT.encode(), END]
{body}

wrong = []
for schema, text, valid in CASES:
    taken = None
    try:
        count = allowed(schema, text)
    except ImportError as problem:
        print(problem)
        sys.exit(2)
    except Exception as problem:
        does = "the engine refuses the schema: " + str(problem).strip().splitlines()[0].strip()
    else:
        taken = count > len(text.encode())
        before = text.encode()[:count].decode(errors="replace")
        does = "taken" if taken else f"refused after {{before!r}}"
    wrong.append(taken is not valid)
    print("wrong " if wrong[-1] else "right ", schema)
    print("       ", repr(text), "valid," if valid else "invalid,", does)
sys.exit(wrong[0])
'''


@dataclass(frozen=True)
class Example:
    """A text under a schema: whether it is valid, and whether the engine is wrong about it."""

    schema: str
    text: str
    valid: bool
    wrong: bool


@dataclass(frozen=True, kw_only=True)
class Report:
    """A bug as its engine's tracker is to be told of it; the first of the `cases` shows it.

    `feature` says which schemas meet it; `bugs` are ids of what a search of a run calls it, and
    `refused` is in the message of an engine that refuses such schemas. Where no `thread` is known
    `looked_for` says what was searched for.
    """

    engine: str
    slug: str
    title: str
    what: str
    effect: str
    happens: str
    expected: str
    feature: str
    cases: Sequence[Example]
    workaround: str = ""
    thread: str = ""
    state: str = ""
    says: str = ""
    looked_for: str = ""
    bugs: Sequence[str] = ()
    refused: str = ""
    others: Sequence[str] = field(default=(), compare=False)

    @property
    def name(self) -> str:
        return f"{self.engine}-{self.slug}"

    @property
    def distribution(self) -> str:
        return str(adapter_class(built_in()[self.engine]).DISTRIBUTION)

    @property
    def marks(self) -> list[bool]:
        """Of each case whether the engine is wrong."""
        return [case.wrong for case in self.cases]


def read_reports(path: Path) -> tuple[dict[str, Any], list[Report]]:
    """What a data file says of all reports, and the reports, the most important first.

    Raises:
        UsageError: A case is not what both validators say, or the first is not wrong.
    """
    about = tomllib.loads(path.read_text("utf-8"))
    reports = []
    for table in about.pop("report"):
        cases = [
            Example(schema, text, valid, mark == "wrong")
            for schema, text, valid, mark in table.pop("cases")
        ]
        report = Report(**table, cases=cases, others=about["others"][table["engine"]])
        for case in report.cases:
            verdict = Validators(case.schema).judge(case.text.encode()).verdict
            if verdict != ("valid" if case.valid else "invalid"):
                raise UsageError(f"{report.name}: {case.text} is {verdict} under {case.schema}")
        if not report.marks[0]:
            raise UsageError(f"{report.name}: its first case is none of an error")
        reports.append(report)
    return about, reports


def _literal(text: str) -> str:
    """A literal as formatters of Python have it."""
    literal = repr(text)
    return literal if '"' in literal or "\\'" in literal else f'"{literal[1:-1]}"'


def script(report: Report, version: str) -> str:
    """A Python script that imports the engine alone."""
    rows = ((_literal(one.schema), _literal(one.text), one.valid) for one in report.cases)
    cases = "".join(
        "    (\n" + "".join(f"        {value},\n" for value in row) + "    ),\n" for row in rows
    )
    body = bodies("text")[report.engine]
    return _SCRIPT.format(
        install=f"{report.distribution}=={version}", cases=cases, body=f"{body.rstrip()}\n"
    )


@dataclass(frozen=True)
class Printed:
    """What a script printed, and by its lines whether the engine was wrong about each case."""

    text: str

    @property
    def marks(self) -> list[bool]:
        lines = self.text.splitlines()
        return [line.startswith("wrong") for line in lines if re.match("(wrong|right) ", line)]


def run_script(text: str, engine: str) -> Printed:
    """What a script prints with the interpreter and the packages of an engine, by its spec.

    Raises:
        UsageError: Its version cannot be had.
    """
    spec = provide(parse_spec(engine))
    paths = os.pathsep.join(spec.paths)
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [spec.interpreter or sys.executable, "-c", text],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        check=False,
        timeout=300,
    )
    return Printed(f"{done.stdout}{done.stderr}".strip())


Run = Callable[[str, str], Printed]


def shown(report: Report, text: str, run: Run) -> Printed:
    """What the script prints with the engine that is installed.

    Raises:
        UsageError: It does not show what the report says.
    """
    printed = run(text, report.engine)
    if printed.marks != report.marks:
        raise UsageError(f"{report.name} is not what its script shows now:\n{printed.text}")
    return printed


def in_others(report: Report, text: str, run: Run) -> str:
    """Which of the other versions have the bug and which do not; no word of any other answer."""
    same, free = [], []
    for version in report.others:
        marks = run(text, f"{report.engine}@{version}").marks
        if marks == report.marks:
            same.append(version)
        elif marks and not any(marks):
            free.append(version)
    parts = [f"the same in {', '.join(same)}"] if same else []
    parts += [f"all right in {', '.join(free)}"] if free else []
    return "; ".join(parts)


def flowing(text: str) -> str:
    """A paragraph in one line: trackers break lines where they are broken."""
    return " ".join(text.split())


def _often(report: Report, counts: Mapping[str, Any]) -> str:
    own = counts["reports"][report.name]
    concerned = (
        f"{own['maskbench']:,} of the {counts['maskbench']:,} schemas of MaskBench and"
        f" {own['tools'] or 'none'} of {counts['tools']:,} schemas of public servers' tools have"
        f" {report.feature}."
    )
    parts = [concerned]
    sample, shown = counts["sample"], own["sample"] or "none"
    if report.refused:
        are = "is" if shown == 1 else "are"
        parts.append(f"Of {sample['cases']} drawn from MaskBench {shown} {are} refused for it.")
    elif report.bugs:
        parts.append(
            f"Of {sample['cases']} drawn from MaskBench the engine compiled"
            f" {sample['judged'][report.engine]} within {sample['seconds']:g} s of processor time;"
            f" {shown} of these {'has' if shown == 1 else 'have'} a text, found by a search, that"
            " shows it."
        )
    else:
        parts.append(f"How many of {sample['cases']} drawn ones show it was not looked for.")
    return " ".join(parts)


def _known(report: Report, about: Mapping[str, Any]) -> str:
    if report.thread:
        return f"<{report.thread}> ({report.state}): {report.says}"
    copies = f"the stored copies of the tracker, which reach to {about['copies_reach']}"
    return f"No thread was found in {copies}; looked for: {report.looked_for}."


def page(
    report: Report, about: Mapping[str, Any], counts: Mapping[str, Any], run: Run = run_script
) -> str:
    """The text for a tracker, with what the script prints here.

    Raises:
        UsageError: The script does not show the bug.
    """
    version = importlib.metadata.version(report.distribution)
    text = script(report, version)
    printed = shown(report, text, run)
    others = in_others(report, text, run)
    seen = f"`{report.distribution} {version}`, asked by {CALLS[report.engine]}"
    parts = [
        f"# {report.title}",
        f"{seen}{f'; {others}' if others else ''}.",
        f"**What happens.** {flowing(report.happens)}",
        f"**What is expected.** {flowing(report.expected)}",
        "This script needs the engine alone:",
        f"```python\n{text}```",
        "It prints:",
        f"```text\n{printed.text}\n```",
        f"**How often.** {_often(report, counts)}",
        *([f"**Workaround.** {flowing(report.workaround)}"] if report.workaround else []),
        f"**Known threads.** {_known(report, about)}",
    ]
    return "\n\n".join(parts) + "\n"


def _row(rank: int, report: Report, counts: Mapping[str, Any]) -> str:
    own, where = counts["reports"][report.name], report.thread.split("/")
    known = (
        f"[{where[-3]}#{where[-1]}]({report.thread}), {report.state}"
        if report.thread
        else "none found"
    )
    cells = (
        *(str(rank), report.engine, f"[{report.what}]({report.name}.md)", report.effect),
        *(f"{own['maskbench']:,}", f"{own['tools']:,}", known),
    )
    return f"| {' | '.join(cells)} |"


def overview(reports: Sequence[Report], about: Mapping[str, Any], counts: Mapping[str, Any]) -> str:
    """The page that lists all reports."""
    lead = (
        "Bugs of the newest versions, each with a text for the engine's tracker: values that are"
        " lost or let through, and schemas that are refused, before what only formats forbid. Where"
        " a thread is known the text is for a comment there; what is fixed already needs none."
        f" The last columns say how many of {counts['maskbench']:,} schemas of MaskBench"
        f" and of {counts['tools']:,} of [tools](../tools/README.md) have the feature that the bug"
        " is about, of which the bug need not show in each (in how many of 500 it was found its"
        " text says, of a run in which more of them compiled in time than in that of"
        " [newest](../newest/README.md)), and what is known: looked up on"
        f" {about['looked_up']} in stored copies of the"
        f" trackers that reach to {about['copies_reach']}. Written by `make results ONLY=reports`,"
        " which runs every script anew."
    )
    rows = [_row(rank, report, counts) for rank, report in enumerate(reports, 1)]
    head = f"| {' | '.join(_COLUMNS)} |", "| --: | --- | --- | --- | --: | --: | --- |"
    return (
        "\n\n".join(("# Reports for the engines' trackers", lead, "\n".join((*head, *rows)))) + "\n"
    )


def write(out: Path, run: Run = run_script) -> None:
    """Write the pages beside their data file, all or none."""
    about, reports = read_reports(out / DATA)
    counts = json.loads((out / COUNTS).read_text("utf-8"))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        texts = list(pool.map(lambda one: page(one, about, counts, run), reports))
    pages = {f"{one.name}.md": text for one, text in zip(reports, texts, strict=True)}
    pages["README.md"] = overview(reports, about, counts)
    for name, text in pages.items():
        write_whole(out / name, text)


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=ROOT / "results" / "reports")
@click.option("--tools", type=click.Path(path_type=Path), help="Count anew: lists of tools.")
@click.option("--run", "found", type=click.Path(path_type=Path), help="Count anew: a run.")
def main(out: Path, tools: Path | None, found: Path | None) -> None:
    """Run the scripts of all reports and write their pages; count anew with --tools and --run."""
    try:
        if tools and found:
            reports = read_reports(out / DATA)[1]
            wanted = {one.name: (one.engine, one.bugs, one.refused) for one in reports}
            counts = counted(wanted, tools, found)
            write_whole(out / COUNTS, json.dumps(counts, indent=1) + "\n")
        write(out)
    except MaskcourtError as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
