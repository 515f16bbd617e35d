"""One lane under observation: run a case in a stated way, and say where the time went.

The parts are the harness's own, put together as `harness.execution.lanes.Lane` does; the services
inside the hosts are metered ones (`benchmarks.meter`), and the resolver is watched by `Observed`.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.meter import Expenses, TellExpenses, TimeCalls, peak_bytes
from harness.comparison.case_run import CaseRun, Rules
from harness.comparison.findings import Findings, Status
from harness.comparison.position_resolution import PositionResolution
from harness.comparison.resolvers import RESOLVERS, Effort, Resolver
from harness.comparison.walk import Position
from harness.completion.continuations import Context
from harness.engines.panel import Limits, Panel
from harness.engines.specs import EngineSpec
from harness.errors import UsageError
from harness.inputs.cases import Case
from harness.inputs.vocabulary import Vocabulary
from harness.runs.directory import RunDirectory
from harness.runs.tables import Rows
from harness.validators.judge import Judge
from harness.workers import wire

NOT_RESOLVING = ("open", "check", "compile", "goto", "walk", "probe", "lengthen", "exhaust")
"""Commands of an engine's or the validators' host that do not serve resolving; all others do."""

VALIDATORS = "validators"
"""The name of the validators' host among the hosts."""

_ROOT = str(Path(__file__).resolve().parent.parent)


@dataclass(frozen=True)
class Way:
    """How a case is run.

    Attributes:
        resolver: ``shared``, ``rollout``, or ``none``: walk only.
        cap: Disputed tokens resolved per dispute; None resolves all.
        least: Only positions with this many disputed tokens are resolved.
        first: Only so many positions are resolved; None means all.
        every: Only every so-manieth position is resolved.
        timed: Engine calls are timed.
        seed: Of the walk and of samples.
    """

    resolver: str = "shared"
    cap: int | None = None
    least: int = 1
    first: int | None = None
    every: int = 1
    timed: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Resolved:
    """What resolving one position took in the lane; seconds.

    Attributes:
        position: Its number in the walk.
        disputed: Disputed tokens there.
        tokens: Those of them that were resolved.
        proven: Those with a proof: a completion that both validators call valid, or invalid.
        seconds: Wall time.
        lane_cpu: Processor time of the lane's own process.
    """

    position: int
    disputed: int
    tokens: int
    proven: int
    seconds: float
    lane_cpu: float


@dataclass(frozen=True)
class HostSpent:
    """What one host spent on one case; seconds, bytes.

    Attributes:
        commands: Requests, wall and processor time, engine time and calls, by command.
        cpu: Processor time of the whole process.
        peak: The most resident memory so far.
        timed: Whether engine calls were timed.
        overhead: What their timing added to the wall time, as reckoned from `call_overhead_ns`.
        call_overhead_ns: What timing adds to one call: as part of its time, and in all.
    """

    commands: Mapping[str, Mapping[str, float]]
    cpu: float
    peak: int
    timed: bool
    overhead: float
    call_overhead_ns: tuple[float, float]

    def total(self, figure: str) -> float:
        """The sum of one figure over the commands that serve resolving."""
        return sum(one[figure] for do, one in self.commands.items() if do not in NOT_RESOLVING)


@dataclass(frozen=True)
class Ran:
    """What one case took, run one way; times in seconds."""

    case: str
    way: Way
    status: str
    positions: int
    disputed: int
    seconds: float
    lane_cpu: float
    stages: Mapping[str, float]
    compile: Mapping[str, float]
    walk_engine: float
    """The sum over the table `timings`: masks and consumed tokens of all engines."""
    store: float
    stored_bytes: int
    verdicts: int
    resolved: Sequence[Resolved]
    hosts: Mapping[str, HostSpent]
    lane_peak: int

    @property
    def tokens(self) -> int:
        """Disputed tokens that were resolved."""
        return sum(one.tokens for one in self.resolved)

    @property
    def proven(self) -> int:
        """Those of them with a proof."""
        return sum(one.proven for one in self.resolved)

    @property
    def resolve_cpu(self) -> float:
        """Processor time of lane and hosts while resolving.

        That of the validators is for all their rulings: reference and instances are among them.
        """
        hosts = sum(one.total("cpu") for one in self.hosts.values())
        return hosts + sum(one.lane_cpu for one in self.resolved)

    @property
    def resolve_engine(self) -> float:
        """Time inside engine calls while resolving, summed over the engines."""
        return sum(one.total("engine") for one in self.hosts.values())

    @property
    def resolve_engine_cpu(self) -> float:
        """The processor time of that: as much of it as of the requests' whole wall time."""
        return sum(
            one["engine"] * one["cpu"] / one["wall"]
            for host in self.hosts.values()
            for do, one in host.commands.items()
            if do not in NOT_RESOLVING and one["wall"]
        )

    @property
    def walk(self) -> float:
        """Wall time of all but compiling, reading the references, instances and probes."""
        others = ("compile", "references", "instances", "probe")
        return self.seconds - sum(self.stages.get(stage, 0.0) for stage in others)


