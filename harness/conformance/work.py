"""A run of the cells or of a suite on some engines: an ordinary run, with nothing but instances.

In the official JSON-Schema-Test-Suite a group is a case, its tests are the instances.
https://github.com/json-schema-org/JSON-Schema-Test-Suite: ``tests/DRAFT/FILE.json`` is a list of
groups ``{"description", "schema", "tests": [{"description", "data", "valid"}]}``. Its groups of
drafts before 2019-09 do not say their draft; here they do, since the validators must know it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, starmap
from pathlib import Path
from typing import Any, Final

from harness.comparison.case_run import Rules
from harness.comparison.text_feeding import SLOW_TOKENS
from harness.conformance import cells
from harness.conformance.cells import DRAFTS, instances, keyword_of
from harness.engines.panel import Limits, limit_option
from harness.engines.specs import DEFAULT
from harness.errors import InputError, UsageError, nearest
from harness.execution.bench import RUNS, bench
from harness.execution.request import BenchRequest
from harness.inputs.case_archives import members
from harness.inputs.cases import Case, Instance, parsed
from harness.inputs.vocabulary_names import BYTES
from harness.options import option
from harness.runs.directory import RunDirectory, open_run

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
    if request.suite is not None:
        cases = list(suite_cases(request.suite, request.drafts))
    else:
        cases = list(cells.cells())
    names = {name for case in cases for name in (case.family, keyword_of(case.family))}
    for one in request.keywords:
        if one not in names:
            raise UsageError(f"no case is about the keyword {one!r}", nearest(one, names))
    wanted = set(request.keywords) or names
    return [one for one in cases if wanted & {one.family, keyword_of(one.family)}]


def finished_run(path: Path) -> RunDirectory:
    """The run of a table that was made before; a UsageError for one that is unfinished or other."""
    run = open_run(path / RUN if (path / RUN).is_dir() else path)
    if not run.finished:
        raise UsageError(f"{path} is not finished", "the command that began it goes on with it")
    first = run.table("cases", ["case"])["case"][0].as_py()
    if not first.startswith((f"{cells.PREFIX}/", f"{PREFIX}/")):
        raise UsageError(f"{path} is no run of maskcourt conformance")
    return run


@dataclass(frozen=True)
class ConformanceRequest:
    """What a user asks of a table."""

    engines: Sequence[str] = option(
        (",".join(DEFAULT),), "Engines, as maskcourt bench takes them.", "-e", metavar="SPEC,…"
    )
    suite: Path | None = option(
        None,
        "Ask about the official JSON-Schema-Test-Suite: a checkout or an archive of it.",
        exists=True,
        metavar="PATH",
    )
    drafts: Sequence[str] = option((), "Of the suite: draft7, …; repeatable.", "--draft")
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


PREFIX: Final = "suite"
_FOLDERS: Final = {
    "draft4": "draft-04",
    "draft6": "draft-06",
    "draft7": "draft-07",
    "draft2019-09": "2019-09",
    "draft2020-12": "2020-12",
}
"""The drafts by the names of their folders."""
_FILE: Final = re.compile(r"(?:(?P<above>.*)/)?(?P<draft>draft[\w-]+)/(?P<name>.+)\.json")
_ELSEWHERE: Final = {"remotes", "output-tests", "annotations"}


def suite_cases(path: Path, drafts: Collection[str] = ()) -> Iterator[Case]:
    """The groups of a suite, in the order of drafts, files and groups, or those of some `drafts`.

    A group with more text than an engine with slow masks is fed with becomes several cases.

    Raises:
        UsageError: No such draft is known.
        InputError: There is no suite, or a file is not in its format.
    """
    for draft in drafts:
        if draft not in _FOLDERS:
            raise UsageError(f"no draft {draft!r} in the suite", nearest(draft, _FOLDERS))
    found = []
    for member in members(path):
        match = _FILE.fullmatch(member.name)
        if (
            match is not None
            and match["draft"] in (drafts or _FOLDERS)
            and not _ELSEWHERE.intersection((match["above"] or "").split("/"))
        ):
            found.append((match["draft"], match["name"], member.name, member.read()))
    cases = chain.from_iterable(starmap(_groups, sorted(found)))
    first = next(cases, None)
    if first is None:
        asked = f" of {', '.join(drafts)}" if drafts else ""
        raise InputError(f"{path} holds no test{asked}", "it is a checkout of the suite, or tests/")
    yield first
    yield from cases


def _groups(draft: str, name: str, where: str, content: bytes) -> Iterator[Case]:
    """The cases of a file: `name` is its path in the folder of its draft, without the suffix."""
    groups = parsed(content, where, "groups")
    if not isinstance(groups, list):
        raise InputError(f"{where} is no list of groups")
    for number, group in enumerate(groups):
        try:
            about, schema, tests = str(group["description"]), group["schema"], group["tests"]
            labelled = [(bool(one["valid"]), one["data"]) for one in tests]
        except (KeyError, TypeError):
            raise InputError(f"{where}: group {number} has no schema and tests") from None
        text = json.dumps(_declared(schema, draft), ensure_ascii=False)
        for part, some in enumerate(_parts(labelled)):
            more = f" ({part + 1})" if part else ""
            id_ = f"{PREFIX}/{name}/{draft}/{number:03} {about}{more}"
            yield Case(id_, name, text, some[True], some[False], where, about)


def _declared(schema: Any, draft: str) -> Any:
    """A schema that says its draft, where it can."""
    if isinstance(schema, dict) and "$schema" not in schema:
        return {"$schema": DRAFTS[_FOLDERS[draft]], **schema}
    return schema


def _parts(labelled: Sequence[tuple[bool, Any]]) -> Iterator[dict[bool, tuple[Instance, ...]]]:
    """The texts by label, in parts that every engine is fed with; longer texts are left out."""
    part: dict[bool, tuple[Instance, ...]] = {True: (), False: ()}
    room = SLOW_TOKENS
    for label, value in labelled:
        texts = instances([value])
        needs = sum(len(one.text) + 1 for one in texts)
        if needs > SLOW_TOKENS:
            continue
        if needs > room:
            yield part
            part, room = {True: (), False: ()}, SLOW_TOKENS
        part[label] += texts
        room -= needs
    yield part
