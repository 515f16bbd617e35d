"""A bench run from what the user asked for to a finished run directory."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import itertools
import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

from harness import __version__
from harness.directories import data_path
from harness.engines.builds import git
from harness.engines.environments import provide_all
from harness.engines.specs import EngineSpec, parse_specs
from harness.execution.dispatch import Begin, Dispatch, LaneProcesses
from harness.execution.lanes import Engines, Job, Lane, LaneSettings, default_lanes
from harness.execution.progress import RunProgress
from harness.execution.request import BenchRequest
from harness.execution.rewritten_cases import with_rewritings
from harness.inputs.case_selection import Selected, open_cases, select
from harness.inputs.cases import CaseSource
from harness.inputs.vocabulary import Vocabulary
from harness.inputs.vocabulary_readers import open_vocabulary
from harness.runs.directory import SESSIONS, RunDirectory, check_place, create_or_resume
from harness.runs.made_with import same_run
from harness.schemas.format_values import FILE
from harness.workers.temporary_directories import saved_vocabulary

RUNS = "runs"

Executor = Callable[[LaneSettings, int, Begin, RunProgress], None]
"""What runs so many cases on lanes once they are begun, and tells of it.

It raises MaskcourtError where there is no room for any lane.
"""


def local_lanes(wanted: int | None = None) -> Executor:
    """Lanes in processes of this machine; by default as many as it carries."""

    def execute(settings: LaneSettings, cases: int, begin: Begin, telling: RunProgress) -> None:
        many = max(1, min(wanted or default_lanes(len(settings.specs)), cases))
        Dispatch(LaneProcesses(settings), many, begin, telling).run()

    return execute


def lane_here(
    opened: Callable[[LaneSettings], Lane], wanted: Callable[[str], bool] = lambda _: True
) -> Executor:
    """One lane in this thread, left open; each case is `wanted`, by its id, when its turn comes."""

    def execute(settings: LaneSettings, _: int, begin: Begin, telling: RunProgress) -> None:
        lane = opened(settings)
        run, jobs = begin(lane.open())
        some = (job for job in jobs if wanted(job[1].id))
        lane.serve(run, lambda: next(some, None), telling.case_stored)

    return execute


def bench(request: BenchRequest) -> RunDirectory:
    """Run what is asked, or go on with it where it was interrupted; the finished run.

    Raises:
        MaskcourtError: Whatever the user can mend.
        KeyboardInterrupt: The user stopped it; finished cases are kept.
    """
    return run_with(local_lanes(request.lanes), request)


def run_with(
    executor: Executor,
    request: BenchRequest,
    progress: Callable[[int], RunProgress] = RunProgress,
    prefix: str = "",
) -> RunDirectory:
    """`bench` by another executor; each can finish what another began.

    `prefix` begins the names of run directories that are not chosen; each executor has its own.
    """
    if request.out is not None:
        check_place(request.out)
    specs = provide_all(parse_specs(request.engines))
    vocabulary = open_vocabulary(request.vocabulary, request.eos)
    source = open_cases(request.source)
    path = request.out or default_path(request, prefix, specs, source.name)
    check_place(path)
    selected = chosen(
        request,
        source,
        with_valid=request.sample is not None,
        generated=request.rules.generated > 0,
    )
    selected = with_rewritings(selected, request.rewritings, request.rules.seed)
    known = identity(request, vocabulary, selected)
    before = same_run(path, known, specs)
    if before is not None and before.finished:
        executor = local_lanes(1)  # the engines are only asked what they are
    telling, runs = progress(len(selected)), []
    with saved_vocabulary(vocabulary) as file, telling:
        how = request.limits, request.rules, request.resolver, request.effort
        settings = LaneSettings(tuple(specs), str(file), *how)

        def begin(engines: Engines) -> tuple[RunDirectory, Iterator[Job]]:
            described = {name: asdict(engine) for name, engine in engines.items()}
            run = create_or_resume(path, {"engines": described, **known}, notes())
            runs.append(run)
            if run.finished:
                return run, iter(())
            done = run.done()
            with (run.path / SESSIONS).open("a", encoding="utf-8") as stream:
                # a line of its own, also where the one before was cut
                stream.write("\n" + json.dumps({"began": time.time()}) + "\n")
            telling.compares(run.manifest["identity"], selected.families)
            telling.skip(len(done))
            todo = {id_: n for n, id_ in enumerate(selected.ids) if n not in done}
            cases = selected.source.read(list(todo))
            return run, ((todo[case.id], case) for case in cases)

        executor(settings, len(selected), begin, telling)
    (run,) = runs
    if not run.finished:
        run.finish({"seconds": round(_seconds(run), 1)})
    return run


def chosen(request: BenchRequest, source: CaseSource, **further: bool) -> Selected:
    """The cases of a source that a request asks for; `further` goes to `select`."""
    return select(
        source,
        families=request.families,
        pattern=request.pattern,
        limit=request.limit,
        sample=request.sample,
        seed=request.rules.seed,
        **further,
    )


def identity(request: BenchRequest, vocabulary: Vocabulary, selected: Selected) -> dict[str, Any]:
    """What two sessions must have in common to write into one run, beside the engines."""
    return {
        **installed(),
        "vocabulary": {
            "spec": request.vocabulary,
            "eos": request.eos,
            "name": vocabulary.name,
            "size": vocabulary.size,
            "sha256": vocabulary.sha256,
        },
        "data": {
            "name": selected.source.name,
            "sha256": selected.source.sha256,
            "cases": len(selected),
            "ids": hashlib.sha256("\n".join(selected.ids).encode()).hexdigest(),
        },
        "rules": asdict(request.rules),
        "resolver": {"name": request.resolver, **asdict(request.effort)},
        "limits": asdict(request.limits),
    }


def installed() -> dict[str, dict[str, str]]:
    """What of a run's identity this machine and this environment decide."""
    return {
        "harness": {"version": __version__, "sha256": code_hash()},
        "validators": {
            name: importlib.metadata.version(name) for name in ("jsonschema", "jsonschema-rs")
        },
    }


