"""``maskcourt protocol``: does a library do what a server relies on, whatever its masks hold?"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.cli.common import Json, print_as
from harness.cli.options import command
from harness.console import print_json, tell
from harness.engines.environments import provide_all
from harness.engines.specs import DEFAULT, parse_specs
from harness.inputs.case_selection import open_cases, select
from harness.inputs.vocabulary_readers import open_vocabulary
from harness.options import option
from harness.printable import one_line, plural
from harness.protocol_checks.checks import CaseResult, Settings, run_checks
from harness.protocol_checks.results import Summary, lines_of_witnesses, matrix
from harness.protocol_checks.rules import RULES
from harness.protocol_checks.trial import Thoroughness
from harness.render.terminal import print_lines


@dataclass(frozen=True)
class ProtocolRequest:
    """What libraries are tried on."""

    engines: Sequence[str] = option(DEFAULT, "As of bench; repeatable.", metavar="SPECS")
    cases: str = option("quick", "As of bench.", metavar="SPEC")
    sample: int | None = option(None, "Only N of the cases.", least=1)
    vocabulary: str = option("qwen2.5", "As of bench.", metavar="SPEC")
    seed: int = option(0, "Of the sample.")
    kind: str = option("text", "How results are printed.", "--format", choices=("text", "markdown"))
    fail_on_violation: bool = option(False, "Exit with 1 when there is one.")


@command(ProtocolRequest, Json)
def protocol(asked: ProtocolRequest, json: Json) -> None:
    """Hold libraries to what a server relies on: consuming, rollback, forced text, batches.

    No text is judged: each library is held against itself alone.
    """
    summary = Summary(checked(asked))
    if json.as_json:
        about = {"vocabulary": asked.vocabulary, "cases": asked.cases, "seed": asked.seed}
        print_json({**about, **summary.as_json()})
    else:
        on = f"Vocabulary `{asked.vocabulary}`, cases `{asked.cases}`, seed {asked.seed}"
        print_as(asked.kind, matrix(summary, on), lines_of_witnesses(summary))
        if asked.kind == "text":
            print_lines(_explained(summary))
    if asked.fail_on_violation and summary.violated:
        sys.exit(1)


def checked(asked: ProtocolRequest) -> list[CaseResult]:
    """What each engine makes of each rule on each case, as they are tried; raises UsageError."""
    specs = provide_all(parse_specs(asked.engines))
    source, vocabulary = open_cases(asked.cases), open_vocabulary(asked.vocabulary)
    cases = select(source, sample=asked.sample, seed=asked.seed)
    settings = Settings(vocabulary, Thoroughness(asked.seed))
    results: list[CaseResult] = []
    for spec in specs:
        tell(f"{spec.name}: {plural(len(cases), 'case')}")
        for number, result in enumerate(run_checks(spec, cases, settings), 1):
            results.append(result)
            tell(f"  {number}/{len(cases)} {result.case}")
    return results


def _explained(summary: Summary) -> Iterator[str]:
    """What each broken rule says, and which engines could not be tried."""
    for rule in dict.fromkeys(count.rule for count, *_ in summary.witnesses()):
        yield f"`{rule}`: {RULES[rule].says}"
    for engine, about in summary.engines.items():
        for case, reason in list(about["not_begun"].items())[:1]:
            many = plural(len(about["not_begun"]), "case")
            yield f"{engine} could not be tried on {many}, such as {case}: {one_line(reason, 200)}"
