"""A run of the cells on some engines: an ordinary run, with nothing but instances."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.comparison.case_run import Rules
from harness.conformance import cells
from harness.conformance.cells import keyword_of
from harness.engines.panel import Limits, limit_option
from harness.engines.specs import DEFAULT
from harness.errors import UsageError, nearest
from harness.execution.bench import RUNS, bench
from harness.execution.request import BenchRequest
from harness.inputs.cases import Case
from harness.inputs.vocabulary_names import BYTES
from harness.options import option
from harness.runs.directory import RunDirectory

CASES: Final = "cases.jsonl"
RUN: Final = "run"
"""The cases and the run of a table, in its directory."""

RULES: Final = Rules(walks=0, generated=0, samples=0)


def run_cases(request: ConformanceRequest) -> RunDirectory:
    """Run what is asked, or go on with it; the finished run."""
    text = "".join(map(cells.case_line, chosen_cases(request)))
    asked = "\n".join([*request.engines, request.vocabulary, str(request.limits), text])
    name = f"conformance-{hashlib.sha256(asked.encode()).hexdigest()[:8]}"
    directory = request.out or Path(RUNS) / name
    file = directory / CASES
    if not file.exists() or file.read_text("utf-8") != text:
        if (directory / RUN).exists():
            raise UsageError(f"{directory} has a run of other cases in it", "choose another --out")
        directory.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    same = {name: getattr(request, name) for name in ("engines", "lanes", "vocabulary", "limits")}
    run = bench(BenchRequest(cases=str(file), out=directory / RUN, rules=RULES, **same))
    return RunDirectory(run.path, run.manifest, trusted=True)


def chosen_cases(request: ConformanceRequest) -> list[Case]:
    """The cases that are asked for; a UsageError for a keyword that has none."""
    cases = list(cells.cells())
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
        (",".join(DEFAULT),), "Engines, as maskcourt bench takes them.", "-e", metavar="SPEC,…"
    )
    keywords: Sequence[str] = option(
        (), "Only this keyword, in all of its forms; repeatable.", "--keyword"
    )
    out: Path | None = option(
        None,
        "Where the run goes; started again it goes on.  [default: one under runs/]",
        "-o",
        metavar="DIR",
    )
    vocabulary: str = option(BYTES, "As of bench.", metavar="SPEC")
    lanes: int | None = option(None, "Cases at the same time.", least=1)
    compile: float = limit_option(2.0, "schema", "--compile-timeout")
    memory: int = option(
        4 << 30, "Resident memory per engine.  [default: 4G]", above=0, unit="SIZE"
    )

    @property
    def limits(self) -> Limits:
        return Limits(compile=self.compile, memory=self.memory)
