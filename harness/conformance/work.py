"""A run of the cells on some engines: an ordinary run, with nothing but instances."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from harness.comparison.case_run import Rules
from harness.conformance import cells
from harness.conformance.cells import keyword_of
from harness.conformance.gates import GateList, lists_of
from harness.engines.panel import Limits, limit_option
from harness.engines.specs import DEFAULT
from harness.errors import UsageError, nearest
from harness.execution.bench import RUNS, bench
from harness.execution.request import BenchRequest
from harness.files import write_whole
from harness.inputs.cases import Case
from harness.inputs.vocabulary_names import BYTES
from harness.options import option
from harness.runs.directory import RunDirectory

RUN: Final = "run"
"""The run of a table, in its directory."""

RULES: Final = Rules(walks=0, generated=0, samples=0)


def run_cases(request: ConformanceRequest) -> RunDirectory:
    """Run what is asked, or go on with it; the finished run."""
    text = "".join(map(cells.case_line, chosen_cases(request)))
    limits = Limits(compile=request.compile)
    engines = tuple({one.engine: 0 for one in request.lists}) or request.engines or DEFAULT
    asked = "\n".join([*engines, str(limits), text])
    name = f"conformance-{hashlib.sha256(asked.encode()).hexdigest()[:8]}"
    directory = request.out or Path(RUNS) / name
    file = directory / "cases.jsonl"
    directory.mkdir(parents=True, exist_ok=True)
    write_whole(file, text)
    on = BenchRequest(engines=engines, cases=str(file), out=directory / RUN, rules=RULES)
    on = replace(on, lanes=request.lanes, vocabulary=BYTES, limits=limits)
    run = bench(on)
    return RunDirectory(run.path, run.manifest, trusted=True)


def chosen_cases(request: ConformanceRequest) -> list[Case]:
    """The cases that are asked for; a UsageError for a keyword that has none."""
    cases = list(cells.cells())
    if request.gates:
        cases += cells.cells(cells.COMBINATIONS)
    names = {name for case in cases for name in (case.family, keyword_of(case.family))}
    for one in request.keywords:
        if one not in names:
            raise UsageError(f"no case is about the keyword {one!r}", nearest(one, names))
    wanted = set(request.keywords) or names
    return [one for one in cases if wanted & {one.family, keyword_of(one.family)}]


@dataclass(frozen=True)
class ConformanceRequest:
    """What a user asks of a table."""

    engines: Sequence[str] = option(
        (), "As of bench.  [default: those of make, or the server's]", "-e", metavar="SPEC,…"
    )
    gates: str | None = option(
        None,
        "Say where the list by which a server refuses schemas differs from what its engines keep:"
        " vllm, sglang, or a function module:name before --engines.",
        metavar="SERVER",
    )
    keywords: Sequence[str] = option(
        (), "Only this keyword, in all of its forms; repeatable.", "--keyword"
    )
    out: Path | None = option(None, "Where the run goes, or goes on.", "-o", metavar="DIR")
    kind: str = option(
        "markdown", "How the table is printed.", "--format", choices=("markdown", "csv")
    )
    lanes: int | None = option(None, "Cases at the same time.", least=1)
    compile: float = limit_option(2.0, "schema", "--compile-timeout")

    @cached_property
    def lists(self) -> Sequence[GateList]:
        """The lists that are asked for; a UsageError for what has none."""
        return lists_of(self.gates, self.engines) if self.gates else ()