class MeteredPanel(Panel):
    """The panel, its hosts metered."""

    def __init__(
        self, specs: Sequence[EngineSpec], vocabulary_path: str, words: int, limits: Limits
    ) -> None:
        super().__init__(specs, vocabulary_path, words, limits)
        for host in self._hosts:
            paths = (*host.spec.paths, _ROOT)
            host.spec = replace(host.spec, service="benchmarks.meter:MeteredService", paths=paths)


class MeteredJudge(Judge):
    """The judge, its host metered."""

    def __init__(self, memory: int) -> None:
        super().__init__(memory)
        spec = self._host.spec
        service = "benchmarks.meter:MeteredValidators"
        self._host.spec = replace(spec, service=service, paths=(*spec.paths, _ROOT))

    def spent(self) -> Expenses | None:
        """What the validators' host spent since this was last asked; None when it is down."""
        if not self._host.running:
            return None
        request = TellExpenses()
        answer = self._host.request(request.message().head)
        found = request.answer(answer) if isinstance(answer, wire.Message) else None
        return found if isinstance(found, Expenses) else None


class Observed(Resolver):
    """A resolver that does as `inner` does at the chosen positions, and nothing elsewhere."""

    def __init__(self, inner: Resolver, way: Way) -> None:
        super().__init__(inner.effort)
        self.valid_completion_exonerates = inner.valid_completion_exonerates
        self.resolved: list[Resolved] = []
        self._inner = inner
        self._way = way

    def resolve(self, resolution: PositionResolution, context: Context) -> None:
        """Fill `resolution.findings`, or leave them as they are."""
        disputed = _disputed(resolution.position)
        if not self._chosen(resolution.position.number, disputed):
            return
        wall, cpu = time.perf_counter(), time.process_time()
        self._inner.resolve(resolution, context)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        tokens, proven = len(resolution.findings.tokens), _proven(resolution.findings)
        one = Resolved(resolution.position.number, disputed, tokens, proven, wall, cpu)
        self.resolved.append(one)

    def _chosen(self, number: int, disputed: int) -> bool:
        way = self._way
        if way.first is not None and len(self.resolved) >= way.first:
            return False
        return disputed >= way.least and number % way.every == 0


class BenchLane:
    """A panel, a judge and a vocabulary; what runs cases in this process, under observation.

    Args:
        specs: The engines.
        vocabulary_path: A saved vocabulary.
        limits: What a request may cost.
        make: What makes panel and judge; other ones for trials without processes.
    """

    def __init__(
        self,
        specs: Sequence[EngineSpec],
        vocabulary_path: str,
        limits: Limits,
        make: Callable[[Sequence[EngineSpec], str, int, Limits], tuple[Panel, MeteredJudge]]
        | None = None,
    ) -> None:
        self.vocabulary = Vocabulary.load(vocabulary_path)
        words = self.vocabulary.words
        self.panel, self.judge = (make or _panel_and_judge)(specs, vocabulary_path, words, limits)
        self._runner = CaseRun(self.panel, self.judge, self.vocabulary, None, Rules())

    def open(self) -> None:
        """Start the engines.

        Raises:
            UsageError: One does not start.
        """
        for index, failure in self.panel.open().items():
            name = self.panel.specs[index].name
            raise UsageError(f"engine {name!r} does not start: {failure.message}")

    def versions(self) -> dict[str, Any]:
        """What the engines say they are."""
        infos = self.panel.infos
        return {
            spec.name: {"version": infos[index].version, "options": infos[index].options}
            for index, spec in enumerate(self.panel.specs)
        }

    def run(self, case: Case, way: Way) -> Ran:
        """Run one case and store its rows in a directory that is thrown away."""
        resolved: list[Resolved] = []
        self._runner.resolver = None
        if way.resolver != "none":
            observed = Observed(RESOLVERS[way.resolver](Effort()), way)
            self._runner.resolver, resolved = observed, observed.resolved
        self._runner.rules = Rules(seed=way.seed, cap=way.cap)
        self.panel.ask(dict.fromkeys(range(len(self.panel)), TimeCalls(way.timed)))
        self.spent()
        wall, cpu = time.perf_counter(), time.process_time()
        rows = self._runner.run(case)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        hosts = self.spent()
        seconds, size = _store(rows)
        return _ran(case, way, rows, resolved, hosts, (wall, cpu, seconds, size))

    def spent(self) -> dict[str, HostSpent]:
        """What every host has spent since this was last asked."""
        answers = self.panel.ask(dict.fromkeys(range(len(self.panel)), TellExpenses()))
        hosts = {
            self.panel.specs[index].name: _host_spent(answer)
            for index, answer in answers.items()
            if isinstance(answer, Expenses)
        }
        if (answer := self.judge.spent()) is not None:
            hosts[VALIDATORS] = _host_spent(answer)
        return hosts

    def close(self) -> None:
        """End all hosts."""
        self.panel.close()
        self.judge.close()


