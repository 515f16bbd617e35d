"""The table of a hearing as Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from harness.court.docket import DOCUMENTED, Docket
from harness.court.record import RecordHead
from harness.court.rules import RULES
from harness.printable import markdown, one_line, spreadsheet_cell

COLUMNS = (
    *("vocabulary", "engine", "version", "calls", "rule", "outcome", "cases", "checks", "broken"),
    *("crashes", "words", "case", "written", "tokens", "complaint", "again"),
)


def as_markdown(head: RecordHead, docket: Docket) -> str:
    """A row a rule, a column an engine; then the smallest violation of each."""
    engines = docket.engines
    names = [
        f"{markdown(name)} {version} ({docket.cases(name)})" for name, version in engines.items()
    ]
    on = f"Vocabulary `{head.vocabulary}`, cases `{head.cases}`, seed {head.seed}"
    lines = [
        f"{on}; in brackets behind an engine its cases, behind an outcome its checks.",
        "",
        _row("rule", *names),
        _row(*["---"] * (len(names) + 1)),
    ]
    for rule in RULES:
        words = [one_line(docket.word(engine, rule), 90) for engine in engines]
        lines.append(_row(f"`{rule}`", *map(markdown, words)))
    return "\n".join([*lines, "", *_witnesses(docket)]) + "\n"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _witnesses(docket: Docket) -> Iterator[str]:
    for rule, count, heard, one in docket.witnesses():
        documented = f" ({markdown(count.documented)})" if count.outcome == DOCUMENTED else ""
        before = len(one.consumed)
        once = "" if one.again else ", which did not show again"
        yield (
            f"- {markdown(heard.engine)} {heard.version} `{rule}`{documented}: "
            f"{markdown(one_line(one.complaint, 200))}; "
            f"case {heard.case}, behind {before} token{'s' * (before != 1)}{once}"
        )


def as_csv(head: RecordHead, docket: Docket) -> str:
    """A line for each engine and rule, with the smallest violation."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for engine, version in docket.engines.items():
        calls = "adapter" if engine in docket.by_adapter else "library"
        for rule in RULES:
            if (count := docket.count(engine, rule)) is None:
                continue
            row: list[object] = [head.vocabulary, engine, version, calls, rule, count.outcome]
            row += [count.cases, count.checks, count.broken, count.crashes]
            row.append(count.documented if count.outcome == DOCUMENTED else count.words)
            if count.smallest is not None:
                heard, one = count.smallest
                tokens = "" if one.tokens is None else " ".join(map(str, one.tokens))
                row += [heard.case, one.written, tokens, one.complaint, one.again]
            row += [""] * (len(COLUMNS) - len(row))
            writer.writerow([spreadsheet_cell(str(cell)) for cell in row])
    return out.getvalue()
