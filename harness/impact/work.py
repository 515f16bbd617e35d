"""An impact run from what the user asked for to a finished directory."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from dataclasses import asdict

from rich.progress import TimeRemainingColumn

from harness.comparison.case_run import Rules
from harness.engines.environments import provide_all
from harness.engines.specs import parse_specs
from harness.errors import UsageError
from harness.execution.bench import installed
from harness.execution.lanes import Lane, LaneSettings
from harness.impact.answering import Answering
from harness.impact.answers import IMPACT, UNCONSTRAINED, ImpactRun
from harness.impact.generation import Generator, ImpactRequest
from harness.impact.items import Task, sampled
from harness.impact.transformers_model import open_model
from harness.live import LiveLine
from harness.runs.directory import check_place
from harness.workers.temporary_directories import saved_vocabulary


def run_impact(request: ImpactRequest, task: Task) -> ImpactRun:
    """Run a task, or go on with it where it was interrupted; finished items are kept."""
    check_place(request.out, IMPACT)
    specs = provide_all(parse_specs(request.engines))
    items = sampled(task.items(), request.sample, request.seed)
    if not items:
        raise UsageError(f"task {task.name} has no items")
    with contextlib.ExitStack() as stack:
        live = LiveLine("items", len(items), "loading the model", TimeRemainingColumn())
        line = stack.enter_context(live)
        line.plain(f"{task.name}, items: {len(items)}; loading the model")
        model = open_model(request.model, request.device)
        file = str(stack.enter_context(saved_vocabulary(model.vocabulary)))
        lane = Lane(LaneSettings(tuple(specs), file, request.limits, Rules()))
        stack.enter_context(contextlib.closing(lane))
        engines = lane.open()
        if UNCONSTRAINED in engines:
            raise UsageError(f"no engine may be called {UNCONSTRAINED}")
        asked = json.dumps([asdict(item) for item in items], sort_keys=True)
        digest = hashlib.sha256(asked.encode()).hexdigest()
        vocabulary = {"size": model.vocabulary.size, "sha256": model.vocabulary.sha256}
        identity = {
            **installed(),
            "task": {"name": task.name, "items": len(items), "sha256": digest},
            "model": {**model.identity, "vocabulary": vocabulary},
            "engines": {name: asdict(info) for name, info in engines.items()},
            "generation": asdict(request.how),
            "limits": asdict(request.limits),
        }
        unanswerable = task.unanswerable()
        notes = {
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "unanswerable": [item.id for item in items if item.id in unanswerable],
        }

        def progress(done: int) -> None:
            line.update(done, "")
            if line.is_due() or done == len(items):
                line.plain(f"{done}/{len(items)} items")

        run = ImpactRun.begin(request.out, identity, notes)
        stack.callback(run.close)
        try:
            generator = Generator(model, lane.panel, request.how)
            answering = Answering(task, generator, lane.runner)
            answering.run(run, items, progress)
        except KeyboardInterrupt as error:
            kept = f"finished items are in {request.out}, the same command goes on"
            raise KeyboardInterrupt(kept) from error
    return run