def _panel_and_judge(
    specs: Sequence[EngineSpec], path: str, words: int, limits: Limits
) -> tuple[Panel, MeteredJudge]:
    return MeteredPanel(specs, path, words, limits), MeteredJudge(limits.memory)


def _disputed(position: Position) -> int:
    """Tokens on which the masks of a position differ."""
    masks = position.masks
    differing = np.bitwise_or.reduce(masks) & ~np.bitwise_and.reduce(masks)
    return int(np.unpackbits(differing.view(np.uint8)).sum())


def _proven(findings: Findings) -> int:
    decided = np.isin(findings.status, (Status.VALID, Status.INVALID))
    return int(decided.any(axis=0).sum())


def _store(rows: Rows) -> tuple[float, int]:
    """Seconds and bytes of storing the rows of a case."""
    with tempfile.TemporaryDirectory(prefix="maskcourt-benchmark-") as name:
        run = RunDirectory(Path(name), {})
        began = time.perf_counter()
        run.write_case(0, rows)
        seconds = time.perf_counter() - began
        return seconds, sum(file.stat().st_size for file in Path(name).rglob("*.parquet"))


def _host_spent(told: Expenses) -> HostSpent:
    """A host's answer in seconds, the cost of timing taken off the engine's time."""
    inside, whole = told.overhead_inside_ns, told.overhead_ns
    calls = 0
    commands = {}
    for do, one in told.commands.items():
        calls += one["engine_calls"]
        commands[do] = {
            "requests": one["requests"],
            "wall": one["wall_ns"] / 1e9,
            "cpu": one["cpu_ns"] / 1e9,
            "engine": max(one["engine_ns"] - one["engine_calls"] * inside, 0) / 1e9,
            "calls": one["engine_calls"],
        }
    overhead = calls * whole / 1e9
    cpu, costs = told.cpu_ns / 1e9, (inside, whole)
    return HostSpent(commands, cpu, told.peak_bytes, told.timed, overhead, costs)


def _ran(
    case: Case,
    way: Way,
    rows: Rows,
    resolved: Sequence[Resolved],
    hosts: Mapping[str, HostSpent],
    took: tuple[float, float, float, int],
) -> Ran:
    """Put together what one run of a case took: `took` is wall, processor, storing, bytes."""
    cases, timings, costs = (rows.lists(name) for name in ("cases", "timings", "costs"))
    stages: dict[str, float] = {}
    compiled: dict[str, float] = {}
    for stage, engine, seconds in zip(
        *(costs[k] for k in ("stage", "engine", "seconds")), strict=True
    ):
        if not engine:
            stages[stage] = seconds
        elif stage == "compile":
            compiled[engine] = seconds
    return Ran(
        case.id,
        way,
        cases["status"][0],
        cases["positions"][0],
        cases["disputed_tokens"][0],
        took[0],
        took[1],
        stages,
        compiled,
        (sum(timings["mask_ns"]) + sum(timings["consume_ns"])) / 1e9,
        took[2],
        took[3],
        rows.count("verdicts"),
        tuple(resolved),
        hosts,
        peak_bytes(),
    )
