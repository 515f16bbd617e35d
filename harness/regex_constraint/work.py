"""A run over patterns: each engine and case is a line of its directory, so that it goes on."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from harness.engines.environments import provide_all
from harness.engines.specs import EngineSpec, adapter_class, parse_specs
from harness.errors import UsageError
from harness.execution.bench import chosen, default_path, identity, notes
from harness.execution.lanes import Lane, LaneSettings
from harness.execution.request import BenchRequest
from harness.files import LineFile
from harness.inputs.case_selection import Selected
from harness.inputs.vocabulary_readers import open_vocabulary
from harness.live import LiveLine
from harness.regex_constraint.cases import open_patterns
from harness.regex_constraint.judging import Judged, PatternJudge
from harness.regex_constraint.opinions import SecondOpinions
from harness.runs.directory import (
    ManifestKind,
    RunDirectory,
    begin_or_go_on,
    check_place,
    read_manifest,
    sha256_of,
)
from harness.workers.temporary_directories import saved_vocabulary

LINES: Final = "judged.jsonl"
REGEX: Final = ManifestKind("regex.json", 2, (LINES,))
"""A run over patterns, as a directory."""


class RegexRun(RunDirectory):
    """A run over patterns; `lines` are what each engine made of each case so far, in order."""

    lines: Sequence[Judged] = ()


def open_regex(path: Path, *, trust: bool = False) -> RegexRun:
    """As `open_run`; the run is finished once every engine has judged every case."""
    manifest, file = read_manifest(path, REGEX), LineFile(path / LINES)
    rank = {name: number for number, name in enumerate(manifest["identity"]["engines"])}
    lines = sorted(_read(file), key=lambda one: (one.case, rank[one.engine]))
    if len(lines) == manifest["identity"]["data"]["cases"] * len(rank):
        manifest["tables"] = {LINES: {"sha256": sha256_of(file.path)}}
    run = RegexRun(path, manifest, trusted=trust, read_only=True)
    run.lines = lines
    return run


def _read(lines: LineFile) -> Iterator[Judged]:
    return lines.records(lambda one: Judged(**json.loads(one)), "result", "remove it")


def run_regex(request: BenchRequest) -> RegexRun:
    """Judge what is asked, or go on with it; a MaskcourtError for whatever the user can mend."""
    if request.rewritings:
        raise UsageError("--rewritings does not go with --constraint regex")
    specs = provide_all(parse_specs(request.engines))
    vocabulary = open_vocabulary(request.vocabulary, request.eos)
    source = open_patterns(request.cases or "embedded")
    path = request.out or default_path(request, "regex-", specs, source.name)
    check_place(path, REGEX)
    selected = chosen(request, source)
    with ExitStack() as stack:
        file = stack.enter_context(saved_vocabulary(vocabulary))
        line = stack.enter_context(LiveLine("patterns", len(selected), "starting the engines"))
        lane = Lane(LaneSettings(tuple(specs), str(file), request.limits, request.rules))
        stack.enter_context(closing(lane))
        ask = stack.enter_context(closing(SecondOpinions(request.limits.memory)))
        known: dict[str, Any] = {
            "engines": {name: asdict(one) for name, one in lane.open().items()},
            "opinions": {one: importlib.metadata.version(one) for one in ("regress", "regex")},
            **identity(request, vocabulary, selected),
        }
        run = begin_or_go_on(path, known, notes(), REGEX)
        stack.callback(run.release)
        judge = PatternJudge(lane.panel, vocabulary, list(map(dialect_of, specs)), ask)
        _judge_all(judge, selected, LineFile(path / LINES), line)
    return open_regex(path, trust=True)


def dialect_of(spec: EngineSpec) -> str:
    """The dialect that an engine documents; empty where it takes no patterns."""
    return getattr(adapter_class(spec.reference, spec.paths), "REGEX_DIALECT", "")


def _judge_all(judge: PatternJudge, cases: Selected, lines: LineFile, line: LiveLine) -> None:
    """Write what each engine makes of each case, where that is not there yet."""
    lines.mend()
    found = list(_read(lines))
    line.plain(f"{len(cases):,} patterns, {len(found):,} results are there already")
    done = {(one.case, one.engine) for one in found}
    names = [spec.name for spec in judge.panel.specs]
    for number, case in enumerate(cases, 1):
        todo = [at for at, name in enumerate(names) if (case.id, name) not in done]
        for judged in judge.judge(case, todo) if todo else ():
            found.append(judged)
            lines.append(json.dumps(asdict(judged), ensure_ascii=False))
        wrong = sum(bool(one.witnesses) for one in found)
        note = f"{number}/{len(cases)} patterns, {wrong:,} results with wrong bits"
        line.update(number, note)
        if line.is_due() or number == len(cases):
            line.plain(note)
