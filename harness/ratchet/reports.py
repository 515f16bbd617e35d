"""What holding a run against a baseline gave: as Markdown, as JUnit's XML, in lines."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from typing import Final

from harness.bugs.listing import Bug
from harness.bugs.scripts import marked
from harness.engines.specs import read_spec
from harness.printable import code, markdown, printable
from harness.ratchet.baseline import BaselineDiff, OutcomeChange
from harness.ratchet.outcomes import CRASH, REFUSED, Outcomes
from harness.verdict_kinds import REJECTIONS

_MOST: Final = 30
"""Cases that are listed; the file and the run have all."""


def in_lines(diff: BaselineDiff) -> list[str]:
    """What a user of a terminal is told, the reasons to fail first."""
    lines = [f"new bug: {_bug_line(one)}" for one in diff.new_bugs]
    lines += [f"worse: {_change_line(one)}" for one in diff.worse]
    lines += [f"better: {_change_line(one)}" for one in diff.better]
    lines += [
        f"not met: {engine} {id_} {printable(title, '')}"
        for (engine, id_), title in diff.gone_bugs.items()
    ]
    return lines


def verdict(diff: BaselineDiff) -> str:
    """The outcome in one line."""
    return (
        f"{'fails' if diff.fails else 'passes'}: {len(diff.new_bugs)} new bugs,"
        f" {len(diff.worse)} schemas worse, {len(diff.better)} better,"
        f" {len(diff.gone_bugs)} known bugs not met"
    )


def as_markdown(diff: BaselineDiff) -> str:
    """For the page of a job: the outcome, then what it rests on."""
    return "\n".join(_markdown(diff)) + "\n"


def _markdown(diff: BaselineDiff) -> Iterator[str]:
    yield f"## maskcourt {verdict(diff)}"
    if diff.new_bugs:
        yield ""
        yield "### New bugs"
        yield ""
    for one in diff.new_bugs:
        engine = read_spec(one.engine).name
        yield f"- {code(one.id)} {markdown(f'{engine} {one.version}: {one.title}')}"
        yield f"  - schema {code(one.error.schema)}"
        yield f"  - text {code(_text(one))}"
    for title, changes in (("Worse", diff.worse), ("Better", diff.better)):
        if changes:
            yield ""
            yield f"### {title}"
            yield ""
            yield "| engine | schema | baseline | now |"
            yield "| --- | --- | --- | --- |"
        for change in changes[:_MOST]:
            cells = (change.engine, change.case, change.was, change.now)
            yield f"| {' | '.join(map(markdown, cells))} |"
        if len(changes) > _MOST:
            yield ""
            yield f"and {len(changes) - _MOST:,} more"
    if diff.gone_bugs:
        yield ""
        yield "### Known bugs that were not met"
        yield ""
    for (engine, id_), title in diff.gone_bugs.items():
        yield f"- {code(id_)} {markdown(f'{engine}: {title}')}"
    for reason, many in diff.open.items():
        yield ""
        yield f"{many:,} verdicts belong to no bug: {markdown(reason)}"


def as_junit(diff: BaselineDiff, outcomes: Outcomes) -> str:
    """As JUnit's XML: a suite per engine, a test per schema and per new bug.

    Schemas that are refused as known are skipped tests; what goes beyond the baseline fails.
    """
    root = ET.Element("testsuites", name="maskcourt")
    worse = {(one.engine, one.case): one for one in diff.worse}
    for engine in sorted({engine for engine, _ in outcomes}):
        suite = ET.SubElement(root, "testsuite", name=engine)
        mine = [one for one in diff.new_bugs if read_spec(one.engine).unversioned == engine]
        for one in mine:
            test = ET.SubElement(suite, "testcase", classname=engine, name=f"bug {one.id}")
            _failure(test, "bug", one.title, f"schema {one.error.schema}\ntext {_text(one)}")
        cases = sorted((case, word) for (of, case), word in outcomes.items() if of == engine)
        for case, word in cases:
            test = ET.SubElement(suite, "testcase", classname=engine, name=_xml(case))
            change = worse.get((engine, case))
            if change is not None:
                _failure(test, word, f"{change.was} before, {word} now", "")
            elif word in (REFUSED, CRASH):
                ET.SubElement(test, "skipped", message=f"{word}, as is known")
        suite.set("tests", str(len(mine) + len(cases)))
        suite.set("failures", str(len(suite.findall("testcase/failure"))))
        suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _failure(test: ET.Element, kind: str, message: str, text: str) -> None:
    failure = ET.SubElement(test, "failure", type=kind, message=_xml(message))
    failure.text = _xml(text)


def _xml(text: str) -> str:
    """A text that XML can hold."""
    return printable(text, "\n")


def _text(one: Bug) -> str:
    return marked(one) if one.error.kind in REJECTIONS else one.error.readable_text


def _bug_line(one: Bug) -> str:
    return f"{read_spec(one.engine).name} {one.version} {one.id} {printable(one.title, '')}"


def _change_line(one: OutcomeChange) -> str:
    return f"{one.engine} {one.case}: {one.was} before, {one.now} now"


def listed(lines: Sequence[str]) -> list[str]:
    """The first of many lines, and how many more there are."""
    more = len(lines) - _MOST
    return [*lines[:_MOST], *([f"and {more:,} more"] if more > 0 else [])]