def code_hash() -> str:
    """A hash of what decides verdicts: the harness, the adapters, and the texts of formats."""
    digest = hashlib.sha256(data_path(FILE).read_bytes())
    root = Path(__file__).resolve().parents[2]
    for file in sorted([*root.glob("harness/**/*.py"), *root.glob("adapters/*.py")]):
        digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def default_path(
    request: BenchRequest, prefix: str, specs: Sequence[EngineSpec], data: str
) -> Path:
    """Under `RUNS`, by prefix and request: the same request finds its run again."""
    wanted = asdict(replace(request, out=None, lanes=None))
    # another build at the same path is asked for in the same words
    wanted["engines"] = [f"{spec.name} {spec.build}".rstrip() for spec in specs]
    asked = json.dumps(wanted, sort_keys=True, default=str)
    digest = hashlib.sha256(asked.encode()).hexdigest()[:8]
    stem = "".join(c if c.isalnum() else "-" for c in data).strip("-")
    return Path(RUNS) / f"{prefix}{stem[:40]}-{digest}"


def notes() -> dict[str, Any]:
    """What is recorded of the machine and the moment; no part of the run's identity."""
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": {
            "system": platform.platform(),
            "python": platform.python_version(),
            "processors": len(os.sched_getaffinity(0)),
            "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "pace": _pace(),
        },
        "commit": commit(),
    }


def _pace() -> int:
    """Microseconds of processor time for always the same work: a shared machine varies by half."""
    clock = [time.process_time()]
    for _ in range(9):
        sum(number * number for number in range(100_000))
        clock.append(time.process_time())
    return round(1e6 * median(after - before for before, after in itertools.pairwise(clock)))


def commit() -> str | None:
    """The commit of this checkout, if it is one."""
    here = Path(__file__).resolve().parents[2]
    return git(here, "describe", "--always", "--dirty", "--abbrev=12").strip() or None


def _seconds(run: RunDirectory) -> float:
    """Wall time of all sessions; one that was interrupted lasted until its last stored case."""
    starts = []
    for line in (run.path / SESSIONS).read_text("utf-8", "replace").splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):  # a line may be cut or altered
            starts.append(float(json.loads(line)["began"]))
    stored = sorted(file.stat().st_mtime for file in run.path.glob("parts/*/part.json"))
    total = time.time() - starts[-1]
    for began, end in itertools.pairwise(starts):
        last = max((moment for moment in stored if began <= moment < end), default=began)
        total += last - began
    return total
