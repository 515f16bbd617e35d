"""``maskcourt protocol``: does a library do what a server relies on, whatever its masks hold?"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cli.common import Json, print_as
from harness.cli.options import command
from harness.console import print_json, say, tell
from harness.engines.environments import is_at_hand, provide, provide_all
from harness.engines.specs import DEFAULT, built_in, parse_spec, parse_specs, read_spec
from harness.errors import UsageError
from harness.inputs.case_selection import open_cases, select
from harness.inputs.vocabulary_names import vocabulary_names
from harness.inputs.vocabulary_readers import open_vocabulary
from harness.options import option
from harness.printable import one_line
from harness.protocol_checks.checks import CaseResult, EngineHost, Settings, hosted, run_checks
from harness.protocol_checks.results import (
    ResultsHead,
    Summary,
    add_result,
    begun_results,
    lines_of_witnesses,
    matrix,
    read_results,
)
from harness.protocol_checks.rules import RULES
from harness.protocol_checks.trial import Thoroughness
from harness.render.terminal import print_lines


@dataclass(frozen=True)
class ProtocolRequest:
    """What libraries are tried on, or what is done with a file of results instead."""

    engines: Sequence[str] = option(DEFAULT, "As of bench; repeatable.", metavar="SPECS")
    cases: str = option("quick", "As of bench.", metavar="SPEC")
    sample: int | None = option(None, "Only N of the cases.", least=1)
    vocabulary: str = option("qwen2.5", "As of bench.", metavar="SPEC")
    seed: int = option(0, "Of the sample.")
    out: Path | None = option(
        None,
        "Where to write results; started again it goes on there.",
        metavar="FILE",
        writes="file",
    )
    kind: str = option("text", "How results are printed.", "--format", choices=("text", "markdown"))
    fail_on_violation: bool = option(False, "Exit with 1 when there is one.")
    read: Path | None = option(
        None, "Print what a file holds instead.", exists=True, metavar="FILE"
    )
    replay: Path | None = option(
        None,
        "Try the violations of a file again instead; exit with 1 when one shows no more.",
        exists=True,
        metavar="FILE",
    )
    trust: bool = option(False, "Import and install what a file for --replay names.")


@command(ProtocolRequest, Json)
def protocol(asked: ProtocolRequest, json: Json) -> None:
    """Hold libraries to what a server relies on: consuming, rollback, forced text, batches.

    No text is judged: each library is held against itself alone.
    """
    if asked.replay:
        _replay(asked.replay, trust=asked.trust, as_json=json.as_json)
        return
    head, results = read_results(asked.read) if asked.read else _check(asked)
    summary = Summary(results)
    if json.as_json:
        print_json(summary.as_json())
    else:
        _print(head, summary, asked.kind)
    if asked.fail_on_violation and summary.violated:
        sys.exit(1)


def _check(asked: ProtocolRequest) -> tuple[ResultsHead, list[CaseResult]]:
    specs = provide_all(parse_specs(asked.engines))
    source, vocabulary = open_cases(asked.cases), open_vocabulary(asked.vocabulary)
    cases = list(select(source, sample=asked.sample, seed=asked.seed))
    settings = Settings(vocabulary, Thoroughness(asked.seed))
    named = asked.vocabulary, vocabulary.sha256, asked.cases, source.sha256
    head = ResultsHead(*named, asked.seed)
    results = begun_results(asked.out, head) if asked.out else []
    known = {(one.engine, one.case) for one in results}
    try:
        for spec in specs:
            left = [case for case in cases if (spec.name, case.id) not in known]
            tell(f"{spec.name}: {len(left)} cases")
            for number, result in enumerate(run_checks(spec, left, settings), 1):
                add_result(results, result, asked.out)
                tell(f"  {number}/{len(left)} {result.case}")
    except KeyboardInterrupt as error:
        goes_on = f"the same command goes on in {asked.out}"
        raise KeyboardInterrupt(
            goes_on if asked.out else "nothing is kept without --out"
        ) from error
    return head, results


def _print(head: ResultsHead, summary: Summary, kind: str) -> None:
    print_as(kind, matrix(head, summary), lines_of_witnesses(summary))
    if kind == "text":
        broken = dict.fromkeys(count.rule for count, *_ in summary.witnesses())
        print_lines(f"`{rule}`: {RULES[rule].says}" for rule in broken)
        for engine, about in summary.engines.items():
            for case, reason in list(about["not_begun"].items())[:1]:
                many = f"{engine} could not be tried on {len(about['not_begun'])} cases"
                print_lines([f"{many}, such as {case}: {one_line(reason, 200)}"])


def _replay(path: Path, *, trust: bool, as_json: bool) -> None:
    head, results = read_results(path)
    by_engine: dict[str, list[CaseResult]] = {}
    for one in results:
        if any(rule.violated for rule in one.rules.values()):
            by_engine.setdefault(one.engine, []).append(one)
    if not trust:
        _refuse_unknown(path, head.vocabulary, list(by_engine))
    vocabulary = open_vocabulary(head.vocabulary)
    if vocabulary.sha256 != head.vocabulary_sha256:
        raise UsageError(f"{path}: the vocabulary {head.vocabulary!r} is another one now")
    rows: list[dict[str, Any]] = []
    for engine, broken in by_engine.items():
        settings = Settings(vocabulary)
        with hosted(provide(parse_spec(engine)), settings) as host:
            rows += [row for one in broken for row in _replayed(host, one)]
    counts = Counter(row["outcome"] for row in rows)
    if as_json:
        print_json({"violations": rows, "counts": dict(counts)})
    else:
        for row in rows:
            words = f": {one_line(row['complaint'])}" if row["complaint"] else ""
            which = f"{row['engine']} {row['version']} {row['rule']} {row['case']}"
            say(f"{row['outcome']:<15}  {which}{words}")
        say(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    if counts["shows"] < len(rows):
        sys.exit(1)


def _replayed(host: EngineHost, result: CaseResult) -> Iterator[dict[str, Any]]:
    """What became of each violation of one engine on one case."""
    for rule, found in result.rules.items():
        for violation in found.violated:
            try:
                complaint = host.replay(result, rule, violation)
                outcome = "shows" if complaint else "does not show"
            except LookupError as error:
                complaint, outcome = str(error), "cannot be tried"
            which = {"engine": result.engine, "version": host.version, "rule": rule}
            yield which | {"case": result.case, "outcome": outcome, "complaint": complaint or ""}


def _refuse_unknown(path: Path, vocabulary: str, engines: list[str]) -> None:
    """Raise UsageError where a file would have something imported, installed or opened."""
    for engine in engines:
        known = vocabulary in vocabulary_names() and read_spec(engine).name in built_in()
        if not known or not is_at_hand(parse_spec(engine)):
            raise UsageError(
                f"{path} would have {engine!r} or {vocabulary!r} imported, installed or opened",
                "if you trust who made the file, allow it: --trust",
            )
